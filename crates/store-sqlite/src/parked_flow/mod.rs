//! Parked flows on SQLite.

use async_trait::async_trait;
use rusqlite::params;
use sluice_commit::StoreError;
use sluice_oauth::flow::{ParkedFlow, ParkedFlowRepository, ParkedHandle};
use sluice_primitives::Timestamp;

use crate::row;
use crate::store::SqliteStore;

const PARK: &str = include_str!("park.sql");
const FETCH: &str = include_str!("fetch.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl ParkedFlowRepository for SqliteStore {
    async fn park(&self, flow: ParkedFlow, quota: u64) -> Result<bool, StoreError> {
        row::check("flow", &flow.sealed)?;
        let quota = i64::try_from(quota).unwrap_or(i64::MAX);
        self.write(move |write| {
            let values = params![flow.handle, flow.sealed, flow.expires_at.as_millis(), quota];
            Ok(write.insert("parked_flow", PARK, values)? == 1)
        })
        .await
    }

    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError> {
        self.read(move |read| read.row(FETCH, (handle, now.as_millis()), |row| Ok(row.get(0)?))).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(move |write| {
            Ok(row::count(write.delete("parked_flow", PURGE_EXPIRED, (now.as_millis(), limit))?))
        })
        .await
    }
}
