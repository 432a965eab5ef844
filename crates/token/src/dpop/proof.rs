//! What a DPoP proof says (RFC 9449 §4.2).

use serde::Deserialize;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::verify_with_embedded_key;
use sluice_primitives::{Lifetime, Timestamp};

use super::error::ProofError;

/// The algorithms of proofs. Those of PKCS #1 1.5 are not among them: FAPI 2.0 forbids them, and a resource cannot tell for
/// whom it does.
pub const ALGORITHMS: [SigningAlgorithm; 7] = [
    SigningAlgorithm::ES256,
    SigningAlgorithm::EdDSA,
    SigningAlgorithm::PS256,
    SigningAlgorithm::ES384,
    SigningAlgorithm::ES512,
    SigningAlgorithm::PS384,
    SigningAlgorithm::PS512,
];

/// What proofs may say that they are signed with: each of [`ALGORITHMS`], by all its names.
pub fn algorithm_names() -> Vec<&'static str> {
    let others = ALGORITHMS.into_iter().filter_map(SigningAlgorithm::other_name);
    ALGORITHMS.into_iter().map(SigningAlgorithm::as_str).chain(others).collect()
}

/// A longer header is refused unread, in bytes: an RSA key of 4096 bits and its signature take some 2 KB.
const MAX_PROOF: usize = 8 * 1024;
/// A longer `jti` is refused, in bytes.
const MAX_JTI: usize = 512;

/// A proof whose signature is right.
pub(super) struct Proof {
    /// The thumbprint of its key.
    pub(super) key: [u8; 32],
    /// With which algorithm it is signed.
    pub(super) algorithm: SigningAlgorithm,
    pub(super) claims: Claims,
}

#[derive(Deserialize)]
pub(super) struct Claims {
    jti: String,
    pub(super) htm: String,
    pub(super) htu: String,
    iat: f64,
    exp: Option<f64>,
    nbf: Option<f64>,
    pub(super) nonce: Option<String>,
    pub(super) ath: Option<String>,
}

impl Proof {
    /// Reads a proof: well-formed, of its type, signed with an asymmetric algorithm by the public key in its header, all
    /// claims there (RFC 9449 §4.3, checks 2 to 7).
    pub(super) fn read(header: &str) -> Result<Self, ProofError> {
        if header.len() > MAX_PROOF {
            return Err(ProofError::TooLong);
        }
        let (verified, key) = verify_with_embedded_key(header, &ALGORITHMS, "dpop+jwt")?;
        let claims: Claims = verified.claims().map_err(|_| ProofError::Claims)?;
        if claims.jti.is_empty() || claims.jti.len() > MAX_JTI {
            return Err(ProofError::Claims);
        }
        let algorithm = verified.header.alg.parse().map_err(|_| ProofError::Claims)?;
        Ok(Self { key: key.thumbprint_bytes().map_err(|_| ProofError::Claims)?, algorithm, claims })
    }

    /// What a second presentation is known by.
    pub(super) fn id(&self) -> [u8; 32] {
        sha256(&[self.key.as_slice(), self.claims.jti.as_bytes()].concat())
    }

    /// When it was made.
    pub(super) fn issued_at(&self) -> Result<Timestamp, ProofError> {
        numeric_date(self.claims.iat)
    }

    /// Refuses a proof that says itself that it does not hold now. RFC 9449 asks for neither claim.
    pub(super) fn check_own_time(&self, now: Timestamp, leeway: Lifetime) -> Result<(), ProofError> {
        let expired = self.claims.exp.map(numeric_date).transpose()?.is_some_and(|exp| exp <= now);
        let ahead = self.claims.nbf.map(numeric_date).transpose()?.is_some_and(|nbf| nbf > now + leeway);
        if expired || ahead { Err(ProofError::OutOfTime) } else { Ok(()) }
    }
}

fn numeric_date(seconds: f64) -> Result<Timestamp, ProofError> {
    Timestamp::from_numeric_date(seconds).ok_or(ProofError::Claims)
}
