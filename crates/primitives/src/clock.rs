//! Who tells the time. Services hold an `Arc<dyn Clock>`; pure functions take `now`.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::{Lifetime, Timestamp};

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The machine's clock. Made in the composition root and nowhere else.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that a test moves by hand.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `start`.
    pub const fn at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.as_millis()))
    }

    /// Sets the clock, forward or back.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Lifetime) {
        self.0.fetch_add(span.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
