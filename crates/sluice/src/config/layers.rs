//! Layers: defaults, files, environment and overrides, each written over the one before it.
//!
//! Mappings merge, lists and single values replace. Nothing is validated here but shape: the sections do
//! that.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::Value;
use zeroize::Zeroizing;

use super::error::Findings;
use super::key::{Key, Kind, Status};
use super::suggestion::closest;
use super::table::Table;
use super::values::{Origin, Values};

/// Environment variables that begin so are meant for us: an unknown one is a mistake.
const OWN_ROOTS: &[&str] = &[
    "SERVE_",
    "URLS_",
    "SECRETS_",
    "TTL_",
    "OAUTH2_",
    "OIDC_",
    "STRATEGIES_",
    "KEYS_ROTATION_",
    "WEBFINGER_",
    "IDENTITY_",
    "GATEWAY_",
    "CLIENTS_",
];
/// What Azure sets for the identity of a machine.
const OF_AZURE: &[&str] = &["IDENTITY_ENDPOINT", "IDENTITY_HEADER", "IDENTITY_SERVER_THUMBPRINT"];

/// What is said of a token that looks like a list of them.
const BRACKETED: &str =
    "stands in brackets and is no list of texts as JSON, so it is one token: a list is [\"NEW\", \"OLD\"]";
/// What is said of a variable whose quotation marks were meant for a shell.
const QUOTED: &str = "begins and ends with a quotation mark, which counts as part of it: a shell takes them away, and \
                      docker --env-file does not";

/// Writes the layers of one configuration.
pub(super) struct Layers<'a> {
    pub(super) table: &'a Table,
    pub(super) values: Values,
    pub(super) findings: Findings,
}

