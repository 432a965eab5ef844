//! Values that named a key which is not here, counted by purpose: who runs several processes sees which of them has other secrets.

use std::array::from_fn;
use std::sync::atomic::{AtomicU64, Ordering};

use super::purpose::{PURPOSES, Purpose};

/// So many of each purpose.
pub(super) struct UnknownKeys([AtomicU64; PURPOSES.len()]);

impl UnknownKeys {
    /// One more.
    pub(super) fn count(&self, purpose: Purpose) {
        if let Some(count) = self.0.get(purpose.place()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many so far.
    pub(super) fn counted(&self, purpose: Purpose) -> u64 {
        self.0.get(purpose.place()).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

impl Default for UnknownKeys {
    fn default() -> Self {
        Self(from_fn(|_| AtomicU64::new(0)))
    }
}
