//! To add a passkey.

use tracing::info;
use webauthn_rs::prelude::RegisterPublicKeyCredential;

use super::ceremony::Registration;
use super::stored::StoredPasskey;
use super::{PasskeyChallenge, RelyingParty};
use crate::error::IdentityError;
use crate::factor::enrolment::{Beginning, Enroller, EnrolmentOutcome, NewFactor};
use crate::factor::model::{Factor, FactorKind};
use crate::factor::service::FactorService;
use crate::identity::{Identity, LoginNameHash};

/// What a browser made of the options to make a passkey.
#[derive(Clone, Copy)]
pub struct NewPasskey<'a> {
    /// The state, as it was given out.
    pub state: &'a str,
    /// The `PublicKeyCredential`, as JSON.
    pub response: &'a str,
    /// What the person calls it.
    pub name: &'a str,
    /// What the ceremony was begun for.
    pub context: &'a [u8],
}

impl std::fmt::Debug for NewPasskey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewPasskey").finish_non_exhaustive()
    }
}

impl FactorService {
    /// Begins to enrol a passkey. Nothing is stored. `context` is what it is for, such as the session: it does not end
    /// anywhere else. None if passkeys are not offered.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn begin_passkey_enrolment(
        &self,
        identity: &Identity,
        context: &[u8],
    ) -> Result<Option<PasskeyChallenge>, IdentityError> {
        let Some(party) = &self.parts.passkeys else { return Ok(None) };
        let known = self.passkeys_of(identity.id).await?;
        let known = known.iter().map(|(_, known)| known.passkey.cred_id().clone()).collect();
        Ok(party.register(identity, known).and_then(|(options, state)| {
            let (now, rng) = (self.parts.clock.now(), &*self.parts.rng);
            let registration = Registration { beginning: Beginning::new(identity, now, rng), state };
            let state = registration.seal((context, now), &self.parts.in_flight, rng)?;
            Some(PasskeyChallenge { options, state })
        }))
    }

    /// Enrols the passkey that a browser made.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now; the same call may be made again.
    pub async fn finish_passkey_enrolment(
        &self,
        enroller: Enroller<'_>,
        new: NewPasskey<'_>,
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let identity = enroller.identity;
        let whence = (new.context, self.parts.clock.now());
        let ceremony = Registration::open(new.state, whence, &self.parts.in_flight);
        let ceremony = ceremony.filter(|ceremony| ceremony.beginning.is_of(identity));
        let (Some(party), Some(ceremony)) = (&self.parts.passkeys, ceremony) else {
            return Ok(EnrolmentOutcome::Expired);
        };
        let Ok(response) = serde_json::from_str::<RegisterPublicKeyCredential>(new.response) else {
            return Ok(EnrolmentOutcome::Wrong);
        };
        let known = self.passkeys_of(identity.id).await?;
        // Looked at first: where it was known when the ceremony began, the library refuses it as any other that is wrong.
        let is_known = known
            .iter()
            .any(|(factor, known)| factor.id != ceremony.beginning.factor && known.has_id(&response.raw_id));
        if is_known {
            return Ok(EnrolmentOutcome::Known);
        }
        let Some(stored) = made(party, &ceremony, identity, response) else {
            return Ok(EnrolmentOutcome::Wrong);
        };
        let sealed = stored.seal(&self.parts.at_rest, &*self.parts.rng);
        let Some(sealed) = sealed else { return Ok(EnrolmentOutcome::Wrong) };
        let beginning = &ceremony.beginning;
        let kind = FactorKind::Passkey;
        self.enrol(enroller, NewFactor { beginning, kind, name: new.name, sealed, counter: 0 }).await
    }

    /// The verified address with which the passkey was enrolled, as far as that was noted.
    pub(in crate::factor) fn verified_address_of_passkey(&self, factor: &Factor) -> Option<LoginNameHash> {
        StoredPasskey::of(factor, &self.parts.at_rest)?.verified_address
    }
}

fn made(
    party: &RelyingParty,
    ceremony: &Registration,
    identity: &Identity,
    response: RegisterPublicKeyCredential,
) -> Option<StoredPasskey> {
    let made = party.registered(&response, &ceremony.state).inspect_err(|cause| {
        info!(identity.id = %identity.id, reason = %cause, "passkey not enrolled");
    });
    Some(StoredPasskey::new(identity, made.ok()?, response.response.transports))
}
