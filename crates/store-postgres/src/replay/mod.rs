//! Spent things. [`spend`]: one statement for a batch. Here: the repository.

pub(crate) mod spend;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_primitives::Timestamp;

use crate::PostgresStore;
use spend::Spending;

const IS_SPENT: &str = include_str!("is_spent.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl ReplayRepository for PostgresStore {
    async fn spend(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let spending = Spending { kind, id_hash, attempt: self.attempt(), now, expires_at };
        Ok(self.spendings.submit(spending, self.deadline()).await?)
    }

    async fn is_spent(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (kind, id_hash) = (kind as i16, id_hash.as_slice());
        Ok(!self.read(IS_SPENT, &[&kind, &id_hash, &now.as_millis()]).await?.is_empty())
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purged = self.upkeep(PURGE_EXPIRED, &[&now.as_millis(), &i64::from(limit)]).await?;
        Ok(purged.len() as u64)
    }
}
