//! The outbox in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::logout::{LeaseRoom, LeasedNotice, LogoutNotice, OutboxRepository};
use sluice_primitives::{AttemptId, Lifetime, OsRng, Timestamp};
use sluice_protocol::ClientId;
use uuid::Uuid;

use super::{Data, MemoryStore, count, purge};

#[derive(Debug)]
pub(super) struct Row {
    notice: LogoutNotice,
    due_at: Timestamp,
    attempts: u32,
    dead: bool,
}

impl Data {
    pub(super) fn notify(&mut self, notice: LogoutNotice, now: Timestamp) {
        let id = AttemptId::generate(now, &OsRng).as_uuid();
        self.outbox.insert(id, Row { notice, due_at: now, attempts: 0, dead: false });
    }

    /// The notices that there is room for.
    fn due_notices(&self, now: Timestamp, room: &LeaseRoom) -> Vec<Uuid> {
        let mut by_client: BTreeMap<&ClientId, Vec<(Timestamp, Uuid)>> = BTreeMap::new();
        for (id, row) in self.outbox.iter().filter(|(_, row)| !row.dead && row.due_at <= now) {
            by_client.entry(&row.notice.client).or_default().push((row.due_at, *id));
        }
        let share = |(client, mut notices): (&ClientId, Vec<(Timestamp, Uuid)>)| {
            notices.sort_unstable();
            let taken = room.under_way.iter().filter(|other| *other == client).count();
            let places = taken..usize::try_from(room.of_a_client).unwrap_or(usize::MAX);
            places.zip(notices).collect::<Vec<_>>()
        };
        let mut shares: Vec<_> = by_client.into_iter().flat_map(share).collect();
        shares.sort_unstable();
        shares.truncate(usize::try_from(room.notices).unwrap_or(usize::MAX));
        shares.into_iter().map(|(_, (_, id))| id).collect()
    }
}

#[async_trait]
impl OutboxRepository for MemoryStore {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        room: LeaseRoom,
    ) -> Result<Vec<LeasedNotice>, StoreError> {
        self.write(|data| {
            let mut leased = Vec::new();
            for id in data.due_notices(now, &room) {
                let Some(row) = data.outbox.get_mut(&id) else { continue };
                row.due_at = now + lease;
                leased.push(LeasedNotice { id, notice: row.notice.clone(), attempts: row.attempts });
            }
            leased
        })
        .await
    }

    async fn delivered(&self, id: Uuid) -> Result<(), StoreError> {
        self.write(|data| drop(data.outbox.remove(&id))).await
    }

    async fn failed(&self, id: Uuid, next: Option<Timestamp>) -> Result<(), StoreError> {
        self.write(|data| {
            if let Some(row) = data.outbox.get_mut(&id) {
                row.attempts += 1;
                row.dead = next.is_none();
                row.due_at = next.unwrap_or(row.due_at);
            }
        })
        .await
    }

    async fn postponed(&self, id: Uuid, until: Timestamp) -> Result<(), StoreError> {
        self.write(|data| {
            if let Some(row) = data.outbox.get_mut(&id) {
                row.due_at = until;
            }
        })
        .await
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        Ok(self.read(|data| {
            let dead = data.outbox.values().filter(|row| row.dead).count();
            let waiting = data.outbox.len() - dead;
            (u64::try_from(waiting).unwrap_or(u64::MAX), u64::try_from(dead).unwrap_or(u64::MAX))
        }))
    }

    async fn oldest_notice(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.read(|data| {
            data.outbox
                .iter()
                .filter(|(_, row)| !row.dead)
                .map(|(id, _)| AttemptId::from_uuid(*id).made_at())
                .min()
        }))
    }

    async fn purge_notices(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let is_over = |row: &Row| row.dead && row.due_at < before;
        self.write(|data| count(&purge(&mut data.outbox, limit, is_over))).await
    }
}
