//! `urls`: where this server is, and where the pages are that it sends people to.

use url::Url;

use super::key::{Key, Kind};
use super::mode::Mode;
use super::reader::Reader;

/// Why Kratos is not called.
const NO_KRATOS: &str = "Sluice ends its own sessions only; let the logout page end the one at Kratos";

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "self.issuer",
        Kind::Url,
        "The issuer in tokens and discovery, used exactly as written. Required, and https; with \
         `--dev` it is by default `http://127.0.0.1:` and `serve.public.port`, and `https://` where that listener speaks TLS, also \
         by `--tls-self-signed`.",
    ),
    Key::hydra(
        "self.public",
        Kind::Url,
        "Where browsers and clients reach the public endpoints; `urls.self.issuer` by default. Its path is \
         part of the path of each. With plain http nobody can log in, but with `--dev`.",
    ),
    Key::ignored("self.admin", Kind::Url, "links in the answers of the admin endpoints name no host"),
    Key::hydra("login", Kind::UrlReference, "The login page; the built-in one by default."),
    Key::hydra(
        "registration",
        Kind::UrlReference,
        "The page for `prompt=registration`; the same as `urls.login` by default.",
    ),
    Key::hydra("consent", Kind::UrlReference, "The consent page; the built-in one by default."),
    Key::hydra("logout", Kind::UrlReference, "The logout page; the built-in one by default."),
    Key::hydra(
        "device.verification",
        Kind::UrlReference,
        "The page where people type the code of a device; built in by default.",
    ),
    Key::hydra(
        "device.success",
        Kind::UrlReference,
        "The page that says that the device is let in; built in by default.",
    ),
    Key::hydra(
        "error",
        Kind::UrlReference,
        "The page for errors that cannot be sent to a client; built in by default.",
    ),
    Key::hydra(
        "post_logout_redirect",
        Kind::UrlReference,
        "Where a logout ends that names no place of its own; a built-in page by default.",
    ),
    Key::ignored("identity_provider.url", Kind::Url, NO_KRATOS),
    Key::ignored("identity_provider.publicUrl", Kind::Url, NO_KRATOS),
    Key::ignored("identity_provider.headers", Kind::SecretMap, NO_KRATOS),
];

/// Where this server is, and where its pages are. `None` for a page is the built-in one.
#[derive(Debug, Clone)]
pub(crate) struct UrlsSettings {
    /// The issuer, exactly as it was written: clients compare it as a string (OpenID Connect Core
    /// §3.1.3.7).
    pub(crate) issuer: String,
    /// Where clients reach the public endpoints; addresses without a host are at its own.
    pub(crate) public: Url,
    pub(crate) login: Option<Url>,
    /// The page for `prompt=registration`; `login` unless set.
    pub(crate) registration: Option<Url>,
    pub(crate) consent: Option<Url>,
    pub(crate) logout: Option<Url>,
    /// Where people type the code of a device.
    pub(crate) device_verification: Option<Url>,
    /// What says that the device is let in.
    pub(crate) device_success: Option<Url>,
    pub(crate) error: Option<Url>,
    pub(crate) post_logout_redirect: Option<Url>,
}

pub(super) fn read(reader: &mut Reader<'_>, mode: Mode) -> Option<UrlsSettings> {
    let issuer = read_issuer(reader, mode);
    let public = read_public(reader, mode);
    let base = public.clone().or_else(stand_in)?;
    let mut page = |key: &str| reader.url_reference(key, &base);
    let urls = UrlsSettings {
        issuer: issuer.clone().unwrap_or_default(),
        public: base.clone(),
        login: page("urls.login"),
        registration: page("urls.registration"),
        consent: page("urls.consent"),
        logout: page("urls.logout"),
        device_verification: page("urls.device.verification"),
        device_success: page("urls.device.success"),
        error: page("urls.error"),
        post_logout_redirect: page("urls.post_logout_redirect"),
    };
    issuer.and(public).map(|_| urls)
}

/// A base for what is relative when there is none, so that all its problems are reported too.
pub(super) fn stand_in() -> Option<Url> {
    Url::parse("http://127.0.0.1:4444/").ok()
}

fn read_public(reader: &mut Reader<'_>, mode: Mode) -> Option<Url> {
    const KEY: &str = "urls.self.public";
    let url = reader.url(KEY)?;
    if url.scheme() == "http" && !mode.is_development() && !reader.is_inherited(KEY) {
        reader.warn(
            KEY,
            "is plain http: browsers keep no login cookie, which is Secure, and clients are told to send \
             secrets and tokens in the clear",
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        reader.refuse(KEY, "must have no query and no fragment: the addresses of endpoints are made of it");
    }
    refuse_unusable(reader, KEY, &url);
    Some(url)
}

/// What neither address may hold: credentials, which everybody would be told, and what would be a pattern in a route.
fn refuse_unusable(reader: &mut Reader<'_>, key: &str, url: &Url) {
    if !url.username().is_empty() || url.password().is_some() {
        reader.refuse(key, "must not hold credentials");
    }
    if url.path_segments().is_some_and(|mut parts| parts.any(|part| part.starts_with([':', '*']))) {
        reader.refuse(key, "must have no part of its path that begins with : or *");
    }
}

fn read_issuer(reader: &mut Reader<'_>, mode: Mode) -> Option<String> {
    const KEY: &str = "urls.self.issuer";
    if !reader.has(KEY) {
        reader.refuse_missing(KEY, "is required (`--dev` has a default)");
    }
    let url = reader.url(KEY)?;
    if url.scheme() == "http" && !mode.is_development() {
        reader.refuse(KEY, "must be https (plain http is allowed with `--dev` only)");
    }
    if url.query().is_some() || url.fragment().is_some() {
        reader.refuse(KEY, "must have no query and no fragment (OpenID Connect Discovery §3)");
    }
    refuse_unusable(reader, KEY, &url);
    let text = reader.text(KEY)?;
    // What parses a URL looks past these, at the ends at least; who compares it as a text does not.
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        reader.refuse(KEY, "has a space or a line end: it is used exactly as it is written");
    }
    Some(text)
}