impl Layers<'_> {
    /// The defaults of the table.
    pub(super) fn defaults(&mut self) {
        for known in self.table.keys() {
            if let Some(text) = known.key.default {
                self.set_text(&known.path, known.key, text, Origin::Default);
            }
        }
    }

    /// YAML files, in this order.
    pub(super) fn files(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.file(path);
        }
    }

    /// One YAML file (JSON is YAML too).
    fn file(&mut self, path: &Path) {
        let name = path.display().to_string();
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
            return self.unread(&name, "TOML is not read; YAML and JSON are".to_owned());
        }
        match std::fs::read_to_string(path).map(Zeroizing::new) {
            Ok(text) => self.document(&name, &text),
            Err(error) => self.unread(&name, format!("cannot be read: {error}")),
        }
    }

    /// The text of one YAML file.
    pub(super) fn document(&mut self, name: &str, text: &str) {
        match parse_yaml(text) {
            Ok(Value::Null) => {}
            Ok(root @ Value::Object(_)) => self.walk("", root, &Origin::File(name.to_owned())),
            Ok(_) => self.unread(name, "must be a mapping of keys to values".to_owned()),
            Err(error) => {
                self.unread(name, format!("is not valid YAML: {}", without_values(&error.to_string())));
            }
        }
    }

    fn unread(&mut self, file: &str, reason: String) {
        self.values.note_unread();
        self.findings.refuse(file, reason);
    }

    /// The variables of the environment.
    pub(super) fn environment(&mut self, variables: &[(OsString, OsString)]) {
        for known in self.table.keys() {
            let Some(name) = known.variable() else { continue };
            let Some((_, value)) = variables.iter().find(|(candidate, _)| *candidate == *name) else {
                continue;
            };
            match value.to_str() {
                None => self.findings.refuse(&name, "is not valid UTF-8"),
                // An empty variable is how a missing one often looks; it never opens a listener to every
                // interface.
                Some("") => self.values.note_blank(&known.path, Origin::Environment(name)),
                Some(text) => {
                    if is_quoted(known.key, text) {
                        self.findings.warn(&name, QUOTED);
                    }
                    self.set_text(&known.path, known.key, text, Origin::Environment(name));
                }
            }
        }
        self.warn_about_unknown(variables);
    }

    /// `key=value` pairs of the command line; a key that does not exist is refused.
    pub(super) fn overrides(&mut self, pairs: &[(String, String)]) {
        for (path, text) in pairs {
            match self.table.find(path) {
                Some(key) => {
                    if is_blank(key, text) && self.values.is_given(path) {
                        self.findings
                            .warn(path, "an empty value unsets nothing: what is set elsewhere counts");
                    }
                    self.set_text(path, key, text, Origin::CommandLine);
                }
                None => self.findings.refuse(path, format!("unknown key{}", self.hint(path))),
            }
        }
    }

    /// Says of every key that was given and does nothing, why. What is switched off need not be said to be off.
    pub(super) fn warn_about_ignored(&mut self) {
        let given = self.values.entries().filter(|(path, _)| self.values.is_given(path));
        for (path, _) in given.filter(|(_, entry)| entry.value != Value::Bool(false)) {
            if let Some(Status::WithoutEffect(reason)) = self.table.find(path).map(|key| key.status) {
                self.findings.warn(path, format!("accepted without effect: {reason}"));
            }
        }
    }

    fn warn_about_unknown(&mut self, variables: &[(OsString, OsString)]) {
        let known: Vec<String> =
            self.table.keys().iter().filter_map(super::table::KnownKey::variable).collect();
        let named = variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value)));
        for (name, value) in named.filter(|(name, _)| OWN_ROOTS.iter().any(|root| name.starts_with(root))) {
            if !known.iter().any(|candidate| candidate == name) && !is_of_others(name, value) {
                self.findings.warn(name, "unknown environment variable, ignored");
            }
        }
    }

    fn walk(&mut self, path: &str, value: Value, origin: &Origin) {
        match (self.table.find(path), value) {
            (Some(_), Value::Null) => self.values.note_blank(path, origin.clone()),
            (None, Value::Null) => {}
            (Some(Key { kind: Kind::Hook, .. }) | None, Value::Object(fields)) => {
                for (name, value) in fields {
                    let below = if path.is_empty() { name } else { format!("{path}.{name}") };
                    self.walk(&below, value, origin);
                }
            }
            (Some(key), value) => self.set(path, key, value, origin.clone()),
            (None, _) if self.table.is_section(path) => {
                self.findings.refuse_from(
                    Some(origin),
                    path,
                    "must be a mapping, for it has keys of its own",
                );
            }
            (None, _) => self.findings.warn(path, format!("unknown key, ignored{}", self.hint(path))),
        }
    }

    fn hint(&self, path: &str) -> String {
        let known = self.table.keys().iter().map(|known| known.path.as_str());
        closest(path, known).map_or_else(String::new, |near| format!(" (did you mean {near}?)"))
    }

    fn set_text(&mut self, path: &str, key: &'static Key, text: &str, origin: Origin) {
        let is_bracketed = text.starts_with('[') && text.trim_end().ends_with(']');
        if matches!(key.kind, Kind::Tokens) && is_bracketed && !is_list_of_texts(text) {
            self.findings.warn(path, BRACKETED);
        }
        let is_json = match key.kind {
            Kind::SecretMap => true,
            Kind::Hook => text.starts_with('{'),
            Kind::Tokens => is_list_of_texts(text),
            kind => kind.is_list() && text.starts_with('['),
        };
        if !is_json {
            return self.set(path, key, Value::String(text.to_owned()), origin);
        }
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) if matches!(key.kind, Kind::Hook) => self.walk(path, value, &origin),
            Ok(value) => self.set(path, key, value, origin),
            Err(_) => self.findings.refuse_from(Some(&origin), path, "is not valid JSON"),
        }
    }

    /// Sets a key; an empty text counts as not set, unless it has a meaning.
    fn set(&mut self, path: &str, key: &'static Key, value: Value, origin: Origin) {
        if value.as_str().is_some_and(|text| is_blank(key, text)) {
            return self.values.note_blank(path, origin);
        }
        if matches!(key.kind, Kind::Hook) {
            // Credentials written for another address must not follow to this one; those that have none yet were written for it.
            let url = format!("{path}.url");
            let has_another = self.values.origin(&url) == Some(&origin);
            self.values.clear_below(path, Some(&origin).filter(|_| !has_another));
            return self.values.set(&url, value, origin);
        }
        let value = match value {
            Value::String(text) => from_text(key.kind, text),
            other => other,
        };
        self.values.set(path, value, origin);
    }
}

