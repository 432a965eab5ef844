//! The checks of RFC 9449 §4.3, in their order.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_crypto::Sealer;
use sluice_crypto::digest::sha256;
use sluice_crypto::jws::VerifyError;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{Lifetime, Rng, Timestamp};

use super::error::DpopError;
use super::memory::ProofMemory;
use super::nonce::Nonces;
use super::proof::Proof;
use super::target;
use crate::caller::DpopHeader;
use crate::client::SecurityProfile;
use crate::config::Config;
use crate::replay::{ReplayKind, ReplayRepository};

/// A proof may always be this far ahead, because clocks differ.
const AHEAD: Lifetime = Lifetime::secs(15);

/// For which request a proof must have been made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occasion<'a> {
    /// Its method.
    pub(crate) method: &'a str,
    /// The path of the endpoint, below the address of this server.
    pub(crate) path: &'a str,
    /// The access token that is presented with it.
    pub(crate) access_token: Option<&'a str>,
    /// Which stricter rules hold.
    pub(crate) profile: SecurityProfile,
    /// When.
    pub(crate) now: Timestamp,
}

/// A proof that holds, and that nobody has taken yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unspent {
    /// The key that was proven.
    pub(crate) key: [u8; 32],
    id: [u8; 32],
    /// A second presentation is too old from here on.
    expires_at: Timestamp,
}

/// Checks proofs.
pub(crate) struct DpopVerifier {
    config: Arc<Config>,
    nonces: Nonces,
    replay: Arc<dyn ReplayRepository>,
    seen: ProofMemory,
    /// Of those who may be anybody: what they send must not drive out the others.
    of_anybody: ProofMemory,
}

impl DpopVerifier {
    pub(crate) fn new(
        config: Arc<Config>,
        sealer: Arc<Sealer>,
        rng: Arc<dyn Rng>,
        replay: Arc<dyn ReplayRepository>,
    ) -> Self {
        let policy = config.policies.dpop;
        let nonces = Nonces { sealer, rng, lifetime: policy.nonce_lifetime };
        // A proof that is ahead when it is seen may be presented until it is too old.
        let span = policy.proof_lifetime.as_duration() + policy.proof_lifetime.max(AHEAD).as_duration();
        let memory = || ProofMemory::new(span.into());
        Self { config, nonces, replay, seen: memory(), of_anybody: memory() }
    }

    /// A proof that holds, to be spent or remembered before anything is given away; none if there is none.
    pub(crate) fn proven(
        &self,
        header: &DpopHeader,
        occasion: &Occasion<'_>,
    ) -> Result<Option<Unspent>, DpopError> {
        let Some(proof) = self.check(header, occasion)? else { return Ok(None) };
        let expires_at = proof.issued_at()? + self.config.policies.dpop.proof_lifetime + Lifetime::secs(1);
        Ok(Some(Unspent { key: proof.key, id: proof.id(), expires_at }))
    }

    /// Takes a proof: no node takes it a second time. It costs a row, so whoever asks has shown more than a key that anybody
    /// can make.
    pub(crate) async fn spend(&self, proof: &Unspent, now: Timestamp) -> Result<(), DpopError> {
        let first = self.replay.spend(ReplayKind::DpopProof, proof.id, now, proof.expires_at).await?;
        if first { Ok(()) } else { Err(DpopError::Replayed) }
    }

    /// Takes a proof of who may be anybody, where it gives nothing away: this node does not take it a second time.
    pub(crate) fn remember(&self, proof: &Unspent, now: Timestamp) -> Result<(), DpopError> {
        if self.of_anybody.add(proof.id, now) { Ok(()) } else { Err(DpopError::Replayed) }
    }

    /// The key that was proven, at a resource: this node does not take the proof a second time.
    pub(crate) fn proven_here(
        &self,
        header: &DpopHeader,
        occasion: &Occasion<'_>,
    ) -> Result<[u8; 32], DpopError> {
        let proof = self.proven(header, occasion)?.ok_or(DpopError::Missing)?;
        if self.seen.add(proof.id, occasion.now) { Ok(proof.key) } else { Err(DpopError::Replayed) }
    }

    /// A nonce for the next proof, if nonces are asked for (RFC 9449 §8.2).
    pub(crate) fn nonce(&self, now: Timestamp) -> Option<String> {
        self.config.policies.dpop.nonce_required.then(|| self.nonces.fresh(now))
    }

    /// Everything but whether the proof was seen before.
    fn check(&self, header: &DpopHeader, occasion: &Occasion<'_>) -> Result<Option<Proof>, DpopError> {
        let header = match header {
            DpopHeader::None => return Ok(None),
            DpopHeader::Unclear => return Err(DpopError::Unclear),
            DpopHeader::One(header) => header,
        };
        let proof = Proof::read(header)?;
        if !occasion.profile.allows(proof.algorithm) {
            return Err(VerifyError::AlgorithmNotAllowed.into());
        }
        if proof.claims.htm != occasion.method {
            return Err(DpopError::Method);
        }
        if !target::is_one_of(&proof.claims.htu, &self.config.addresses(occasion.path)) {
            return Err(DpopError::Target);
        }
        self.check_nonce(&proof, occasion.now)?;
        self.check_time(&proof, occasion.now)?;
        check_access_token(&proof, occasion.access_token)?;
        Ok(Some(proof))
    }

    fn check_nonce(&self, proof: &Proof, now: Timestamp) -> Result<(), DpopError> {
        let holds = |nonce: &str| self.nonces.hold(nonce, now);
        if !self.config.policies.dpop.nonce_required || proof.claims.nonce.as_deref().is_some_and(holds) {
            Ok(())
        } else {
            Err(DpopError::Nonce)
        }
    }

    fn check_time(&self, proof: &Proof, now: Timestamp) -> Result<(), DpopError> {
        let (issued_at, lifetime) = (proof.issued_at()?, self.config.policies.dpop.proof_lifetime);
        let ahead = lifetime.max(AHEAD);
        if now > issued_at + lifetime || issued_at > now + ahead {
            return Err(DpopError::NotNow);
        }
        proof.check_own_time(now, ahead)
    }
}

/// A token endpoint is presented none, and what a proof says of one there does not count.
fn check_access_token(proof: &Proof, access_token: Option<&str>) -> Result<(), DpopError> {
    let Some(access_token) = access_token else { return Ok(()) };
    let expected = URL_SAFE_NO_PAD.encode(sha256(access_token.as_bytes()));
    let named = proof.claims.ath.as_deref().unwrap_or_default();
    if same_bytes(named.as_bytes(), expected.as_bytes()) { Ok(()) } else { Err(DpopError::AccessToken) }
}
