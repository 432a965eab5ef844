//! The answer of token introspection (RFC 7662 §2.2), as Hydra spells it.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::json_object::{JsonObject, WriteJson};

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
    /// When the user logged in, if one did, in seconds since the epoch (RFC 9470 §6.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<i64>,
    /// Authentication context class of that login (RFC 9470 §6.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    /// Its authentication methods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amr: Option<Vec<String>>,
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

impl WriteJson for IntrospectionResponse {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.boolean("active", self.active);
        object.text_if("scope", self.scope.as_deref());
        object.text_if("client_id", self.client_id.as_deref());
        object.text_if("sub", self.sub.as_deref());
        object.text_if("obfuscated_subject", self.obfuscated_subject.as_deref());
        object.number_if("exp", self.exp);
        object.number_if("iat", self.iat);
        object.number_if("nbf", self.nbf);
        if let Some(aud) = &self.aud {
            object.texts("aud", aud);
        }
        object.text_if("iss", self.iss.as_deref());
        object.text_if("token_type", self.token_type);
        object.text_if("token_use", self.token_use);
        object.text_if("jti", self.jti.as_deref());
        object.text_if("sid", self.sid.as_deref());
        object.number_if("auth_time", self.auth_time);
        object.text_if("acr", self.acr.as_deref());
        if let Some(amr) = &self.amr {
            object.texts("amr", amr);
        }
        object.value_if("cnf", self.cnf.as_ref());
        object.raw_if("act", self.act.as_deref());
        object.raw_if("authorization_details", self.authorization_details.as_deref());
        object.raw_if("ext", self.ext.as_deref());
        object.end();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assert_same(answer: &IntrospectionResponse) {
        let mut text = Vec::new();
        answer.write_json(&mut text);
        assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(answer).unwrap());
    }

    #[test]
    fn it_is_written_as_a_serializer_writes_it() {
        let raw = |text: &str| serde_json::from_str(text).ok();
        assert_same(&IntrospectionResponse::default());
        assert_same(&IntrospectionResponse {
            active: true,
            scope: Some("openid \"x\"".to_owned()),
            client_id: Some("app".to_owned()),
            sub: Some("žofie".to_owned()),
            obfuscated_subject: Some(String::new()),
            exp: Some(1_800_000_000),
            iat: Some(0),
            nbf: Some(-1),
            aud: Some(vec!["https://api.example".to_owned(), "b".to_owned()]),
            iss: Some("https://id.example/".to_owned()),
            token_type: Some("Bearer"),
            token_use: Some("access_token"),
            jti: Some("j".to_owned()),
            sid: Some("s".to_owned()),
            auth_time: Some(1_799_999_999),
            acr: Some("aal1".to_owned()),
            amr: Some(vec!["pwd".to_owned(), "\"".to_owned()]),
            cnf: Some(json!({"jkt": "x"})),
            act: raw(r#"{"sub":"a"}"#),
            authorization_details: raw(r#"[{"type":"x"}]"#),
            ext: raw("{}"),
        });
    }
}
