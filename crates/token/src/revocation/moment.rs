//! A moment by two clocks, neither of which tells alone how long ago it was.

use std::time::Instant;

use sluice_primitives::{Clock, Lifetime, Timestamp};

/// A moment by two clocks. The monotonic one stands still while a machine is suspended, or lies about as a snapshot; the time of
/// day may be set, forward and back.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    monotonic: Instant,
    time_of_day: Timestamp,
}

impl Moment {
    /// The present one.
    pub fn now(clock: &dyn Clock) -> Self {
        Self { monotonic: Instant::now(), time_of_day: clock.now() }
    }

    /// How long ago it was at most: what the clock says that tells of more.
    pub fn age(&self, clock: &dyn Clock) -> Lifetime {
        Lifetime::from(self.monotonic.elapsed()).max(clock.now().since(self.time_of_day))
    }

    /// For how long the machine has stood still since, or by how much its clock was set forward: nobody can tell these apart.
    pub fn lost(&self, clock: &dyn Clock) -> Lifetime {
        let by_day = clock.now().since(self.time_of_day).as_duration();
        by_day.saturating_sub(self.monotonic.elapsed()).into()
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::ManualClock;

    use super::*;

    #[test]
    fn the_clock_that_tells_of_more_is_believed() {
        let start = Timestamp::from_secs(1_000_000);
        let clock = ManualClock::at(start);
        let moment = Moment::now(&clock);
        assert!(moment.age(&clock) < Lifetime::minutes(1) && moment.lost(&clock) == Lifetime::ZERO);
        clock.advance(Lifetime::hours(3));
        assert!(moment.age(&clock) >= Lifetime::hours(3), "suspended for hours");
        assert!(moment.lost(&clock) > Lifetime::minutes(179) && moment.lost(&clock) <= Lifetime::hours(3));
        clock.set(start - Lifetime::hours(3));
        let age = moment.age(&clock);
        assert!(age < Lifetime::minutes(1) && age >= Lifetime::ZERO, "set back: as old as it is");
        assert_eq!(moment.lost(&clock), Lifetime::ZERO);
    }
}
