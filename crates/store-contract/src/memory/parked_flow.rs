//! Parked flows in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::flow::{ParkedFlow, ParkedFlowRepository, ParkedHandle};
use sluice_primitives::Timestamp;

use super::{MemoryStore, check, count, purge};

#[async_trait]
impl ParkedFlowRepository for MemoryStore {
    async fn park(&self, flow: ParkedFlow, quota: u64) -> Result<bool, StoreError> {
        check([flow.sealed.as_str()])?;
        self.write(|data| {
            let room = u64::try_from(data.parked.len()).is_ok_and(|parked| parked < quota);
            if room {
                data.parked.insert(flow.handle, flow);
            }
            room
        })
        .await
    }

    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError> {
        let living = |flow: &&ParkedFlow| flow.expires_at > now;
        Ok(self.read(|data| data.parked.get(&handle).filter(living).map(|flow| flow.sealed.clone())))
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| count(&purge(&mut data.parked, limit, |flow| flow.expires_at < now))).await
    }
}
