//! Sessions and the first factor: once somebody has one, nobody is let in without it any more.

use sluice_primitives::{IdentityId, SessionId};

use super::service::AccountService;
use crate::error::IdentityError;
use crate::factor::Aal;
use crate::identity::Identity;
use crate::login::Network;
use crate::session::TokenPair;

impl AccountService {
    /// Signs a person in who proved who it is by these methods (RFC 8176), as [`SessionService::begin`] does.
    ///
    /// # Errors
    /// [`IdentityError::Changed`] if the record that was looked at was changed meanwhile, or a first factor was enrolled that
    /// these methods do not show.
    ///
    /// [`SessionService::begin`]: crate::session::SessionService::begin
    pub async fn sign_in(
        &self,
        identity: &Identity,
        amr: Vec<String>,
        device: &str,
        network: Network,
    ) -> Result<TokenPair, IdentityError> {
        let is_weak = is_weak(&amr);
        let pair = self.sessions.begin(identity, amr, device, network).await?;
        self.unless_too_weak(identity.id, pair, is_weak).await
    }

    /// A session that has just begun. If it `is_weak` and somebody has a factor, it ends, and [`IdentityError::Changed`] is the answer.
    pub(super) async fn unless_too_weak(
        &self,
        identity: IdentityId,
        pair: TokenPair,
        is_weak: bool,
    ) -> Result<TokenPair, IdentityError> {
        // After the session is stored: either who enrols the factor finds the session among the weaker ones, or it is seen here.
        if is_weak && !self.factors.list(identity).await?.is_empty() {
            self.sessions.end(identity, pair.session).await?;
            return Err(IdentityError::Changed);
        }
        Ok(pair)
    }

    /// Ends the sessions of a person that no second factor was shown for, but `keep`: for when the first one was enrolled.
    /// Those who are in without it stay out.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now; the same call may be made again.
    pub async fn end_weaker_sessions(
        &self,
        identity: IdentityId,
        keep: SessionId,
    ) -> Result<(), IdentityError> {
        for session in self.sessions.list(identity).await? {
            if session.id != keep && is_weak(&session.amr) {
                self.sessions.end(identity, session.id).await?;
            }
        }
        Ok(())
    }
}

/// Whether no second factor was shown.
pub(super) fn is_weak(amr: &[String]) -> bool {
    Aal::reached_by(amr) < Aal::Aal2
}
