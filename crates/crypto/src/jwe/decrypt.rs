//! Reading a token that was encrypted to us. Whoever sends one learns whether it is well-formed and whether it could be
//! read, and never why not.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use thiserror::Error;
use zeroize::Zeroizing;

use super::agreement::{AgreementKey, Derivation, unwrap};
use super::content::{self, Sealed};
use super::{ContentEncryption, KeyManagement, algorithms_of, oaep};
use crate::jwk::member::is_present;
use crate::jwk::{Jwk, JwkError};
use crate::jws::{MAX_CANDIDATES, rsa_key};

/// A longer token is refused unread, in bytes.
pub const MAX_TOKEN: usize = 64 * 1024;
/// A token that names no key is refused if more keys than these could be meant: anybody can send one, and each key costs as much
/// as a signature.
const MAX_UNNAMED: usize = 2;

/// Why a token was not decrypted. All but the last are about what anybody can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecryptError {
    /// Longer than [`MAX_TOKEN`].
    #[error("the token is too long")]
    TooLong,
    /// Not five parts of unpadded base64url, or no JSON object where one must be.
    #[error("not a compact JWE")]
    Malformed,
    /// The header has a `crit` member: no extension is understood here (RFC 7516 §4.1.13).
    #[error("the token asks for an extension that is not understood")]
    CriticalHeader,
    /// The header has a `zip` member: a short token could stand for a very long one.
    #[error("the token is compressed")]
    Compressed,
    /// `alg` or `enc` names an algorithm that is not supported.
    #[error("the token is encrypted with an algorithm that is not supported")]
    AlgorithmNotSupported,
    /// No key opens it, or it was changed.
    #[error("the token could not be decrypted")]
    NotDecrypted,
}

/// What the header of a decrypted token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// How the key reached us.
    pub algorithm: KeyManagement,
    /// How the content was encrypted.
    pub encryption: ContentEncryption,
    /// The name of the key.
    pub kid: Option<String>,
    /// What kind of token it says it is.
    pub typ: Option<String>,
    /// What it says its content is.
    pub cty: Option<String>,
}

/// A decrypted token.
pub struct DecryptedJwe {
    /// The header.
    pub header: Header,
    /// The content.
    pub payload: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for DecryptedJwe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptedJwe").field("header", &self.header).finish_non_exhaustive()
    }
}

/// A private key, ready to decrypt.
pub struct DecryptionKey {
    kid: Option<String>,
    algorithms: Vec<KeyManagement>,
    key: PrivateKey,
}

enum PrivateKey {
    Rsa(OaepPrivateDecryptingKey),
    Agreement(AgreementKey),
}

impl DecryptionKey {
    /// Parses a private key. It is used with the algorithm that `alg` names, or with all of its type.
    ///
    /// # Errors
    /// [`JwkError`] if it is no private key for encryption, incomplete, or in contradiction to itself.
    pub fn from_jwk(jwk: &Jwk) -> Result<Self, JwkError> {
        jwk.allows_encryption(&["decrypt", "unwrapKey", "deriveKey", "deriveBits"])?;
        let algorithms = algorithms_of(jwk)?;
        let key = if algorithms.iter().all(|algorithm| algorithm.is_rsa()) {
            PrivateKey::Rsa(oaep_key(jwk)?)
        } else {
            PrivateKey::Agreement(AgreementKey::from_jwk(jwk)?)
        };
        Ok(Self { kid: jwk.kid.clone(), algorithms, key })
    }

    /// The name that senders choose the key by.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The content encryption key of a token.
    fn content_key(&self, parts: &Parts) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
        let Header { algorithm, encryption, .. } = parts.header;
        match (&self.key, &parts.ephemeral) {
            (PrivateKey::Rsa(key), _) => {
                let mut plain = Zeroizing::new(vec![0; key.min_output_size()]);
                let length = key.decrypt(oaep(algorithm), &parts.encrypted_key, &mut plain, None)?.len();
                plain.truncate(length);
                Ok(plain)
            }
            (PrivateKey::Agreement(key), Some(ephemeral)) => {
                let derivation = Derivation::new(algorithm, encryption).between(&parts.apu, &parts.apv);
                let agreed = key.agree(ephemeral, &derivation)?;
                match algorithm {
                    KeyManagement::EcdhEs if parts.encrypted_key.is_empty() => Ok(agreed),
                    KeyManagement::EcdhEs => Err(Unspecified),
                    _ => unwrap(&agreed, &parts.encrypted_key),
                }
            }
            (PrivateKey::Agreement(_), None) => Err(Unspecified),
        }
    }

    /// Without the right content encryption key a random one takes its place, so that a failure takes as long wherever it
    /// happens (RFC 7516 §11.5).
    fn open(&self, parts: &Parts) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
        let encryption = parts.header.encryption;
        let substitute = content::random_key(encryption)?;
        let key = self.content_key(parts).ok().filter(|key| key.len() == encryption.key_length());
        content::open(encryption, &key.unwrap_or(substitute), &parts.authenticated, &parts.sealed)
    }
}

