//! What is too long for a URL, in the store: sealed once more, under a random handle.

use std::net::IpAddr;

use serde::Serialize;
use sluice_crypto::Purpose;
use sluice_primitives::Timestamp;
use sluice_primitives::rng::random_bytes;

use super::{FlowError, FlowSealer, Quota, WAY_OUT_KEPT};
use crate::flow::{Further, ParkedFlow, ParkedHandle};
use crate::network_limit::address_or_nowhere;

impl FlowSealer {
    /// Parks what a network asks for, if it may. Those who are exempt are not told apart: of them only counts how much is there at
    /// once, of all together.
    pub(super) async fn park_counted(
        &self,
        asked_by: Option<IpAddr>,
        parking: impl Future<Output = Result<ParkedHandle, FlowError>>,
    ) -> Result<ParkedHandle, FlowError> {
        let counted = self.counted(asked_by);
        let now = self.clock.now();
        let comes_in_time = || counted.is_none_or(|address| self.limit.allows_anybody(address, now));
        self.shares.allow(counted, now, comes_in_time)?;
        let parked = parking.await;
        if parked.is_err() {
            self.shares.give_back(counted);
        }
        parked
    }

    /// By which address it is counted what comes from there; none if it is not counted by itself, because everybody may. Those of
    /// whom nobody knows where they are count as one network: a client can see to it that nobody does, behind a proxy that passes on
    /// what it says of itself.
    pub(super) fn counted(&self, asked_by: Option<IpAddr>) -> Option<IpAddr> {
        let address = address_or_nowhere(asked_by);
        let is_exempt = self.exempt.iter().any(|network| network.contains(&address));
        (!is_exempt).then_some(address)
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
