//! What is remembered of tokens, within bounds of memory.

use std::num::NonZeroUsize;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::cache::TokenDigest;

/// Values by token. Key: SHA-256 of the whole token. Bound: the sum of what they count for; one that counts for more than a small part of
/// it is not kept at all. Staleness, and who may empty it: as whoever keeps something here says.
pub(super) struct Remembered<T>(Cache<TokenDigest, Weighed<T>, ByWeight>);

#[derive(Clone)]
struct Weighed<T> {
    value: T,
    weight: u64,
}

#[derive(Clone)]
struct ByWeight;

impl<T> Weighter<TokenDigest, Weighed<T>> for ByWeight {
    fn weight(&self, _: &TokenDigest, weighed: &Weighed<T>) -> u64 {
        weighed.weight
    }
}

impl<T: Clone> Remembered<T> {
    /// Room for so many of which each counts for one.
    pub(super) fn room_for(entries: NonZeroUsize) -> Self {
        let entries = entries.get();
        Self(Cache::with_weighter(entries, entries as u64, ByWeight))
    }

    /// What is known about a token.
    pub(super) fn find(&self, token: &TokenDigest) -> Option<T> {
        self.0.get(token).map(|weighed| weighed.value)
    }

    /// Keeps a value that counts for `weight`.
    pub(super) fn keep(&self, token: TokenDigest, value: T, weight: u64) {
        self.0.insert(token, Weighed { value, weight });
    }

    /// How many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_for_more_leaves_room_for_fewer() {
        let remembered = Remembered::room_for(NonZeroUsize::new(64).unwrap());
        for number in 0..64 {
            remembered.keep([number; 32], number, 8);
        }
        assert!((1..=8).contains(&remembered.len()), "{}", remembered.len());
        assert_eq!(remembered.find(&[63; 32]).unwrap_or(63), 63);
    }
}
