//! What an operator sees of hardening.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sluice_primitives::{Lifetime, Timestamp};

use super::repository::Backlog;

/// Over how many seconds the drain rate is taken.
const WINDOW: usize = 60;

/// What an operator sees of hardening: counters of this node, and the backlog of all nodes as it was last counted.
#[derive(Debug, Default)]
pub struct HardeningMetrics {
    hardened: AtomicU64,
    superseded: AtomicU64,
    given_up: AtomicU64,
    left_alone: AtomicU64,
    leased: AtomicU64,
    waiting: AtomicU64,
    dead: AtomicU64,
    /// In milliseconds since the Unix epoch; 0 for none.
    oldest: AtomicI64,
    /// When the backlog was counted last.
    counted: Mutex<Option<Instant>>,
    recent: Mutex<Recent>,
}

/// How many were hardened in each of the last seconds.
#[derive(Debug)]
struct Recent {
    since: Option<i64>,
    seconds: [(i64, u64); WINDOW],
}

impl Default for Recent {
    fn default() -> Self {
        Self { since: None, seconds: [(0, 0); WINDOW] }
    }
}

impl HardeningMetrics {
    /// Credentials that were hardened and stored.
    pub fn hardened_total(&self) -> u64 {
        self.hardened.load(Relaxed)
    }

    /// Credentials that were hardened in vain, because a login or a change was faster.
    pub fn superseded_total(&self) -> u64 {
        self.superseded.load(Relaxed)
    }

    /// Credentials that were given up, because they cannot be read.
    pub fn given_up_total(&self) -> u64 {
        self.given_up.load(Relaxed)
    }

    /// Credentials that were put back, because a secret that they need is not known here or a hash may have too little memory.
    pub fn left_alone_total(&self) -> u64 {
        self.left_alone.load(Relaxed)
    }

    /// How many credentials are in hand now.
    pub fn leased(&self) -> u64 {
        self.leased.load(Relaxed)
    }

    /// How many credentials wait, of all nodes.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// How many were given up, of all nodes.
    pub fn dead(&self) -> u64 {
        self.dead.load(Relaxed)
    }

    /// For how long the oldest one has waited.
    pub fn oldest_age(&self, now: Timestamp) -> Lifetime {
        match self.oldest.load(Relaxed) {
            0 => Lifetime::ZERO,
            millis => now.since(Timestamp::from_millis(millis)),
        }
    }

    /// How long ago the backlog was counted, by a clock that nobody sets; nothing if it never was. While the database is away the last count
    /// stays.
    pub fn count_age(&self) -> Option<Duration> {
        self.counted.lock().map(|at| at.elapsed())
    }

    /// How many a second were hardened over the last minute.
    #[expect(clippy::cast_precision_loss, reason = "a rate to look at")]
    pub fn drain_rate(&self, now: Timestamp) -> f64 {
        let (now, recent) = (now.as_secs(), self.recent.lock());
        let window = i64::try_from(WINDOW).unwrap_or(i64::MAX);
        let Some(since) = recent.since else { return 0.0 };
        let span = now.saturating_sub(since).saturating_add(1).clamp(1, window);
        let counted = recent.seconds.iter().filter(|(second, _)| now.saturating_sub(*second) < window);
        counted.map(|(_, count)| *count).sum::<u64>() as f64 / span as f64
    }

    pub(super) fn count_hardened(&self, stored: u64, tried: usize, now: Timestamp) {
        self.hardened.fetch_add(stored, Relaxed);
        let tried = u64::try_from(tried).unwrap_or(u64::MAX);
        self.superseded.fetch_add(tried.saturating_sub(stored), Relaxed);
        let mut recent = self.recent.lock();
        let now = now.as_secs();
        recent.since.get_or_insert(now);
        let place = usize::try_from(now).unwrap_or_default() % WINDOW;
        if let Some((second, count)) = recent.seconds.get_mut(place) {
            *count = if *second == now { *count + stored } else { stored };
            *second = now;
        }
    }

    pub(super) fn count_given_up(&self) {
        self.given_up.fetch_add(1, Relaxed);
    }

    pub(super) fn count_left_alone(&self) {
        self.left_alone.fetch_add(1, Relaxed);
    }

    pub(super) fn set_leased(&self, leased: usize) {
        self.leased.store(u64::try_from(leased).unwrap_or(u64::MAX), Relaxed);
    }

    pub(super) fn set_backlog(&self, backlog: &Backlog) {
        self.waiting.store(backlog.waiting, Relaxed);
        self.dead.store(backlog.dead, Relaxed);
        self.oldest.store(backlog.oldest.map_or(0, Timestamp::as_millis), Relaxed);
        *self.counted.lock() = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn the_drain_rate_is_that_of_the_last_minute() {
        let metrics = HardeningMetrics::default();
        let at = |secs: i64| Timestamp::from_secs(1_000_000 + secs);
        assert_eq!(metrics.drain_rate(at(0)), 0.0);
        for second in 0..10 {
            metrics.count_hardened(30, 32, at(second));
        }
        assert_eq!(metrics.drain_rate(at(9)), 30.0);
        assert_eq!(metrics.drain_rate(at(59)), 5.0);
        assert_eq!(metrics.drain_rate(at(64)), 2.5);
        assert_eq!(metrics.drain_rate(at(1000)), 0.0);
        assert_eq!((metrics.hardened_total(), metrics.superseded_total()), (300, 20));
    }

    #[test]
    fn the_age_of_the_oldest_grows_until_there_is_none() {
        let metrics = HardeningMetrics::default();
        let (then, now) = (Timestamp::from_secs(1_000), Timestamp::from_secs(1_090));
        assert_eq!((metrics.oldest_age(now), metrics.count_age()), (Lifetime::ZERO, None));
        metrics.set_backlog(&Backlog { waiting: 7, oldest: Some(then), dead: 1 });
        assert_eq!((metrics.waiting(), metrics.dead()), (7, 1));
        assert!(metrics.count_age().is_some_and(|age| age < Duration::from_mins(1)));
        assert_eq!(metrics.oldest_age(now), Lifetime::secs(90));
        metrics.set_backlog(&Backlog::default());
        assert_eq!(metrics.oldest_age(now), Lifetime::ZERO);
    }
}
