//! What was verified once is not verified again.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sluice_primitives::{Tally, Timestamp};

use super::footprint;
use super::remembered::Remembered;
use super::validator::Question;
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

/// The verifications of one route: those that were spared, and those that were not.
type Counts = Tally<2>;
const SPARED: usize = 0;
const MADE: usize = 1;

/// Where the verifications of a route are counted, and of its copies. They are looked for once, so that to count is to add.
#[derive(Debug, Clone, Default)]
pub struct Lookups(Arc<OnceLock<Arc<Counts>>>);

/// How often tokens of a route were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupStats {
    /// The name of the route.
    pub route: Box<str>,
    /// How many verifications were spared.
    pub hits: u64,
    /// How many were not.
    pub misses: u64,
}

/// Tokens whose signature was right. Key: SHA-256 of the whole token. Bound: so many ordinary ones as are configured; one that takes
/// more memory counts for several. Staleness: until the token ends, or the keys of its issuer change or are too old. Nobody empties
/// it: whether a token was revoked or has expired is asked each time, so a late answer undoes nothing.
pub struct VerdictCache {
    tokens: Remembered<Verified>,
    /// By the names of routes, also of those that have left the file: what is counted never gets less.
    lookups: Mutex<BTreeMap<Box<str>, Arc<Counts>>>,
}

impl VerdictCache {
    /// An empty cache for so many ordinary tokens.
    pub(super) fn new(entries: NonZeroUsize) -> Self {
        Self { tokens: Remembered::room_for(entries), lookups: Mutex::default() }
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
    pub(super) fn count_hit(&self, question: &Question<'_>) {
        self.count(question, SPARED);
    }

    /// Counts a verification.
    pub(super) fn count_miss(&self, question: &Question<'_>) {
        self.count(question, MADE);
    }

    /// One of nearly each request with a signed token.
    fn count(&self, question: &Question<'_>, place: usize) {
        let Lookups(lookups) = &question.policy.lookups;
        lookups.get_or_init(|| self.counts_of(question.route)).add(place, 1);
    }

    fn counts_of(&self, route: &str) -> Arc<Counts> {
        Arc::clone(self.lookups.lock().entry(route.into()).or_default())
    }

    /// What was counted, by route.
    pub fn lookups(&self) -> Vec<LookupStats> {
        let lookups = self.lookups.lock();
        let stats = lookups.iter().map(|(route, counts)| {
            let [hits, misses] = counts.sums();
            LookupStats { route: route.clone(), hits, misses }
        });
        stats.collect()
    }

    /// How many verifications were spared.
    pub fn hits(&self) -> u64 {
        self.lookups().iter().map(|stats| stats.hits).sum()
    }

    /// How many were not.
    pub fn misses(&self) -> u64 {
        self.lookups().iter().map(|stats| stats.misses).sum()
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
