//! `identity.passkeys`: whose passkeys are (WebAuthn).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::{Host, Url};

use super::key::{Key, Kind};
use super::reader::Reader;

const ENABLED: &str = "identity.passkeys.enabled";
const RP_ID: &str = "identity.passkeys.rp_id";
const ORIGINS: &str = "identity.passkeys.origins";

/// What the origins of Android applications begin with.
const APPLICATION: &str = "android:";
/// And the only form they have; what follows is the SHA-256 hash of the certificate that the application is signed with.
const APPLICATION_HASH: &str = "android:apk-key-hash:";
const HASH_LENGTH: usize = 32;

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "enabled",
        Kind::Boolean,
        "Whether passkeys are offered. They are not where `urls.self.public` has an address in the place of a name.",
    )
    .with_default("true"),
    Key::own(
        "rp_id",
        Kind::Text,
        "The domain that passkeys belong to; they work there and below. By default the host of `urls.self.public`. To \
         change it makes all passkeys useless.",
    ),
    Key::own("rp_name", Kind::Text, "What browsers call this site; by default `identity.service_name`."),
    Key::own(
        "origins",
        Kind::Texts,
        "The origins whose pages may ask for a passkey, such as `https://login.example.com`; by default that of \
         `urls.self.public`. Beside one at least, those of Android applications: `android:apk-key-hash:` and the SHA-256 \
         hash of the signing certificate, in base64url without padding.",
    ),
];

/// Whose passkeys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PasskeySettings {
    /// A domain; each origin of pages is there or below.
    pub(crate) rp_id: String,
    pub(crate) rp_name: String,
    /// Of pages, and of Android applications.
    pub(crate) origins: Vec<Url>,
}

/// Reads the section, with the defaults that follow from where the pages are.
pub(super) fn read(reader: &mut Reader<'_>, public: Option<&Url>, name: &str) -> Option<PasskeySettings> {
    let enabled = reader.boolean(ENABLED);
    let rp_name = reader.text("identity.passkeys.rp_name").unwrap_or_else(|| name.to_owned());
    let (given, origins) = (reader.text(RP_ID), read_origins(reader));
    let domain = public.and_then(|public| match public.host() {
        Some(Host::Domain(domain)) => Some(domain.to_owned()),
        _ => None,
    });
    let rp_id = given.or(domain)?;
    let own = public.and_then(|public| Url::parse(&public.origin().ascii_serialization()).ok());
    let origins = if origins.is_empty() { own.into_iter().collect() } else { origins };
    let settings = PasskeySettings { rp_id, rp_name, origins };
    if enabled {
        check(reader, &settings);
    }
    enabled.then_some(settings)
}

fn read_origins(reader: &mut Reader<'_>) -> Vec<Url> {
    let mut origins = Vec::new();
    for text in reader.texts(ORIGINS) {
        let of_application = text.starts_with(APPLICATION);
        let is_whole = if of_application { is_hash } else { is_bare };
        match Url::parse(&text).ok().filter(is_whole) {
            Some(url) => origins.push(url),
            None if of_application => {
                let form = "android:apk-key-hash: and a SHA-256 hash in base64url without padding";
                reader.refuse(ORIGINS, format!("{text:?} is not {form}"));
            }
            None => {
                reader.refuse(ORIGINS, format!("{text:?} is no origin such as https://login.example.com"));
            }
        }
    }
    origins
}

/// The origin of pages, without anything else.
fn is_bare(url: &Url) -> bool {
    let is_of_pages = matches!(url.scheme(), "http" | "https") && url.username().is_empty();
    is_of_pages && url.path() == "/" && url.query().is_none() && url.fragment().is_none()
}

/// The origin of an Android application: who signed it.
fn is_hash(url: &Url) -> bool {
    let hash = url.as_str().strip_prefix(APPLICATION_HASH);
    let hash = hash.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
    hash.is_some_and(|hash| hash.len() == HASH_LENGTH)
}

/// A browser makes a passkey for the host of the page and for domains above it only (WebAuthn §5.1.3). Which applications act
/// for the domain Android learns from the domain itself (`/.well-known/assetlinks.json`).
fn check(reader: &mut Reader<'_>, settings: &PasskeySettings) {
    let below = format!(".{}", settings.rp_id);
    let is_in = |host: &str| host == settings.rp_id || host.ends_with(&below);
    let mut pages = settings.origins.iter().filter(|origin| !is_hash(origin)).peekable();
    if pages.peek().is_none() && !settings.origins.is_empty() {
        reader.refuse(ORIGINS, "has no origin of pages beside those of applications");
    }
    for origin in pages.filter(|origin| !origin.host_str().is_some_and(is_in)) {
        let key = if reader.has(ORIGINS) { ORIGINS } else { RP_ID };
        reader.refuse(key, format!("{} is not in the domain {}", origin.as_str(), settings.rp_id));
    }
}
