//! Config: how large, how deep, how patient.

use std::num::NonZeroUsize;
use std::time::Duration;

/// The limits of a queue. Every value is a valid one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Rows in one commit at most; default 512.
    pub max_batch: NonZeroUsize,
    /// Ops that may wait in one lane, those in the commit in flight not counted; default 8192.
    pub depth: NonZeroUsize,
    /// Whether those that are ready to submit go first after each commit, too; default true. What shares a commit costs less, and where
    /// cores are busy anyway nobody waits for it. Without it the store has its next batch at once: for ops whose callers do little else.
    pub gathers: bool,
    /// The pauses between attempts on a lost connection; default 10 ms, doubling up to 1 s.
    pub lost: Backoff,
    /// The pauses between attempts under contention; default 1 ms, doubling up to 50 ms.
    pub busy: Backoff,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_batch: NonZeroUsize::MIN.saturating_add(511),
            depth: NonZeroUsize::MIN.saturating_add(8191),
            gathers: true,
            lost: Backoff { first: Duration::from_millis(10), max: Duration::from_secs(1) },
            busy: Backoff { first: Duration::from_millis(1), max: Duration::from_millis(50) },
        }
    }
}

/// Pauses that double: `first`, twice that, and so on, never above `max`. None is shorter than a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first pause.
    pub first: Duration,
    /// The longest pause.
    pub max: Duration,
}

impl Backoff {
    const SHORTEST: Duration = Duration::from_millis(1);

    pub(crate) fn pauses(self) -> Pauses {
        Pauses { next: self.first, max: self.max }
    }
}

/// A [`Backoff`] under way.
#[derive(Debug)]
pub(crate) struct Pauses {
    next: Duration,
    max: Duration,
}

impl Pauses {
    /// The pause to make now; the one after it is twice as long.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let pause = self.next.min(self.max).max(Backoff::SHORTEST);
        self.next = pause.saturating_mul(2);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_pauses(first_ms: u64, max_ms: u64) -> [u128; 4] {
        let backoff = Backoff { first: Duration::from_millis(first_ms), max: Duration::from_millis(max_ms) };
        let mut pauses = backoff.pauses();
        std::array::from_fn(|_| pauses.next_pause().as_millis())
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        assert_eq!(first_pauses(10, 35), [10, 20, 35, 35]);
    }

    #[test]
    fn a_pause_is_never_so_short_that_retries_spin() {
        assert_eq!(first_pauses(0, 0), [1, 1, 1, 1]);
    }
}
