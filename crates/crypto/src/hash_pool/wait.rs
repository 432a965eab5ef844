//! How long logins wait: what is expected when one comes, and how much of it is too much.

use std::num::NonZeroUsize;
use std::time::Duration;

/// Of so many hashes the mean tells.
const REMEMBERED: u32 = 8;
/// What a hash is taken to take while none was computed yet.
const ASSUMED: Duration = Duration::from_millis(100);
/// However long a hash takes, so many of them are waited for.
const AT_LEAST: u32 = 2;
/// Nobody is told to wait for longer.
const LONGEST_TOLD: Duration = Duration::from_secs(10);

/// How long a hash takes: a moving mean. None where there was none yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MeanDuration(Option<Duration>);

impl MeanDuration {
    /// One took so long.
    pub(super) fn note(&mut self, took: Duration) {
        self.0 = Some(match self.0 {
            Some(mean) => mean.saturating_mul(REMEMBERED - 1).saturating_add(took) / REMEMBERED,
            None => took,
        });
    }

    /// How long so many take, one after the other.
    pub(super) fn of(self, hashes: usize) -> Duration {
        self.get().saturating_mul(u32::try_from(hashes).unwrap_or(u32::MAX))
    }

    fn get(self) -> Duration {
        self.0.unwrap_or(ASSUMED)
    }
}

/// How long logins wait at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    longest: Duration,
    threads: u32,
}

impl Patience {
    pub(super) fn new(longest: Duration, threads: NonZeroUsize) -> Self {
        Self { longest, threads: u32::try_from(threads.get()).unwrap_or(u32::MAX) }
    }

    /// How long it takes until all threads together have done what takes one of them so long.
    pub(super) fn expected(self, work: Duration) -> Duration {
        work / self.threads
    }

    /// How many begin to wait before it is too long for the next.
    pub(super) fn places(self, mean: MeanDuration) -> usize {
        let done = self.most(mean).as_nanos() * u128::from(self.threads) / mean.get().as_nanos().max(1);
        usize::try_from(done).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// Whether nobody is to begin to wait so long. Some hash may always wait: where each takes longer than anybody should wait, nobody
    /// could log in beside another one.
    pub(super) fn is_too_long(self, wait: Duration, mean: MeanDuration) -> bool {
        wait > self.most(mean)
    }

    /// Whether somebody has waited for so long that it was in vain. Beside what is expected at most, that is the hash that was under way
    /// when they came, and a quarter more: an estimate that was a bit off costs nobody what they waited for.
    pub(super) fn is_over(self, waited: Duration, mean: MeanDuration) -> bool {
        let most = self.most(mean);
        waited > most.saturating_add(most / 4).saturating_add(mean.get())
    }

    fn most(self, mean: MeanDuration) -> Duration {
        self.longest.max(mean.get().saturating_mul(AT_LEAST))
    }
}

/// What of such a wait is told.
pub(super) fn told(wait: Duration) -> Duration {
    wait.min(LONGEST_TOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn mean(of: &[Duration]) -> MeanDuration {
        let mut mean = MeanDuration::default();
        for took in of {
            mean.note(*took);
        }
        mean
    }

    fn patience(threads: usize) -> Patience {
        Patience::new(Duration::from_secs(2), NonZeroUsize::new(threads).unwrap())
    }

    #[test]
    fn the_mean_follows_what_hashes_take() {
        assert_eq!(mean(&[]).get(), ASSUMED);
        assert_eq!(mean(&[ms(80)]).get(), ms(80), "the first is all that is known");
        assert_eq!(mean(&[ms(80), ms(160)]).get(), ms(90));
        let settled = mean(&[&[ms(1_000)][..], &[ms(80); 60]].concat()).get();
        assert!(settled >= ms(80) && settled < ms(81), "{settled:?}");
    }

    #[test]
    fn many_threads_are_sooner_done() {
        let each = mean(&[ms(100)]);
        assert_eq!(patience(1).expected(each.of(20)), ms(2_000));
        assert_eq!(patience(4).expected(each.of(20)), ms(500));
        assert_eq!(told(patience(1).expected(each.of(usize::MAX))), LONGEST_TOLD);
    }

    #[test]
    fn there_are_as_many_places_as_there_is_time_for() {
        for (threads, took, expected) in
            [(1, 100, 21), (4, 100, 81), (1, 400, 6), (2, 400, 11), (1, 3_000, 3)]
        {
            let mean = mean(&[ms(took)]);
            let places = patience(threads).places(mean);
            assert_eq!(places, expected, "{threads} threads, {took} ms");
            let begins =
                |ahead| !patience(threads).is_too_long(patience(threads).expected(mean.of(ahead)), mean);
            assert!(begins(places - 1) && !begins(places), "{threads} threads, {took} ms");
        }
        assert_eq!(patience(1).places(mean(&[])), 21);
        assert!(patience(1).places(mean(&[Duration::ZERO])) > 1_000_000);
    }

    #[test]
    fn nobody_waits_longer_than_that_unless_two_hashes_take_longer() {
        let (quick, slow) = (mean(&[ms(80)]), mean(&[ms(3_000)]));
        assert!(!patience(1).is_too_long(ms(2_000), quick) && patience(1).is_too_long(ms(2_001), quick));
        assert!(!patience(1).is_over(ms(2_580), quick) && patience(1).is_over(ms(2_581), quick));
        assert!(!patience(1).is_too_long(ms(6_000), slow) && patience(1).is_too_long(ms(6_001), slow));
        assert!(!patience(1).is_over(ms(10_500), slow) && patience(1).is_over(ms(10_501), slow));
    }
}
