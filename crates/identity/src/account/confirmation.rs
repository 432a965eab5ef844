//! Who it is, once more, before something is changed that a stolen access token must not change.

use sluice_primitives::{Lifetime, Secret};

use super::outcome::{Denied, Outcome, Stop};
use super::service::AccountService;
use crate::error::IdentityError;
use crate::identity::Identity;
use crate::login::Network;
use crate::session::Caller;

/// For so long after a login nobody is asked again.
pub const FRESH: Lifetime = Lifetime::minutes(10);

impl AccountService {
    /// The caller's record, if the password is right or, without one, if the caller logged in less than [`FRESH`] ago: so
    /// people who have passkeys only log in again.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now.
    pub async fn confirm(
        &self,
        caller: &Caller,
        password: Option<&Secret<String>>,
        network: Network,
    ) -> Result<Outcome<Identity>, IdentityError> {
        Outcome::of(self.confirmed(caller, password, network).await)
    }

    async fn confirmed(
        &self,
        caller: &Caller,
        password: Option<&Secret<String>>,
        network: Network,
    ) -> Result<Identity, Stop> {
        match password {
            Some(password) => self.verify_password(caller.identity, password, network).await,
            None if self.clock.now().since(caller.authenticated_at) < FRESH => {
                Ok(self.identities.find(caller.identity).await?.ok_or(Denied::Gone)?)
            }
            None => Err(Denied::WrongPassword.into()),
        }
    }
}
