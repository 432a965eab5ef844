//! How often one host is asked: whoever names URLs here must not make requests of this server a flood for others.

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_primitives::{Lifetime, Timestamp};

/// How many hosts are counted at once.
const HOSTS: usize = 4_096;
/// How often a host may be asked within [`WINDOW`].
const MOST: u32 = 30;
/// How long a request counts.
const WINDOW: Lifetime = Lifetime::minutes(1);

/// Counts by host. Key: the host and its port. Bound: [`HOSTS`]; the longest unseen go first. Staleness: none, but every
/// node counts for itself.
pub(super) struct HostLimit {
    counts: Cache<String, (Timestamp, u32)>,
    turn: Mutex<()>,
}

impl HostLimit {
    pub(super) fn new() -> Self {
        Self { counts: Cache::new(HOSTS), turn: Mutex::new(()) }
    }

    /// Counts one more request; whether it may be made.
    pub(super) fn allows(&self, host: &str, now: Timestamp) -> bool {
        let _turn = self.turn.lock();
        let known = self.counts.get(host).filter(|(since, _)| now < *since + WINDOW);
        let (since, count) = known.unwrap_or((now, 0));
        self.counts.insert(host.to_owned(), (since, count.saturating_add(1)));
        count < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_asked_so_often_and_no_more_until_the_window_ends() {
        let (limit, now) = (HostLimit::new(), Timestamp::from_secs(1_000_000));
        assert!((0..MOST).all(|_| limit.allows("app.example", now)));
        assert!(!limit.allows("app.example", now));
        assert!(limit.allows("other.example", now));
        assert!(limit.allows("app.example", now + WINDOW));
    }
}
