//! The answer of the token endpoint (RFC 6749 §5.1).

use serde::Serialize;

/// Tokens for a client.
#[derive(Debug, Clone, Serialize)]
pub struct TokenResponse {
    /// The access token.
    pub access_token: String,
    /// How long it is good for, in seconds.
    pub expires_in: i64,
    /// The id token, if `openid` was granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<String>,
    /// The refresh token, if `offline_access` was granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// What was granted.
    pub scope: String,
    /// `bearer`.
    pub token_type: &'static str,
}
