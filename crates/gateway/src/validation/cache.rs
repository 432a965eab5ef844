//! What was verified once is not verified again.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_primitives::{Tally, Timestamp};

use super::footprint;
use super::remembered::Remembered;
use crate::authn::Caller;

/// SHA-256 of a whole token.
pub(super) type TokenDigest = [u8; 32];

/// A token that was authentic when it was verified, or opened.
#[derive(Debug, Clone)]
pub(super) struct Verified {
    /// What it says.
    pub(super) caller: Arc<Caller>,
    /// Until when it holds, differing clocks included.
    pub(super) until: Timestamp,
    /// With whose keys it was verified: no two issuers ever have the same number.
    pub(super) issuer: u64,
    /// With which of them: when the keys change, everything is verified, or opened, again.
    pub(super) generation: u64,
}

/// Tokens whose signature was right. Key: SHA-256 of the whole token. Bound: so many ordinary ones as are configured; one that takes
/// more memory counts for several. Staleness: until the token ends, or the keys of its issuer change or are too old. Nobody empties
/// it: whether a token was revoked or has expired is asked each time, so a late answer undoes nothing.
pub struct VerdictCache {
    tokens: Remembered<Verified>,
    /// One of nearly each request with a signed token.
    hits: Tally<1>,
    misses: AtomicU64,
}

impl VerdictCache {
    /// An empty cache for so many ordinary tokens.
    pub(super) fn new(entries: NonZeroUsize) -> Self {
        Self { tokens: Remembered::room_for(entries), hits: Tally::default(), misses: AtomicU64::new(0) }
    }

    /// What is known about a token.
    pub(super) fn find(&self, token: &TokenDigest) -> Option<Verified> {
        self.tokens.find(token)
    }

    /// Keeps what was found out about a token.
    pub(super) fn keep(&self, token: TokenDigest, verified: Verified) {
        let weight = footprint::weight(&verified.caller);
        self.tokens.keep(token, verified, weight);
    }

    /// Counts a verification that was spared.
    pub(super) fn count_hit(&self) {
        self.hits.add(0, 1);
    }

    /// Counts a verification.
    pub(super) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// How many verifications were spared.
    pub fn hits(&self) -> u64 {
        let [hits] = self.hits.sums();
        hits
    }

    /// How many were not.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// How many tokens are kept.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether none are.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::authn::given::{EXPIRY, bob};

    #[test]
    fn tokens_that_say_much_leave_room_for_fewer() {
        let cache = VerdictCache::new(NonZeroUsize::new(64).unwrap());
        let caller = Arc::new(bob(json!({"x": vec![0; 1_000]})));
        for number in 0..64 {
            let caller = Arc::clone(&caller);
            cache.keep([number; 32], Verified { caller, until: EXPIRY, issuer: 1, generation: 1 });
        }
        let weight = usize::try_from(footprint::weight(&caller)).unwrap();
        assert!(weight > 1 && cache.len() * weight <= 64, "{} of {weight}", cache.len());
    }
}
