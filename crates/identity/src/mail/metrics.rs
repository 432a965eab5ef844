//! What an operator sees of mail.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How often the outbox is counted when nothing happens in it, in looks into it.
const QUIET_LOOKS: u64 = 30;

/// What an operator sees of mail.
#[derive(Debug, Default)]
pub struct MailMetrics {
    looks: AtomicU64,
    waiting: AtomicU64,
    dead: AtomicU64,
    sent: AtomicU64,
    failed: AtomicU64,
}

impl MailMetrics {
    /// How many mails wait, of all nodes.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// How many were given up, of all nodes: dead letters.
    pub fn dead(&self) -> u64 {
        self.dead.load(Relaxed)
    }

    /// How many were sent by this node.
    pub fn sent_total(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// How many tries of this node failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    pub(super) fn count_sent(&self) {
        self.sent.fetch_add(1, Relaxed);
    }

    pub(super) fn count_failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Whether the outbox is to be counted at a look into it, whatever is found there: at the first, and now and then.
    pub(super) fn is_due(&self) -> bool {
        self.looks.fetch_add(1, Relaxed).is_multiple_of(QUIET_LOOKS)
    }

    pub(super) fn set_depth(&self, (waiting, dead): (u64, u64)) {
        self.waiting.store(waiting, Relaxed);
        self.dead.store(dead, Relaxed);
    }
}
