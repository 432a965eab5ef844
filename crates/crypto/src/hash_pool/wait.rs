//! How long logins wait: what is expected when one comes, and how much of it is too much.

use std::num::NonZeroUsize;
use std::time::Duration;

/// Of so many hashes the mean tells.
const REMEMBERED: u32 = 8;
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

    fn get(self) -> Duration {
        self.0.unwrap_or_default()
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

    /// How long it takes until so many hashes are done.
    pub(super) fn expected(self, hashes: usize, mean: MeanDuration) -> Duration {
        mean.get().saturating_mul(u32::try_from(hashes).unwrap_or(u32::MAX)) / self.threads
    }

    /// Whether nobody is to begin to wait so long. Some hash may always wait: where each takes longer than anybody should wait, nobody
    /// could log in beside another one.
    pub(super) fn is_too_long(self, wait: Duration, mean: MeanDuration) -> bool {
        wait > self.most(mean)
    }

    /// Whether somebody has waited for so long that it was in vain. A quarter more than is expected at most: an estimate that was a bit
    /// off costs nobody what they waited for.
    pub(super) fn is_over(self, waited: Duration, mean: MeanDuration) -> bool {
        let most = self.most(mean);
        waited > most.saturating_add(most / 4)
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
        assert_eq!(mean(&[]).get(), Duration::ZERO);
        assert_eq!(mean(&[ms(80)]).get(), ms(80), "the first is all that is known");
        assert_eq!(mean(&[ms(80), ms(160)]).get(), ms(90));
        let settled = mean(&[&[ms(1_000)][..], &[ms(80); 60]].concat()).get();
        assert!(settled >= ms(80) && settled < ms(81), "{settled:?}");
    }

    #[test]
    fn many_threads_are_sooner_done() {
        assert_eq!(patience(1).expected(20, mean(&[ms(100)])), ms(2_000));
        assert_eq!(patience(4).expected(20, mean(&[ms(100)])), ms(500));
        assert_eq!(patience(1).expected(64, mean(&[])), Duration::ZERO, "nothing is known yet");
        assert_eq!(told(patience(1).expected(usize::MAX, mean(&[ms(100)]))), LONGEST_TOLD);
    }

    #[test]
    fn nobody_waits_longer_than_that_unless_two_hashes_take_longer() {
        let (quick, slow) = (mean(&[ms(80)]), mean(&[ms(3_000)]));
        assert!(!patience(1).is_too_long(ms(2_000), quick) && patience(1).is_too_long(ms(2_001), quick));
        assert!(!patience(1).is_over(ms(2_500), quick) && patience(1).is_over(ms(2_501), quick));
        assert!(!patience(1).is_too_long(ms(6_000), slow) && patience(1).is_too_long(ms(6_001), slow));
    }
}
