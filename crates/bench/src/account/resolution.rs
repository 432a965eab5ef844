//! How well CPU is known: `/proc` counts it in ticks.

use std::time::Duration;

use super::processes::tick;

/// Fewer ticks tell nothing of what an operation costs.
const LEAST: u32 = 3;
/// With fewer a figure is known to no better than a tenth, which is the noise of a whole run.
const ENOUGH: u32 = 20;
/// So many may be missing, or be too many: user and system time are counted apart.
const OFF_BY: u32 = 2;
const PERCENT: u32 = 100;

/// CPU as it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolution {
    counted: Duration,
    tick: Duration,
}

impl Resolution {
    pub(super) fn of(counted: Duration) -> Self {
        Self { counted, tick: tick() }
    }

    /// Whether it is so little that no figure can be made of it.
    pub(crate) fn tells_nothing(self) -> bool {
        self.counted < self.tick * LEAST
    }

    /// Whether so much time is too short to say how many cores were in use.
    pub(crate) fn is_short(self, elapsed: Duration) -> bool {
        self.tells_nothing() && elapsed < self.tick * ENOUGH
    }

    /// What to beware of when something is divided by it, if anything.
    pub(crate) fn caution(self) -> Option<String> {
        let (ticks, length) = (self.ticks(), self.tick.as_millis());
        let counted = format!("counted in ticks of {length} ms, {ticks} of them");
        if self.tells_nothing() {
            return Some(format!("{counted}: too few to tell what an operation costs"));
        }
        let percent = u128::from(OFF_BY * PERCENT).div_ceil(ticks);
        (self.counted < self.tick * ENOUGH).then(|| format!("{counted}: known to ±{percent} %"))
    }

    fn ticks(self) -> u128 {
        self.counted.as_nanos() / self.tick.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(count: u32) -> Resolution {
        let tick = Duration::from_millis(10);
        Resolution { counted: tick * count, tick }
    }

    #[test]
    fn a_few_ticks_are_told_with_how_well_they_are_known() {
        let told = |count| ticks(count).caution();
        let none = "counted in ticks of 10 ms, 2 of them: too few to tell what an operation costs";
        assert_eq!(told(2).as_deref(), Some(none));
        assert_eq!(told(3).as_deref(), Some("counted in ticks of 10 ms, 3 of them: known to ±67 %"));
        assert_eq!(told(19).as_deref(), Some("counted in ticks of 10 ms, 19 of them: known to ±11 %"));
        assert_eq!(told(20), None);
        assert_eq!([0, 2, 3].map(|count| ticks(count).tells_nothing()), [true, true, false]);
    }

    #[test]
    fn little_cpu_is_little_only_in_a_time_that_could_have_had_more() {
        let (short, long) = (Duration::from_millis(40), Duration::from_secs(10));
        assert!(ticks(0).is_short(short) && !ticks(3).is_short(short));
        assert!(!ticks(0).is_short(long), "the server was hardly asked for anything");
    }

    #[test]
    fn the_kernel_says_how_long_a_tick_is() {
        assert!(Resolution::of(Duration::ZERO).tells_nothing());
        assert_eq!(Resolution::of(Duration::from_secs(10)).caution(), None);
    }
}
