//! Parked flows on SQLite.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::flow::{ParkedFlow, ParkedFlowRepository, ParkedHandle};
use sluice_primitives::Timestamp;

use crate::row;
use crate::store::SqliteStore;
use crate::writer::Write;

const PARK: &str = include_str!("park.sql");
const COUNT: &str = include_str!("count.sql");
const FETCH: &str = include_str!("fetch.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl ParkedFlowRepository for SqliteStore {
    async fn park(&self, flow: ParkedFlow, quota: u64) -> Result<bool, StoreError> {
        row::check("flow", &flow.sealed)?;
        if self.parked().is_due(self.now()) {
            let flows = self.read(|read| read.row(COUNT, [], |row| row::count_of(row, 0))).await?;
            self.parked().set(flows.unwrap_or_default());
        }
        let has_room = self.parked().take(quota);
        if has_room {
            self.write(move |write| {
                let values = (flow.handle, flow.sealed.as_str(), flow.expires_at.as_millis());
                write.insert("parked_flow", PARK, values).map(drop)
            })
            .await?;
        }
        Ok(has_room)
    }

    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError> {
        self.read(move |read| read.row(FETCH, (handle, now.as_millis()), |row| Ok(row.get(0)?))).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purge =
            move |write: &mut Write<'_>| write.delete("parked_flow", PURGE_EXPIRED, (now.as_millis(), limit));
        let purged = row::count(self.write(purge).await?);
        if purged > 0 {
            self.parked().forget();
        }
        Ok(purged)
    }
}
