//! How much one network may do of what anybody can: whoever does too much of it fills no one's quota but its own.

use std::net::{IpAddr, Ipv6Addr};

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_primitives::{Lifetime, Timestamp};

/// How many networks are counted at once.
const NETWORKS: usize = 10_000;

/// Counts by network. Key: the address, of IPv6 its /64. Bound: [`NETWORKS`]; the longest unseen go first. Staleness: none,
/// but every node counts for itself.
pub struct NetworkLimit {
    most: u32,
    window: Lifetime,
    counts: Cache<IpAddr, (Timestamp, u32)>,
    turn: Mutex<()>,
}

impl NetworkLimit {
    /// At most so many within this time.
    pub fn new(most: u32, window: Lifetime) -> Self {
        Self { most, window, counts: Cache::new(NETWORKS), turn: Mutex::new(()) }
    }

    /// Counts one more of a network; whether it may be.
    pub fn allows(&self, address: IpAddr, now: Timestamp) -> bool {
        let network = network(address);
        let _turn = self.turn.lock();
        let (since, count) =
            self.counts.get(&network).filter(|(since, _)| now < *since + self.window).unwrap_or((now, 0));
        self.counts.insert(network, (since, count.saturating_add(1)));
        count < self.most
    }

    /// Takes one back: it was not what is counted.
    pub fn give_back(&self, address: IpAddr) {
        let network = network(address);
        let _turn = self.turn.lock();
        if let Some((since, count)) = self.counts.get(&network) {
            self.counts.insert(network, (since, count.saturating_sub(1)));
        }
    }

    /// For how long a network has to wait that was told no.
    pub const fn window(&self) -> Lifetime {
        self.window
    }
}

impl std::fmt::Debug for NetworkLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkLimit")
            .field("most", &self.most)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u32 = 5;
    const WINDOW: Lifetime = Lifetime::minutes(10);

    #[test]
    fn a_network_may_do_so_much_and_no_more_until_the_window_ends() {
        let limit = NetworkLimit::new(MOST, WINDOW);
        let (mine, other): (IpAddr, IpAddr) = ("2001:db8::1".parse().unwrap(), "192.0.2.1".parse().unwrap());
        let now = Timestamp::from_secs(1_000_000);
        assert!((0..MOST).all(|_| limit.allows(mine, now)));
        assert!(!limit.allows("2001:db8::2".parse().unwrap(), now));
        assert!(limit.allows(other, now));
        assert!(limit.allows(mine, now + WINDOW));
    }

    #[test]
    fn what_is_given_back_did_not_count() {
        let limit = NetworkLimit::new(MOST, WINDOW);
        let mine: IpAddr = "192.0.2.1".parse().unwrap();
        let now = Timestamp::from_secs(1_000_000);
        for _ in 0..100 {
            assert!(limit.allows(mine, now));
            limit.give_back(mine);
        }
    }
}
