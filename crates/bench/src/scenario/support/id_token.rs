//! ID tokens: all that matters of one is verified once, before the run; the nonce is looked at each time.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use memchr::memmem;
use serde::Deserialize;

use crate::driver::{Agent, Ask, Failure, Origin};
use crate::scenario::IdTokenAlgorithm;

/// What is looked at.
#[derive(Deserialize)]
struct Claims {
    nonce: Option<String>,
    sub: Option<String>,
    iss: Option<String>,
}

/// Who it is for and about, and how it is signed.
pub(crate) struct Expected<'a> {
    pub(crate) client_id: &'a str,
    /// Who logged in, where the server was told.
    pub(crate) subject: Option<&'a str>,
    /// What the server calls itself, where it says so.
    pub(crate) issuer: Option<&'a str>,
    pub(crate) nonce: &'a str,
    pub(crate) algorithm: IdTokenAlgorithm,
    /// Where the keys of the server are.
    pub(crate) jwks: &'a str,
}

/// Verifies a token with the keys that the server publishes.
pub(crate) async fn verify(agent: &mut Agent, token: &str, expected: &Expected<'_>) -> Result<(), Failure> {
    let broken = |error| Failure::Setup(format!("the ID token does not hold: {error}"));
    let header = decode_header(token).map_err(broken)?;
    let algorithm = algorithm(expected.algorithm);
    if header.alg != algorithm {
        return Err(another_algorithm(header.alg));
    }
    let answer = agent.send(&Ask::get(Origin::Public, expected.jwks)).await?.expect(200, "keys")?;
    let keys: JwkSet = answer.json("keys")?;
    let kid = header.kid.unwrap_or_default();
    let key = keys
        .find(&kid)
        .ok_or_else(|| Failure::Setup(format!("the key {kid:?} of the ID token is not published")))?;
    let key = DecodingKey::from_jwk(key).map_err(broken)?;
    let mut validation = Validation::new(algorithm);
    validation.set_audience(&[expected.client_id]);
    same(&decode::<Claims>(token, &key, &validation).map_err(broken)?.claims, expected)
}

fn same(claims: &Claims, expected: &Expected<'_>) -> Result<(), Failure> {
    let is = |claim: Option<&str>, wanted: Option<&str>| wanted.is_none() || claim == wanted;
    let checks = [
        (is(claims.nonce.as_deref(), Some(expected.nonce)), "has another nonce than the request"),
        (is(claims.sub.as_deref(), expected.subject), "is about somebody else than who logged in"),
        (is(claims.iss.as_deref(), expected.issuer), "names another issuer than the server does"),
    ];
    match checks.into_iter().find(|(holds, _)| !holds) {
        Some((_, wrong)) => Err(Failure::Setup(format!("the ID token {wrong}"))),
        None => Ok(()),
    }
}

/// Whom a token is about. Nothing is verified.
pub(crate) fn subject(token: &str) -> Option<String> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Claims>(&claims).ok()?.sub
}

/// A run says how its ID tokens are signed: that has to be true of a server that chooses by itself.
fn another_algorithm(found: Algorithm) -> Failure {
    let said = format!("the ID tokens of this server are signed with {found:?}");
    Failure::Setup(match found {
        Algorithm::ES256 | Algorithm::RS256 => format!("{said}: say --id-token {found:?}"),
        _ => format!("{said}, and only ES256 and RS256 are measured"),
    })
}

const fn algorithm(named: IdTokenAlgorithm) -> Algorithm {
    match named {
        IdTokenAlgorithm::Es256 => Algorithm::ES256,
        IdTokenAlgorithm::Rs256 => Algorithm::RS256,
    }
}

/// Whether the claims of a token have this nonce. Nothing is verified: the driver shares the machine.
pub(crate) fn has_nonce(token: &str, nonce: &str) -> bool {
    let Some(payload) = token.split('.').nth(1) else { return false };
    let Ok(claims) = URL_SAFE_NO_PAD.decode(payload) else { return false };
    let mut rest = claims.as_slice();
    while let Some(at) = memmem::find(rest, b"\"nonce\"") {
        let Some(after) = rest.get(at + b"\"nonce\"".len()..) else { return false };
        let value = after.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        if let Some(text) = value.and_then(|value| value.strip_prefix(b"\"")) {
            return text.strip_prefix(nonce.as_bytes()).is_some_and(|end| end.starts_with(b"\""));
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn a_nonce_is_found_among_the_claims() {
        let token = token(r#"{"sub":"nonce","nonce" : "n1","x":"nonce"}"#);
        assert!(has_nonce(&token, "n1"));
        assert!(!has_nonce(&token, "n"));
        assert!(!has_nonce(&token, "n12"));
    }

    #[test]
    fn a_token_of_another_login_or_server_is_refused() {
        let claims = |sub: &str, iss: &str| {
            let [nonce, sub, iss] = ["n1", sub, iss].map(|text| Some(text.to_owned()));
            Claims { nonce, sub, iss }
        };
        let known = Expected {
            client_id: "c",
            subject: Some("person-0"),
            issuer: Some("http://a/"),
            nonce: "n1",
            algorithm: IdTokenAlgorithm::Es256,
            jwks: "/keys",
        };
        let told = |claims: &Claims, expected: &Expected<'_>| same(claims, expected).unwrap_err().to_string();
        assert!(same(&claims("person-0", "http://a/"), &known).is_ok());
        assert!(told(&claims("eve", "http://a/"), &known).ends_with("than who logged in"));
        assert!(told(&claims("person-0", "http://b/"), &known).ends_with("than the server does"));
        let unknown = Expected { subject: None, issuer: None, ..known };
        assert!(same(&claims("eve", "http://b/"), &unknown).is_ok(), "nobody said");
        let other = Expected { nonce: "n2", ..unknown };
        assert!(told(&claims("eve", "http://b/"), &other).ends_with("than the request"));
    }

    #[test]
    fn a_subject_is_found_among_the_claims() {
        assert_eq!(subject(&token(r#"{"sub":"somebody","aud":["c"]}"#)).as_deref(), Some("somebody"));
        assert_eq!([subject("a.b"), subject(&token("{}"))], [None, None]);
    }

    #[test]
    fn an_algorithm_that_was_not_asked_for_is_named() {
        let told = another_algorithm(Algorithm::RS256).to_string();
        assert_eq!(told, "the ID tokens of this server are signed with RS256: say --id-token RS256");
        assert!(
            another_algorithm(Algorithm::PS512).to_string().ends_with("only ES256 and RS256 are measured")
        );
    }

    #[test]
    fn what_is_no_token_has_no_nonce() {
        for text in ["", "a.b", "a.!.c", &token("{}"), &token(r#"{"nonce":7}"#)] {
            assert!(!has_nonce(text, "n1"), "{text}");
        }
    }
}
