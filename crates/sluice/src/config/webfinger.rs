//! `webfinger`: what is said below `/.well-known/`.

use url::Url;

use super::key::{Key, Kind};
use super::reader::Reader;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "jwks.broadcast_keys",
        Kind::Texts,
        "Key sets whose public keys are at `/.well-known/jwks.json`, besides the two that Sluice signs with.",
    )
    .with_default("hydra.openid.id-token"),
    Key::hydra("oidc_discovery.jwks_url", Kind::UrlReference, "Another address of the public keys."),
    Key::hydra("oidc_discovery.token_url", Kind::UrlReference, "Another address of the token endpoint."),
    Key::hydra(
        "oidc_discovery.auth_url",
        Kind::UrlReference,
        "Another address of the authorization endpoint.",
    ),
    Key::hydra(
        "oidc_discovery.device_authorization_url",
        Kind::UrlReference,
        "Another address of the device authorization endpoint.",
    ),
    Key::hydra(
        "oidc_discovery.client_registration_url",
        Kind::UrlReference,
        "Another address of the client registration endpoint, which is announced also where clients may not register here.",
    ),
    Key::hydra(
        "oidc_discovery.userinfo_url",
        Kind::UrlReference,
        "Another address of the userinfo endpoint.",
    ),
    Key::hydra(
        "oidc_discovery.supported_claims",
        Kind::Texts,
        "The claims that discovery names, besides those of every id token.",
    ),
    Key::hydra(
        "oidc_discovery.supported_scope",
        Kind::Texts,
        "The scopes that discovery names, besides `openid`, `offline` and `offline_access`.",
    ),
    Key::own(
        "oidc_discovery.supported_authorization_details_types",
        Kind::Texts,
        "The types of authorization details that discovery names (RFC 9396 §10). A client may ask for those that it \
         registered, named here or not.",
    ),
    Key::ignored(
        "oidc_discovery.verifiable_credentials_url",
        Kind::UrlReference,
        "there is no such endpoint",
    ),
];

/// What is said below `/.well-known/`. `None` for an address is Sluice's own endpoint below
/// `urls.self.public`.
#[derive(Debug, Clone)]
pub(crate) struct WebfingerSettings {
    /// Key sets whose public keys are published, besides those that sign. Default: `hydra.openid.id-token`.
    pub(crate) broadcast_keys: Vec<String>,
    pub(crate) jwks_url: Option<Url>,
    pub(crate) token_url: Option<Url>,
    pub(crate) authorization_url: Option<Url>,
    pub(crate) device_authorization_url: Option<Url>,
    pub(crate) client_registration_url: Option<Url>,
    pub(crate) userinfo_url: Option<Url>,
    /// Besides those of every id token. Default: none.
    pub(crate) supported_claims: Vec<String>,
    /// Besides `openid`, `offline` and `offline_access`. Default: none.
    pub(crate) supported_scope: Vec<String>,
    /// Of authorization details. Default: none.
    pub(crate) supported_details_types: Vec<String>,
}

/// Reads the section; addresses without a host are at that of `base`, which is `urls.self.public`.
pub(super) fn read(reader: &mut Reader<'_>, base: &Url) -> WebfingerSettings {
    let mut address = |name: &str| reader.url_reference(&format!("webfinger.oidc_discovery.{name}"), base);
    WebfingerSettings {
        jwks_url: address("jwks_url"),
        token_url: address("token_url"),
        authorization_url: address("auth_url"),
        device_authorization_url: address("device_authorization_url"),
        client_registration_url: address("client_registration_url"),
        userinfo_url: address("userinfo_url"),
        broadcast_keys: reader.texts("webfinger.jwks.broadcast_keys"),
        supported_claims: reader.texts("webfinger.oidc_discovery.supported_claims"),
        supported_scope: reader.texts("webfinger.oidc_discovery.supported_scope"),
        supported_details_types: reader
            .texts("webfinger.oidc_discovery.supported_authorization_details_types"),
    }
}
