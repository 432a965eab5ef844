//! `serve.cookies`: the session cookie.

use url::{Host, Url};

use super::key::{Choice, Key, Kind, names};
use super::mode::Mode;
use super::reader::Reader;
use super::urls::UrlsSettings;

const DOMAIN: &str = "serve.cookies.domain";
const SESSION_PATH: &str = "serve.cookies.paths.session";

/// Why the names of Hydra's CSRF cookies mean nothing.
const ONE_BINDING_COOKIE: &str = "one cookie with a fixed name binds every flow to its browser";

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "same_site_mode",
        Kind::Choice(names::<SameSite>),
        "The SameSite attribute of the session cookie; Lax stands for None where cookies are \
         not Secure.",
    )
    .with_default("None"),
    Key::ignored(
        "same_site_legacy_workaround",
        Kind::Boolean,
        "the browsers that refuse SameSite=None are gone; one cookie is set",
    ),
    Key::hydra(
        "domain",
        Kind::Text,
        "The domain of the session cookie: the host of `urls.self.public`, or a domain above it; the host that sets it by default.",
    ),
    Key::hydra(
        "secure",
        Kind::Boolean,
        "Whether cookies are Secure with `--dev`; without it they always are.",
    )
    .with_default("false"),
    Key::hydra("names.session", Kind::Text, "The name of the session cookie.")
        .with_default("ory_hydra_session"),
    Key::ignored("names.login_csrf", Kind::Text, ONE_BINDING_COOKIE),
    Key::ignored("names.consent_csrf", Kind::Text, ONE_BINDING_COOKIE),
    Key::ignored("names.device_csrf", Kind::Text, ONE_BINDING_COOKIE),
    Key::hydra("paths.session", Kind::Text, "The path of the session cookie; it begins with `/`.")
        .with_default("/"),
];

/// The attributes of cookies.
#[derive(Debug, Clone)]
pub(crate) struct CookieSettings {
    /// Of the session cookie. Default: None.
    pub(crate) same_site: SameSite,
    /// Of the session cookie; `None` is the host that sets it.
    pub(crate) domain: Option<String>,
    /// Always true in production.
    pub(crate) secure: bool,
    /// Default: `ory_hydra_session`.
    pub(crate) session_name: String,
    /// Default: `/`.
    pub(crate) session_path: String,
}

/// The `SameSite` attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SameSite {
    Strict,
    Lax,
    #[default]
    None,
}

impl Choice for SameSite {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("Strict", Self::Strict), ("Lax", Self::Lax), ("None", Self::None)];
}

pub(super) fn read(reader: &mut Reader<'_>, mode: Mode, urls: Option<&UrlsSettings>) -> CookieSettings {
    let secure = reader.boolean("serve.cookies.secure") || !mode.is_development();
    CookieSettings {
        same_site: reader.choice("serve.cookies.same_site_mode"),
        secure,
        domain: read_domain(reader, urls),
        session_name: read_name(reader, "serve.cookies.names.session"),
        session_path: read_path(reader).unwrap_or_default(),
    }
}

/// A domain that the hosts of this server may set a cookie for (RFC 6265 §5.3); a dot before it means nothing (§5.2.3).
fn read_domain(reader: &mut Reader<'_>, urls: Option<&UrlsSettings>) -> Option<String> {
    let text = read_attribute(reader, DOMAIN)?;
    let Ok(domain) = Host::parse(text.strip_prefix('.').unwrap_or(&text)).map(|host| host.to_string()) else {
        reader.refuse(DOMAIN, format!("{text:?} is no host name such as example.com"));
        return None;
    };
    let Some(urls) = urls else { return Some(text) };
    let is_of_issuer = || Url::parse(&urls.issuer).is_ok_and(|issuer| may_set(&issuer, &domain));
    if !may_set(&urls.public, &domain) && !is_of_issuer() {
        let host = urls.public.host_str().unwrap_or_default();
        let reason = format!(
            "is neither {host}, the host of urls.self.public, nor a domain above it: browsers would drop the cookie"
        );
        reader.refuse(DOMAIN, reason);
    }
    Some(text)
}

/// Whether browsers let the host of this URL set a cookie for this domain: it is that host, or a domain above it.
fn may_set(url: &Url, domain: &str) -> bool {
    let below = || url.domain().and_then(|host| host.strip_suffix(domain));
    url.host_str() == Some(domain) || below().is_some_and(|name| name.ends_with('.'))
}

/// A path that browsers take; another they would take for none (RFC 6265 §5.2.4).
fn read_path(reader: &mut Reader<'_>) -> Option<String> {
    let path = read_attribute(reader, SESSION_PATH)?;
    if !path.starts_with('/') {
        reader.refuse(SESSION_PATH, "must begin with a slash");
    }
    Some(path)
}

/// A value that can stand in a `Set-Cookie` header.
fn read_attribute(reader: &mut Reader<'_>, key: &str) -> Option<String> {
    let text = reader.text(key)?;
    if text.chars().any(|c| c == ';' || c == ',' || !c.is_ascii_graphic()) {
        reader.refuse(key, "has characters that a cookie attribute must not have");
        return None;
    }
    Some(text)
}

/// A cookie name: a token of RFC 9110 §5.6.2.
fn read_name(reader: &mut Reader<'_>, key: &str) -> String {
    let name = reader.text(key).unwrap_or_default();
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)) {
        reader.refuse(key, "has characters that a cookie name must not have");
    }
    name
}
