//! Flows too long for a URL.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::flow::{ParkedFlow, ParkedFlowRepository, ParkedHandle};
use sluice_primitives::Timestamp;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::column;
use crate::storable;

const PARK: &str = include_str!("park.sql");
const COUNT: &str = include_str!("count.sql");
const FETCH: &str = include_str!("fetch.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl ParkedFlowRepository for PostgresStore {
    async fn park(&self, flow: ParkedFlow, quota: u64) -> Result<bool, StoreError> {
        storable::text("a parked flow", &flow.sealed)?;
        if self.parked.is_due(self.clock.now()) {
            let rows = self.read(COUNT, &[]).await?;
            let flows: i64 = rows.first().map_or(Ok(0), |row| column(row, 0))?;
            self.parked.set(u64::try_from(flows).unwrap_or_default());
        }
        let has_room = self.parked.take(quota);
        if has_room {
            let (handle, expires_at) = (Uuid::from_bytes(flow.handle), flow.expires_at.as_millis());
            self.write(PARK, &[&handle, &flow.sealed, &expires_at]).await?;
        }
        Ok(has_room)
    }

    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError> {
        let rows = self.read(FETCH, &[&Uuid::from_bytes(handle), &now.as_millis()]).await?;
        Ok(rows.first().map(|row| column(row, 0)).transpose()?)
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purged = self.upkeep(PURGE_EXPIRED, &[&now.as_millis(), &i64::from(limit)]).await?;
        if !purged.is_empty() {
            self.parked.forget();
        }
        Ok(purged.len() as u64)
    }
}
