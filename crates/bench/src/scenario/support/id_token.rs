//! ID tokens: the signature is verified once, before the run; the nonce is looked at each time.

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
}

/// Who it is for, and how it is signed.
pub(crate) struct Expected<'a> {
    pub(crate) client_id: &'a str,
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
    let claims = decode::<Claims>(token, &key, &validation).map_err(broken)?.claims;
    if claims.nonce.as_deref() != Some(expected.nonce) {
        return Err(Failure::Setup("the ID token has another nonce than the request".to_owned()));
    }
    Ok(())
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