impl fmt::Debug for DecryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kid, algorithms) = (&self.kid, &self.algorithms);
        f.debug_struct("DecryptionKey")
            .field("kid", kid)
            .field("algorithms", algorithms)
            .finish_non_exhaustive()
    }
}

/// Decrypts `token` with one of `keys`. A `kid` in its header must be that of the key; without one, each key for its
/// algorithm is tried, unless there are more than two.
///
/// # Errors
/// [`DecryptError`]; [`DecryptError::NotDecrypted`] for every failure that has to do with a key.
pub fn decrypt(token: &str, keys: &[DecryptionKey]) -> Result<DecryptedJwe, DecryptError> {
    let parts = Parts::of(token)?;
    let Header { algorithm, ref kid, .. } = parts.header;
    let named = |key: &&DecryptionKey| kid.is_none() || *kid == key.kid;
    let candidates = keys.iter().filter(named).filter(|key| key.algorithms.contains(&algorithm));
    if kid.is_none() && candidates.clone().count() > MAX_UNNAMED {
        return Err(DecryptError::NotDecrypted);
    }
    let payload = candidates.take(MAX_CANDIDATES).find_map(|key| key.open(&parts).ok());
    let payload = payload.ok_or(DecryptError::NotDecrypted)?;
    Ok(DecryptedJwe { header: parts.header, payload })
}

/// The header as it is written.
#[derive(Deserialize)]
struct Read {
    alg: String,
    enc: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    #[serde(default)]
    cty: Option<String>,
    #[serde(default)]
    epk: Option<Box<Jwk>>,
    #[serde(default)]
    apu: Option<String>,
    #[serde(default)]
    apv: Option<String>,
    #[serde(default, rename = "crit", deserialize_with = "is_present")]
    critical: bool,
    #[serde(default, rename = "zip", deserialize_with = "is_present")]
    compressed: bool,
}

/// A token taken apart.
struct Parts {
    header: Header,
    ephemeral: Option<Box<Jwk>>,
    apu: Vec<u8>,
    apv: Vec<u8>,
    /// The header as it came: what the tag covers besides the content.
    authenticated: Vec<u8>,
    encrypted_key: Vec<u8>,
    sealed: Sealed,
}

impl Parts {
    fn of(token: &str) -> Result<Self, DecryptError> {
        if token.len() > MAX_TOKEN {
            return Err(DecryptError::TooLong);
        }
        let parts: Vec<&str> = token.splitn(6, '.').collect();
        let [header, encrypted_key, iv, ciphertext, tag] = parts[..] else {
            return Err(DecryptError::Malformed);
        };
        let read: Read = serde_json::from_slice(&decode(header)?).map_err(|_| DecryptError::Malformed)?;
        if read.critical {
            return Err(DecryptError::CriticalHeader);
        }
        if read.compressed {
            return Err(DecryptError::Compressed);
        }
        Ok(Self {
            apu: decode(read.apu.as_deref().unwrap_or_default())?,
            apv: decode(read.apv.as_deref().unwrap_or_default())?,
            header: Header {
                algorithm: read.alg.parse().map_err(|_| DecryptError::AlgorithmNotSupported)?,
                encryption: read.enc.parse().map_err(|_| DecryptError::AlgorithmNotSupported)?,
                kid: read.kid,
                typ: read.typ,
                cty: read.cty,
            },
            ephemeral: read.epk,
            authenticated: header.as_bytes().to_vec(),
            encrypted_key: decode(encrypted_key)?,
            sealed: Sealed { iv: decode(iv)?, ciphertext: decode(ciphertext)?, tag: decode(tag)? },
        })
    }
}

fn decode(part: &str) -> Result<Vec<u8>, DecryptError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| DecryptError::Malformed)
}

fn oaep_key(jwk: &Jwk) -> Result<OaepPrivateDecryptingKey, JwkError> {
    let pair = rsa_key(jwk)?;
    let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| JwkError::Invalid)?;
    let key = PrivateDecryptingKey::from_pkcs8(der.as_ref()).map_err(|_| JwkError::Invalid)?;
    OaepPrivateDecryptingKey::new(key).map_err(|_| JwkError::Invalid)
}
