//! How many flows one network may have parked: whoever asks for nothing but long requests fills no one's quota but its own.

use std::net::{IpAddr, Ipv6Addr};

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_primitives::{Lifetime, Timestamp};

/// How many flows a network may park within [`WINDOW`].
const MOST: u32 = 100;
/// How long they count.
const WINDOW: Lifetime = Lifetime::minutes(10);

/// Counts by network. Key: the address, of IPv6 its /64. Bound: `networks`; the longest unseen go first. Staleness: none,
/// but every node counts for itself.
pub(super) struct ParkLimit {
    counts: Cache<IpAddr, (Timestamp, u32)>,
    turn: Mutex<()>,
}

impl ParkLimit {
    pub(super) fn new(networks: usize) -> Self {
        Self { counts: Cache::new(networks), turn: Mutex::new(()) }
    }

    /// Counts one more flow of a network; whether it may be parked.
    pub(super) fn allows(&self, address: IpAddr, now: Timestamp) -> bool {
        let network = network(address);
        let _turn = self.turn.lock();
        let (since, count) =
            self.counts.get(&network).filter(|(since, _)| now < *since + WINDOW).unwrap_or((now, 0));
        self.counts.insert(network, (since, count.saturating_add(1)));
        count < MOST
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

    #[test]
    fn a_network_parks_so_many_flows_and_no_more_until_the_window_ends() {
        let limit = ParkLimit::new(10);
        let (mine, other): (IpAddr, IpAddr) = ("2001:db8::1".parse().unwrap(), "192.0.2.1".parse().unwrap());
        let now = Timestamp::from_secs(1_000_000);
        assert!((0..MOST).all(|_| limit.allows(mine, now)));
        assert!(!limit.allows("2001:db8::2".parse().unwrap(), now));
        assert!(limit.allows(other, now));
        assert!(limit.allows(mine, now + WINDOW));
    }
}
