//! Crowd: of lines that a flood of refusals would write, a sample. All of them are in the metrics, and each request has its own line.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// So many lines of a kind in a second are read by nobody, and tell what ails the rest.
const IN_A_SECOND: u64 = 20;
/// So many kinds are told apart; those that fall together share a sample.
const KINDS: usize = 64;

/// When the process began to count.
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Lines of one kind.
pub(crate) struct Crowd {
    second: AtomicU64,
    said: AtomicU64,
    unsaid: AtomicU64,
}

impl Crowd {
    /// Nothing was said yet.
    pub(crate) const fn new() -> Self {
        Self { second: AtomicU64::new(0), said: AtomicU64::new(0), unsaid: AtomicU64::new(0) }
    }

    /// Whether a line is said: with how many were not said since the last one. Two threads may say a few too many.
    pub(crate) fn admits(&self) -> Option<u64> {
        self.admits_in(BEGUN.elapsed().as_secs())
    }

    fn admits_in(&self, second: u64) -> Option<u64> {
        if self.second.swap(second, Ordering::Relaxed) != second {
            self.said.store(0, Ordering::Relaxed);
        }
        if self.said.fetch_add(1, Ordering::Relaxed) < IN_A_SECOND {
            return Some(self.unsaid.swap(0, Ordering::Relaxed));
        }
        self.unsaid.fetch_add(1, Ordering::Relaxed);
        None
    }
}

/// Lines of many kinds, each sampled by itself, so that a flood of one hides no other. Where each of a flood is of a kind of its own, it has the
/// lines of all together.
pub(crate) struct Crowds([Crowd; KINDS]);

impl Crowds {
    /// Nothing was said yet.
    pub(crate) const fn new() -> Self {
        Self([const { Crowd::new() }; KINDS])
    }

    /// Whether a line of this kind is said: with how many of it were not said since the last one.
    pub(crate) fn admits(&self, kind: &impl Hash) -> Option<u64> {
        self.0.get(place(kind))?.admits()
    }
}

/// Where lines of this kind are counted.
fn place(kind: &impl Hash) -> usize {
    let mut hasher = DefaultHasher::new();
    kind.hash(&mut hasher);
    usize::try_from(hasher.finish() % KINDS as u64).unwrap_or_default()
}

/// How many were not said, for a line; nothing if there were none.
pub(crate) fn told(unsaid: u64) -> Option<u64> {
    (unsaid > 0).then_some(unsaid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_sampled_and_the_next_second_tells_how_many_there_were() {
        let crowd = Crowd::new();
        let said =
            |second, lines: usize| (0..lines).filter_map(|_| crowd.admits_in(second)).collect::<Vec<_>>();
        assert_eq!(said(0, 1000), [0; 20]);
        let next = said(1, 3);
        assert_eq!(next, [980, 0, 0], "none is lost");
        assert_eq!(said(7, 30), [0; 20]);
        assert_eq!(said(9, 1), [10]);
    }

    #[test]
    fn a_flood_of_one_kind_hides_no_other() {
        let (crowds, flood) = (Crowds::new(), ("token", "busy"));
        let others = ["away", "full", "left", "late"].map(|reason| ("token", reason));
        let other = others.into_iter().find(|other| place(other) != place(&flood)).unwrap();
        assert!((0..10_000).filter(|_| crowds.admits(&flood).is_some()).count() < 10_000);
        assert_eq!(crowds.admits(&other), Some(0));
    }

    #[test]
    fn kinds_without_end_are_counted_in_so_many_places() {
        let places: std::collections::BTreeSet<_> = (0..10_000_u32).map(|kind| place(&kind)).collect();
        assert_eq!(places.len(), KINDS);
    }
}
