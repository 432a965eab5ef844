//! Flows too long for a URL, kept in the store under a random handle. One of two exceptions to "no row before consent".

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::Timestamp;

/// A random 128-bit handle.
pub type ParkedHandle = [u8; 16];

/// A flow that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedFlow {
    /// Under which handle.
    pub handle: ParkedHandle,
    /// The flow, sealed: the store cannot read it.
    pub sealed: String,
    /// When it goes.
    pub expires_at: Timestamp,
}

/// Parked flows. Every method is one transaction.
#[async_trait]
pub trait ParkedFlowRepository: Send + Sync {
    /// Keeps a flow, unless there are `quota` of them already: then `false`.
    async fn park(&self, flow: ParkedFlow, quota: u64) -> Result<bool, StoreError>;

    /// The sealed flow, if it has not expired at `now`.
    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError>;

    /// Deletes at most `limit` flows that expired before `now`; how many it was.
    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
