//! PASETO `v4.public` (paseto.io, version 4): payloads signed with Ed25519.
//!
//! The footer is `{"kid":"k4.pid.…"}`, the PASERK id of the key, so that a ring of keys knows which one to try.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pasetors::keys::{AsymmetricPublicKey, AsymmetricSecretKey};
use pasetors::paserk::{FormatAsPaserk, Id};
use pasetors::token::{Public, UntrustedToken};
use pasetors::version4::{PublicToken, V4};
use serde::{Deserialize, Serialize};
use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::jwk::member::{decode_private, decode_sized};
use crate::jwk::{Jwk, JwkError, PrivateMember, SigningAlgorithm};

/// A longer token is refused before it is decoded, in characters.
const MAX_TOKEN: usize = 64 * 1024;

/// Why a token was not signed or not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PasetoError {
    /// No `v4.public` token, or too long.
    #[error("not a v4.public token")]
    Malformed,
    /// Changed, signed with another key, or for another implicit assertion.
    #[error("the signature does not verify")]
    NotAuthentic,
    /// No Ed25519 key.
    #[error("not an Ed25519 key")]
    Key,
    /// An empty payload, or the cryptography library failed.
    #[error("the token could not be signed")]
    NotSigned,
}

#[derive(Serialize, Deserialize)]
struct Footer {
    kid: String,
}

/// A private key, ready to sign.
pub struct PasetoKey {
    secret: AsymmetricSecretKey<V4>,
    public: PasetoPublicKey,
    footer: String,
}

impl PasetoKey {
    /// A new key.
    ///
    /// # Errors
    /// [`PasetoError::Key`] if the cryptography library fails.
    pub fn generate(rng: &dyn Rng) -> Result<Self, PasetoError> {
        Self::from_seed(&Zeroizing::new(random_bytes(rng)))
    }

    /// The key that follows from a seed (RFC 8032 §5.1.5).
    ///
    /// # Errors
    /// [`PasetoError::Key`] if the cryptography library fails.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, PasetoError> {
        let pair =
            aws_lc_rs::signature::Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| PasetoError::Key)?;
        let public = aws_lc_rs::signature::KeyPair::public_key(&pair).as_ref();
        Self::from_parts(seed, public)
    }

    /// The key in a JWK of the curve Ed25519.
    ///
    /// # Errors
    /// [`JwkError`] if it is no private Ed25519 key for signatures.
    pub fn from_jwk(jwk: &Jwk) -> Result<Self, JwkError> {
        jwk.allows("sign")?;
        check_type(jwk)?;
        let seed = decode_private("d", jwk.d.as_ref())?;
        let seed: &[u8; 32] = seed.as_slice().try_into().map_err(|_| JwkError::MalformedMember("d"))?;
        Self::from_parts(seed, &decode_sized("x", jwk.x.as_ref(), 32)?).map_err(|_| JwkError::Invalid)
    }

    fn from_parts(seed: &[u8; 32], public: &[u8]) -> Result<Self, PasetoError> {
        let pair = Zeroizing::new([seed.as_slice(), public].concat());
        let secret = AsymmetricSecretKey::from(&pair).map_err(|_| PasetoError::Key)?;
        let public = PasetoPublicKey::from_bytes(public)?;
        let footer =
            serde_json::to_string(&Footer { kid: public.id.clone() }).map_err(|_| PasetoError::Key)?;
        Ok(Self { secret, public, footer })
    }

    /// The key as a JWK whose `kid` is its PASERK id.
    pub fn to_jwk(&self) -> Jwk {
        let seed = self.secret.as_bytes().get(..32).unwrap_or_default();
        Jwk { d: Some(PrivateMember::encode(seed)), ..self.public.to_jwk() }
    }

    /// The public part.
    pub const fn public(&self) -> &PasetoPublicKey {
        &self.public
    }

    /// The PASERK id: `k4.pid.…`.
    pub fn id(&self) -> &str {
        self.public.id()
    }

    /// Signs `payload`, JSON as a rule, with the id of the key as its footer. `implicit` is signed with it and must be
    /// known to whoever verifies.
    ///
    /// # Errors
    /// [`PasetoError::NotSigned`] for an empty payload.
    pub fn sign(&self, payload: &[u8], implicit: &[u8]) -> Result<String, PasetoError> {
        PublicToken::sign(&self.secret, payload, Some(self.footer.as_bytes()), Some(implicit))
            .map_err(|_| PasetoError::NotSigned)
    }
}

