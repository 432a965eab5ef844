//! Whether an ID token is right (OpenID Connect Core §3.1.3.7).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::{VerifyError, VerifyingKey, verify};
use sluice_primitives::Timestamp;

/// What the token must say.
pub(in crate::demo) struct Expected<'a> {
    pub(in crate::demo) issuer: &'a str,
    pub(in crate::demo) client_id: &'a str,
    /// `None` after a refresh: then the token need not have one (§12.2).
    pub(in crate::demo) nonce: Option<&'a str>,
    pub(in crate::demo) access_token: &'a str,
}

/// A token that is right.
#[derive(Debug, Clone)]
pub(in crate::demo) struct IdToken {
    pub(in crate::demo) algorithm: String,
    pub(in crate::demo) subject: String,
    pub(in crate::demo) claims: Value,
}

/// What is wrong with a token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::demo) enum IdTokenError {
    #[error(transparent)]
    Signature(#[from] VerifyError),
    #[error("`{claim}` should be {expected} and is {got}")]
    Claim { claim: &'static str, expected: String, got: String },
    #[error("it has expired")]
    Expired,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: OneOrMany,
    exp: i64,
    nonce: Option<String>,
    at_hash: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn to_vec(&self) -> Vec<&str> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many.iter().map(String::as_str).collect(),
        }
    }
}

/// Checks signature and claims. ES256 is what the application is registered for, so nothing else will do.
pub(super) fn check(
    token: &str,
    keys: &[VerifyingKey],
    expected: &Expected<'_>,
    now: Timestamp,
) -> Result<IdToken, IdTokenError> {
    let verified = verify(token, keys, &[SigningAlgorithm::ES256])?;
    let claims: Claims = verified.claims()?;
    same("iss", expected.issuer, &claims.iss)?;
    if !claims.aud.to_vec().contains(&expected.client_id) {
        return Err(wrong("aud", expected.client_id, &claims.aud.to_vec().join(" ")));
    }
    if let Some(nonce) = expected.nonce {
        same("nonce", nonce, claims.nonce.as_deref().unwrap_or("absent"))?;
    }
    if let Some(at_hash) = &claims.at_hash {
        same("at_hash", &access_token_hash(expected.access_token), at_hash)?;
    }
    if now >= Timestamp::from_secs(claims.exp) {
        return Err(IdTokenError::Expired);
    }
    Ok(IdToken { algorithm: verified.header.alg.clone(), subject: claims.sub, claims: verified.claims()? })
}

/// The left half of the access token's hash (§3.1.3.6).
fn access_token_hash(access_token: &str) -> String {
    let hash = sha256(access_token.as_bytes());
    URL_SAFE_NO_PAD.encode(hash.split_at(hash.len() / 2).0)
}

fn same(claim: &'static str, expected: &str, got: &str) -> Result<(), IdTokenError> {
    if expected == got { Ok(()) } else { Err(wrong(claim, expected, got)) }
}

fn wrong(claim: &'static str, expected: &str, got: &str) -> IdTokenError {
    IdTokenError::Claim { claim, expected: expected.to_owned(), got: got.to_owned() }
}
