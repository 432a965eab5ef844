//! The outbox in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::logout::{LeasedNotice, LogoutNotice, OutboxRepository};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Lifetime, OsRng, Timestamp};
use uuid::Uuid;

use super::{Data, MemoryStore};

#[derive(Debug)]
pub(super) struct Row {
    notice: LogoutNotice,
    due_at: Timestamp,
    attempts: u32,
    dead: bool,
}

impl Data {
    pub(super) fn notify(&mut self, notice: LogoutNotice, now: Timestamp) {
        let id = Uuid::from_bytes(random_bytes(&OsRng));
        self.outbox.insert(id, Row { notice, due_at: now, attempts: 0, dead: false });
    }
}

#[async_trait]
impl OutboxRepository for MemoryStore {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedNotice>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.write(|data| {
            let due = data.outbox.iter_mut().filter(|(_, row)| !row.dead && row.due_at <= now);
            due.take(limit)
                .map(|(id, row)| {
                    row.due_at = now + lease;
                    LeasedNotice { id: *id, notice: row.notice.clone(), attempts: row.attempts }
                })
                .collect()
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

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        Ok(self.read(|data| {
            let dead = data.outbox.values().filter(|row| row.dead).count();
            let waiting = data.outbox.len() - dead;
            (u64::try_from(waiting).unwrap_or(u64::MAX), u64::try_from(dead).unwrap_or(u64::MAX))
        }))
    }
}
