//! The clock that services are given, as `governor` wants it: for everything that counts how often something happens.

use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use governor::clock::{Clock as GovernorClock, Reference};
use governor::nanos::Nanos;
use sluice_primitives::{Clock, Lifetime, Timestamp};

/// A clock for rate limiters that tells what another one tells, but goes on when that is set back: who was counted by a clock that was
/// hours ahead would wait for hours.
pub struct LimitClock {
    clock: Arc<dyn Clock>,
    /// The latest that was told, and by how much more than the clock said, in milliseconds.
    latest: AtomicI64,
    ahead: AtomicI64,
}

/// So much may be between two who ask at once, in milliseconds.
const AT_ONCE: i64 = 1_000;

/// A moment as the clock tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LimitMoment(Timestamp);

impl LimitClock {
    /// Tells what `clock` tells.
    pub const fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, latest: AtomicI64::new(i64::MIN), ahead: AtomicI64::new(0) }
    }
}

impl GovernorClock for LimitClock {
    type Instant = LimitMoment;

    fn now(&self) -> LimitMoment {
        let ahead = self.ahead.load(Ordering::Acquire);
        let told = self.clock.now().as_millis().saturating_add(ahead);
        let latest = self.latest.fetch_max(told, Ordering::AcqRel);
        let back = latest.saturating_sub(told);
        if back <= AT_ONCE {
            return LimitMoment(Timestamp::from_millis(told));
        }
        // Of several who notice it at once one takes it into account.
        let _ = self.ahead.compare_exchange(ahead, ahead + back, Ordering::AcqRel, Ordering::Relaxed);
        LimitMoment(Timestamp::from_millis(latest))
    }
}

impl Add<Nanos> for LimitMoment {
    type Output = Self;

    /// Rounded up: whoever waits so long does not come too early.
    fn add(self, span: Nanos) -> Self {
        let millis = span.as_u64().div_ceil(1_000_000);
        Self(self.0 + Lifetime::from(Duration::from_millis(millis)))
    }
}

impl Reference for LimitMoment {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::from(self.0.since(earlier.0).as_duration())
    }

    fn saturating_sub(&self, span: Nanos) -> Self {
        Self(self.0 - Lifetime::from(Duration::from_nanos(span.as_u64())))
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::ManualClock;

    use super::*;

    #[test]
    fn it_tells_what_it_was_given_and_rounds_a_wait_up() {
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1)));
        let told = LimitClock::new(clock.clone());
        let before = told.now();
        clock.advance(Lifetime::millis(5));
        assert_eq!(told.now().duration_since(before), Nanos::from(Duration::from_millis(5)));
        assert_eq!(before.duration_since(told.now()), Nanos::from(Duration::ZERO), "never less than nothing");
        let a_bit_later = before + Nanos::from(Duration::from_nanos(1));
        assert_eq!(a_bit_later.duration_since(before), Nanos::from(Duration::from_millis(1)));
        assert_eq!(told.now().saturating_sub(Nanos::from(Duration::from_millis(5))), before);
    }

    #[test]
    fn it_goes_on_when_the_clock_is_set_back() {
        let start = Timestamp::from_secs(1_000_000);
        let clock = Arc::new(ManualClock::at(start));
        let told = LimitClock::new(clock.clone());
        clock.advance(Lifetime::hours(5));
        let ahead = told.now();
        clock.set(start);
        assert_eq!(told.now(), ahead);
        clock.advance(Lifetime::secs(7));
        assert_eq!(told.now().duration_since(ahead), Nanos::from(Duration::from_secs(7)));
        clock.set(start);
        clock.advance(Lifetime::secs(8));
        assert_eq!(told.now().duration_since(ahead), Nanos::from(Duration::from_secs(8)));
    }
}
