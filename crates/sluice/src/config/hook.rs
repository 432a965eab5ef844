//! Hooks: services that are asked before something happens, as a URL or as a mapping with credentials.

use url::Url;

use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;
use super::secret_string::SecretString;

/// The keys below a hook that is a mapping.
pub(super) const KEYS: &[Key] = &[
    Key::hydra(".url", Kind::Url, "The address of the hook."),
    Key::hydra(".auth.type", Kind::Choice(names::<AuthType>), "How Sluice authenticates to the hook."),
    Key::hydra(".auth.config.in", Kind::Choice(names::<KeyPlace>), "Where the API key is sent.")
        .with_default("header"),
    Key::hydra(".auth.config.name", Kind::Text, "The name of the header or cookie with the API key."),
    Key::hydra(".auth.config.value", Kind::Secret, "The API key."),
];

/// A hook.
#[derive(Debug, Clone)]
pub(crate) struct HookSettings {
    pub(crate) url: Url,
    pub(crate) api_key: Option<ApiKey>,
}

/// What a hook is shown to know us.
#[derive(Debug, Clone)]
pub(crate) struct ApiKey {
    pub(crate) place: KeyPlace,
    pub(crate) name: String,
    pub(crate) value: SecretString,
}

/// Where an API key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum KeyPlace {
    #[default]
    Header,
    Cookie,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AuthType {
    #[default]
    ApiKey,
}

impl Choice for KeyPlace {
    const CHOICES: &'static [(&'static str, Self)] = &[("header", Self::Header), ("cookie", Self::Cookie)];
}

impl Choice for AuthType {
    const CHOICES: &'static [(&'static str, Self)] = &[("api_key", Self::ApiKey)];
}

/// Reads the hook below `prefix` (`oauth2.token_hook`); `None` when there is none.
pub(super) fn read(reader: &mut Reader<'_>, prefix: &str) -> Option<HookSettings> {
    let key = |name: &str| format!("{prefix}.{name}");
    let AuthType::ApiKey = reader.choice(&key("auth.type"));
    let place = reader.choice(&key("auth.config.in"));
    let name = reader.text(&key("auth.config.name"));
    let value = reader.secret(&key("auth.config.value"));
    let has_auth =
        ["auth.type", "auth.config.name", "auth.config.value"].iter().any(|name| reader.has(&key(name)));
    for required in ["auth.config.name", "auth.config.value"] {
        if has_auth && !reader.has(&key(required)) {
            reader.refuse(&key(required), "is required for a hook with auth");
        }
    }
    if has_auth && !reader.has(&key("url")) {
        reader.refuse(&key("url"), "is required for a hook");
    }
    let url = reader.url(&key("url"))?;
    let api_key = name.zip(value).map(|(name, value)| ApiKey { place, name, value });
    Some(HookSettings { url, api_key })
}
