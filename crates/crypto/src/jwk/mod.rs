//! JSON Web Keys (RFC 7517, 7518 §6, 8037): what a key looks like outside. [`crate::jws`] parses one for use.
//!
//! [`SigningAlgorithm`], [`MacAlgorithm`]: what a key signs with. `generate`: new keys. `import`: PEM and DER. `set`: several keys.
//! `well_formed`: whether one is what it says. `primes`: what an RSA key may leave out.
//!
//! A [`Jwk`] is a wire shape: nothing about it is checked before it is turned into a key, or by [`Jwk::check`].

mod algorithm;
mod curve;
mod generate;
mod import;
pub(crate) mod member;
mod primes;
mod set;
mod well_formed;

use aws_lc_rs::rsa::PublicKeyComponents;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use algorithm::{MacAlgorithm, SigningAlgorithm, UnknownAlgorithm};
pub(crate) use curve::Curve;
pub use generate::RsaSize;
pub use member::PrivateMember;
pub use set::JwkSet;

use crate::digest::sha256;

/// The modulus of an RSA key, in bytes: 2048 to 8192 bits.
const RSA_MODULUS: std::ops::RangeInclusive<usize> = 256..=1024;
/// The public exponent of an RSA key is no longer, in bytes: a long one makes verifying as dear as signing.
const MAX_RSA_EXPONENT: usize = 8;
/// An RSA key that is quick to use has a modulus of no more bytes, 4096 bits, and no larger public exponent.
const QUICK_RSA: (usize, &[u8]) = (512, &[1, 0, 1]);
/// A key of somebody else has no more `key_ops`, and no more certificates in `x5c`: an entry takes many times the memory of the
/// three bytes that it can be written with.
const MAX_ENTRIES: usize = 16;

/// What is wrong with a key. Never tells what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum JwkError {
    /// No JSON object with the members of a key, or no set of keys.
    #[error("not a JSON Web Key")]
    NotAKey,
    /// `kty` or `crv` names something this program does not know.
    #[error("the key is of a type or on a curve that is not supported")]
    UnknownKeyType,
    /// A member that this type of key must have is not there.
    #[error("the key has no member `{0}`")]
    MissingMember(&'static str),
    /// A member is no base64url, or has the wrong length.
    #[error("the member `{0}` of the key is malformed")]
    MalformedMember(&'static str),
    /// `alg` names an algorithm that this type of key cannot be used with, or that is not supported.
    #[error("the algorithm of the key does not fit its type")]
    WrongAlgorithm,
    /// `use` or `key_ops` forbids signatures.
    #[error("the key is not meant for signatures")]
    NotForSignatures,
    /// `use` or `key_ops` forbids encryption.
    #[error("the key is not meant for encryption")]
    NotForEncryption,
    /// An RSA modulus below 2048 or above 8192 bits.
    #[error(
        "an RSA key of fewer than 2048 bits cannot sign here, nor encrypt, nor can one of more than 8192"
    )]
    RsaSize,
    /// The members contradict each other, or name no point of the curve.
    #[error("the key is not valid")]
    Invalid,
    /// The text is no PEM, or holds something else than an unencrypted key.
    #[error("not a PEM-encoded key, or encrypted")]
    NotPem,
    /// The cryptography library made no key.
    #[error("the key could not be generated")]
    NotGenerated,
}

/// A JSON Web Key with all members that RFC 7517, 7518 and 8037 define (except `oth`: keys of more than two primes are
/// not supported). Members without meaning here are ignored. Private members print `[redacted]` and are zeroed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Jwk {
    /// What the key is for: `sig` or `enc`.
    #[serde(rename = "use", default, skip_serializing_if = "Option::is_none")]
    pub key_use: Option<String>,
    /// The family: `RSA`, `EC`, `OKP` or `oct`.
    pub kty: String,
    /// The name that tokens choose the key by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// The curve of an `EC` or `OKP` key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crv: Option<String>,
    /// The algorithm the key is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
    /// What may be done with the key, in more detail than `use`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_ops: Option<Vec<String>>,
    /// The symmetric key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<PrivateMember>,
    /// The x coordinate, or the public key of an `OKP` key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The y coordinate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
    /// The RSA modulus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<String>,
    /// The RSA public exponent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e: Option<String>,
    /// The private key of `EC` and `OKP`, the private exponent of `RSA`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d: Option<PrivateMember>,
    /// The first RSA prime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<PrivateMember>,
    /// The second RSA prime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<PrivateMember>,
    /// `d mod (p − 1)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dp: Option<PrivateMember>,
    /// `d mod (q − 1)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dq: Option<PrivateMember>,
    /// `q⁻¹ mod p`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qi: Option<PrivateMember>,
    /// A chain of certificates. Kept, never trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x5c: Option<Vec<String>>,
    /// Where a chain of certificates is. Kept, never fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x5u: Option<String>,
    /// SHA-1 of the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x5t: Option<String>,
    /// SHA-256 of the certificate.
    #[serde(rename = "x5t#S256", default, skip_serializing_if = "Option::is_none")]
    pub x5t_s256: Option<String>,
}

