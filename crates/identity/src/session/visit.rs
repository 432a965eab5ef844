//! Sessions that a browser shows by their id, which its cookie holds sealed, instead of by tokens.

use sluice_primitives::{AttemptId, Lifetime, SessionId};
use tracing::info;

use super::model::IdentitySession;
use super::repository::{Rotation, SessionRotation};
use super::service::SessionService;
use crate::error::IdentityError;
use crate::identity::{Identity, IdentityStatus};

/// A session that was seen so lately is not written again.
const SEEN: Lifetime = Lifetime::minutes(1);

impl SessionService {
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
            window: self.terms.lifetimes.rotation_window,
            now,
            expires_at: self.end_of(session.authenticated_at, now),
            marker_expires_at: self.forgotten_at(now),
            attempt: AttemptId::generate(now, &*self.rng),
        };
        match self.sessions.rotate(&seen).await? {
            Rotation::Rotated(session) => Ok(Some((session, person))),
            Rotation::Reused(_) | Rotation::Gone => Ok(None),
        }
    }
}
