//! What this server can do, for clients (OpenID Connect Discovery §3, RFC 8414 §2).

use sluice_protocol::discovery::Metadata;
use url::Url;

use crate::config::Config;

/// What id tokens and userinfo say by themselves.
const CLAIMS: [&str; 11] =
    ["sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "sid", "at_hash"];

/// What discovery is told to say (Hydra's `webfinger.oidc_discovery`). An address stands in the place of this server's own,
/// for endpoints that are reached another way; the rest is named besides.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are Hydra's keys")]
pub struct Announced {
    pub authorization_endpoint: Option<Url>,
    pub token_endpoint: Option<Url>,
    pub userinfo_endpoint: Option<Url>,
    pub jwks_uri: Option<Url>,
    pub device_authorization_endpoint: Option<Url>,
    pub registration_endpoint: Option<Url>,
    pub scopes: Vec<String>,
    pub claims: Vec<String>,
}

/// The metadata of this server: what is true and nothing else.
pub fn metadata(config: &Config) -> Metadata {
    let endpoint = |path: &str| config.issuer.endpoint(path);
    let signing = vec!["RS256", "ES256"];
    let assertion =
        vec!["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
    let announced = &config.announced;
    let address =
        |told: &Option<Url>, path: &str| told.as_ref().map_or_else(|| endpoint(path), Url::to_string);
    let methods = vec!["client_secret_basic", "client_secret_post", "private_key_jwt", "none"];
    Metadata {
        issuer: config.issuer.as_str().to_owned(),
        authorization_endpoint: address(&announced.authorization_endpoint, "/oauth2/auth"),
        token_endpoint: address(&announced.token_endpoint, "/oauth2/token"),
        device_authorization_endpoint: address(
            &announced.device_authorization_endpoint,
            "/oauth2/device/auth",
        ),
        jwks_uri: address(&announced.jwks_uri, "/.well-known/jwks.json"),
        userinfo_endpoint: address(&announced.userinfo_endpoint, "/userinfo"),
        revocation_endpoint: endpoint("/oauth2/revoke"),
        end_session_endpoint: endpoint("/oauth2/sessions/logout"),
        scopes_supported: besides(&["openid", "offline_access", "offline"], &announced.scopes),
        response_types_supported: vec!["code"],
        response_modes_supported: vec!["query", "fragment", "form_post"],
        grant_types_supported: vec!["authorization_code", "refresh_token", "client_credentials"],
        subject_types_supported: vec!["public"],
        id_token_signing_alg_values_supported: signing.clone(),
        id_token_signed_response_alg: signing,
        userinfo_signed_response_alg: vec!["none"],
        userinfo_signing_alg_values_supported: vec!["none"],
        token_endpoint_auth_methods_supported: methods.clone(),
        token_endpoint_auth_signing_alg_values_supported: assertion,
        revocation_endpoint_auth_methods_supported: methods,
        code_challenge_methods_supported: vec!["S256"],
        claims_supported: besides(&CLAIMS, &announced.claims),
        prompt_values_supported: vec!["none", "login", "consent", "select_account", "create"],
        claims_parameter_supported: false,
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
        require_request_uri_registration: false,
        authorization_response_iss_parameter_supported: true,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        frontchannel_logout_supported: true,
        frontchannel_logout_session_supported: true,
    }
}

/// The names of this server, then those that are told besides, each once.
fn besides(own: &[&str], told: &[String]) -> Vec<String> {
    let further = told.iter().map(String::as_str).filter(|name| !own.contains(name));
    own.iter().copied().chain(further).map(str::to_owned).collect()
}
