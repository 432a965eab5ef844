//! The answer of the token endpoint (RFC 6749 §5.1).

use serde::Serialize;
use serde_json::Value;

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
    /// How the access token is to be presented.
    pub token_type: TokenType,
    /// What kind of token `access_token` is; in the answer to a token exchange only (RFC 8693 §2.2.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_token_type: Option<&'static str>,
    /// What was granted in detail (RFC 9396 §7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_details: Option<Value>,
}

/// How an access token is to be presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum TokenType {
    /// RFC 6750; in lower case, as Hydra writes it.
    #[default]
    #[serde(rename = "bearer")]
    Bearer,
    /// RFC 9449 §7.1.
    #[serde(rename = "DPoP")]
    Dpop,
    /// Not at all: what was issued is no access token (RFC 8693 §2.2.1).
    #[serde(rename = "N_A")]
    NotApplicable,
}
