//! Sessions of the identity service. [`begin`] and [`rotate`]: the hot writes, one statement for a batch each. Here: the
//! repository.

mod begin;
mod rotate;

use async_trait::async_trait;
use sluice_commit::{Queue, StoreError, chain};
use sluice_identity::session::{
    IdentitySession, IdentitySessionRepository, MAX_SESSIONS, Rotation, SessionRotation,
};
use sluice_primitives::{AttemptId, IdentityId, SessionId, Timestamp};
use tokio_postgres::Row;
use tracing::warn;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::Counted;
use crate::queues::{Columns, Look, Queues, Wanted, ids_and_times};
use crate::serial::{Transaction, Values};
use crate::storable::read_list;
use begin::{BeginSessions, NewSession};
use rotate::{RotateSessions, Swapped, punish};

const OF_IDENTITY: &str = include_str!("of_identity.sql");
const END: &str = include_str!("end.sql");
const END_OLDEST: &str = include_str!("end_oldest.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");
/// How many sessions of a person there are.
const MOST: i64 = MAX_SESSIONS as i64;

/// The queues of sessions that begin, and of those that go on.
pub(crate) struct IdentitySessionQueues {
    begun: Queue<BeginSessions>,
    rotations: Queue<RotateSessions>,
}

impl IdentitySessionQueues {
    /// Each on other lanes, if there are so many.
    pub(crate) fn start(queues: &Queues<'_>) -> Self {
        Self { begun: queues.start(0, BeginSessions), rotations: queues.start(1, RotateSessions) }
    }

    /// Finishes what was submitted, and turns away what comes.
    pub(crate) async fn shutdown(&self) {
        tokio::join!(self.begun.shutdown(), self.rotations.shutdown());
    }
}

/// Sessions that have not ended.
pub(crate) struct IdentitySessions;

impl Look for IdentitySessions {
    type Asked = (Uuid, Timestamp);
    type Found = IdentitySession;
    const SQL: &'static str = include_str!("find.sql");

    fn columns<'a>(batch: &[&'a (Uuid, Timestamp)]) -> Columns<'a> {
        ids_and_times(batch)
    }

    fn read(row: &Row, _: &(Uuid, Timestamp)) -> Result<IdentitySession, Unreadable> {
        read(row)
    }
}

#[async_trait]
impl IdentitySessionRepository for PostgresStore {
    async fn begin(
        &self,
        session: &IdentitySession,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let new = NewSession::new(session)?;
        let begun = self.identity_sessions.begun.submit(new, self.deadline()).await?;
        let Some(oldest) = begun else { return Ok(false) };
        // The session has begun, whatever becomes of them.
        if !oldest.is_empty()
            && let Err(error) =
                self.end_oldest_sessions(&oldest, (session.authenticated_at, marker_expires_at)).await
        {
            warn!(error = %chain(&error), sessions = oldest.len(), "sessions that are too many could not be ended: they end with the next one");
        }
        Ok(true)
    }

    async fn find(&self, id: SessionId, now: Timestamp) -> Result<Option<IdentitySession>, StoreError> {
        self.lookups.identity_sessions.submit(Wanted::new((id.as_uuid(), now)), self.deadline()).await?
    }

    async fn rotate(&self, rotation: &SessionRotation) -> Result<Rotation, StoreError> {
        match self.identity_sessions.rotations.submit(rotation.clone(), self.deadline()).await?? {
            Swapped::Done(outcome) => Ok(outcome),
            Swapped::Reused(session) => punish(self, session, rotation).await,
        }
    }

    async fn of_identity(
        &self,
        identity: IdentityId,
        now: Timestamp,
    ) -> Result<Vec<IdentitySession>, StoreError> {
        let rows = self.read(OF_IDENTITY, &[&identity.as_uuid(), &now.as_millis(), &MOST]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn end(
        &self,
        id: SessionId,
        identity: IdentityId,
        times: (Timestamp, Timestamp),
    ) -> Result<bool, StoreError> {
        self.end_identity_session(id, identity, times).await
    }

    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.identity_session_purge.go(limit, |slice| self.purge_slice(PURGE_EXPIRED, before, slice)).await
    }
}

impl PostgresStore {
    /// Ends a session of this person and appends its marker; whether it was there.
    async fn end_identity_session(
        &self,
        id: SessionId,
        identity: IdentityId,
        (now, marker_expires_at): (Timestamp, Timestamp),
    ) -> Result<bool, StoreError> {
        let counted = Counted::new(self, 1, now);
        let (id, identity, expires_at) = (id.as_uuid(), identity.as_uuid(), marker_expires_at.as_millis());
        let transaction = counted
            .for_revocations(Transaction::new())
            .then(END, vec![&id, &identity, &counted.at, &expires_at, &counted.node]);
        let committed = self.serial.commit(&transaction).await?;
        Ok(committed.row().is_some() || committed.repeated)
    }

    /// Ends sessions that are too many, as far as they are there, and appends their markers. After the one that pushed them out, not with
    /// it: who ends sessions locks the counter first, and a batch of new ones would wait for that with their rows locked.
    async fn end_oldest_sessions(
        &self,
        oldest: &[Uuid],
        (at, marker_expires_at): (Timestamp, Timestamp),
    ) -> Result<(), StoreError> {
        let counted = Counted::new(self, oldest.len(), at);
        let expires_at = marker_expires_at.as_millis();
        let values: Values<'_> = vec![&oldest, &counted.at, &expires_at, &counted.node];
        let transaction = counted.for_revocations(Transaction::new()).then(END_OLDEST, values);
        self.serial.commit(&transaction).await.map(drop)
    }
}

fn read(row: &Row) -> Result<IdentitySession, Unreadable> {
    let time = |place| column(row, place).map(Timestamp::from_millis);
    Ok(IdentitySession {
        id: SessionId::from_uuid(column(row, 0)?),
        identity: IdentityId::from_uuid(column(row, 1)?),
        authenticated_at: time(2)?,
        last_seen_at: time(3)?,
        expires_at: time(4)?,
        generation: column(row, 5)?,
        rotated_at: time(6)?,
        amr: read_list(column(row, 7)?).map_err(|cause| Unreadable::new("session", &cause))?,
        device: column(row, 8)?,
        network: column(row, 9)?,
        attempt: AttemptId::from_uuid(column(row, 10)?),
    })
}
