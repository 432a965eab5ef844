//! What this server can do, for clients (OpenID Connect Discovery §3, RFC 8414 §2).

use std::collections::BTreeMap;

use sluice_crypto::jwe::{ContentEncryption, KeyManagement};
use sluice_crypto::jwk::{MacAlgorithm, SigningAlgorithm};
use sluice_protocol::discovery::{
    Answers, Authentication, Binding, Endpoints, Logout, Metadata, Names, Requests,
};
use sluice_protocol::{GrantType, ResponseMode};
use url::Url;

use crate::client::AuthMethod;
use crate::config::{Config, PreferredUsername};
use crate::dpop::algorithm_names;
use crate::keys::KeyRing;

/// The grant types that clients may register and use.
const GRANT_TYPES: [GrantType; 7] = [
    GrantType::AuthorizationCode,
    GrantType::Implicit,
    GrantType::RefreshToken,
    GrantType::ClientCredentials,
    GrantType::DeviceCode,
    GrantType::JwtBearer,
    GrantType::TokenExchange,
];

/// What id tokens and userinfo say by themselves.
const CLAIMS: [&str; 13] = [
    "sub",
    "iss",
    "aud",
    "exp",
    "iat",
    "auth_time",
    "nonce",
    "acr",
    "amr",
    "sid",
    "at_hash",
    "c_hash",
    "s_hash",
];

/// The classes of logins that the built-in login page tells in `acr`.
pub const LOGIN_CLASSES: [&str; 2] = ["aal1", "aal2"];

/// What the authorization endpoint answers with, if the client is registered for it.
const RESPONSE_TYPES: [&str; 7] =
    ["code", "id_token", "id_token token", "code id_token", "code token", "code id_token token", "token"];

/// What discovery is told to say (`webfinger.oidc_discovery`). An address stands in the place of this server's own,
/// for endpoints that are reached another way; the rest is named besides.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are what the document names, Hydra's keys but the last")]
pub struct Announced {
    pub authorization_endpoint: Option<Url>,
    pub token_endpoint: Option<Url>,
    pub userinfo_endpoint: Option<Url>,
    pub jwks_uri: Option<Url>,
    pub device_authorization_endpoint: Option<Url>,
    pub registration_endpoint: Option<Url>,
    pub scopes: Vec<String>,
    pub claims: Vec<String>,
    pub authorization_details_types: Vec<String>,
}

/// The metadata of this server with these keys: what is true and nothing else.
pub fn metadata(config: &Config, keys: &KeyRing) -> Metadata {
    let announced = &config.announced;
    Metadata {
        issuer: config.issuer.as_str().to_owned(),
        endpoints: endpoints(config),
        scopes_supported: scopes(config),
        claims_supported: besides(&claims(config), &announced.claims),
        authorization_details_types_supported: announced.authorization_details_types.clone(),
        acr_values_supported: logs_in_itself(config).then(|| LOGIN_CLASSES.to_vec()),
        ui_locales_supported: logs_in_itself(config).then(|| languages(config)),
        response_types_supported: RESPONSE_TYPES.to_vec(),
        response_modes_supported: std::iter::once("jwt")
            .chain(ResponseMode::ALL.map(ResponseMode::as_str))
            .collect(),
        grant_types_supported: GRANT_TYPES.map(GrantType::as_str).to_vec(),
        subject_types_supported: config.policies.subjects.types.clone(),
        prompt_values_supported: prompts(config),
        code_challenge_methods_supported: vec!["S256"],
        client_id_metadata_document_supported: config.policies.metadata_documents.enabled,
        authentication: authentication(config),
        binding: Binding {
            dpop_signing_alg_values_supported: algorithm_names(),
            tls_client_certificate_bound_access_tokens: config.policies.mtls.enabled,
            mtls_endpoint_aliases: mtls_aliases(config),
        },
        requests: requests(config, keys),
        answers: answers(),
        logout: Logout {
            backchannel_logout_supported: true,
            backchannel_logout_session_supported: true,
            frontchannel_logout_supported: true,
            frontchannel_logout_session_supported: true,
        },
    }
}