impl Jwk {
    /// Whether the key holds anything that must stay secret.
    pub fn is_private(&self) -> bool {
        [&self.k, &self.d, &self.p, &self.q, &self.dp, &self.dq, &self.qi]
            .iter()
            .any(|member| member.is_some())
    }

    /// Whether the key is symmetric: then there is no public part of it.
    pub fn is_symmetric(&self) -> bool {
        self.kty == "oct"
    }

    /// Whether `key_ops` and `x5c` are as short as those of keys are: whoever writes them chooses how much is kept for it.
    pub fn has_short_lists(&self) -> bool {
        [&self.key_ops, &self.x5c].into_iter().flatten().all(|list| list.len() <= MAX_ENTRIES)
    }

    /// Whether it is quick to check what the key signed, and to encrypt for it: an RSA key has a modulus of 4096 bits and an exponent
    /// of 65537 at most. Whoever brings a key chooses how much work it is. One that cannot be read is none.
    pub fn is_quick(&self) -> bool {
        let (modulus, exponent) = QUICK_RSA;
        let integer = |name, value| member::decode_integer(name, value).unwrap_or_default();
        let (n, e) = (integer("n", self.n.as_ref()), integer("e", self.e.as_ref()));
        // Of two numbers without leading zeros the longer one is the larger.
        self.kty != "RSA" || (n.len() <= modulus && (e.len(), e.as_slice()) <= (exponent.len(), exponent))
    }

    /// About how much memory the key takes, in bytes.
    pub fn memory(&self) -> usize {
        let texts = [&self.key_use, &self.kid, &self.crv, &self.alg, &self.x, &self.y, &self.n, &self.e];
        let about_certificates = [&self.x5u, &self.x5t, &self.x5t_s256];
        let private = [&self.k, &self.d, &self.p, &self.q, &self.dp, &self.dq, &self.qi];
        let lists = [&self.key_ops, &self.x5c].into_iter().flatten().flatten();
        let of_texts = texts.into_iter().chain(about_certificates).flatten().map(String::len);
        let of_private = private.into_iter().flatten().map(|member| member.expose().len());
        let of_lists = lists.map(|entry| size_of::<String>() + entry.len());
        size_of::<Self>() + self.kty.len() + of_texts.chain(of_private).chain(of_lists).sum::<usize>()
    }

    /// The key without its private members.
    #[must_use]
    pub fn public(&self) -> Self {
        Self { k: None, d: None, p: None, q: None, dp: None, dq: None, qi: None, ..self.clone() }
    }

    /// The algorithm the key signs with: what `alg` says, else what the curve says, else RS256.
    ///
    /// # Errors
    /// [`JwkError::WrongAlgorithm`] if `alg` does not fit the type, [`JwkError::UnknownKeyType`] for a symmetric key
    /// or an unknown curve.
    pub fn signing_algorithm(&self) -> Result<SigningAlgorithm, JwkError> {
        let algorithms = self.signing_algorithms()?;
        algorithms.first().copied().ok_or(JwkError::WrongAlgorithm)
    }

    /// The algorithms the key may be used with; more than one for an RSA key without `alg` only.
    pub(crate) fn signing_algorithms(&self) -> Result<Vec<SigningAlgorithm>, JwkError> {
        let possible = match self.kty.as_str() {
            "RSA" => SigningAlgorithm::RSA.to_vec(),
            "EC" => vec![self.curve()?.algorithm()],
            "OKP" if self.crv.as_deref() == Some("Ed25519") => vec![SigningAlgorithm::EdDSA],
            _ => return Err(JwkError::UnknownKeyType),
        };
        let Some(named) = self.alg.as_deref() else { return Ok(possible) };
        let named = named.parse().map_err(|_| JwkError::WrongAlgorithm)?;
        if possible.contains(&named) { Ok(vec![named]) } else { Err(JwkError::WrongAlgorithm) }
    }

