//! How much one network, or one client, may do: whoever does too much of it fills no one's quota but its own.

use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_net::bounded::half_for_new;
use sluice_net::{NETWORKS_OF_A_SITE, Network, Site};
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::ClientId;

use crate::client::Client;
use crate::set_back::holds;

/// How many networks, clients or hosts are counted at once.
const COUNTED: usize = 10_000;

/// Counts by some key. Bound: [`COUNTED`]; those that come again stay in a half of it, and the newest in the other. Staleness: none, but
/// every node counts for itself.
pub(crate) struct Counts<K> {
    most: u32,
    window: Lifetime,
    seen: Cache<K, (Timestamp, u32)>,
    turn: Mutex<()>,
}

impl<K: Hash + Eq + Clone> Counts<K> {
    pub(crate) fn new(most: u32, window: Lifetime) -> Self {
        Self { most, window, seen: half_for_new(COUNTED), turn: Mutex::new(()) }
    }

    /// Counts one more; whether it may be.
    pub(crate) fn allows(&self, key: K, now: Timestamp) -> bool {
        let _turn = self.turn.lock();
        let known = self.seen.get(&key).filter(|(since, _)| holds(*since, *since + self.window, now));
        let (since, count) = known.unwrap_or((now, 0));
        self.seen.insert(key, (since, count.saturating_add(1)));
        count < self.most
    }

    /// Takes one back.
    pub(crate) fn give_back(&self, key: K) {
        let _turn = self.turn.lock();
        if let Some((since, count)) = self.seen.get(&key) {
            self.seen.insert(key, (since, count.saturating_sub(1)));
        }
    }
}

/// By which address a request counts. Those of whom nobody knows where they are count as one network, which is nobody's.
pub(crate) fn address_or_nowhere(from: Option<IpAddr>) -> IpAddr {
    from.map_or(Ipv4Addr::UNSPECIFIED.into(), |address| address.to_canonical())
}

/// How much a network may do. Counted by address, of IPv6 by /64, and the /48 that it is in may do as much as sixteen of them.
pub struct NetworkLimit {
    each: Counts<Network>,
    sites: Counts<Site>,
}

impl NetworkLimit {
    /// At most so many within this time.
    pub fn new(most: u32, window: Lifetime) -> Self {
        let of_site = most.saturating_mul(NETWORKS_OF_A_SITE);
        Self { each: Counts::new(most, window), sites: Counts::new(of_site, window) }
    }

    /// Counts one more of a network; whether it may be. What one network may not do is not counted for its site, nor the other
    /// way round.
    pub fn allows(&self, address: IpAddr, now: Timestamp) -> bool {
        let network = Network::from(address);
        if !self.each.allows(network, now) {
            return false;
        }
        let is_allowed = network.site().is_none_or(|site| self.sites.allows(site, now));
        if !is_allowed {
            self.each.give_back(network);
        }
        is_allowed
    }

    /// As [`Self::allows`]. Those of whom nobody knows where they are share one quota.
    pub fn allows_from(&self, address: Option<IpAddr>, now: Timestamp) -> bool {
        self.allows(address_or_nowhere(address), now)
    }

    /// Takes one back: it was not what is counted.
    pub fn give_back(&self, address: IpAddr) {
        let network = Network::from(address);
        self.each.give_back(network);
        if let Some(site) = network.site() {
            self.sites.give_back(site);
        }
    }

    /// For how long a network has to wait that was told no.
    pub const fn window(&self) -> Lifetime {
        self.each.window
    }
}

/// How much is kept for whom at the request of clients. Anybody can be a public client: those are counted by network. Of
/// another client its own requests are counted, wherever they come from.
pub struct ClientLimit {
    networks: NetworkLimit,
    clients: Counts<ClientId>,
}

impl ClientLimit {
    /// At most so many of a network, and so many of a client that authenticates, within this time.
    pub fn new((of_network, of_client): (u32, u32), window: Lifetime) -> Self {
        Self { networks: NetworkLimit::new(of_network, window), clients: Counts::new(of_client, window) }
    }

    /// Counts one more request of a client; whether it may be.
    pub fn allows(&self, client: &Client, address: Option<IpAddr>, now: Timestamp) -> bool {
        if client.is_public() {
            self.networks.allows_from(address, now)
        } else {
            self.clients.allows(client.id.clone(), now)
        }
    }

    /// Counts one more request of whoever is at this address.
    pub fn allows_anybody(&self, address: IpAddr, now: Timestamp) -> bool {
        self.networks.allows(address, now)
    }
}

