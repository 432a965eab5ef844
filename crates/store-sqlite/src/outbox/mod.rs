//! The outbox on SQLite. A lease is a due time in the future.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_oauth::logout::{LeaseRoom, LeasedNotice, LogoutNotice, OutboxRepository};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Lifetime, Rng, SessionId, Timestamp};
use sluice_protocol::ClientId;
use uuid::Uuid;

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;
use crate::writer::Write;

const INSERT: &str = include_str!("insert.sql");
const LEASE: &str = include_str!("lease.sql");
const DELIVERED: &str = include_str!("delivered.sql");
const FAILED: &str = include_str!("failed.sql");
const POSTPONED: &str = include_str!("postponed.sql");
const DEPTH: &str = include_str!("depth.sql");
const OLDEST: &str = include_str!("oldest.sql");
const PURGE: &str = include_str!("purge.sql");

/// A notice on its way into the outbox.
pub(crate) struct NewNotice {
    id: Uuid,
    notice: LogoutNotice,
    due_at: Timestamp,
}

impl NewNotice {
    pub(crate) fn new(notice: LogoutNotice, now: Timestamp, rng: &dyn Rng) -> Self {
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        let id = uuid::Builder::from_unix_timestamp_millis(millis, &random_bytes(rng)).into_uuid();
        Self { id, notice, due_at: now }
    }

    pub(crate) fn insert(&self, write: &mut Write<'_>) -> Result<(), SqliteError> {
        let values = params![
            self.id.as_bytes(),
            self.notice.uri.as_str(),
            self.notice.client.as_str(),
            self.notice.subject.as_str(),
            self.notice.session.as_bytes(),
            self.due_at.as_millis(),
        ];
        write.insert("outbox", INSERT, values).map(drop)
    }
}

fn leased(row: &Row<'_>) -> Result<LeasedNotice, SqliteError> {
    let notice = LogoutNotice {
        uri: row::parsed(row, 1)?,
        client: row::parsed(row, 2)?,
        subject: row::parsed(row, 3)?,
        session: SessionId::from_bytes(row.get(4)?),
    };
    Ok(LeasedNotice { id: Uuid::from_bytes(row.get(0)?), notice, attempts: row.get(5)? })
}

#[async_trait]
impl OutboxRepository for SqliteStore {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        room: LeaseRoom,
    ) -> Result<Vec<LeasedNotice>, StoreError> {
        let under_way: Vec<&str> = room.under_way.iter().map(ClientId::as_str).collect();
        let under_way = serde_json::to_string(&under_way).map_err(StoreError::fault)?;
        let (now, until) = (now.as_millis(), (now + lease).as_millis());
        self.write(move |write| {
            let values = (now, until, room.notices, room.of_a_client, under_way.as_str());
            write.updated("outbox", LEASE, values, leased)
        })
        .await
    }

    async fn delivered(&self, id: Uuid) -> Result<(), StoreError> {
        self.write(move |write| write.delete("outbox", DELIVERED, [id.as_bytes()]).map(drop)).await
    }

    async fn failed(&self, id: Uuid, next: Option<Timestamp>) -> Result<(), StoreError> {
        let next = next.map(Timestamp::as_millis);
        self.write(move |write| write.update("outbox", FAILED, params![id.as_bytes(), next]).map(drop)).await
    }

    async fn postponed(&self, id: Uuid, until: Timestamp) -> Result<(), StoreError> {
        let until = until.as_millis();
        self.write(move |write| write.update("outbox", POSTPONED, params![id.as_bytes(), until]).map(drop))
            .await
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        let depth =
            self.read(move |read| read.row(DEPTH, [], |row| Ok((count(row.get(0)?), count(row.get(1)?)))));
        Ok(depth.await?.unwrap_or_default())
    }

    async fn oldest_notice(&self) -> Result<Option<Timestamp>, StoreError> {
        let oldest = self.read(move |read| read.row(OLDEST, [], row::made_at_if_any));
        Ok(oldest.await?.flatten())
    }

    async fn purge_notices(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let values = (before.as_millis(), limit);
        self.write(move |write| Ok(row::count(write.delete("outbox", PURGE, values)?))).await
    }
}
