//! Proofs at this server: what they are checked against, and where they are spent.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::{Lifetime, Rng, Timestamp};
use sluice_token::dpop::{self, ALGORITHMS, NonceRule, ProofError, ProofVerifier};
use sluice_token::dpop::{ProofVerifierParts, Proven};

use super::error::DpopError;
use super::seen::SeenProofs;
use crate::caller::DpopHeader;
use crate::client::SecurityProfile;
use crate::config::Config;
use crate::replay::{ReplayKind, ReplayRepository};

/// A proof may be this far ahead, because clocks differ: FAPI 2.0 wants 10 seconds at least and 60 at most (Security Profile
/// §5.3.2.1).
const AHEAD: Lifetime = Lifetime::secs(15);
/// The most proofs that are remembered at a time, of each kind: some 20 MiB at worst.
const REMEMBERED: usize = 262_144;

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

/// Checks proofs.
pub(crate) struct DpopVerifier {
    config: Arc<Config>,
    proofs: ProofVerifier,
    replay: Arc<dyn ReplayRepository>,
    seen: SeenProofs,
}

impl DpopVerifier {
    pub(crate) fn new(
        config: Arc<Config>,
        sealer: Arc<Sealer>,
        rng: Arc<dyn Rng>,
        replay: Arc<dyn ReplayRepository>,
    ) -> Self {
        let policy = config.policies.dpop;
        let (proof_lifetime, nonce_lifetime) = (policy.proof_lifetime, policy.nonce_lifetime);
        let parts = ProofVerifierParts { sealer, rng, proof_lifetime, proof_ahead: AHEAD, nonce_lifetime };
        let proofs = ProofVerifier::new(parts);
        let seen =
            SeenProofs { of_holders: proofs.memory(REMEMBERED), of_anybody: proofs.memory(REMEMBERED) };
        Self { config, proofs, replay, seen }
    }

    /// A proof that holds, to be spent or remembered before anything is given away; none if there is none.
    pub(crate) fn proven(
        &self,
        header: &DpopHeader,
        occasion: &Occasion<'_>,
    ) -> Result<Option<Proven>, DpopError> {
        let header = match header {
            DpopHeader::None => return Ok(None),
            DpopHeader::Unclear => return Err(DpopError::Unclear),
            DpopHeader::One(header) => header,
        };
        let algorithms: Vec<SigningAlgorithm> =
            ALGORITHMS.into_iter().filter(|algorithm| occasion.profile.allows(*algorithm)).collect();
        let is_required = self.config.policies.dpop.nonce_required;
        let occasion = dpop::Occasion {
            method: occasion.method,
            addresses: &self.config.addresses(occasion.path),
            access_token: occasion.access_token,
            algorithms: &algorithms,
            nonce: if is_required { NonceRule::Required } else { NonceRule::Ignored },
            now: occasion.now,
        };
        Ok(Some(self.proofs.verify(header, &occasion)?))
    }

    /// Takes a proof: no node takes it a second time. It costs a row, so whoever asks has shown more than a key that anybody
    /// can make.
    pub(crate) async fn spend(&self, proof: &Proven, now: Timestamp) -> Result<(), DpopError> {
        let first = self.replay.spend(ReplayKind::DpopProof, proof.id, now, proof.expires_at).await?;
        if first { Ok(()) } else { Err(ProofError::Replayed.into()) }
    }

    /// Proofs that this node has seen.
    pub(crate) fn seen(&self) -> &SeenProofs {
        &self.seen
    }

    /// A nonce for the next proof, if nonces are asked for (RFC 9449 §8.2).
    pub(crate) fn nonce(&self, now: Timestamp) -> Option<String> {
        self.config.policies.dpop.nonce_required.then(|| self.proofs.nonce(now))
    }
}
