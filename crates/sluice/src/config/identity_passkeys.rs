//! `identity.passkeys`: whose passkeys are (WebAuthn).

use url::{Host, Url};

use super::key::{Key, Kind};
use super::reader::Reader;

const ENABLED: &str = "identity.passkeys.enabled";
const RP_ID: &str = "identity.passkeys.rp_id";
const ORIGINS: &str = "identity.passkeys.origins";

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
         `urls.self.public`.",
    ),
];

/// Whose passkeys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PasskeySettings {
    /// A domain; each origin is there or below.
    pub(crate) rp_id: String,
    pub(crate) rp_name: String,
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
        let url = Url::parse(&text).ok().filter(|url| {
            let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
            matches!(url.scheme(), "http" | "https") && is_bare && url.username().is_empty()
        });
        match url {
            Some(url) => origins.push(url),
            None => {
                reader.refuse(ORIGINS, format!("{text:?} is no origin such as https://login.example.com"));
            }
        }
    }
    origins
}

/// A browser makes a passkey for the host of the page and for domains above it only (WebAuthn §5.1.3).
fn check(reader: &mut Reader<'_>, settings: &PasskeySettings) {
    let below = format!(".{}", settings.rp_id);
    let is_in = |host: &str| host == settings.rp_id || host.ends_with(&below);
    let foreign: Vec<&Url> =
        settings.origins.iter().filter(|origin| !origin.host_str().is_some_and(is_in)).collect();
    for origin in foreign {
        let key = if reader.has(ORIGINS) { ORIGINS } else { RP_ID };
        reader.refuse(key, format!("{} is not in the domain {}", origin.as_str(), settings.rp_id));
    }
}