impl std::fmt::Debug for NetworkLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkLimit")
            .field("most", &self.each.most)
            .field("window", &self.each.window)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ClientLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientLimit")
            .field("networks", &self.networks)
            .field("of_client", &self.clients.most)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;
    use crate::client::AuthMethod;
    use crate::client::fake::client;

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
    fn a_site_may_do_as_much_as_sixteen_of_its_networks() {
        let limit = NetworkLimit::new(MOST, WINDOW);
        let now = Timestamp::from_secs(1_000_000);
        let site = 0x2001_0db8_0001_u128 << 80;
        let address = |network: u128| IpAddr::from(Ipv6Addr::from_bits(site + (network << 64) + 1));
        let allowed = (0..64).flat_map(|network| [network; MOST as usize]);
        let allowed = allowed.filter(|network| limit.allows(address(*network), now)).count();
        assert_eq!(allowed, (MOST * NETWORKS_OF_A_SITE) as usize);
        assert!(limit.allows("2001:db8:2::1".parse().unwrap(), now), "another site");
        assert!(limit.allows("192.0.2.1".parse().unwrap(), now));
    }

    #[test]
    fn what_a_site_may_not_do_is_not_counted_for_the_network() {
        let limit = NetworkLimit::new(MOST, WINDOW);
        let now = Timestamp::from_secs(1_000_000);
        let address = |network: u32| -> IpAddr { format!("2001:db8:1:{network:x}::1").parse().unwrap() };
        let others = (0..NETWORKS_OF_A_SITE).flat_map(|network| [network; MOST as usize]);
        assert!(others.map(address).all(|other| limit.allows(other, now)));
        let (mine, later) = (address(NETWORKS_OF_A_SITE), now + Lifetime::minutes(5));
        assert!((0..MOST).all(|_| !limit.allows(mine, later)));
        assert!((0..MOST).all(|_| limit.allows(mine, now + WINDOW)));
        assert!(!limit.allows(mine, now + WINDOW));
    }

    #[test]
    fn who_does_too_much_alone_leaves_the_rest_to_its_site() {
        let limit = NetworkLimit::new(MOST, WINDOW);
        let now = Timestamp::from_secs(1_000_000);
        let allowed = (0..10_000).filter(|_| limit.allows("2001:db8::1".parse().unwrap(), now)).count();
        assert_eq!(allowed, MOST as usize);
        assert!(limit.allows("2001:db8:0:1::1".parse().unwrap(), now));
    }

    #[test]
    fn those_who_come_from_nowhere_share_one_quota() {
        let limit = NetworkLimit::new(MOST, WINDOW);
        let now = Timestamp::from_secs(1_000_000);
        assert!((0..MOST).all(|_| limit.allows_from(None, now)));
        assert!(!limit.allows_from(None, now));
        assert!(limit.allows_from(Some([192, 0, 2, 1].into()), now));
    }

    #[test]
    fn public_clients_share_the_limit_of_their_network_and_others_have_their_own() {
        let limit = ClientLimit::new((2, MOST), WINDOW);
        let public = |id| Client { auth_method: AuthMethod::None, ..client(id) };
        let (address, now) = (Some([192, 0, 2, 1].into()), Timestamp::from_secs(1_000_000));
        assert!(limit.allows(&public("a"), address, now) && limit.allows(&public("b"), address, now));
        assert!(!limit.allows(&public("c"), address, now));
        assert!(limit.allows(&public("c"), None, now));
        assert!((0..MOST).all(|last| limit.allows(
            &client("d"),
            Some(Ipv4Addr::from_bits(last).into()),
            now
        )));
        assert!(!limit.allows(&client("d"), Some([198, 51, 100, 1].into()), now));
        assert!(limit.allows(&client("e"), address, now));
        assert!(limit.allows(&client("d"), address, now + WINDOW));
    }

    #[test]
    fn what_was_counted_by_a_clock_that_was_ahead_does_not_count_once_it_is_right() {
        let limit = NetworkLimit::new(MOST, WINDOW);
        let (mine, now) = ("2001:db8::1".parse().unwrap(), Timestamp::from_secs(1_000_000));
        let ahead = now + Lifetime::hours(1);
        assert!((0..MOST).all(|_| limit.allows(mine, ahead)));
        assert!(!limit.allows(mine, ahead - Lifetime::secs(30)), "who read the time before the others came");
        assert!((0..MOST).all(|_| limit.allows(mine, now)));
        assert!(!limit.allows(mine, now));
    }

    #[test]
    fn networks_that_come_no_more_do_not_keep_new_ones_from_being_counted() {
        let (limit, now) = (NetworkLimit::new(1, WINDOW), Timestamp::from_secs(1_000_000));
        let address = |number: u32| IpAddr::from(Ipv4Addr::from_bits(number));
        assert!((0..30_000).all(|number| limit.allows(address(number), now)));
        let (new, now) = (30_000..34_000, now + WINDOW);
        assert!(new.clone().all(|number| limit.allows(address(number), now)));
        assert_eq!(new.filter(|number| limit.allows(address(*number), now)).count(), 0);
    }

    #[test]
    fn what_is_given_back_did_not_count() {
        let limit = NetworkLimit::new(MOST, WINDOW);
        let now = Timestamp::from_secs(1_000_000);
        for mine in ["192.0.2.1", "2001:db8::1"] {
            let mine: IpAddr = mine.parse().unwrap();
            for _ in 0..100 {
                assert!(limit.allows(mine, now));
                limit.give_back(mine);
            }
        }
    }
}
