//! To show a passkey.

use sluice_primitives::{IdentityId, Timestamp};
use tracing::{info, warn};
use webauthn_rs::prelude::{PublicKeyCredential, WebauthnError};

use super::ceremony::Authentication;
use super::stored::StoredPasskey;
use super::{PasskeyChallenge, PasskeyProof, RelyingParty};
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::factor::model::Factor;
use crate::factor::repository::FactorUse;
use crate::factor::service::FactorService;
use crate::login::Network;

/// A passkey that was verified, and what there is to remember of it.
struct Verified {
    proof: PasskeyProof,
    used: FactorUse,
}

/// One ceremony and its answer.
struct Answered {
    ceremony: Authentication,
    issued_at: Timestamp,
    response: PublicKeyCredential,
    owner: IdentityId,
}

impl FactorService {
    /// Begins to ask for a passkey: of this person, or, without one, of whoever has one for this site. `context` is what it
    /// is for, such as the challenge of the flow: it does not end anywhere else. None if passkeys are not offered, or the
    /// person has none.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn begin_passkey(
        &self,
        identity: Option<IdentityId>,
        context: &[u8],
    ) -> Result<Option<PasskeyChallenge>, IdentityError> {
        let Some(party) = &self.parts.passkeys else { return Ok(None) };
        let mut passkeys = Vec::new();
        if let Some(identity) = identity {
            passkeys.extend(self.passkeys_of(identity).await?.into_iter().map(|(_, passkey)| passkey));
            if passkeys.is_empty() {
                return Ok(None);
            }
        }
        Ok(party.ask_for(&passkeys).and_then(|(options, state)| {
            let identity = identity.map(|identity| *identity.as_bytes());
            let whence = (context, self.parts.clock.now());
            let ceremony = Authentication { identity, state };
            let state = ceremony.seal(whence, &self.parts.in_flight, &*self.parts.rng)?;
            Some(PasskeyChallenge { options, state })
        }))
    }

    /// Whose passkey it was, and what it proved; none if it proved nothing. An answer is right once. It came from `network`.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn finish_passkey(
        &self,
        state: &str,
        response: &str,
        context: &[u8],
        network: Network,
    ) -> Result<Option<(IdentityId, PasskeyProof)>, IdentityError> {
        let Some(party) = &self.parts.passkeys else { return Ok(None) };
        let Some(answered) = self.read_answer(party, state, response, context) else {
            info!("passkey refused: too late, for something else, or of somebody else");
            return Ok(None);
        };
        let passkeys = self.passkeys_of(answered.owner).await?;
        let shown = passkeys.into_iter().find(|(_, passkey)| passkey.has_id(&answered.response.raw_id));
        let Some((factor, passkey)) = shown else {
            info!("passkey refused: unknown");
            return Ok(None);
        };
        let Some(verified) = self.verify(party, &factor, passkey, &answered) else { return Ok(None) };
        let used = self.parts.factors.use_once(&verified.used).await;
        if !Deed::new("passkey taken", answered.owner).of_factor(factor.id).at(network).noted(used)? {
            info!(identity.id = %answered.owner, factor.id = %factor.id, "passkey refused: used meanwhile");
            return Ok(None);
        }
        Ok(Some((answered.owner, verified.proof)))
    }

    /// Whose passkey an answer says it is; nothing is verified yet.
    pub(in crate::factor) fn claimed_owner(
        &self,
        state: &str,
        response: &str,
        context: &[u8],
    ) -> Option<IdentityId> {
        let party = self.parts.passkeys.as_ref()?;
        self.read_answer(party, state, response, context).map(|answered| answered.owner)
    }

    /// Whether a passkey was asked for in this context, and too long ago.
    pub(in crate::factor) fn is_late(&self, state: &str, context: &[u8]) -> bool {
        Authentication::is_late(state, (context, self.parts.clock.now()), &self.parts.in_flight)
    }

    /// The passkeys of a person that open.
    pub(super) async fn passkeys_of(
        &self,
        identity: IdentityId,
    ) -> Result<Vec<(Factor, StoredPasskey)>, IdentityError> {
        let factors = self.parts.factors.of_identity(identity).await?;
        let opened = factors.into_iter().filter_map(|factor| {
            let passkey = StoredPasskey::of(&factor, &self.parts.at_rest)?;
            Some((factor, passkey))
        });
        Ok(opened.collect())
    }

    /// The owner of a passkey is who it says, or who was asked; if both are there, they are one. Only passkeys of the owner
    /// are looked at from then on, so that what is claimed here has to be signed by them.
    fn read_answer(
        &self,
        party: &RelyingParty,
        state: &str,
        response: &str,
        context: &[u8],
    ) -> Option<Answered> {
        let whence = (context, self.parts.clock.now());
        let (ceremony, issued_at) = Authentication::open(state, whence, &self.parts.in_flight)?;
        let response: PublicKeyCredential = serde_json::from_str(response).ok()?;
        // Some authenticators that do not say whose it is say so with an empty handle.
        let said = response.response.user_handle.as_ref().filter(|handle| !handle.is_empty());
        let owner = match (said, ceremony.identity) {
            (Some(_), _) => IdentityId::from_uuid(party.claimed_owner(&response)?),
            (None, Some(asked)) => IdentityId::from_bytes(asked),
            (None, None) => return None,
        };
        ceremony.may_be(owner).then_some(Answered { ceremony, issued_at, response, owner })
    }

    /// Verifies the answer, if its ceremony is not over. A use never counts as earlier than its ceremony, whatever the clocks of
    /// other nodes say.
    fn verify(
        &self,
        party: &RelyingParty,
        factor: &Factor,
        mut stored: StoredPasskey,
        answered: &Answered,
    ) -> Option<Verified> {
        let (identity, id) = (factor.identity, factor.id);
        let now = self.parts.clock.now();
        if is_over(answered.issued_at, (factor, &stored), now) {
            info!(identity.id = %identity, factor.id = %id, "passkey refused: shown before, or asked for too long before others that were");
            return None;
        }
        let state = answered.ceremony.state.clone();
        let result = match party.verify(&answered.response, state, &stored.passkey) {
            Ok(result) => result,
            Err(WebauthnError::CredentialPossibleCompromise) => {
                warn!(target: "sluice_audit", { identity.id = %identity, factor.id = %id }, "the counter of a passkey went back: somebody may have a copy of it");
                return None;
            }
            Err(cause) => {
                info!(identity.id = %identity, factor.id = %id, reason = %cause, "passkey refused");
                return None;
            }
        };
        stored.passkey.update_credential(&result);
        stored.remember_use(answered.issued_at, factor.last_used_at, now);
        let sealed = stored.seal(&self.parts.at_rest, &*self.parts.rng);
        let (now, old_counter) = (now.max(answered.issued_at), factor.counter);
        let new_counter = old_counter.saturating_add(1);
        Some(Verified {
            proof: PasskeyProof {
                user_verified: result.user_verified(),
                backup_eligible: result.backup_eligible(),
            },
            used: FactorUse { identity, id, old_counter, new_counter, sealed, now },
        })
    }
}

/// Whether a ceremony that was begun then may be over: the passkey remembers. If it remembers no use, any may be that was begun
/// before the last one. But not if that is in the future: the clock of its node was ahead, and it would keep out what others
/// begin until their time gets there.
fn is_over(begun_at: Timestamp, (factor, stored): (&Factor, &StoredPasskey), now: Timestamp) -> bool {
    let used = factor.last_used_at.filter(|used| *used <= now);
    stored.is_over(begun_at, now).unwrap_or_else(|| used.is_some_and(|used| begun_at <= used))
}
