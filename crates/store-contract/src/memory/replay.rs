//! Spent things in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_primitives::Timestamp;

use super::{MemoryStore, count, purge};

#[async_trait]
impl ReplayRepository for MemoryStore {
    async fn spend(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write(|data| {
            let key = (kind as i16, id_hash);
            let spent = data.replay.get(&key).is_some_and(|until| *until > now);
            if !spent {
                data.replay.insert(key, expires_at);
            }
            !spent
        })
        .await
    }

    async fn is_spent(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(self.read(|data| data.replay.get(&(kind as i16, id_hash)).is_some_and(|until| *until > now)))
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| count(&purge(&mut data.replay, limit, |until| *until < now))).await
    }
}