/// Whether it is a list as JSON. A token may begin as one does.
fn is_list_of_texts(text: &str) -> bool {
    text.starts_with('[') && serde_json::from_str::<Vec<String>>(text).map(Zeroizing::new).is_ok()
}

/// Whether a text is no value of this key.
fn is_blank(key: &Key, text: &str) -> bool {
    text.trim().is_empty() && !matches!(key.kind, Kind::Host)
}

/// Whether it is a secret, or leads to the database, and is in quotation marks. Of anything else that is noticed.
fn is_quoted(key: &Key, text: &str) -> bool {
    let is_between = |mark: char| text.len() > 1 && text.starts_with(mark) && text.ends_with(mark);
    (key.kind.is_secret() || matches!(key.kind, Kind::Dsn)) && ['"', '\''].into_iter().any(is_between)
}

/// Whether the surroundings set the variable: Azure, or Kubernetes for a service that is called `gateway` or `identity`.
fn is_of_others(name: &str, value: &OsStr) -> bool {
    let text = value.to_str().unwrap_or_default();
    let is_of_a_port =
        name.split("_PORT_").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    OF_AZURE.contains(&name)
        || name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || is_of_a_port
        || ["tcp://", "udp://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Gives a text the form that its key has in YAML, where that is possible; what is not is refused when it
/// is read.
fn from_text(kind: Kind, text: String) -> Value {
    let trimmed = text.trim();
    match kind {
        Kind::Tokens => Value::Array(vec![Value::String(text)]),
        _ if kind.is_list() => {
            let items = trimmed.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
        }
        Kind::Boolean => match trimmed {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Value::Bool(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Value::Bool(false),
            _ => Value::String(text),
        },
        Kind::Integer { .. } => trimmed.parse::<i64>().map_or(Value::String(text), Value::from),
        Kind::FileMode => file_mode(trimmed).map_or(Value::String(text), Value::from),
        Kind::Ratio => trimmed.parse::<f64>().map_or(Value::String(text), Value::from),
        _ => Value::String(text),
    }
}

/// The mode of a file, octal after a 0, as Hydra reads it. YAML hands such a one over as a text, too.
fn file_mode(text: &str) -> Option<i64> {
    match text.strip_prefix("0o").or_else(|| text.strip_prefix('0')) {
        Some(octal) if !octal.is_empty() => i64::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// What is wrong with a YAML document, without the values in it, each of which may be a secret. What was expected is said where the place
/// is not known.
fn without_values(error: &str) -> String {
    let named = ["invalid type: ", "invalid value: "].into_iter().filter_map(|what| error.split_once(what));
    // The value may have the same words.
    let first = named.min_by_key(|(path, _)| path.len());
    let Some((path, value)) = first else { return error.to_owned() };
    let expected = value.rsplit_once(", expected ").map_or("", |(_, expected)| expected);
    let place = match expected.rsplit_once(" at line ") {
        Some((_, place)) => format!(", at line {place}"),
        None if expected.is_empty() => String::new(),
        None => format!(" (expected {expected})"),
    };
    format!("{path}a value is not what it is taken for: a text of digits must be in quotes{place}")
}

/// Parses one YAML document, its anchors and merge keys (`<<`) resolved.
fn parse_yaml(text: &str) -> Result<Value, serde_norway::Error> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let mut document: serde_norway::Value = serde_norway::from_str(text)?;
    document.apply_merge()?;
    // Of what was read before it is not known where it was; the text knows, if it is wrong there too.
    serde_norway::from_value(document)
        .map_err(|error| serde_norway::from_str::<Value>(text).err().unwrap_or(error))
}
