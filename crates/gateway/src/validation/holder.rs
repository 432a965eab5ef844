//! Tokens that are bound to a key: whether who presents one holds it. DPoP (RFC 9449) and client certificates (RFC 8705 §3).

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use http::HeaderName;
use sluice_crypto::Sealer;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{Lifetime, Rng, Timestamp};
use sluice_token::Confirmation;
use sluice_token::dpop::{
    ALGORITHMS, NonceRule, Occasion, ProofError, ProofMemory, ProofVerifier, ProofVerifierParts, Proven,
};

use crate::authn::extract::{Presented, Scheme};
use crate::authn::{Asked, Caller, Refusal};
use crate::route::RoutePolicy;

/// There is no proof.
pub const PROOF_MISSING: &str = "dpop_proof_missing";
/// There are two, or one that is none, or one for another occasion.
pub const PROOF_INVALID: &str = "dpop_proof_invalid";
/// The proof was presented before.
pub const PROOF_REPLAYED: &str = "dpop_proof_replayed";
/// The token is bound to another key than the one that was proven.
pub const OTHER_KEY: &str = "token_of_another_key";
/// A token that is bound to a DPoP key was presented as a bearer token (RFC 9449 §7.2).
pub const UNPROVEN: &str = "token_without_proof";
/// A token that is not bound to a DPoP key was presented as if it were.
pub const NOT_BOUND: &str = "token_not_bound";

static DPOP: HeaderName = HeaderName::from_static("dpop");

/// What holders are checked with.
pub struct HolderParts {
    /// Seals nonces: gateways that share its keys take each other's. Replaced as a whole when they change.
    pub sealer: Arc<ArcSwap<Sealer>>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
    /// How old a proof may be.
    pub proof_lifetime: Lifetime,
    /// How far ahead it may be, because clocks differ.
    pub proof_ahead: Lifetime,
    /// How long a nonce is good.
    pub nonce_lifetime: Lifetime,
    /// The most proofs that are remembered at a time, 80 bytes each at worst. While there are so many, no other is taken.
    pub remembered_proofs: usize,
}

/// Checks who presents a token. Proofs that were seen are kept in memory for as long as they are good, a bounded number of them;
/// nothing is stored.
pub struct HolderCheck {
    parts: HolderParts,
    verifier: ArcSwap<Verifier>,
    seen: ProofMemory,
}

/// A verifier, and the sealer that it was made with.
struct Verifier {
    proofs: ProofVerifier,
    sealer: Arc<Sealer>,
}

/// Whether a refusal of [`HolderCheck::check`] is about the proof (`invalid_dpop_proof`), not about the token.
pub fn is_about_proof(reason: &str) -> bool {
    matches!(reason, PROOF_MISSING | PROOF_INVALID | PROOF_REPLAYED)
}

impl HolderCheck {
    /// A check that has seen nothing yet.
    pub fn new(parts: HolderParts) -> Self {
        let verifier = Verifier::new(&parts);
        let seen = verifier.proofs.memory(parts.remembered_proofs);
        Self { seen, verifier: ArcSwap::from_pointee(verifier), parts }
    }

    /// Whether who presents the token of `caller` so holds the key that it is bound to, if any: the proof of it, which is to be
    /// [remembered](Self::remember) when nothing else is against the request.
    ///
    /// # Errors
    /// [`Refusal::NotHolder`] or [`Refusal::NonceWanted`].
    pub fn check(
        &self,
        caller: &Caller,
        presented: &Presented<'_>,
        asked: &Asked<'_>,
        (policy, now): (&RoutePolicy, Timestamp),
    ) -> Result<Option<Proven>, Refusal> {
        match (presented.scheme, caller.confirmation()) {
            (Scheme::Bearer, None) => Ok(None),
            (Scheme::Bearer, Some(Confirmation::X5tS256(expected))) => {
                let is_it = asked.certificate.is_some_and(|shown| same_bytes(&shown, &expected));
                if is_it { Ok(None) } else { Err(Refusal::NotHolder(OTHER_KEY)) }
            }
            (Scheme::Bearer, Some(Confirmation::Jkt(_))) => Err(Refusal::NotHolder(UNPROVEN)),
            (Scheme::Dpop, Some(Confirmation::Jkt(expected))) => {
                let proven = self.proven(presented.token, asked, (policy.dpop_nonce, now))?;
                if !same_bytes(&proven.key, &expected) {
                    return Err(Refusal::NotHolder(OTHER_KEY));
                }
                if self.seen.has(&proven) {
                    return Err(Refusal::NotHolder(PROOF_REPLAYED));
                }
                Ok(Some(proven))
            }
            (Scheme::Dpop, None | Some(Confirmation::X5tS256(_))) => Err(Refusal::NotHolder(NOT_BOUND)),
        }
    }

