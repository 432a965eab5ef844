//! Hooks: services that are asked before tokens are issued, as a URL or as a mapping with credentials.

use std::time::Duration;

use http::HeaderValue;
use url::Url;

use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;
use super::secret_string::SecretString;

const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The keys below a hook that is a mapping.
pub(super) const KEYS: &[Key] = &[
    Key::hydra(".url", Kind::Url, "The address of the hook."),
    Key::hydra(
        ".auth.type",
        Kind::Choice(names::<AuthType>),
        "How the hook is told who asks: by a fixed key.",
    ),
    Key::hydra(
        ".auth.config.in",
        Kind::Choice(names::<HookKeyPlace>),
        "Where the key is sent; in a header by default.",
    ),
    Key::hydra(".auth.config.name", Kind::Text, "The name of the header or cookie."),
    Key::hydra(".auth.config.value", Kind::Secret, "The key."),
];

/// The hooks of the token endpoint. One that is configured and does not answer refuses the request.
#[derive(Debug, Clone)]
pub(crate) struct HooksSettings {
    /// Asked for every grant type. Default: none.
    pub(crate) token: Option<HookSettings>,
    /// Asked when a refresh token is used. Default: none.
    pub(crate) refresh_token: Option<HookSettings>,
    /// How long one may take. Default: 5 s; from 1 s to 30 s.
    pub(crate) timeout: Duration,
}

/// One hook.
#[derive(Debug, Clone)]
pub(crate) struct HookSettings {
    pub(crate) url: Url,
    pub(crate) auth: Option<HookAuth>,
}

/// The key by which a hook knows who asks.
#[derive(Debug, Clone)]
pub(crate) struct HookAuth {
    /// Default: a header.
    pub(crate) place: HookKeyPlace,
    /// A token of RFC 9110 §5.6.2.
    pub(crate) name: String,
    /// What can stand in a header, or in a cookie.
    pub(crate) value: SecretString,
}

/// Where the key of a hook is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum HookKeyPlace {
    #[default]
    Header,
    Cookie,
}

/// The one kind of credentials that Hydra has for hooks.
#[derive(Debug, Clone, Copy, Default)]
enum AuthType {
    #[default]
    ApiKey,
}

impl Choice for HookKeyPlace {
    const CHOICES: &'static [(&'static str, Self)] = &[("header", Self::Header), ("cookie", Self::Cookie)];
}

impl Choice for AuthType {
    const CHOICES: &'static [(&'static str, Self)] = &[("api_key", Self::ApiKey)];
}

pub(super) fn read(reader: &mut Reader<'_>) -> HooksSettings {
    HooksSettings {
        token: read_hook(reader, "oauth2.token_hook"),
        refresh_token: read_hook(reader, "oauth2.refresh_token_hook"),
        timeout: reader.duration_within("oauth2.hook_timeout", Duration::from_secs(1)..=LONGEST_TIMEOUT),
    }
}

/// Credentials without an address are refused: a hook that was meant to be asked must not be passed over.
fn read_hook(reader: &mut Reader<'_>, key: &str) -> Option<HookSettings> {
    let auth = read_auth(reader, &format!("{key}.auth"));
    let url_key = format!("{key}.url");
    if auth.is_some() && !reader.has(&url_key) {
        reader.refuse(&url_key, "is required");
    }
    Some(HookSettings { url: reader.url(&url_key)?, auth })
}

fn read_auth(reader: &mut Reader<'_>, prefix: &str) -> Option<HookAuth> {
    let key = |name: &str| format!("{prefix}.{name}");
    let (name_key, value_key) = (key("config.name"), key("config.value"));
    let AuthType::ApiKey = reader.choice(&key("type"));
    let place = reader.choice(&key("config.in"));
    let name = reader.header_name(&name_key);
    let value = reader.secret(&value_key);
    let parts = ["type", "config.in", "config.name", "config.value"];
    if !parts.iter().any(|part| reader.has(&key(part))) {
        return None;
    }
    for required in [&name_key, &value_key] {
        if !reader.has(required) {
            reader.refuse(required, "is required");
        }
    }
    if value.as_ref().is_some_and(|value| !can_be_sent(place, value.expose())) {
        reader.refuse(&value_key, "has characters that cannot be sent there");
    }
    Some(HookAuth { place, name: name.unwrap_or_default(), value: value? })
}

/// A header value (RFC 9110 §5.5), or a cookie value (RFC 6265 §4.1.1).
fn can_be_sent(place: HookKeyPlace, value: &str) -> bool {
    match place {
        HookKeyPlace::Header => HeaderValue::from_str(value).is_ok(),
        HookKeyPlace::Cookie => value.chars().all(|c| c.is_ascii_graphic() && !"\",;\\".contains(c)),
    }
}
