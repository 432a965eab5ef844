//! What an application asks to be registered as.

use serde_json::Value;
use sluice_crypto::jwk::JwkSet;
use sluice_primitives::Secret;

use crate::client::model::{Lifespans, LogoutSessions};
use crate::client::profile::{
    ClientSecurity, RequestDefaults, ResponseFormats, Software, TokenExchangePolicy,
};

/// Client metadata as it was sent: texts where nothing was checked yet, empty where nothing was said.
#[derive(Debug, Clone, Default)]
#[expect(
    missing_docs,
    reason = "the fields are the client metadata values of RFC 7591 §2 and Hydra's of the same name"
)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has them")]
pub struct ClientMetadata {
    pub client_id: String,
    /// A secret that the administrator chose.
    pub client_secret: Option<Secret<String>>,
    pub client_name: String,
    pub owner: String,
    pub redirect_uris: Vec<String>,
    pub grant_types: Vec<String>,
    pub response_types: Vec<String>,
    pub scope: String,
    pub audience: Vec<String>,
    pub token_endpoint_auth_method: String,
    pub token_endpoint_auth_signing_alg: String,
    pub jwks: Option<JwkSet>,
    pub jwks_uri: String,
    pub allowed_cors_origins: Vec<String>,
    pub post_logout_redirect_uris: Vec<String>,
    pub frontchannel_logout_uri: String,
    pub frontchannel_logout_session_required: bool,
    pub backchannel_logout_uri: String,
    pub backchannel_logout_session_required: bool,
    pub client_uri: String,
    pub logo_uri: String,
    pub policy_uri: String,
    pub tos_uri: String,
    pub contacts: Vec<String>,
    pub subject_type: String,
    pub sector_identifier_uri: String,
    pub request_uris: Vec<String>,
    pub request_object_signing_alg: String,
    pub userinfo_signed_response_alg: String,
    pub id_token_signed_response_alg: String,
    pub access_token_strategy: String,
    pub skip_consent: bool,
    pub skip_logout_consent: bool,
    pub metadata: Option<Value>,
    pub lifespans: Lifespans,
    pub security: ClientSecurity,
    pub formats: ResponseFormats,
    pub defaults: RequestDefaults,
    pub software: Software,
    pub authorization_details_types: Vec<String>,
    pub token_exchange: TokenExchangePolicy,
}

/// Reads client metadata from JSON, as it is sent; the refusal is a sentence that names the member.
pub type ReadMetadata = fn(&[u8]) -> Result<ClientMetadata, String>;

impl ClientMetadata {
    pub(super) const fn logout_sessions(&self) -> LogoutSessions {
        LogoutSessions {
            frontchannel: self.frontchannel_logout_session_required,
            backchannel: self.backchannel_logout_session_required,
        }
    }
}
