//! What the pool tells about itself.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use super::Priority;

/// Counters of the pool, read at any time.
#[derive(Debug, Default)]
pub struct PoolMetrics {
    waiting: [AtomicUsize; 3],
    refused: [AtomicU64; 3],
    pub(super) busy: AtomicUsize,
    pub(super) done: AtomicU64,
    pub(super) held_kib: AtomicUsize,
}

impl PoolMetrics {
    /// How many jobs of a priority wait now.
    pub fn queue_depth(&self, priority: Priority) -> usize {
        self.depth(priority).load(Relaxed)
    }

    /// How many jobs of a priority were refused because their queue was full or there was no memory for them.
    pub fn rejected_total(&self, priority: Priority) -> u64 {
        self.rejected(priority).load(Relaxed)
    }

    /// How many threads hash now.
    pub fn busy_threads(&self) -> usize {
        self.busy.load(Relaxed)
    }

    /// How many jobs were done.
    pub fn done_total(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// How much memory the threads hold now, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.held_kib.load(Relaxed) * 1024
    }

    pub(super) const fn depth(&self, priority: Priority) -> &AtomicUsize {
        let [login, client_secret, hardening] = &self.waiting;
        match priority {
            Priority::Login => login,
            Priority::ClientSecret => client_secret,
            Priority::Hardening => hardening,
        }
    }

    pub(super) const fn rejected(&self, priority: Priority) -> &AtomicU64 {
        let [login, client_secret, hardening] = &self.refused;
        match priority {
            Priority::Login => login,
            Priority::ClientSecret => client_secret,
            Priority::Hardening => hardening,
        }
    }
}