    /// Remembers the proof of a request that may pass. Not before: proofs of keys that anybody can make, and requests that are turned
    /// away, take no room from those who hold theirs.
    ///
    /// # Errors
    /// [`Refusal::NotHolder`] if it was seen meanwhile, [`Refusal::TooManyProofs`].
    pub fn remember(&self, proof: &Proven, now: Timestamp) -> Result<(), Refusal> {
        self.seen.add(proof, now).map_err(|error| match error {
            ProofError::NoRoom => Refusal::TooManyProofs,
            _ => Refusal::NotHolder(PROOF_REPLAYED),
        })
    }

    /// The proofs that were seen.
    pub fn seen(&self) -> &ProofMemory {
        &self.seen
    }

    /// A nonce for the next proof (RFC 9449 §9).
    pub fn nonce(&self, now: Timestamp) -> String {
        self.verifier().proofs.nonce(now)
    }

    /// The verifier with the keys that are in force.
    fn verifier(&self) -> Guard<Arc<Verifier>> {
        let verifier = self.verifier.load();
        if Arc::ptr_eq(&verifier.sealer, &self.parts.sealer.load()) {
            return verifier;
        }
        self.verifier.store(Arc::new(Verifier::new(&self.parts)));
        self.verifier.load()
    }

    /// What the proof of a request proves. Whether it was seen before is not asked.
    fn proven(
        &self,
        token: &str,
        asked: &Asked<'_>,
        (nonce, now): (bool, Timestamp),
    ) -> Result<Proven, Refusal> {
        let scheme = if asked.https { "https" } else { "http" };
        let occasion = Occasion {
            method: asked.method.as_str(),
            addresses: &[format!("{scheme}://{}{}", asked.host, asked.path)],
            access_token: Some(token),
            algorithms: &ALGORITHMS,
            nonce: if nonce { NonceRule::Required } else { NonceRule::Ignored },
            now,
        };
        self.verifier().proofs.verify(proof(asked)?, &occasion).map_err(|error| match error {
            ProofError::Nonce => Refusal::NonceWanted(self.nonce(now)),
            _ => Refusal::NotHolder(PROOF_INVALID),
        })
    }
}

impl Verifier {
    fn new(parts: &HolderParts) -> Self {
        let sealer = parts.sealer.load_full();
        let proofs = ProofVerifier::new(ProofVerifierParts {
            sealer: Arc::clone(&sealer),
            rng: Arc::clone(&parts.rng),
            proof_lifetime: parts.proof_lifetime,
            proof_ahead: parts.proof_ahead,
            nonce_lifetime: parts.nonce_lifetime,
        });
        Self { proofs, sealer }
    }
}

/// The one proof of a request (RFC 9449 §4.3, check 1).
fn proof<'a>(asked: &Asked<'a>) -> Result<&'a str, Refusal> {
    let mut proofs = asked.headers.get_all(&DPOP).iter();
    match (proofs.next(), proofs.next()) {
        (None, _) => Err(Refusal::NotHolder(PROOF_MISSING)),
        (Some(proof), None) => proof.to_str().map_err(|_| Refusal::NotHolder(PROOF_INVALID)),
        (Some(_), Some(_)) => Err(Refusal::NotHolder(PROOF_INVALID)),
    }
}

#[cfg(test)]
mod tests;
