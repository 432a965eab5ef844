//! The answer of token introspection (RFC 7662 §2.2), as Hydra spells it.

use serde::Serialize;
use serde_json::value::RawValue;

/// What is known about a token. An inactive one is `{"active":false}` and nothing else.
#[derive(Debug, Clone, Default, Serialize)]
pub struct IntrospectionResponse {
    /// Whether the token holds now.
    pub active: bool,
    /// What was granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// To which client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// For whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The `sub` that the client sees, if it is another (Hydra). Told to administrators, whose `sub` is the subject itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obfuscated_subject: Option<String>,
    /// Until when, in seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
    /// Since when, in seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iat: Option<i64>,
    /// Not before, in seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// For which services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aud: Option<Vec<String>>,
    /// By whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
    /// `Bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_type: Option<&'static str>,
    /// `access_token` or `refresh_token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_use: Option<&'static str>,
    /// The id of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
    /// The login session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
    /// To which key the token is bound (RFC 8705 §3.2, RFC 9449 §6.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnf: Option<serde_json::Value>,
    /// Who acts for the subject (RFC 8693 §4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<Box<RawValue>>,
    /// What was granted in detail (RFC 9396 §9.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_details: Option<Box<RawValue>>,
    /// What the consent page added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ext: Option<Box<RawValue>>,
}
