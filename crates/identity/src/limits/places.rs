//! How many slow hashes one network may wait for at a time. The queue of the hash pool is everybody's: without a share, one
//! network fills it, and nobody else can log in.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sluice_net::Site;

use crate::login::Network;

/// So many of one network at most: an eighth of the longest queue.
const OF_NETWORK: usize = 8;
/// Where hashes take long, fewer may wait: then one network has this part of them at most, but always one.
const PART_OF_NETWORK: usize = 4;
/// As much as so many networks has a site, which may be as many as it likes.
const OF_SITE: usize = 2;

/// Whose places are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Share {
    Network(Network),
    Site(Site),
}

impl Share {
    /// How many it may take, if there are so many places in all.
    fn size(self, places: usize) -> usize {
        let of_network = (places / PART_OF_NETWORK).clamp(1, OF_NETWORK);
        match self {
            Self::Network(_) => of_network,
            Self::Site(_) => of_network * OF_SITE,
        }
    }
}

/// The places that are taken. Key: whose. Bound: requests in flight. Staleness: none. Each [`Place`] empties its own.
#[derive(Default)]
pub(super) struct Places(Arc<Mutex<HashMap<Share, usize>>>);

impl Places {
    /// A place of this network, if there are so many `places` for everybody; none if it has as many as it may.
    pub(super) fn take(&self, network: Network, places: usize) -> Option<Place> {
        let shares = [Some(Share::Network(network)), network.site().map(Share::Site)];
        let mut taken = self.0.lock();
        let has_room = |share: Share| taken.get(&share).is_none_or(|number| *number < share.size(places));
        if !shares.into_iter().flatten().all(has_room) {
            return None;
        }
        for share in shares.into_iter().flatten() {
            *taken.entry(share).or_default() += 1;
        }
        drop(taken);
        Some(Place { taken: Arc::clone(&self.0), shares })
    }
}

/// A place among those who wait for a slow hash. Given back when it is dropped.
#[must_use = "the place is given back when this is dropped"]
pub struct Place {
    taken: Arc<Mutex<HashMap<Share, usize>>>,
    shares: [Option<Share>; 2],
}

impl Place {
    /// That of a network that is not counted.
    pub(super) fn uncounted() -> Self {
        Self { taken: Arc::default(), shares: [None; 2] }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        for share in self.shares.into_iter().flatten() {
            let left = taken.get(&share).copied().unwrap_or_default().saturating_sub(1);
            if left == 0 {
                taken.remove(&share);
            } else {
                taken.insert(share, left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn network(text: &str) -> Network {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn a_network_takes_its_share_and_leaves_the_rest_to_others() {
        let places = Places::default();
        let take = |text: &str| places.take(network(text), 64);
        let mut taken: Vec<_> = (0..OF_NETWORK).filter_map(|_| take("192.0.2.1")).collect();
        assert_eq!(taken.len(), OF_NETWORK);
        assert!(take("192.0.2.1").is_none());
        assert!(take("192.0.2.2").is_some());
        taken.pop();
        assert!(take("192.0.2.1").is_some());
        drop(taken);
        assert!(places.0.lock().is_empty(), "nothing is kept of who is gone");
    }

    #[test]
    fn a_site_does_not_take_more_by_being_many_networks() {
        let places = Places::default();
        let of_site = |n: usize| network(&format!("2001:db8:0:{n:x}::1"));
        let taken: Vec<_> = (0..100).filter_map(|n| places.take(of_site(n), 64)).collect();
        assert_eq!(taken.len(), 16);
        assert!(places.take(network("2001:db8:1::1"), 64).is_some());
    }

    /// As where hashes take long.
    #[test]
    fn of_few_places_a_network_takes_a_quarter_and_a_site_a_half_but_one_in_any_case() {
        let of_site = |n: usize| network(&format!("2001:db8:0:{n:x}::1"));
        for (all, of_network, of_all_its_networks) in [(21, 5, 10), (6, 1, 2), (3, 1, 2), (0, 1, 2)] {
            let places = Places::default();
            let of_one: Vec<_> = (0..100).filter_map(|_| places.take(of_site(0), all)).collect();
            let of_others: Vec<_> = (1..100).filter_map(|n| places.take(of_site(n), all)).collect();
            assert_eq!(of_one.len(), of_network, "of {all}");
            assert_eq!(of_one.len() + of_others.len(), of_all_its_networks, "of {all}");
        }
    }

    #[test]
    fn who_has_more_places_than_there_are_now_gets_no_further_one() {
        let places = Places::default();
        let mut taken: Vec<_> =
            (0..OF_NETWORK).filter_map(|_| places.take(network("192.0.2.1"), 64)).collect();
        assert!(places.take(network("192.0.2.1"), 6).is_none());
        assert!(places.take(network("192.0.2.2"), 6).is_some());
        taken.clear();
        assert!(places.take(network("192.0.2.1"), 6).is_some());
    }
}
