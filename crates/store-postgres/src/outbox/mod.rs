//! Back-channel logout notices. They are put here with the end of their session: see `login_session/notify.sql`.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::logout::{LeaseRoom, LeasedNotice, LogoutNotice, OutboxRepository};
use sluice_primitives::{Lifetime, SessionId, Timestamp};
use sluice_protocol::ClientId;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{Unreadable, column, made_at};

const LEASE: &str = include_str!("lease.sql");
const DELIVERED: &str = include_str!("delivered.sql");
const FAILED: &str = include_str!("failed.sql");
const POSTPONED: &str = include_str!("postponed.sql");
const DEPTH: &str = include_str!("depth.sql");
const OLDEST: &str = include_str!("oldest.sql");
const PURGE: &str = include_str!("purge.sql");
/// How far notices are counted.
const COUNTED: i64 = 100_000;

#[async_trait]
impl OutboxRepository for PostgresStore {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        room: LeaseRoom,
    ) -> Result<Vec<LeasedNotice>, StoreError> {
        let until = (now + lease).as_millis();
        let (notices, of_a_client) = (i64::from(room.notices), i64::from(room.of_a_client));
        let under_way: Vec<&str> = room.under_way.iter().map(ClientId::as_str).collect();
        let rows =
            self.upkeep(LEASE, &[&now.as_millis(), &until, &notices, &of_a_client, &under_way]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn delivered(&self, id: Uuid) -> Result<(), StoreError> {
        self.note(DELIVERED, &[&id]).await
    }

    async fn failed(&self, id: Uuid, next: Option<Timestamp>) -> Result<(), StoreError> {
        self.note(FAILED, &[&id, &next.map(Timestamp::as_millis)]).await
    }

    async fn postponed(&self, id: Uuid, until: Timestamp) -> Result<(), StoreError> {
        self.note(POSTPONED, &[&id, &until.as_millis()]).await
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        let rows = self.look_at_work(DEPTH, &[&COUNTED]).await?;
        let row = rows.first().ok_or_else(|| Unreadable::new("outbox", &"no row"))?;
        let count = |place| column::<i64>(row, place).map(i64::unsigned_abs);
        Ok((count(0)?, count(1)?))
    }

    async fn oldest_notice(&self) -> Result<Option<Timestamp>, StoreError> {
        let rows = self.look_at_work(OLDEST, &[]).await?;
        Ok(rows.first().map(made_at).transpose()?)
    }

    async fn purge_notices(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        Ok(self.upkeep(PURGE, &[&before.as_millis(), &i64::from(limit)]).await?.len() as u64)
    }
}

fn read(row: &Row) -> Result<LeasedNotice, Unreadable> {
    let unreadable = |cause: &dyn std::fmt::Display| Unreadable::new("notice", cause);
    let text = |place| column::<&str>(row, place);
    Ok(LeasedNotice {
        id: column(row, 0)?,
        notice: LogoutNotice {
            uri: text(1)?.parse().map_err(|cause| unreadable(&cause))?,
            client: text(2)?.parse().map_err(|cause| unreadable(&cause))?,
            subject: text(3)?.parse().map_err(|cause| unreadable(&cause))?,
            session: SessionId::from_uuid(column(row, 4)?),
        },
        attempts: column::<i32>(row, 5)?.unsigned_abs(),
    })
}
