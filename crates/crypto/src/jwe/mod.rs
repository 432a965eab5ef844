//! JSON Web Encryption in compact form (RFC 7516 §7.1), with public-key algorithms only.
//!
//! [`EncryptionKey`], [`encrypt`]: to a client. [`DecryptionKey`], [`decrypt`]: what was encrypted to us.
//! [`KeyManagement`], [`ContentEncryption`]: the algorithms.
//!
//! Nothing is ever decompressed. What a decrypted content is, and who wrote it, is not judged here: anybody can encrypt
//! with a public key, so the content of a request is a signed token.

mod agreement;
mod algorithm;
mod content;
mod decrypt;
mod encrypt;

pub use algorithm::{ContentEncryption, KeyManagement};
pub use decrypt::{DecryptError, DecryptedJwe, DecryptionKey, Header, MAX_TOKEN, decrypt};
pub use encrypt::{EncryptError, EncryptionKey, encrypt};

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OAEP_SHA256_MGF1SHA256, OaepAlgorithm};

use crate::jwk::{Jwk, JwkError};

/// The algorithms a key may be used with: the one that `alg` names, or all of its type.
fn algorithms_of(jwk: &Jwk) -> Result<Vec<KeyManagement>, JwkError> {
    let possible = match jwk.kty.as_str() {
        "RSA" => KeyManagement::RSA.to_vec(),
        "EC" | "OKP" => KeyManagement::AGREEMENT.to_vec(),
        _ => return Err(JwkError::UnknownKeyType),
    };
    let Some(named) = jwk.alg.as_deref() else { return Ok(possible) };
    let named = named.parse().map_err(|_| JwkError::WrongAlgorithm)?;
    if possible.contains(&named) { Ok(vec![named]) } else { Err(JwkError::WrongAlgorithm) }
}

fn oaep(management: KeyManagement) -> &'static OaepAlgorithm {
    match management {
        KeyManagement::RsaOaep => &OAEP_SHA1_MGF1SHA1,
        _ => &OAEP_SHA256_MGF1SHA256,
    }
}