/// The scopes that are announced: many clients ask for them all.
pub fn scopes(config: &Config) -> Vec<String> {
    let own = [&["openid", "offline_access", "offline"], consent_page_scopes(config)].concat();
    besides(&own, &config.announced.scopes)
}

/// The scopes that the built-in consent page knows what to tell for; none where users are asked by another page.
pub fn consent_page_scopes(config: &Config) -> &'static [&'static str] {
    if consents_itself(config) { &["profile", "email"] } else { &[] }
}

fn endpoints(config: &Config) -> Endpoints {
    let announced = &config.announced;
    let endpoint = |path: &str| config.issuer.endpoint(path);
    let address =
        |told: &Option<Url>, path: &str| told.as_ref().map_or_else(|| endpoint(path), Url::to_string);
    // Clients may register elsewhere, whether or not they may here.
    let registers = config.policies.dynamic_registration.enabled || announced.registration_endpoint.is_some();
    Endpoints {
        authorization_endpoint: address(&announced.authorization_endpoint, "/oauth2/auth"),
        token_endpoint: address(&announced.token_endpoint, "/oauth2/token"),
        pushed_authorization_request_endpoint: endpoint("/oauth2/par"),
        device_authorization_endpoint: address(
            &announced.device_authorization_endpoint,
            "/oauth2/device/auth",
        ),
        jwks_uri: address(&announced.jwks_uri, "/.well-known/jwks.json"),
        userinfo_endpoint: address(&announced.userinfo_endpoint, "/userinfo"),
        introspection_endpoint: endpoint("/oauth2/introspect"),
        revocation_endpoint: endpoint("/oauth2/revoke"),
        end_session_endpoint: endpoint("/oauth2/sessions/logout"),
        registration_endpoint: registers
            .then(|| address(&announced.registration_endpoint, "/oauth2/register")),
    }
}

fn authentication(config: &Config) -> Authentication {
    let methods = auth_methods(config);
    let signing = signing().into_iter().chain(MacAlgorithm::ALL.map(MacAlgorithm::as_str));
    let signing: Names = signing.chain(other_names()).collect();
    let confidential = methods.iter().copied().filter(|method| *method != AuthMethod::None.as_str());
    Authentication {
        introspection_endpoint_auth_methods_supported: confidential.collect(),
        introspection_endpoint_auth_signing_alg_values_supported: signing.clone(),
        revocation_endpoint_auth_methods_supported: methods.clone(),
        revocation_endpoint_auth_signing_alg_values_supported: signing.clone(),
        token_endpoint_auth_methods_supported: methods,
        token_endpoint_auth_signing_alg_values_supported: signing,
    }
}

fn requests(config: &Config, keys: &KeyRing) -> Requests {
    let policies = &config.policies;
    Requests {
        claims_parameter_supported: true,
        request_parameter_supported: true,
        request_uri_parameter_supported: policies.request_objects.by_reference,
        require_request_uri_registration: true,
        require_pushed_authorization_requests: policies.pushed_requests.required,
        require_signed_request_object: policies.request_objects.require_signed,
        request_object_signing_alg_values_supported: request_object_signing(config),
        request_object_encryption_alg_values_supported: keys
            .request_object_algorithms()
            .into_iter()
            .map(KeyManagement::as_str)
            .collect(),
        request_object_encryption_enc_values_supported: content_encryption(),
    }
}

fn answers() -> Answers {
    Answers {
        authorization_response_iss_parameter_supported: true,
        authorization_signing_alg_values_supported: signing(),
        authorization_encryption_alg_values_supported: key_management(),
        authorization_encryption_enc_values_supported: content_encryption(),
        id_token_signing_alg_values_supported: signing(),
        id_token_signed_response_alg: signing(),
        id_token_encryption_alg_values_supported: key_management(),
        id_token_encryption_enc_values_supported: content_encryption(),
        userinfo_signing_alg_values_supported: signing_or_none(),
        userinfo_signed_response_alg: signing_or_none(),
        userinfo_encryption_alg_values_supported: key_management(),
        userinfo_encryption_enc_values_supported: content_encryption(),
        introspection_signing_alg_values_supported: signing(),
        introspection_encryption_alg_values_supported: key_management(),
        introspection_encryption_enc_values_supported: content_encryption(),
    }
}

