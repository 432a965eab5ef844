//! Clocks that were set back. Limits and caches note when something was by the time of day: by a clock that was an hour ahead and is right
//! again, that would hold for an hour.

use sluice_primitives::{Lifetime, Timestamp};

/// Who read the time longer than this before something was noted read another clock than who noted it: no request takes so long.
pub(crate) const ANOTHER_CLOCK: Lifetime = Lifetime::minutes(1);

/// Whether what was noted at `since` to hold until `until` does so at `now`. If `since` is yet to come, the clock was set back, unless it is
/// a moment away: others may have noted that after this one read the time.
pub(crate) fn holds(since: Timestamp, until: Timestamp, now: Timestamp) -> bool {
    (since - ANOTHER_CLOCK..until).contains(&now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_another_clock_does_not_hold() {
        let at = |secs: i64| Timestamp::from_secs(1_000_000 + secs);
        for (now, is_held) in [(-61, false), (-60, true), (0, true), (9, true), (10, false), (3_600, false)] {
            assert_eq!(holds(at(0), at(10), at(now)), is_held, "{now}");
        }
    }
}
