//! Spent things.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_primitives::Timestamp;

use crate::PostgresStore;

const SPEND: &str = include_str!("spend.sql");
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
        let (kind, attempt) = (kind as i16, self.attempt());
        let spent = self
            .write(SPEND, &[&kind, &id_hash.as_slice(), &attempt, &expires_at.as_millis(), &now.as_millis()])
            .await?;
        Ok(!spent.is_empty())
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purged = self.upkeep(PURGE_EXPIRED, &[&now.as_millis(), &i64::from(limit)]).await?;
        Ok(purged.len() as u64)
    }
}
