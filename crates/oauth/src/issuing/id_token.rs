//! Id tokens (OpenID Connect Core §2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use sluice_crypto::digest::{sha256, sha384, sha512};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::GrantId;
use sluice_protocol::{ClientId, JsonObject, WriteJson};
use sluice_token::TokenId;
use sluice_token::jwt::FACTS;

/// Claims that the consent page cannot set: the server speaks here, or tells access tokens by them.
const RESERVED: [&str; 18] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "iat",
    "nbf",
    "jti",
    "auth_time",
    "nonce",
    "acr",
    "amr",
    "azp",
    "sid",
    "at_hash",
    "c_hash",
    "s_hash",
    "rat",
    FACTS,
];

/// What an id token says.
#[derive(Debug)]
#[cfg_attr(test, derive(serde::Serialize))]
#[expect(missing_docs, reason = "the fields are the claims of OpenID Connect Core §2")]
pub struct IdTokenClaims<'a> {
    pub iss: &'a str,
    pub sub: &'a str,
    pub aud: [&'a str; 1],
    pub exp: i64,
    pub iat: i64,
    pub auth_time: i64,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    pub rat: Option<i64>,
    pub jti: String,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    pub nonce: Option<&'a str>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    pub acr: Option<&'a str>,
    #[cfg_attr(test, serde(skip_serializing_if = "<[String]>::is_empty"))]
    pub amr: &'a [String],
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    pub sid: Option<String>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    pub at_hash: Option<String>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    pub c_hash: Option<String>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    pub s_hash: Option<String>,
    #[cfg_attr(test, serde(flatten))]
    pub extra: Map<String, Value>,
}

impl WriteJson for IdTokenClaims<'_> {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.text("iss", self.iss);
        object.text("sub", self.sub);
        object.texts("aud", &self.aud);
        object.number("exp", self.exp);
        object.number("iat", self.iat);
        object.number("auth_time", self.auth_time);
        object.number_if("rat", self.rat);
        object.text("jti", &self.jti);
        object.text_if("nonce", self.nonce);
        object.text_if("acr", self.acr);
        if !self.amr.is_empty() {
            object.texts("amr", self.amr);
        }
        object.text_if("sid", self.sid.as_deref());
        object.text_if("at_hash", self.at_hash.as_deref());
        object.text_if("c_hash", self.c_hash.as_deref());
        object.text_if("s_hash", self.s_hash.as_deref());
        object.members(&self.extra);
        object.end();
    }
}

/// Hashes of what an id token comes with, by which the client sees that nobody exchanged it (OpenID Connect Core §3.3.2.11;
/// `s_hash`, of the `state`: FAPI 1.0 Advanced §5.1).
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "the fields are the claims of the same name")]
pub struct Beside {
    pub at_hash: Option<String>,
    pub c_hash: Option<String>,
    pub s_hash: Option<String>,
}

/// The id of the id token of this generation of a grant. Access tokens count from the other end.
pub(crate) fn id_of_generation(grant: GrantId, generation: u32) -> TokenId {
    TokenId::derive(grant, u32::MAX - generation)
}

/// The id of an id token of a refresh that rotated nothing: its generation has others, and the access token beside it tells it
/// from them.
pub(crate) fn id_of_unrotated(of_generation: TokenId, at_hash: &str) -> TokenId {
    let input = [of_generation.as_bytes().as_slice(), at_hash.as_bytes()].concat();
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(sha256(&input)) {
        *to = from;
    }
    TokenId::from_bytes(bytes)
}

/// The consent page's claims without those that are the server's.
pub fn permitted(claims: &Map<String, Value>) -> Map<String, Value> {
    let own = claims.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str()));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The same for the id token of a client, in which the page may say `azp` where it says what is so (OpenID Connect Core §2).
pub fn permitted_to(client: &ClientId, claims: &Map<String, Value>) -> Map<String, Value> {
    let mut told = permitted(claims);
    let azp = claims.get("azp").filter(|azp| azp.as_str() == Some(client.as_str()));
    told.extend(azp.map(|azp| ("azp".to_owned(), azp.clone())));
    told
}

/// The left half of the hash of a token (OpenID Connect Core §3.1.3.6), by the hash of the signing algorithm.
pub fn half_hash(token: &str, algorithm: SigningAlgorithm) -> String {
    use SigningAlgorithm as Alg;
    let hash = match algorithm {
        Alg::RS256 | Alg::PS256 | Alg::ES256 => sha256(token.as_bytes()).to_vec(),
        Alg::RS384 | Alg::PS384 | Alg::ES384 => sha384(token.as_bytes()),
        Alg::RS512 | Alg::PS512 | Alg::ES512 | Alg::EdDSA => sha512(token.as_bytes()),
    };
    let half = hash.len() / 2;
    URL_SAFE_NO_PAD.encode(hash.get(..half).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_are_written_as_a_serializer_writes_them() {
        let amr = ["pwd".to_owned(), "\"".to_owned()];
        let extra = serde_json::json!({"email": "a@example.com", "\\": [1], "address": {"x": null}});
        for is_full in [false, true] {
            let some = |text: &str| is_full.then(|| text.to_owned());
            let claims = IdTokenClaims {
                iss: "https://id.example/",
                sub: "žofie",
                aud: ["app"],
                exp: 1_800_000_000,
                iat: -1,
                auth_time: 0,
                rat: is_full.then_some(1),
                jti: "j".to_owned(),
                nonce: is_full.then_some("\"\n"),
                acr: is_full.then_some("aal1"),
                amr: if is_full { &amr } else { &[] },
                sid: some("s"),
                at_hash: some("a"),
                c_hash: some("c"),
                s_hash: some("h"),
                extra: extra.as_object().filter(|_| is_full).cloned().unwrap_or_default(),
            };
            let mut text = Vec::new();
            claims.write_json(&mut text);
            assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&claims).unwrap());
        }
    }

    #[test]
    fn a_consent_page_may_name_the_client_but_no_other() {
        let client: ClientId = "shop".parse().unwrap();
        let told = |claims: &Value| Value::from(permitted_to(&client, claims.as_object().unwrap()));
        let truth = json!({"azp": "shop", "name": "Alice"});
        assert_eq!(told(&truth), truth);
        for azp in [json!("cart"), json!(["shop"]), json!(null)] {
            assert_eq!(told(&json!({"azp": azp, "aud": "shop", "name": "Alice"})), json!({"name": "Alice"}));
        }
    }
}
