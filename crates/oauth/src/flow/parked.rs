//! Flows too long for a URL, kept in the store under a random handle. One of two exceptions to "no row before consent".

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, Timestamp};

/// How long a number of parked flows is relied upon.
const COUNTED_FOR: Lifetime = Lifetime::secs(1);

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
    /// Keeps a flow, unless there are `quota` of them already, as far as this node knows: then `false`. See [`ParkedCount`].
    async fn park(&self, flow: ParkedFlow, quota: u64) -> Result<bool, StoreError>;

    /// The sealed flow, if it has not expired at `now`.
    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError>;

    /// Deletes at most `limit` flows that expired before `now`; how many it was.
    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

/// How many flows are parked, as a node knows it: to count them takes long where there are many, and whoever fills the table up would have
/// each request count it. So that is done once a second, and a node adds what it parks itself. Nodes may go beyond a quota by what they park in a
/// second.
#[derive(Debug, Default)]
pub struct ParkedCount(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    at: Option<Timestamp>,
    flows: u64,
}

impl ParkedCount {
    /// Whether they are to be counted now. Whoever is told so does it; all others go by the last number until that is known.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let mut counted = self.0.lock();
        let is_known = counted.at.is_some_and(|at| at <= now && now < at + COUNTED_FOR);
        if !is_known {
            counted.at = Some(now);
        }
        !is_known
    }

    /// So many were counted.
    pub fn set(&self, flows: u64) {
        self.0.lock().flows = flows;
    }

    /// Takes the place of one more, if there are fewer than `quota`.
    pub fn take(&self, quota: u64) -> bool {
        let mut counted = self.0.lock();
        let has_room = counted.flows < quota;
        if has_room {
            counted.flows += 1;
        }
        has_room
    }

    /// Some are gone: they are counted again when that matters.
    pub fn forget(&self) {
        self.0.lock().at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parked_flows_are_counted_once_a_second_and_when_some_are_gone() {
        let (count, start) = (ParkedCount::default(), Timestamp::from_secs(1_000));
        assert!(count.is_due(start));
        assert!(!count.is_due(start), "somebody counts them");
        count.set(2);
        assert!(count.take(3), "there is room for one");
        assert!(!count.take(3) && count.take(4), "and for one who may have more");
        assert!(!count.is_due(start + Lifetime::millis(999)));
        assert!(count.is_due(start + Lifetime::secs(1)));
        assert!(count.is_due(start), "the clock was set back");
        count.forget();
        assert!(count.is_due(start));
    }
}
