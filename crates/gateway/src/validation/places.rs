//! How many questions may be under way, and whose they are: without a share, one client who makes up tokens would take all places.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use sluice_net::Network;

/// The places that are taken. Key: whose, by network. Bound: as many as there are. Staleness: none. Each [`Place`]
/// empties its own.
pub(super) struct Places {
    all: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    by_all: usize,
    by: HashMap<Network, usize>,
}

impl Places {
    /// So many.
    pub(super) fn new(all: usize) -> Self {
        Self { all, taken: Arc::default() }
    }

    /// A place for a question of this client, if there is one: nobody has more than half of what others leave.
    pub(super) fn take(&self, client: IpAddr) -> Option<Place> {
        let client = Network::from(client);
        let mut taken = self.taken.lock();
        let own = taken.by.get(&client).copied().unwrap_or_default();
        let left = self.all.checked_sub(taken.by_all).filter(|left| *left > 0)?;
        if own > 0 && own >= usize::midpoint(left, own) {
            return None;
        }
        taken.by_all += 1;
        taken.by.insert(client, own + 1);
        drop(taken);
        Some(Place { client, taken: Arc::clone(&self.taken) })
    }
}

/// A place among the questions under way. Given back when it is dropped.
#[must_use = "the place is given back when this is dropped"]
pub(super) struct Place {
    client: Network,
    taken: Arc<Mutex<Taken>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        taken.by_all = taken.by_all.saturating_sub(1);
        match taken.by.get_mut(&self.client) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                taken.by.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn all_of(places: &Places, client: &str) -> Vec<Place> {
        std::iter::from_fn(|| places.take(address(client))).take(1_000).collect()
    }

    #[test]
    fn nobody_has_more_than_half_of_what_others_leave() {
        let places = Places::new(16);
        let taken: Vec<_> = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"]
            .map(|client| all_of(&places, client))
            .into();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [8, 4, 2, 1, 1]);
        assert!(places.take(address("192.0.2.6")).is_none(), "all are taken");
        drop(taken);
        assert_eq!(places.taken.lock().by_all, 0);
        assert!(places.taken.lock().by.is_empty(), "nothing is kept of who is gone");
    }

    #[test]
    fn a_network_does_not_take_more_by_being_many_addresses() {
        let places = Places::new(16);
        let taken = [all_of(&places, "2001:db8::1"), all_of(&places, "2001:db8::2")];
        assert_eq!(taken.each_ref().map(Vec::len), [8, 0]);
        assert!(places.take(address("2001:db8:0:1::1")).is_some());
    }

    #[test]
    fn where_there_is_one_place_it_is_for_who_comes_first() {
        let places = Places::new(1);
        let place = places.take(address("192.0.2.1"));
        assert!(place.is_some() && places.take(address("192.0.2.2")).is_none());
        drop(place);
        assert!(places.take(address("192.0.2.2")).is_some());
    }
}
