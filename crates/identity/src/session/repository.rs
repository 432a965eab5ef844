//! Sessions of the identity service in the store.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{AttemptId, IdentityId, Lifetime, SessionId, Timestamp};

use super::model::IdentitySession;

/// The next generation of a session's refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRotation {
    /// Which session.
    pub id: SessionId,
    /// The generation that was presented.
    pub presented: i64,
    /// For so long after a rotation the generation before still gets the present one again: two tabs, a lost answer.
    pub window: Lifetime,
    /// When.
    pub now: Timestamp,
    /// When the session ends by itself from now on.
    pub expires_at: Timestamp,
    /// When the longest-lived token that a marker covers will have expired.
    pub marker_expires_at: Timestamp,
    /// The attempt: a retry of the same one gets the same.
    pub attempt: AttemptId,
}

/// What became of a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotation {
    /// The session as it is now: rotated by this call, or, within the window, by another.
    Rotated(IdentitySession),
    /// The presented generation is two before the present one, within the window: a slow tab whose sibling has already used what both
    /// were given. Nothing was changed.
    Stale,
    /// The presented generation was used before: somebody has a copy. The session was ended and its marker appended.
    Reused(IdentitySession),
    /// There is no such session, it has expired, or its person may not log in any more (disabled or gone).
    Gone,
}

/// How many sessions a person has at most: nobody uses more devices, and whoever logs in all the time must not make rows, and
/// markers when all end, without end.
pub const MAX_SESSIONS: u32 = 200;

/// Sessions. Every method is one transaction, but for what [`IdentitySessionRepository::begin`] says.
#[async_trait]
pub trait IdentitySessionRepository: Send + Sync {
    /// Stores a session; twice with one id is once. Whether it is there: one that its own marker, or the present one of its
    /// person, covers is over and not stored. Of more than [`MAX_SESSIONS`] of a person the oldest end, and their markers are appended, as of
    /// when this one began: in a transaction after that of the session, if the store likes. What is left then ends with the next.
    async fn begin(
        &self,
        session: &IdentitySession,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// The session, if it has not expired.
    async fn find(&self, id: SessionId, now: Timestamp) -> Result<Option<IdentitySession>, StoreError>;

    /// Rotates the refresh token of a session: a compare-and-swap on its generation. Presented is the current one:
    /// rotated. The one before, within the window: the session as it is; the one before that: [`Rotation::Stale`]. Any older, or any
    /// of these after the window: [`Rotation::Reused`].
    async fn rotate(&self, rotation: &SessionRotation) -> Result<Rotation, StoreError>;

    /// The sessions of a person that have not expired, the newest first; at most [`MAX_SESSIONS`].
    async fn of_identity(
        &self,
        identity: IdentityId,
        now: Timestamp,
    ) -> Result<Vec<IdentitySession>, StoreError>;

    /// Ends a session of this person and appends its marker; whether it was there.
    async fn end(
        &self,
        id: SessionId,
        identity: IdentityId,
        (now, marker_expires_at): (Timestamp, Timestamp),
    ) -> Result<bool, StoreError>;

    /// Deletes at most `limit` sessions that expired before `before`; how many it was.
    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
