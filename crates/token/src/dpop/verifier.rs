//! The checks of RFC 9449 §4.3, in their order.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_crypto::Sealer;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::VerifyError;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{Lifetime, Rng, Timestamp};

use super::error::ProofError;
use super::memory::ProofMemory;
use super::nonce::Nonces;
use super::proof::Proof;
use super::target;

/// What was seen is known for so much longer than it is good.
const MARGIN: Lifetime = Lifetime::secs(1);

/// What a verifier works with.
pub struct ProofVerifierParts {
    /// Seals nonces.
    pub sealer: Arc<Sealer>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
    /// How old a proof may be.
    pub proof_lifetime: Lifetime,
    /// How far ahead it may be, because clocks differ.
    pub proof_ahead: Lifetime,
    /// How long a nonce is good.
    pub nonce_lifetime: Lifetime,
}

/// For which request a proof must have been made.
#[derive(Debug, Clone, Copy)]
pub struct Occasion<'a> {
    /// Its method.
    pub method: &'a str,
    /// The addresses that the request may have been sent to.
    pub addresses: &'a [String],
    /// The access token that is presented with it.
    pub access_token: Option<&'a str>,
    /// The algorithms that may be used: [`super::ALGORITHMS`], or fewer.
    pub algorithms: &'a [SigningAlgorithm],
    /// Whether it must have a nonce.
    pub nonce: NonceRule,
    /// When.
    pub now: Timestamp,
}

/// Whether a proof must have a nonce (RFC 9449 §8, §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceRule {
    /// It need not, and if it has one, that does not count.
    Ignored,
    /// One of this server that is still good.
    Required,
}

/// A proof that holds, and that nobody has taken yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proven {
    /// The thumbprint of the key that was proven.
    pub key: [u8; 32],
    /// What a second presentation is known by.
    pub id: [u8; 32],
    /// A second presentation is too old from here on.
    pub expires_at: Timestamp,
}

/// Checks proofs; whether one was seen before is asked elsewhere.
pub struct ProofVerifier {
    nonces: Nonces,
    lifetime: Lifetime,
    ahead: Lifetime,
}

impl ProofVerifier {
    /// A verifier.
    pub fn new(parts: ProofVerifierParts) -> Self {
        let nonces = Nonces { sealer: parts.sealer, rng: parts.rng, lifetime: parts.nonce_lifetime };
        Self { nonces, lifetime: parts.proof_lifetime, ahead: parts.proof_ahead }
    }

    /// A memory that keeps so many proofs for as long as this verifier takes them. A proof that is ahead when it is seen may be
    /// presented until it is too old.
    pub fn memory(&self, capacity: usize) -> ProofMemory {
        let span = self.lifetime.as_duration() + self.ahead.as_duration() + MARGIN.as_duration();
        ProofMemory::new(span.into(), capacity)
    }

    /// Everything but whether the proof was seen before.
    ///
    /// # Errors
    /// [`ProofError`] says which check failed.
    pub fn verify(&self, proof: &str, occasion: &Occasion<'_>) -> Result<Proven, ProofError> {
        let proof = Proof::read(proof)?;
        if !occasion.algorithms.contains(&proof.algorithm) {
            return Err(VerifyError::AlgorithmNotAllowed.into());
        }
        if proof.claims.htm != occasion.method {
            return Err(ProofError::Method);
        }
        if !target::is_one_of(&proof.claims.htu, occasion.addresses) {
            return Err(ProofError::Target);
        }
        self.check_nonce(&proof, occasion)?;
        self.check_time(&proof, occasion.now)?;
        check_access_token(&proof, occasion.access_token)?;
        let expires_at = proof.issued_at()? + self.lifetime + MARGIN;
        Ok(Proven { key: proof.key, id: proof.id(), expires_at })
    }

    /// A nonce for a next proof (RFC 9449 §8.2).
    pub fn nonce(&self, now: Timestamp) -> String {
        self.nonces.fresh(now)
    }

    fn check_nonce(&self, proof: &Proof, occasion: &Occasion<'_>) -> Result<(), ProofError> {
        let holds = |nonce: &str| self.nonces.hold(nonce, occasion.now);
        if occasion.nonce == NonceRule::Ignored || proof.claims.nonce.as_deref().is_some_and(holds) {
            Ok(())
        } else {
            Err(ProofError::Nonce)
        }
    }

    fn check_time(&self, proof: &Proof, now: Timestamp) -> Result<(), ProofError> {
        let issued_at = proof.issued_at()?;
        if now > issued_at + self.lifetime || issued_at > now + self.ahead {
            return Err(ProofError::NotNow);
        }
        proof.check_own_time(now, self.ahead)
    }
}

impl fmt::Debug for ProofVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProofVerifier").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

/// A token endpoint is presented none, and what a proof says of one there does not count.
fn check_access_token(proof: &Proof, access_token: Option<&str>) -> Result<(), ProofError> {
    let Some(access_token) = access_token else { return Ok(()) };
    let expected = URL_SAFE_NO_PAD.encode(sha256(access_token.as_bytes()));
    let named = proof.claims.ath.as_deref().unwrap_or_default();
    if same_bytes(named.as_bytes(), expected.as_bytes()) { Ok(()) } else { Err(ProofError::AccessToken) }
}
