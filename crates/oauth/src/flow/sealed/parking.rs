//! What is too long for a URL, in the store: sealed once more, under a random handle.

use std::net::IpAddr;

use serde::Serialize;
use sluice_crypto::Purpose;
use sluice_primitives::Timestamp;
use sluice_primitives::rng::random_bytes;

use super::{FlowError, FlowSealer, Quota, WAY_OUT_KEPT, Whole};
use crate::flow::{Further, ParkedFlow, ParkedHandle};

impl FlowSealer {
    /// Parks the request of a flow that a network asks for, if it may, as long as fewer than `quota` are parked.
    pub(super) async fn park_counted<R: Serialize + Sync>(
        &self,
        whole: &Whole<'_, R>,
        asked_by: Option<IpAddr>,
        quota: u64,
    ) -> Result<ParkedHandle, FlowError> {
        if asked_by.is_some_and(|address| !self.limit.allows_anybody(address, self.clock.now())) {
            return Err(FlowError::QuotaReached(Quota::Network));
        }
        self.park_flow((&whole.request, &whole.further), quota).await
    }

    /// Parks a flow until it has expired, and a while longer, so that it can tell where to start again.
    pub(super) async fn park_flow<T: Serialize + Sync>(
        &self,
        (flow, further): (&T, &Further),
        quota: u64,
    ) -> Result<ParkedHandle, FlowError> {
        let bytes = further.write_behind(flow, Vec::new()).map_err(|_| FlowError::Content)?;
        self.park(&bytes, self.clock.now() + self.lifetime + WAY_OUT_KEPT, quota).await
    }

    pub(super) async fn park(
        &self,
        bytes: &[u8],
        expires_at: Timestamp,
        quota: u64,
    ) -> Result<ParkedHandle, FlowError> {
        let handle = random_bytes(&*self.rng);
        let sealed = self.sealer.seal(Purpose::ParkedFlow, bytes, &*self.rng);
        if self.parked.park(ParkedFlow { handle, sealed, expires_at }, quota).await? {
            Ok(handle)
        } else {
            Err(FlowError::QuotaReached(Quota::All))
        }
    }

    /// What is kept under this handle.
    pub(super) async fn fetch(&self, handle: ParkedHandle) -> Result<Vec<u8>, FlowError> {
        let sealed = self.parked.fetch(handle, self.clock.now()).await?.ok_or(FlowError::Gone)?;
        Ok(self.sealer.open(Purpose::ParkedFlow, &sealed)?)
    }
}
