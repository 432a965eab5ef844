//! The answer of the token endpoint (RFC 6749 §5.1).

use serde::Serialize;
use serde_json::Value;

use crate::json_object::{JsonObject, WriteJson};

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

impl TokenType {
    /// As it is spelled.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Dpop => "DPoP",
            Self::NotApplicable => "N_A",
        }
    }
}

impl WriteJson for TokenResponse {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.text("access_token", &self.access_token);
        object.number("expires_in", self.expires_in);
        object.text_if("id_token", self.id_token.as_deref());
        object.text_if("refresh_token", self.refresh_token.as_deref());
        object.text("scope", &self.scope);
        object.text("token_type", self.token_type.as_str());
        object.text_if("issued_token_type", self.issued_token_type);
        object.value_if("authorization_details", self.authorization_details.as_ref());
        object.end();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_written_as_a_serializer_writes_it() {
        for token_type in [TokenType::Bearer, TokenType::Dpop, TokenType::NotApplicable] {
            for is_full in [false, true] {
                let some = |text: &str| is_full.then(|| text.to_owned());
                let answer = TokenResponse {
                    access_token: "a.b-c_d".to_owned(),
                    expires_in: 3600,
                    id_token: some("e.f.g"),
                    refresh_token: some("r"),
                    scope: "openid \"x\"".to_owned(),
                    token_type,
                    issued_token_type: is_full.then_some("urn:ietf:params:oauth:token-type:jwt"),
                    authorization_details: is_full.then(|| json!([{"type": "x"}])),
                };
                let mut text = Vec::new();
                answer.write_json(&mut text);
                assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&answer).unwrap());
            }
        }
    }
}
