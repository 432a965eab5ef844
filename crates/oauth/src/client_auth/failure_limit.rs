//! How many guesses a client's secret may cost us: the generic cell rate algorithm, one cell for each guess.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use quick_cache::sync::Cache;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::ClientId;

/// So many guesses at once.
const BURST: i64 = 10;
/// And then one in so much time.
const INTERVAL: Lifetime = Lifetime::secs(1);
/// Clients that are counted; of more than that some start anew.
const CAPACITY: usize = 16_384;

/// Guesses by client. Key: the client id. Bound: [`CAPACITY`]. Staleness: none; a forgotten client starts anew. Nobody
/// empties it.
pub(super) struct FailureLimit(Cache<ClientId, Arc<AtomicI64>>);

impl FailureLimit {
    pub(super) fn new() -> Self {
        Self(Cache::new(CAPACITY))
    }

    /// Takes the cell that a guess costs; `false` if there is none left now.
    pub(super) fn take(&self, client: &ClientId, now: Timestamp) -> bool {
        let (now, interval) = (now.as_millis(), INTERVAL.as_millis());
        let latest = now.saturating_add(interval.saturating_mul(BURST - 1));
        // The theoretical arrival time of the next guess.
        self.cell(client)
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |due| {
                let due = due.max(now);
                (due <= latest).then(|| due.saturating_add(interval))
            })
            .is_ok()
    }

    /// Gives a cell back: it was no guess, but the right secret.
    pub(super) fn give_back(&self, client: &ClientId) {
        self.cell(client).fetch_sub(INTERVAL.as_millis(), Ordering::AcqRel);
    }

    fn cell(&self, client: &ClientId) -> Arc<AtomicI64> {
        let made = self.0.get_or_insert_with(client, || Ok::<_, Infallible>(Arc::default()));
        match made {
            Ok(cell) => cell,
            Err(never) => match never {},
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_limited_and_come_back_with_time() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        let now = Timestamp::from_secs(1_000_000);
        assert!((0..BURST).all(|_| limit.take(&client, now)));
        assert!(!limit.take(&client, now));
        assert!(limit.take(&"other".parse().unwrap(), now));
        assert!(limit.take(&client, now + INTERVAL));
        assert!(!limit.take(&client, now + INTERVAL));
    }

    #[test]
    fn a_right_secret_costs_nothing() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        let now = Timestamp::from_secs(1_000_000);
        for _ in 0..100 {
            assert!(limit.take(&client, now));
            limit.give_back(&client);
        }
    }
}
