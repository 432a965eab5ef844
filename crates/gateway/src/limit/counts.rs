//! The buckets of one rule.

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use governor::clock::Clock as _;
use governor::middleware::StateInformationMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{Quota, RateLimiter};
use quick_cache::sync::Cache;
use sluice_net::LimitClock;
use sluice_net::bounded::half_for_new;
use sluice_primitives::{Clock, Lifetime};

use super::Whose;
use crate::route::Limit;

/// How many callers one rule counts; of more than that some start anew. About 15 MB when full.
const CAPACITY: usize = 100_000;

/// What one rule counts.
pub(super) struct Counts {
    limiter: RateLimiter<Key, Buckets, LimitClock, StateInformationMiddleware>,
    keys: (RandomState, RandomState),
    /// The time in which one request is given back.
    each: Duration,
    burst: u32,
}

/// A keyed hash of a caller, 128 bits: nobody can find another with the same.
type Key = (u64, u64);

/// How a caller stands after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// How long to wait, if the request was one too many. Then it was not counted.
    pub(super) wait: Option<Lifetime>,
    /// So many more may come at once.
    pub(super) remaining: u32,
    /// When as many as ever may come at once.
    pub(super) restored_in: Duration,
}

impl Counts {
    pub(super) fn new(limit: &Limit, clock: &Arc<dyn Clock>) -> Self {
        let each = (limit.period / limit.requests.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(each).unwrap_or_else(|| Quota::per_second(limit.requests));
        let limiter = RateLimiter::new(
            quota.allow_burst(limit.burst),
            Buckets::new(),
            LimitClock::new(Arc::clone(clock)),
        );
        Self { limiter, keys: (RandomState::new(), RandomState::new()), each, burst: limit.burst.get() }
    }

    /// Counts a request.
    pub(super) fn check(&self, whose: Whose<'_>) -> Count {
        let key = (self.keys.0.hash_one(whose), self.keys.1.hash_one(whose));
        match self.limiter.check_key(&key) {
            Ok(snapshot) => {
                let remaining = snapshot.remaining_burst_capacity();
                let taken = self.burst.saturating_sub(remaining);
                Count { wait: None, remaining, restored_in: self.each.saturating_mul(taken) }
            }
            Err(early) => {
                let wait = early.wait_time_from(self.limiter.clock().now());
                let restored_in = wait.saturating_add(self.each.saturating_mul(self.burst.saturating_sub(1)));
                let wait = Lifetime::from(wait).max(Lifetime::millis(1));
                Count { wait: Some(wait), remaining: 0, restored_in }
            }
        }
    }
}

#[cfg(test)]
impl Counts {
    pub(super) fn callers(self) -> usize {
        self.limiter.into_state_store().0.len()
    }
}

/// Buckets. Key: whose. Bound: [`CAPACITY`]; those that are asked for most stay in a half of it, and the newest in the other. Staleness:
/// none; a forgotten one starts anew. Nobody empties it.
struct Buckets(Cache<Key, Arc<InMemoryState>>);

impl Buckets {
    fn new() -> Self {
        Self(half_for_new(CAPACITY))
    }
}

impl StateStore for Buckets {
    type Key = Key;

    fn measure_and_replace<T, F, E>(&self, key: &Key, f: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let bucket = match self.0.get_or_insert_with(key, || Ok::<_, Infallible>(Arc::default())) {
            Ok(bucket) => bucket,
            Err(never) => match never {},
        };
        bucket.measure_and_replace(&NotKeyed::NonKey, f)
    }
}
