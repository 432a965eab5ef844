//! The time of day, for those who delete by it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sluice_primitives::{Clock, Lifetime, Timestamp};
use tracing::warn;

/// By how many milliseconds the time of day and the time that has passed may differ from one look to the next: five minutes.
const DRIFT: u64 = 5 * 60 * 1_000;
/// So long they must have gone together. Who asks once a minute is told the third time, also if a tick comes a little early.
const STEADY_FOR: Duration = Duration::from_secs(100);

/// Tells the time of day only once that has gone on as time passes for about two minutes, from the start or from when it jumped: what a
/// clock that is wrong takes for expired would be gone for good, for all nodes. Those of a node who delete share one, and ask about once a
/// minute each.
pub(crate) struct SteadyClock {
    clock: Arc<dyn Clock>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    last: Option<(Timestamp, Instant)>,
    /// Since when both have gone together.
    steady_since: Option<Instant>,
}

impl SteadyClock {
    /// A clock that nobody has looked at.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, seen: Mutex::default() }
    }

    /// A clock that has gone on steadily for long enough.
    #[cfg(test)]
    pub(crate) fn proven(clock: Arc<dyn Clock>) -> Self {
        let steady = Self::new(clock);
        let now = Instant::now();
        let seen = Seen { last: Some((steady.clock.now(), now)), steady_since: now.checked_sub(STEADY_FOR) };
        Self { seen: Mutex::new(seen), ..steady }
    }

    /// The time of day, if it can be relied upon.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        self.at(Instant::now())
    }

    fn at(&self, moment: Instant) -> Option<Timestamp> {
        let day = self.clock.now();
        let mut seen = self.seen.lock();
        let last = seen.last.replace((day, moment));
        if last.is_some_and(|last| has_jumped(last, (day, moment))) {
            warn!(
                "the time of day has jumped, or the machine was suspended: nothing is deleted, and no signing key moves on, until it has gone on steadily for two minutes"
            );
            seen.steady_since = None;
        }
        let since = *seen.steady_since.get_or_insert(moment);
        (moment.saturating_duration_since(since) >= STEADY_FOR).then_some(day)
    }
}

/// Whether the time of day went on by something else than what has passed.
fn has_jumped((day_before, before): (Timestamp, Instant), (day, moment): (Timestamp, Instant)) -> bool {
    let passed = Lifetime::from(moment.saturating_duration_since(before)).as_millis();
    let by_day = day.as_millis().saturating_sub(day_before.as_millis());
    by_day.abs_diff(passed) > DRIFT
}

#[cfg(test)]
mod tests {
    use sluice_primitives::ManualClock;

    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_000_000);

    struct World {
        began: Instant,
        day: Arc<ManualClock>,
        clock: SteadyClock,
    }

    impl World {
        fn new() -> Self {
            let day = Arc::new(ManualClock::at(START));
            Self { began: Instant::now(), day: Arc::clone(&day), clock: SteadyClock::new(day) }
        }

        /// Whether the time is told after so many minutes, of which the clock makes others.
        fn is_steady(&self, minutes: u64, by_day: u32) -> bool {
            let day = START + Lifetime::minutes(by_day);
            self.day.set(day);
            let told = self.clock.at(self.began + Duration::from_mins(minutes));
            assert!(told.is_none_or(|told| told == day));
            told.is_some()
        }
    }

    #[test]
    fn a_clock_is_not_believed_before_it_has_gone_on_for_two_minutes() {
        let world = World::new();
        assert!(!world.is_steady(0, 100), "it may be set right soon");
        assert!(!world.is_steady(1, 101) && !world.is_steady(1, 101), "however often it is asked");
        assert!(world.is_steady(2, 102));
        assert!(world.is_steady(3, 106), "clocks are set right by some minutes");
    }

    #[test]
    fn nor_after_it_has_jumped() {
        let world = World::new();
        assert!(!world.is_steady(0, 100) && !world.is_steady(1, 101) && world.is_steady(2, 102));
        assert!(!world.is_steady(3, 1_000), "ahead");
        assert!(!world.is_steady(4, 1_001));
        assert!(world.is_steady(5, 1_002));
        assert!(!world.is_steady(6, 106), "and back");
        assert!(!world.is_steady(7, 1_000));
        assert!(!world.is_steady(8, 1_001));
        assert!(world.is_steady(9, 1_002));
    }

    #[test]
    fn a_clock_that_is_set_right_soon_after_the_start_is_believed_two_minutes_later() {
        let world = World::new();
        assert!(!world.is_steady(0, 50_000) && !world.is_steady(1, 50_001));
        assert!(!world.is_steady(2, 102) && !world.is_steady(3, 103));
        assert!(world.is_steady(4, 104));
    }
}
