//! Spent things on SQLite.

use async_trait::async_trait;
use rusqlite::params;
use sluice_commit::StoreError;
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_primitives::Timestamp;

use crate::row;
use crate::store::SqliteStore;

const SPEND: &str = include_str!("spend.sql");
const IS_SPENT: &str = include_str!("is_spent.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl ReplayRepository for SqliteStore {
    async fn spend(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write(move |write| {
            let values = params![kind as i16, id_hash, now.as_millis(), expires_at.as_millis()];
            Ok(write.insert("replay", SPEND, values)? == 1)
        })
        .await
    }

    async fn is_spent(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = (kind as i16, id_hash, now.as_millis());
        let found = self.read(move |read| read.row(IS_SPENT, values, |_| Ok(())));
        Ok(found.await?.is_some())
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(move |write| {
            Ok(row::count(write.delete("replay", PURGE_EXPIRED, (now.as_millis(), limit))?))
        })
        .await
    }
}
