//! What may be printed of a value: secrets never, addresses without their passwords.

use serde_json::Value;

use super::key::Kind;
use super::secret_string::REDACTED;

/// The value as it may be printed.
pub(super) fn redact(kind: Kind, value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), redact(kind, value))).collect()
        }
        Value::Array(items) => items.iter().map(|item| redact(kind, item)).collect(),
        Value::Null => Value::Null,
        _ if kind.is_secret() => Value::String(REDACTED.to_owned()),
        Value::String(text) if hides_password(kind, text) => Value::String(REDACTED.to_owned()),
        Value::String(text) => Value::String(redact_address(kind, text)),
        other => other.clone(),
    }
}

/// Whether a text that was to be an address is none, so that its password cannot be told from the rest. It is shown with what else is
/// refused.
fn hides_password(kind: Kind, text: &str) -> bool {
    match kind {
        _ if text.contains("://") => false,
        Kind::Dsn => text != "memory" && !text.starts_with("sqlite:"),
        Kind::Url | Kind::UrlReference => text.contains('@') && !is_path(text),
        Kind::Server => text.contains('@'),
        _ => false,
    }
}

/// Whether a text is a path of this server. After two slashes, or what browsers take for these, it would be a host.
fn is_path(text: &str) -> bool {
    text.starts_with('/') && !text.starts_with("//") && !text.starts_with("/\\")
}

/// A URL or data source name without its password; any other text as it is. Who is named in a URL alone may be a token.
fn redact_address(kind: Kind, text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    // An unescaped slash or question mark in a password ends the authority early: then nothing of it can be told apart.
    if path.contains('@') || query.contains('@') {
        return REDACTED.to_owned();
    }
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:{REDACTED}@{host}"),
            None if matches!(kind, Kind::Dsn) => authority.to_owned(),
            None => format!("{REDACTED}@{host}"),
        },
        None => authority.to_owned(),
    };
    let query: Vec<String> = query.split('&').filter(|pair| !pair.is_empty()).map(redact_parameter).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("{scheme}://{authority}{path}{query}")
}

fn redact_parameter(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) if ["password", "secret", "token", "key"].iter().any(|word| name.contains(word)) => {
            format!("{name}={REDACTED}")
        }
        _ => pair.to_owned(),
    }
}
