//! The metadata of an authorization server (OpenID Connect Discovery §3, RFC 8414 §2).

use std::collections::BTreeMap;

use serde::Serialize;

/// Names that go over the wire as they are.
pub type Names = Vec<&'static str>;

/// The document at `/.well-known/openid-configuration`. Lists what is true and nothing else.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "each field is the metadata value of the same name in RFC 8414 §2")]
pub struct Metadata {
    pub issuer: String,
    #[serde(flatten)]
    pub endpoints: Endpoints,
    pub scopes_supported: Vec<String>,
    pub claims_supported: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details_types_supported: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acr_values_supported: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ui_locales_supported: Option<Vec<String>>,
    pub response_types_supported: Names,
    pub response_modes_supported: Names,
    pub grant_types_supported: Names,
    pub subject_types_supported: Vec<String>,
    pub prompt_values_supported: Names,
    pub code_challenge_methods_supported: Names,
    pub client_id_metadata_document_supported: bool,
    #[serde(flatten)]
    pub authentication: Authentication,
    #[serde(flatten)]
    pub binding: Binding,
    #[serde(flatten)]
    pub requests: Requests,
    #[serde(flatten)]
    pub answers: Answers,
    #[serde(flatten)]
    pub logout: Logout,
}

/// Where this server is asked.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "each field is the metadata value of the same name in RFC 8414 §2")]
pub struct Endpoints {
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub pushed_authorization_request_endpoint: String,
    pub device_authorization_endpoint: String,
    pub jwks_uri: String,
    pub userinfo_endpoint: String,
    pub introspection_endpoint: String,
    pub revocation_endpoint: String,
    pub end_session_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
}

/// How clients prove who they are.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "each field is the metadata value of the same name in RFC 8414 §2")]
pub struct Authentication {
    pub token_endpoint_auth_methods_supported: Names,
    pub token_endpoint_auth_signing_alg_values_supported: Names,
    pub revocation_endpoint_auth_methods_supported: Names,
    pub revocation_endpoint_auth_signing_alg_values_supported: Names,
    pub introspection_endpoint_auth_methods_supported: Names,
    pub introspection_endpoint_auth_signing_alg_values_supported: Names,
}

/// How tokens are bound to keys (RFC 9449 §5.1, RFC 8705 §3.3, §5).
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "each field is the metadata value of the same name")]
pub struct Binding {
    pub dpop_signing_alg_values_supported: Names,
    pub tls_client_certificate_bound_access_tokens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtls_endpoint_aliases: Option<BTreeMap<&'static str, String>>,
}

/// What authorization requests may be (OpenID Connect Discovery §3, RFC 9101 §10.5, RFC 9126 §5).
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "each field is the metadata value of the same name")]
#[expect(clippy::struct_excessive_bools, reason = "the document says so many things by true and false")]
pub struct Requests {
    pub claims_parameter_supported: bool,
    pub request_parameter_supported: bool,
    pub request_uri_parameter_supported: bool,
    pub require_request_uri_registration: bool,
    pub require_pushed_authorization_requests: bool,
    pub require_signed_request_object: bool,
    pub request_object_signing_alg_values_supported: Names,
    pub request_object_encryption_alg_values_supported: Names,
    pub request_object_encryption_enc_values_supported: Names,
}

/// How what clients are told is signed and encrypted (OpenID Connect Discovery §3, JARM §4, RFC 9701 §7).
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "each field is the metadata value of the same name")]
pub struct Answers {
    pub authorization_response_iss_parameter_supported: bool,
    pub authorization_signing_alg_values_supported: Names,
    pub authorization_encryption_alg_values_supported: Names,
    pub authorization_encryption_enc_values_supported: Names,
    pub id_token_signing_alg_values_supported: Names,
    pub id_token_signed_response_alg: Names,
    pub id_token_encryption_alg_values_supported: Names,
    pub id_token_encryption_enc_values_supported: Names,
    pub userinfo_signing_alg_values_supported: Names,
    pub userinfo_signed_response_alg: Names,
    pub userinfo_encryption_alg_values_supported: Names,
    pub userinfo_encryption_enc_values_supported: Names,
    pub introspection_signing_alg_values_supported: Names,
    pub introspection_encryption_alg_values_supported: Names,
    pub introspection_encryption_enc_values_supported: Names,
}

/// How clients hear of the end of a session.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "each field is the metadata value of the same name")]
#[expect(clippy::struct_excessive_bools, reason = "the document says so many things by true and false")]
pub struct Logout {
    pub backchannel_logout_supported: bool,
    pub backchannel_logout_session_supported: bool,
    pub frontchannel_logout_supported: bool,
    pub frontchannel_logout_session_supported: bool,
}
