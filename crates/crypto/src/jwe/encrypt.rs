//! Writing a token that one recipient can read.

use std::fmt;

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{OaepPublicEncryptingKey, PublicEncryptingKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use thiserror::Error;
use zeroize::Zeroizing;

use super::agreement::{Derivation, Recipient, wrap};
use super::{ContentEncryption, KeyManagement, algorithms_of, content, oaep};
use crate::jwk::{Jwk, JwkError, JwkSet};

/// The cryptography library made no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the token could not be encrypted")]
pub struct EncryptError;

impl From<Unspecified> for EncryptError {
    fn from(_: Unspecified) -> Self {
        Self
    }
}

/// The public key of a recipient, ready to encrypt.
pub struct EncryptionKey {
    algorithm: KeyManagement,
    kid: Option<String>,
    key: PublicKey,
}

enum PublicKey {
    Rsa(OaepPublicEncryptingKey),
    Agreement(Recipient),
}

impl EncryptionKey {
    /// Parses the public part of a key. Its algorithm is `alg`, or what its type implies (RSA-OAEP-256, ECDH-ES).
    ///
    /// # Errors
    /// [`JwkError`] if it is not for encryption, symmetric, incomplete or invalid.
    pub fn from_jwk(jwk: &Jwk) -> Result<Self, JwkError> {
        let algorithm = algorithms_of(jwk)?.first().copied().ok_or(JwkError::WrongAlgorithm)?;
        Self::for_algorithm(jwk, algorithm)
    }

    /// Parses the public part of a key, to be used with this algorithm.
    ///
    /// # Errors
    /// As [`EncryptionKey::from_jwk`], and [`JwkError::WrongAlgorithm`] if the key is for another one.
    pub fn for_algorithm(jwk: &Jwk, algorithm: KeyManagement) -> Result<Self, JwkError> {
        jwk.allows_encryption(&["encrypt", "wrapKey", "deriveKey", "deriveBits"])?;
        if !algorithms_of(jwk)?.contains(&algorithm) {
            return Err(JwkError::WrongAlgorithm);
        }
        let key = if algorithm.is_rsa() {
            PublicKey::Rsa(rsa_key(jwk)?)
        } else {
            PublicKey::Agreement(Recipient::from_jwk(jwk)?)
        };
        Ok(Self { algorithm, kid: jwk.kid.clone(), key })
    }

    /// The first key of a set that can be used with this algorithm; those that say they are for encryption go first.
    pub fn of(set: &JwkSet, algorithm: KeyManagement) -> Option<Self> {
        let (meant, free): (Vec<_>, Vec<_>) = set.keys.iter().partition(|jwk| jwk.key_use.is_some());
        meant.into_iter().chain(free).find_map(|jwk| Self::for_algorithm(jwk, algorithm).ok())
    }

    /// The algorithm the key is used with.
    pub const fn algorithm(&self) -> KeyManagement {
        self.algorithm
    }

    /// The name that the recipient finds the key by.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    fn content_key(&self, encryption: ContentEncryption) -> Result<ContentKey, EncryptError> {
        match &self.key {
            PublicKey::Rsa(key) => {
                let content_key = content::random_key(encryption)?;
                let mut encrypted = vec![0; key.ciphertext_size()];
                let length = key.encrypt(oaep(self.algorithm), &content_key, &mut encrypted, None)?.len();
                encrypted.truncate(length);
                Ok(ContentKey { key: content_key, encrypted, ephemeral: None })
            }
            PublicKey::Agreement(recipient) => {
                let (ephemeral, agreed) = recipient.agree(&Derivation::new(self.algorithm, encryption))?;
                let ephemeral = Some(ephemeral);
                if self.algorithm == KeyManagement::EcdhEs {
                    return Ok(ContentKey { key: agreed, encrypted: Vec::new(), ephemeral });
                }
                let key = content::random_key(encryption)?;
                let encrypted = wrap(&agreed, &key)?;
                Ok(ContentKey { key, encrypted, ephemeral })
            }
        }
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (algorithm, kid) = (&self.algorithm, &self.kid);
        f.debug_struct("EncryptionKey")
            .field("algorithm", algorithm)
            .field("kid", kid)
            .finish_non_exhaustive()
    }
}

/// The key of one content, and how the recipient gets at it.
struct ContentKey {
    key: Zeroizing<Vec<u8>>,
    encrypted: Vec<u8>,
    ephemeral: Option<Jwk>,
}

/// Encrypts `payload` for the holder of `key`. `cty` says what the payload is: `JWT` for a signed token (RFC 7519 §5.2).
///
/// # Errors
/// [`EncryptError`] if the cryptography library fails.
pub fn encrypt(
    payload: &[u8],
    key: &EncryptionKey,
    enc: ContentEncryption,
    cty: Option<&str>,
) -> Result<String, EncryptError> {
    let content_key = key.content_key(enc)?;
    let header = Written {
        alg: key.algorithm.as_str(),
        enc: enc.as_str(),
        kid: key.kid(),
        cty,
        epk: content_key.ephemeral.as_ref(),
    };
    let header = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&header).map_err(|_| EncryptError)?);
    let sealed = content::seal(enc, &content_key.key, header.as_bytes(), payload)?;
    let mut token = header;
    for part in [&content_key.encrypted, &sealed.iv, &sealed.ciphertext, &sealed.tag] {
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(part, &mut token);
    }
    Ok(token)
}

#[derive(Serialize)]
struct Written<'a> {
    alg: &'a str,
    enc: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cty: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epk: Option<&'a Jwk>,
}

fn rsa_key(jwk: &Jwk) -> Result<OaepPublicEncryptingKey, JwkError> {
    let key: PublicEncryptingKey = jwk.rsa_public()?.try_into().map_err(|_| JwkError::Invalid)?;
    OaepPublicEncryptingKey::new(key).map_err(|_| JwkError::Invalid)
}
