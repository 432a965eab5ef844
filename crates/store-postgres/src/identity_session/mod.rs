//! Sessions of the identity service. [`rotate`]: their refresh tokens. Here: the repository.

mod rotate;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::session::{
    IdentitySession, IdentitySessionRepository, MAX_SESSIONS, Rotation, SessionRotation,
};
use sluice_primitives::{AttemptId, IdentityId, SessionId, Timestamp};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::Counted;
use crate::serial::Transaction;
use crate::storable::{self, read_list};

const BEGIN: &str = include_str!("begin.sql");
const FIND: &str = include_str!("find.sql");
const OF_IDENTITY: &str = include_str!("of_identity.sql");
const END: &str = include_str!("end.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");
/// How many sessions of a person there are.
const MOST: i64 = MAX_SESSIONS as i64;

#[async_trait]
impl IdentitySessionRepository for PostgresStore {
    async fn begin(&self, session: &IdentitySession) -> Result<(), StoreError> {
        let amr = storable::list(&session.amr);
        storable::each("amr", &session.amr)?;
        storable::text("amr", &amr)?;
        storable::text("the device of a session", &session.device)?;
        storable::text("the network of a session", &session.network)?;
        self.write(
            BEGIN,
            &[
                &session.id.as_uuid(),
                &session.identity.as_uuid(),
                &session.authenticated_at.as_millis(),
                &session.last_seen_at.as_millis(),
                &session.expires_at.as_millis(),
                &session.generation,
                &session.rotated_at.as_millis(),
                &amr,
                &session.device,
                &session.network,
                &session.attempt.as_uuid(),
                &(MOST - 1),
            ],
        )
        .await
        .map(drop)
    }

    async fn find(&self, id: SessionId, now: Timestamp) -> Result<Option<IdentitySession>, StoreError> {
        let rows = self.read(FIND, &[&id.as_uuid(), &now.as_millis()]).await?;
        Ok(rows.first().map(read).transpose()?)
    }

    async fn rotate(&self, rotation: &SessionRotation) -> Result<Rotation, StoreError> {
        rotate::rotate(self, rotation).await
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
