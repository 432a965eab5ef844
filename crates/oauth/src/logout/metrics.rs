//! What an operator sees of back-channel notices.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::metrics::Counter;

/// How often the outbox is counted when nothing happens in it, in rounds.
const QUIET_ROUNDS: u64 = 30;

/// What an operator sees of back-channel notices.
#[derive(Debug, Default)]
pub struct DeliveryMetrics {
    /// Notices that arrived.
    pub delivered: Counter,
    /// Tries that failed.
    pub failed: Counter,
    rounds: AtomicU64,
    waiting: AtomicU64,
    dead: AtomicU64,
}

impl DeliveryMetrics {
    /// How many notices wait, of all nodes.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// How many were given up, of all nodes: dead letters.
    pub fn dead(&self) -> u64 {
        self.dead.load(Relaxed)
    }

    /// Whether the outbox is to be counted after a round that tried so many.
    pub(super) fn is_due(&self, tried: usize) -> bool {
        self.rounds.fetch_add(1, Relaxed).is_multiple_of(QUIET_ROUNDS) || tried > 0
    }

    pub(super) fn set_depth(&self, (waiting, dead): (u64, u64)) {
        self.waiting.store(waiting, Relaxed);
        self.dead.store(dead, Relaxed);
    }
}