    /// The thumbprint of the key: base64url of SHA-256 of its required members (RFC 7638 §3). A private key and its
    /// public part have the same.
    ///
    /// # Errors
    /// [`JwkError`] for an unknown type, or if a required member is not there.
    pub fn thumbprint(&self) -> Result<String, JwkError> {
        self.thumbprint_bytes().map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The thumbprint before it is encoded.
    ///
    /// # Errors
    /// As [`Jwk::thumbprint`].
    pub fn thumbprint_bytes(&self) -> Result<[u8; 32], JwkError> {
        #[derive(Serialize)]
        struct Required<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            crv: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            e: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            k: Option<&'a PrivateMember>,
            kty: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            n: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            x: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            y: Option<&'a str>,
        }
        let mut required =
            Required { crv: None, e: None, k: None, kty: &self.kty, n: None, x: None, y: None };
        match self.kty.as_str() {
            "RSA" => {
                required.e = Some(member::named("e", self.e.as_ref())?);
                required.n = Some(member::named("n", self.n.as_ref())?);
            }
            "EC" => {
                required.crv = Some(member::named("crv", self.crv.as_ref())?);
                required.x = Some(member::named("x", self.x.as_ref())?);
                required.y = Some(member::named("y", self.y.as_ref())?);
            }
            "OKP" => {
                required.crv = Some(member::named("crv", self.crv.as_ref())?);
                required.x = Some(member::named("x", self.x.as_ref())?);
            }
            "oct" => required.k = Some(self.k.as_ref().ok_or(JwkError::MissingMember("k"))?),
            _ => return Err(JwkError::UnknownKeyType),
        }
        let json = zeroize::Zeroizing::new(serde_json::to_vec(&required).map_err(|_| JwkError::NotAKey)?);
        Ok(sha256(&json))
    }

    /// The curve of an `EC` key.
    pub(crate) fn curve(&self) -> Result<Curve, JwkError> {
        Curve::named(member::named("crv", self.crv.as_ref())?).ok_or(JwkError::UnknownKeyType)
    }

    /// The public point of an `EC` key, uncompressed (SEC 1 §2.3.3). Coordinates have their full length (RFC 7518
    /// §6.2.1.2).
    pub(crate) fn point(&self, curve: Curve) -> Result<Vec<u8>, JwkError> {
        let x = member::decode_sized("x", self.x.as_ref(), curve.width())?;
        let y = member::decode_sized("y", self.y.as_ref(), curve.width())?;
        Ok([&[4_u8], x.as_slice(), y.as_slice()].concat())
    }

    /// Modulus and public exponent of an `RSA` key.
    pub(crate) fn rsa_public(&self) -> Result<PublicKeyComponents<Vec<u8>>, JwkError> {
        let n = member::decode_integer("n", self.n.as_ref())?;
        if !RSA_MODULUS.contains(&n.len()) {
            return Err(JwkError::RsaSize);
        }
        let e = member::decode_integer("e", self.e.as_ref())?;
        let odd = e.last().is_some_and(|last| last % 2 == 1);
        if odd && e != [1] && e.len() <= MAX_RSA_EXPONENT {
            Ok(PublicKeyComponents { n, e })
        } else {
            Err(JwkError::Invalid)
        }
    }

    /// Refuses a key that `use` or `key_ops` keeps from `operation` (RFC 7517 §4.2, §4.3).
    pub(crate) fn allows(&self, operation: &str) -> Result<(), JwkError> {
        let by_use = self.key_use.as_deref().is_none_or(|named| named == "sig");
        // A private key may verify as well as sign: who holds it can derive the public one.
        let by_operations = self.key_ops.as_deref().is_none_or(|operations| {
            operations.iter().any(|named| named == operation || (operation == "verify" && named == "sign"))
        });
        if by_use && by_operations { Ok(()) } else { Err(JwkError::NotForSignatures) }
    }

    /// Refuses a key that `use` keeps from encryption, or whose `key_ops` has none of `operations`.
    pub(crate) fn allows_encryption(&self, operations: &[&str]) -> Result<(), JwkError> {
        let by_use = self.key_use.as_deref().is_none_or(|named| named == "enc");
        let by_operations = self
            .key_ops
            .as_deref()
            .is_none_or(|named| named.iter().any(|name| operations.contains(&name.as_str())));
        if by_use && by_operations { Ok(()) } else { Err(JwkError::NotForEncryption) }
    }
}
