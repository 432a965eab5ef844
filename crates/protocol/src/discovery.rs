//! The metadata of an authorization server (OpenID Connect Discovery §3, RFC 8414 §2).

use std::collections::BTreeMap;

use serde::Serialize;

/// The document at `/.well-known/openid-configuration`. Lists what is true and nothing else.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "each field is the metadata value of the same name in RFC 8414 §2")]
#[expect(clippy::struct_excessive_bools, reason = "the document says so many things by true and false")]
pub struct Metadata {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub pushed_authorization_request_endpoint: String,
    pub device_authorization_endpoint: String,
    pub jwks_uri: String,
    pub userinfo_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    pub client_id_metadata_document_supported: bool,
    pub revocation_endpoint: String,
    pub end_session_endpoint: String,
    pub scopes_supported: Vec<String>,
    pub response_types_supported: Vec<&'static str>,
    pub response_modes_supported: Vec<&'static str>,
    pub grant_types_supported: Vec<&'static str>,
    pub subject_types_supported: Vec<String>,
    pub id_token_signing_alg_values_supported: Vec<&'static str>,
    pub id_token_signed_response_alg: Vec<&'static str>,
    pub id_token_encryption_alg_values_supported: Vec<&'static str>,
    pub id_token_encryption_enc_values_supported: Vec<&'static str>,
    pub userinfo_signed_response_alg: Vec<&'static str>,
    pub userinfo_signing_alg_values_supported: Vec<&'static str>,
    pub userinfo_encryption_alg_values_supported: Vec<&'static str>,
    pub userinfo_encryption_enc_values_supported: Vec<&'static str>,
    pub introspection_endpoint: String,
    pub introspection_endpoint_auth_methods_supported: Vec<&'static str>,
    pub introspection_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub introspection_signing_alg_values_supported: Vec<&'static str>,
    pub introspection_encryption_alg_values_supported: Vec<&'static str>,
    pub introspection_encryption_enc_values_supported: Vec<&'static str>,
    pub revocation_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub token_endpoint_auth_methods_supported: Vec<&'static str>,
    pub token_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    pub code_challenge_methods_supported: Vec<&'static str>,
    pub dpop_signing_alg_values_supported: Vec<&'static str>,
    pub tls_client_certificate_bound_access_tokens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtls_endpoint_aliases: Option<BTreeMap<&'static str, String>>,
    pub claims_supported: Vec<String>,
    pub prompt_values_supported: Vec<&'static str>,
    pub claims_parameter_supported: bool,
    pub request_parameter_supported: bool,
    pub request_uri_parameter_supported: bool,
    pub require_request_uri_registration: bool,
    pub require_pushed_authorization_requests: bool,
    pub require_signed_request_object: bool,
    pub request_object_signing_alg_values_supported: Vec<&'static str>,
    pub request_object_encryption_alg_values_supported: Vec<&'static str>,
    pub request_object_encryption_enc_values_supported: Vec<&'static str>,
    pub authorization_response_iss_parameter_supported: bool,
    pub authorization_signing_alg_values_supported: Vec<&'static str>,
    pub authorization_encryption_alg_values_supported: Vec<&'static str>,
    pub authorization_encryption_enc_values_supported: Vec<&'static str>,
    pub backchannel_logout_supported: bool,
    pub backchannel_logout_session_supported: bool,
    pub frontchannel_logout_supported: bool,
    pub frontchannel_logout_session_supported: bool,
}