/// Its id only.
impl fmt::Debug for PasetoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasetoKey").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// A public key, ready to verify.
#[derive(Clone)]
pub struct PasetoPublicKey {
    key: AsymmetricPublicKey<V4>,
    id: String,
}

impl PasetoPublicKey {
    /// The key with these bytes.
    ///
    /// # Errors
    /// [`PasetoError::Key`] unless there are 32.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PasetoError> {
        let key = AsymmetricPublicKey::from(bytes).map_err(|_| PasetoError::Key)?;
        let mut id = String::new();
        Id::from(&key).fmt(&mut id).map_err(|_| PasetoError::Key)?;
        Ok(Self { key, id })
    }

    /// The public key in a JWK of the curve Ed25519, which may be a private one.
    ///
    /// # Errors
    /// [`JwkError`] if it is no Ed25519 key for signatures.
    pub fn from_jwk(jwk: &Jwk) -> Result<Self, JwkError> {
        jwk.allows("verify")?;
        check_type(jwk)?;
        Self::from_bytes(&decode_sized("x", jwk.x.as_ref(), 32)?).map_err(|_| JwkError::Invalid)
    }

    /// The key as a JWK whose `kid` is its PASERK id.
    pub fn to_jwk(&self) -> Jwk {
        Jwk {
            kty: "OKP".to_owned(),
            crv: Some("Ed25519".to_owned()),
            alg: Some(SigningAlgorithm::EdDSA.as_str().to_owned()),
            key_use: Some("sig".to_owned()),
            kid: Some(self.id.clone()),
            x: Some(URL_SAFE_NO_PAD.encode(self.key.as_bytes())),
            ..Jwk::default()
        }
    }

    /// The PASERK id: `k4.pid.…`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The payload of a token that this key signed with this implicit assertion. Its times are the caller's to check.
    ///
    /// # Errors
    /// [`PasetoError::Malformed`] or [`PasetoError::NotAuthentic`].
    pub fn verify(&self, token: &str, implicit: &[u8]) -> Result<Vec<u8>, PasetoError> {
        let token = read(token)?;
        let trusted = PublicToken::verify(&self.key, &token, None, Some(implicit));
        trusted.map(|token| token.payload().as_bytes().to_vec()).map_err(|_| PasetoError::NotAuthentic)
    }
}

impl fmt::Debug for PasetoPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PasetoPublicKey").field(&self.id).finish()
    }
}

/// The id of the key that a token says it was signed with: to choose a key by, nothing else. `None` if it names none.
///
/// # Errors
/// [`PasetoError::Malformed`] if it is no `v4.public` token.
pub fn key_id(token: &str) -> Result<Option<String>, PasetoError> {
    let token = read(token)?;
    Ok(serde_json::from_slice::<Footer>(token.untrusted_footer()).ok().map(|footer| footer.kid))
}

fn read(token: &str) -> Result<UntrustedToken<Public, V4>, PasetoError> {
    if token.len() > MAX_TOKEN {
        return Err(PasetoError::Malformed);
    }
    UntrustedToken::try_from(token).map_err(|_| PasetoError::Malformed)
}

fn check_type(jwk: &Jwk) -> Result<(), JwkError> {
    match jwk.signing_algorithm()? {
        SigningAlgorithm::EdDSA => Ok(()),
        _ => Err(JwkError::WrongAlgorithm),
    }
}
