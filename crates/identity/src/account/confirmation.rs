//! Who it is, once more, before something is changed that a stolen access token must not change.

use std::fmt;

use sluice_primitives::{Lifetime, Secret};

use super::outcome::{Denied, Outcome, Stop};
use super::service::AccountService;
use crate::error::IdentityError;
use crate::factor::{Aal, FactorCheck, FactorProof, Shown, shows_passkey};
use crate::identity::{Identity, IdentityStatus};
use crate::login::Network;
use crate::session::Caller;

/// For so long after a login nobody is asked again.
pub const FRESH: Lifetime = Lifetime::minutes(10);

/// Somebody who is signed in, and what they show once more.
#[derive(Clone, Copy)]
pub struct Confirmation<'a> {
    /// Who is signed in.
    pub caller: &'a Caller,
    /// The present password. Needless of people who have none, or showed a passkey, less than [`FRESH`] ago.
    pub password: Option<&'a Secret<String>>,
    /// A second factor, if the login did not ask for one. What a passkey was asked for is the id of the session.
    pub factor: Option<FactorProof<'a>>,
    /// Where the request comes from.
    pub network: Network,
}

/// Without the password.
impl fmt::Debug for Confirmation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confirmation").field("caller", &self.caller).finish_non_exhaustive()
    }
}

impl AccountService {
    /// The caller's record, if what they show proves that it is them: the password, or a passkey less than [`FRESH`] ago.
    /// Who has a second factor has shown it, too, at the login or now: an older session, or a stolen password, takes nobody's
    /// factor away.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now.
    pub async fn confirm(&self, confirmation: &Confirmation<'_>) -> Result<Outcome<Identity>, IdentityError> {
        Outcome::of(self.confirmed(confirmation).await)
    }

    /// Whether somebody who is signed in has shown a second factor, as far as they have one.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn has_shown_factor(&self, caller: &Caller) -> Result<bool, IdentityError> {
        let has_shown = Aal::reached_by(&caller.amr) == Aal::Aal2;
        Ok(has_shown || self.factors.list(caller.identity).await?.is_empty())
    }

    pub(super) async fn confirmed(&self, confirmation: &Confirmation<'_>) -> Result<Identity, Stop> {
        self.confirmed_by(confirmation).await.map(|(identity, _)| identity)
    }

    /// The same, and the second factor that was shown now, if one was.
    pub(super) async fn confirmed_by(
        &self,
        confirmation: &Confirmation<'_>,
    ) -> Result<(Identity, Option<Shown>), Stop> {
        let Confirmation { caller, password, factor, network } = *confirmation;
        let lacks_factor = !self.has_shown_factor(caller).await?;
        if lacks_factor && factor.is_none() {
            return Err(Denied::SecondFactorRequired.into());
        }
        let identity = match password {
            Some(password) => self.verify_password(caller, password, network).await?,
            None => self.fresh(caller).await?,
        };
        // The record was read before: if all sessions end from here on, it is another one when it is to be changed.
        if !self.sessions.goes_on((caller.identity, caller.session)).await? {
            return Err(Denied::Gone.into());
        }
        if password.is_some() {
            self.limits.check_confirmation(identity.id).map_err(Denied::TooMany)?;
        }
        // After the password: a recovery code is good once.
        let Some(proof) = factor.filter(|_| lacks_factor) else { return Ok((identity, None)) };
        let shown = self.factor_shown(&identity, proof, confirmation).await.inspect_err(|_| {
            // Whoever has the password alone uses up nothing of who has the factor, too.
            if password.is_some() {
                self.limits.was_no_confirmation(identity.id);
            }
        })?;
        Ok((identity, Some(shown)))
    }

    async fn factor_shown(
        &self,
        identity: &Identity,
        proof: FactorProof<'_>,
        Confirmation { caller, network, .. }: &Confirmation<'_>,
    ) -> Result<Shown, Stop> {
        match self.factors.check(identity, proof, caller.session.as_bytes(), *network).await? {
            FactorCheck::Right(shown) => Ok(shown),
            FactorCheck::Wrong | FactorCheck::Late => Err(Denied::WrongCode.into()),
            FactorCheck::Used => Err(Denied::UsedCode.into()),
            FactorCheck::TooMany(wait) => Err(Denied::TooMany(wait).into()),
        }
    }

    /// The caller's record, if no password is asked for.
    async fn fresh(&self, caller: &Caller) -> Result<Identity, Stop> {
        let found = self.identities.find(caller.identity).await?;
        let active = found.filter(|identity| identity.status == IdentityStatus::Active);
        let identity = active.ok_or(Denied::Gone)?;
        let is_fresh = self.clock.now().since(caller.authenticated_at) < FRESH;
        let needs_none = shows_passkey(&caller.amr) || identity.credential.is_empty();
        if is_fresh && needs_none { Ok(identity) } else { Err(Denied::ConfirmationRequired.into()) }
    }
}