fn signing() -> Names {
    SigningAlgorithm::ALL.map(SigningAlgorithm::as_str).to_vec()
}

/// What clients may call the same that they sign with (RFC 9864).
fn other_names() -> impl Iterator<Item = &'static str> {
    SigningAlgorithm::ALL.into_iter().filter_map(SigningAlgorithm::other_name)
}

fn signing_or_none() -> Names {
    std::iter::once("none").chain(signing()).collect()
}

fn key_management() -> Names {
    KeyManagement::ALL.map(KeyManagement::as_str).to_vec()
}

fn content_encryption() -> Names {
    ContentEncryption::ALL.map(ContentEncryption::as_str).to_vec()
}

/// What users may be asked for; to sign up, where there is a page for that.
fn prompts(config: &Config) -> Names {
    let create = (config.pages.registration != config.pages.login).then_some("create");
    ["none", "login", "consent", "select_account"].into_iter().chain(create).collect()
}

/// Whether users are asked by the built-in consent page; what other pages know is announced by configuration.
fn consents_itself(config: &Config) -> bool {
    config.is_own_page(&config.pages.consent, "/ui/consent")
}

/// Whether users log in at the built-in page: of other pages nobody knows which classes of logins they name.
fn logs_in_itself(config: &Config) -> bool {
    config.has_own_login()
}

/// What the built-in pages can be told in.
fn languages(config: &Config) -> Vec<String> {
    config.pages.look.languages.tags().map(str::to_owned).collect()
}

/// What is known of a user and a login.
fn claims(config: &Config) -> Names {
    let of_user: &[_] = if consents_itself(config) {
        &["name", "preferred_username", "updated_at", "email", "email_verified"]
    } else {
        &[]
    };
    let is_told = |claim: &&str| {
        *claim != "preferred_username" || config.policies.preferred_username != PreferredUsername::Nothing
    };
    CLAIMS.iter().chain(of_user).copied().filter(is_told).collect()
}

/// How clients may prove who they are, certificates only where they reach this server.
fn auth_methods(config: &Config) -> Vec<&'static str> {
    let mtls = &config.policies.mtls;
    let can = |method: &AuthMethod| match method {
        AuthMethod::TlsClientAuth => mtls.has_authorities(),
        AuthMethod::SelfSignedTlsClientAuth => mtls.enabled,
        _ => true,
    };
    AuthMethod::ALL.into_iter().filter(can).map(AuthMethod::as_str).collect()
}

/// What request objects may be signed with; `none` where they need not be.
fn request_object_signing(config: &Config) -> Vec<&'static str> {
    let none = config.policies.request_objects.allow_unsigned.then_some("none");
    signing().into_iter().chain(other_names()).chain(none).collect()
}

/// Where clients with certificates find the endpoints that look at them (RFC 8705 §5).
fn mtls_aliases(config: &Config) -> Option<BTreeMap<&'static str, String>> {
    let endpoints = [
        ("token_endpoint", "/oauth2/token"),
        ("revocation_endpoint", "/oauth2/revoke"),
        ("introspection_endpoint", "/oauth2/introspect"),
        ("device_authorization_endpoint", "/oauth2/device/auth"),
        ("pushed_authorization_request_endpoint", "/oauth2/par"),
        ("userinfo_endpoint", "/userinfo"),
    ];
    endpoints.into_iter().map(|(name, path)| Some((name, config.mtls_alias(path)?))).collect()
}

/// The names of this server, then those that are told besides, each once.
fn besides(own: &[&str], told: &[String]) -> Vec<String> {
    let further = told.iter().map(String::as_str).filter(|name| !own.contains(name));
    own.iter().copied().chain(further).map(str::to_owned).collect()
}
