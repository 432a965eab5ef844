//! Sessions and the first factor: once somebody has one, nobody is let in without it any more.

use sluice_commit::chain;
use sluice_primitives::{IdentityId, SessionId};
use tracing::{info, warn};

use super::service::AccountService;
use crate::error::IdentityError;
use crate::factor::{Aal, Enroller, Enrolling, EnrolmentOutcome, NewPasskey};
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
        self.totp_added((self.enroller(identity, session), session), (ticket, code, name)).await
    }

    /// Enrols the authenticator app that a login waits for, if the person has no factor yet. All sessions end that no second one was shown in.
    ///
    /// # Errors
    /// As [`AccountService::add_totp`].
    pub async fn add_first_totp(
        &self,
        login: &Enrolling,
        shown: (&str, &str, &str),
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let none = self.no_session();
        let enroller = Enroller { only_first: true, ..self.enroller(&login.identity, none) };
        self.totp_added((enroller, none), shown).await
    }

    async fn totp_added(
        &self,
        (enroller, session): (Enroller<'_>, SessionId),
        (ticket, code, name): (&str, &str, &str),
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let identity = enroller.identity.id;
        let weaker = self.weaker_sessions(identity, session).await?;
        let outcome = self.factors.confirm_totp(enroller, ticket, code, name).await?;
        self.tell_ended((identity, session), &weaker, &outcome).await;
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
        self.passkey_added((self.enroller(identity, session), session), new).await
    }

    /// The same of a passkey, as [`AccountService::add_first_totp`].
    ///
    /// # Errors
    /// As [`AccountService::add_totp`].
    pub async fn add_first_passkey(
        &self,
        login: &Enrolling,
        new: NewPasskey<'_>,
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let none = self.no_session();
        let enroller = Enroller { only_first: true, ..self.enroller(&login.identity, none) };
        self.passkey_added((enroller, none), new).await
    }

    async fn passkey_added(
        &self,
        (enroller, session): (Enroller<'_>, SessionId),
        new: NewPasskey<'_>,
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let identity = enroller.identity.id;
        let weaker = self.weaker_sessions(identity, session).await?;
        let outcome = self.factors.finish_passkey_enrolment(enroller, new).await?;
        self.tell_ended((identity, session), &weaker, &outcome).await;
        Ok(outcome)
    }

    /// Somebody who adds a factor in this session, which goes on.
    fn enroller<'a>(&self, identity: &'a Identity, session: SessionId) -> Enroller<'a> {
        Enroller { identity, ends: Some(self.sessions.weaker_than_first_factor(session)), only_first: false }
    }

    /// The session of a login that is not complete: one that nobody has, so that none goes on.
    fn no_session(&self) -> SessionId {
        SessionId::generate(self.clock.now(), &*self.rng)
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
