//! How sessions end. The node that ends one knows at once; the others hear it from the feed.

use sluice_commit::StoreError;
use sluice_primitives::{AttemptId, IdentityId, Lifetime, SessionId, Timestamp};
use sluice_token::{Marker, Target};
use tracing::info;

use super::model::IdentitySession;
use super::refresh_token::RefreshToken;
use super::service::{SessionService, subject};
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::factor::WeakerSessions;
use crate::identity::changing::change_latest;
use crate::identity::{Changed, EndsSessions, Identity, IdentityChange};

/// By how much the clocks of two nodes may differ: markers are kept for so much longer than the tokens they end.
const CLOCK_SKEW: Lifetime = Lifetime::minutes(5);

impl SessionService {
    /// Ends the session of a refresh token, whichever generation it is of. What is none ends nothing.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn log_out(&self, refresh_token: &str) -> Result<(), IdentityError> {
        if let Some(token) = RefreshToken::open(refresh_token, &self.sealer) {
            self.end(token.identity, token.session).await?;
        }
        Ok(())
    }

    /// The sessions of a person, the newest first; at most 200.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn list(&self, identity: IdentityId) -> Result<Vec<IdentitySession>, IdentityError> {
        Ok(self.sessions.of_identity(identity, self.clock.now()).await?)
    }

    /// Ends a session of this person; whether it was there.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn end(&self, identity: IdentityId, session: SessionId) -> Result<bool, IdentityError> {
        self.end_as(identity, session, Deed::new("signed out", identity)).await
    }

    /// The same, where the audit trail says `deed` of it if nobody knows whether it was done.
    pub(crate) async fn end_as(
        &self,
        identity: IdentityId,
        session: SessionId,
        deed: Deed,
    ) -> Result<bool, IdentityError> {
        let now = self.clock.now();
        let ended = self.sessions.end(session, identity, (now, self.forgotten_at(now))).await;
        let ended = deed.of_session(session).noted(ended)?;
        if ended {
            self.forget(session, now);
            info!(target: "sluice_audit", { identity.id = %identity, session.id = %session }, "signed out");
        }
        Ok(ended)
    }

    /// Ends all sessions of a person but this one. Applications keep what they were given. Nothing is written if there is no
    /// other, however often it is asked for.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now, or the record is changed all the time.
    pub async fn end_others(&self, identity: IdentityId, keep: SessionId) -> Result<(), IdentityError> {
        let now = self.clock.now();
        let mut others = self.sessions.of_identity(identity, now).await?;
        others.retain(|other| other.id != keep);
        if others.is_empty() {
            return Ok(());
        }
        let ends = |identity: &Identity| {
            Some(IdentityChange {
                ends_sessions: EndsSessions::AllBut(keep),
                marker_expires_at: self.forgotten_at(now),
                ..IdentityChange::of(identity, now, AttemptId::generate(now, &*self.rng))
            })
        };
        let deed = Deed::new("signed out of all other sessions", identity).of_session(keep);
        let changed = change_latest(&*self.identities, identity, deed, ends).await?;
        if is_made(changed)? {
            for other in &others {
                self.forget(other.id, now);
            }
            info!(target: "sluice_audit", { identity.id = %identity, session.id = %keep }, "signed out of all other sessions");
        }
        Ok(())
    }

    /// Signs a person out everywhere: ends all sessions, and revokes what applications were given.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now, or the record is changed all the time.
    pub async fn end_all(&self, identity: IdentityId) -> Result<(), IdentityError> {
        self.end_all_as(identity, Deed::new("signed out everywhere", identity)).await
    }

    /// The same, where the audit trail says `deed` of it if nobody knows whether it was done.
    pub(crate) async fn end_all_as(&self, identity: IdentityId, deed: Deed) -> Result<(), IdentityError> {
        let now = self.clock.now();
        let ends = |identity: &Identity| {
            Some(IdentityChange {
                ends_sessions: EndsSessions::All,
                revokes: true,
                marker_expires_at: self.revoked_until(now),
                ..IdentityChange::of(identity, now, AttemptId::generate(now, &*self.rng))
            })
        };
        let changed = change_latest(&*self.identities, identity, deed, ends).await?;
        if is_made(changed)? {
            self.revoke(identity, now);
            info!(target: "sluice_audit", { identity.id = %identity }, "signed out everywhere");
        }
        Ok(())
    }

    /// From when on nobody needs to know any more that everything of a person was revoked at `now`.
    pub(crate) fn revoked_until(&self, now: Timestamp) -> Timestamp {
        now + self.terms.longest_token.max(self.terms.lifetimes.access_token) + CLOCK_SKEW
    }

    /// This node knows at once that everything of a person was revoked; the others hear it from the feed.
    pub(crate) fn revoke(&self, identity: IdentityId, at: Timestamp) {
        if let Some(subject) = subject(identity) {
            let target = Target::Subject(subject);
            self.revocations.apply(&Marker { target, at, expires_at: self.revoked_until(at) });
        }
    }

    /// The sessions that end now with the first factor, which is enrolled in the session `keep`.
    pub(crate) fn weaker_than_first_factor(&self, keep: SessionId) -> WeakerSessions {
        let now = self.clock.now();
        WeakerSessions { keep, now, marker_expires_at: self.forgotten_at(now) }
    }

    /// From when on nobody needs to know any more that a session ended at `now`.
    pub(super) fn forgotten_at(&self, now: Timestamp) -> Timestamp {
        now + self.terms.lifetimes.access_token + CLOCK_SKEW
    }

    /// This node knows at once that a session ended; the others hear it from the feed.
    pub(crate) fn forget(&self, session: SessionId, at: Timestamp) {
        let target = Target::Session(session);
        self.revocations.apply(&Marker { target, at, expires_at: self.forgotten_at(at) });
    }
}

/// Whether the change was made; nothing is changed of somebody who is gone.
fn is_made(changed: Option<(Identity, Changed)>) -> Result<bool, IdentityError> {
    match changed.map(|(_, changed)| changed) {
        None => Ok(false),
        Some(Changed::Done) => Ok(true),
        Some(Changed::Stale) => Err(IdentityError::Changed),
        Some(Changed::Taken) => {
            Err(StoreError::Invalid("the change has no e-mail address".to_owned()).into())
        }
    }
}
