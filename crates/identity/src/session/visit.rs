//! Sessions that the store is asked about: those that a browser shows by their id, which its cookie holds sealed, instead of by
//! tokens; and those of tokens, where much depends on it.

use sluice_primitives::{AttemptId, IdentityId, Lifetime, SessionId};
use tracing::info;

use super::model::IdentitySession;
use super::repository::{Rotation, SessionRotation};
use super::service::SessionService;
use crate::error::IdentityError;
use crate::identity::{Identity, IdentityStatus};

/// A session that was seen so lately is not written again.
const SEEN: Lifetime = Lifetime::minutes(1);
/// Pages that are opened together are one visit, whatever holds of refresh tokens: nothing is shown here that could be stolen.
const TOGETHER: Lifetime = Lifetime::secs(30);

impl SessionService {
    /// Whether this session of this person goes on. A token outlives its session: on other nodes for as long as the feed takes, and in a
    /// request whose body came later than its head.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn goes_on(&self, (identity, session): (IdentityId, SessionId)) -> Result<bool, IdentityError> {
        let found = self.sessions.find(session, self.clock.now()).await?;
        Ok(found.is_some_and(|session| session.identity == identity && !self.is_revoked(&session)))
    }

    /// The session with this id and its person, if it still goes on; it is seen now. The store is asked each time: what has
    /// ended is over at once.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn visit(&self, id: SessionId) -> Result<Option<(IdentitySession, Identity)>, IdentityError> {
        let now = self.clock.now();
        let Some(session) = self.sessions.find(id, now).await? else { return Ok(None) };
        let found = self.identities.find(session.identity).await?;
        let person = found.filter(|identity| identity.status == IdentityStatus::Active);
        let Some(person) = person.filter(|_| !self.is_revoked(&session)) else {
            info!(session.id = %id, "visit refused: revoked, or its person may not log in");
            return Ok(None);
        };
        if now.since(session.last_seen_at) < SEEN {
            return Ok(Some((session, person)));
        }
        let seen = SessionRotation {
            id,
            presented: session.generation,
            window: self.terms.lifetimes.rotation_window.max(TOGETHER),
            now,
            expires_at: self.end_of(session.authenticated_at, now),
            marker_expires_at: self.forgotten_at(now),
            attempt: AttemptId::generate(now, &*self.rng),
        };
        match self.sessions.rotate(&seen).await? {
            Rotation::Rotated(session) => Ok(Some((session, person))),
            Rotation::Stale | Rotation::Reused(_) | Rotation::Gone => Ok(None),
        }
    }
}
