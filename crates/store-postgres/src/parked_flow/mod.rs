//! Flows too long for a URL.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::flow::{ParkedFlow, ParkedFlowRepository, ParkedHandle};
use sluice_primitives::Timestamp;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::column;
use crate::serial::Transaction;
use crate::storable;

const PARK: &str = include_str!("park.sql");
const IS_PARKED: &str = include_str!("is_parked.sql");
const FETCH: &str = include_str!("fetch.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl ParkedFlowRepository for PostgresStore {
    async fn park(&self, flow: ParkedFlow, quota: u64) -> Result<bool, StoreError> {
        storable::text("a parked flow", &flow.sealed)?;
        let (handle, expires_at) = (Uuid::from_bytes(flow.handle), flow.expires_at.as_millis());
        let quota = i64::try_from(quota).unwrap_or(i64::MAX);
        // One at a time, so that the flows counted are all there are of this node.
        let transaction = Transaction::new()
            .then(PARK, vec![&handle, &flow.sealed, &expires_at, &quota])
            .then(IS_PARKED, vec![&handle, &flow.sealed]);
        Ok(self.serial.commit(&transaction).await?.row().is_some())
    }

    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError> {
        let rows = self.read(FETCH, &[&Uuid::from_bytes(handle), &now.as_millis()]).await?;
        Ok(rows.first().map(|row| column(row, 0)).transpose()?)
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purged = self.upkeep(PURGE_EXPIRED, &[&now.as_millis(), &i64::from(limit)]).await?;
        Ok(purged.len() as u64)
    }
}
