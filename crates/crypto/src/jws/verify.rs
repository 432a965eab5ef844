//! Checking a token. The key says which algorithms it is for; the header only chooses among them (RFC 8725 §3.1).

use std::fmt;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{
    ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters,
};

use super::read::{Parts, VerifiedJws, VerifyError};
use crate::jwk::member::decode_sized;
use crate::jwk::{Jwk, JwkError, JwkSet, MacAlgorithm, SigningAlgorithm};

/// So many keys are tried for one token at most.
pub const MAX_CANDIDATES: usize = 8;

/// What a key that is ready for an algorithm takes beside its numbers, in bytes.
const PARSED: usize = 512;
/// How often the numbers of such a key are there: as they were written, as numbers, and twice for quick multiplication.
const NUMBERS: usize = 4;

/// A public key, ready to verify.
pub struct VerifyingKey {
    kid: Option<String>,
    /// The key for each algorithm it may be used with: one, but for an RSA key without `alg`.
    parsed: Vec<(SigningAlgorithm, ParsedPublicKey)>,
}

impl VerifyingKey {
    /// Parses the public part of a key.
    ///
    /// # Errors
    /// [`JwkError`] if it is not for signatures, symmetric, incomplete or invalid.
    pub fn from_jwk(jwk: &Jwk) -> Result<Self, JwkError> {
        jwk.allows("verify")?;
        let algorithms = jwk.signing_algorithms()?;
        let parsed = algorithms.into_iter().map(|algorithm| Ok((algorithm, parse(jwk, algorithm)?)));
        Ok(Self { kid: jwk.kid.clone(), parsed: parsed.collect::<Result<_, JwkError>>()? })
    }

    /// Parses the keys of a set; those that cannot be used here are left out (RFC 7517 §5).
    pub fn usable_of(set: &JwkSet) -> Vec<Self> {
        set.keys.iter().filter_map(|jwk| Self::from_jwk(jwk).ok()).collect()
    }

    /// The name of the key.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// About how much memory the key takes, in bytes, once it has verified something.
    pub fn memory(&self) -> usize {
        let kid = self.kid.as_ref().map_or(0, String::len);
        let numbers = self.parsed.iter().map(|(_, key)| AsRef::<[u8]>::as_ref(key).len());
        size_of::<Self>() + kid + numbers.map(|length| PARSED + NUMBERS * length).sum::<usize>()
    }

    pub(super) fn for_algorithm(&self, algorithm: SigningAlgorithm) -> Option<&ParsedPublicKey> {
        self.parsed.iter().find(|(known, _)| *known == algorithm).map(|(_, key)| key)
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithms: Vec<_> = self.parsed.iter().map(|(algorithm, _)| algorithm).collect();
        f.debug_struct("VerifyingKey").field("kid", &self.kid).field("algorithms", &algorithms).finish()
    }
}

/// Checks the signature of `token`. A `kid` in its header must be that of the key; without one, every key for its
/// algorithm is tried, up to [`MAX_CANDIDATES`].
///
/// # Errors
/// [`VerifyError`] unless one of `keys` made the signature with one of the `allowed` algorithms.
pub fn verify(
    token: &str,
    keys: &[VerifyingKey],
    allowed: &[SigningAlgorithm],
) -> Result<VerifiedJws, VerifyError> {
    verify_trying(MAX_CANDIDATES, token, keys, allowed)
}

/// As [`verify`], but no more than `most` of the keys are tried: for those of somebody who chooses how many there are.
///
/// # Errors
/// As [`verify`].
pub fn verify_trying(
    most: usize,
    token: &str,
    keys: &[VerifyingKey],
    allowed: &[SigningAlgorithm],
) -> Result<VerifiedJws, VerifyError> {
    let parts = Parts::of(token)?;
    let algorithm = parts.header.alg.parse().map_err(|_| VerifyError::AlgorithmNotAllowed)?;
    if !allowed.contains(&algorithm) {
        return Err(VerifyError::AlgorithmNotAllowed);
    }
    let named = |key: &&VerifyingKey| parts.header.kid.is_none() || parts.header.kid == key.kid;
    let candidates = keys.iter().filter(named).filter_map(|key| key.for_algorithm(algorithm));
    let mut answer = VerifyError::UnknownKey;
    for key in candidates.take(most) {
        if key.verify_sig(parts.signed.as_bytes(), &parts.signature).is_ok() {
            return parts.verified();
        }
        answer = VerifyError::WrongSignature;
    }
    Err(answer)
}

/// Checks a token that a client made with its secret (`client_secret_jwt`, OpenID Connect Core §9). `kid` does not
/// count. The secret must be a client's own: never pass a public key.
///
/// # Errors
/// [`VerifyError`] unless `secret` made the signature with one of the `allowed` algorithms. An empty secret makes none.
pub fn verify_hmac(token: &str, secret: &[u8], allowed: &[MacAlgorithm]) -> Result<VerifiedJws, VerifyError> {
    let parts = Parts::of(token)?;
    let algorithm = parts.header.alg.parse().map_err(|_| VerifyError::AlgorithmNotAllowed)?;
    if !allowed.contains(&algorithm) {
        return Err(VerifyError::AlgorithmNotAllowed);
    }
    if secret.is_empty() {
        return Err(VerifyError::UnknownKey);
    }
    hmac::verify(&mac_key(algorithm, secret), parts.signed.as_bytes(), &parts.signature)
        .map_err(|_| VerifyError::WrongSignature)?;
    parts.verified()
}

/// The key of an HMAC.
pub(super) fn mac_key(algorithm: MacAlgorithm, secret: &[u8]) -> hmac::Key {
    let hash = match algorithm {
        MacAlgorithm::HS256 => hmac::HMAC_SHA256,
        MacAlgorithm::HS384 => hmac::HMAC_SHA384,
        MacAlgorithm::HS512 => hmac::HMAC_SHA512,
    };
    hmac::Key::new(hash, secret)
}

fn parse(jwk: &Jwk, algorithm: SigningAlgorithm) -> Result<ParsedPublicKey, JwkError> {
    let parsed = match (algorithm.curve(), rsa_parameters(algorithm)) {
        (Some(curve), _) => ParsedPublicKey::new(curve.verification(), jwk.point(curve)?),
        (None, Some(parameters)) => jwk.rsa_public()?.to_parsed_public_key(parameters),
        (None, None) => ParsedPublicKey::new(&ED25519, decode_sized("x", jwk.x.as_ref(), 32)?),
    };
    parsed.map_err(|_| JwkError::Invalid)
}

fn rsa_parameters(algorithm: SigningAlgorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        SigningAlgorithm::RS256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        SigningAlgorithm::RS384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        SigningAlgorithm::RS512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        SigningAlgorithm::PS256 => Some(&RSA_PSS_2048_8192_SHA256),
        SigningAlgorithm::PS384 => Some(&RSA_PSS_2048_8192_SHA384),
        SigningAlgorithm::PS512 => Some(&RSA_PSS_2048_8192_SHA512),
        SigningAlgorithm::ES256
        | SigningAlgorithm::ES384
        | SigningAlgorithm::ES512
        | SigningAlgorithm::EdDSA => None,
    }
}
