//! Sessions and the first factor: once somebody has one, nobody is let in without it any more.

use sluice_commit::chain;
use sluice_primitives::{IdentityId, SessionId};
use tracing::{info, warn};

use super::service::AccountService;
use crate::error::IdentityError;
use crate::factor::{Aal, Enroller, EnrolmentOutcome, NewPasskey};
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

    /// Enrols an authenticator app, by ticket, code and name ([`FactorService::confirm_totp`]), in a session of the person. With
    /// the first factor all other sessions end that no second one was shown in.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now; the same call may be made again.
    ///
    /// [`FactorService::confirm_totp`]: crate::factor::FactorService::confirm_totp
    pub async fn add_totp(
        &self,
        (identity, session): (&Identity, SessionId),
        (ticket, code, name): (&str, &str, &str),
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let weaker = self.weaker_sessions(identity.id, session).await?;
        let enroller = Enroller { identity, ends: Some(self.sessions.weaker_than_first_factor(session)) };
        let outcome = self.factors.confirm_totp(enroller, ticket, code, name).await?;
        self.tell_ended((identity.id, session), &weaker, &outcome).await;
        Ok(outcome)
    }

    /// The same of a passkey ([`FactorService::finish_passkey_enrolment`]).
    ///
    /// # Errors
    /// As [`AccountService::add_totp`].
    ///
    /// [`FactorService::finish_passkey_enrolment`]: crate::factor::FactorService::finish_passkey_enrolment
    pub async fn add_passkey(
        &self,
        (identity, session): (&Identity, SessionId),
        new: NewPasskey<'_>,
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let weaker = self.weaker_sessions(identity.id, session).await?;
        let enroller = Enroller { identity, ends: Some(self.sessions.weaker_than_first_factor(session)) };
        let outcome = self.factors.finish_passkey_enrolment(enroller, new).await?;
        self.tell_ended((identity.id, session), &weaker, &outcome).await;
        Ok(outcome)
    }

    /// Of the sessions that ended with the first factor this node knows at once about `weaker`, which were looked for before it was
    /// written; of one that began in between it hears from the feed, as the other nodes do of all. One that was stored after it ends now.
    /// The factor is there, and its recovery codes are shown once: a failure here is not the answer.
    async fn tell_ended(
        &self,
        (identity, keep): (IdentityId, SessionId),
        weaker: &[SessionId],
        outcome: &EnrolmentOutcome,
    ) {
        let is_first = matches!(outcome, EnrolmentOutcome::Enrolled(enrolled) if enrolled.is_first());
        if !is_first {
            return;
        }
        let now = self.clock.now();
        for session in weaker {
            self.sessions.forget(*session, now);
            info!(target: "sluice_audit", { identity.id = %identity, session.id = %session }, "signed out");
        }
        if let Err(error) = self.end_weaker_sessions(identity, keep).await {
            warn!(identity.id = %identity, error = %chain(&error), "sessions without the first factor not looked for again");
        }
    }

    /// The sessions of a person that no second factor was shown in, but `keep`.
    async fn weaker_sessions(
        &self,
        identity: IdentityId,
        keep: SessionId,
    ) -> Result<Vec<SessionId>, IdentityError> {
        let sessions = self.sessions.list(identity).await?.into_iter();
        let weaker = sessions.filter(|session| session.id != keep && is_weak(&session.amr));
        Ok(weaker.map(|session| session.id).collect())
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
        for session in self.weaker_sessions(identity, keep).await? {
            self.sessions.end(identity, session).await?;
        }
        Ok(())
    }
}

/// Whether no second factor was shown.
pub(super) fn is_weak(amr: &[String]) -> bool {
    Aal::reached_by(amr) < Aal::Aal2
}
