//! How many guesses a client's secret may cost us: the generic cell rate algorithm, one cell for each guess.

use std::convert::Infallible;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use quick_cache::sync::Cache;
use sluice_net::Network;
use sluice_net::bounded::half_for_new;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::ClientId;

use crate::network_limit::address_or_nowhere;
use crate::set_back::ANOTHER_CLOCK;

/// So many guesses of one network at once.
const BURST: i64 = 10;
/// And then one in so much time.
const INTERVAL: Lifetime = Lifetime::secs(1);
/// So many of one network that were turned away and come again at once, and then one in so much time as well.
const AGAIN: i64 = 1;
/// How many networks' worth of guesses a client's secret may cost, wherever they come from.
const NETWORKS: i64 = 8;
/// What is counted of each kind; of more than that some start anew.
const CAPACITY: usize = 16_384;

/// Where those of a client's own network guess, or those of many, what is turned away and comes again has cells of its own: a client
/// brings the same secret again, and who guesses another one. Who brings each guess twice takes those of their own network, too, and
/// from [`NETWORKS`] of them those of all.
pub(super) struct FailureLimit {
    guesses: Guesses,
    again: Guesses,
}

impl FailureLimit {
    pub(super) fn new() -> Self {
        Self { guesses: Guesses::new(BURST), again: Guesses::new(AGAIN) }
    }

    /// Takes the cell that a guess costs; `false` if there is none left now.
    pub(super) fn take(&self, client: &ClientId, from: Option<IpAddr>, now: Timestamp) -> bool {
        self.guesses.take(client, from, now)
    }

    /// Gives a cell back: it was no guess, but the right secret.
    pub(super) fn give_back(&self, client: &ClientId, from: Option<IpAddr>) {
        self.guesses.give_back(client, from);
    }

    /// Takes the cell of a secret that was turned away before and comes again.
    pub(super) fn take_again(&self, client: &ClientId, from: Option<IpAddr>, now: Timestamp) -> bool {
        self.again.take(client, from, now)
    }

    /// Gives that cell back.
    pub(super) fn give_back_again(&self, client: &ClientId, from: Option<IpAddr>) {
        self.again.give_back(client, from);
    }
}

/// Guesses by client and network, so that strangers do not keep a client out that this node has not seen yet; and by client.
struct Guesses {
    each: Cells<(ClientId, IpAddr)>,
    clients: Cells<ClientId>,
}

impl Guesses {
    /// So many of one network at once.
    fn new(burst: i64) -> Self {
        let interval = INTERVAL.as_millis();
        Self { each: Cells::new(burst, interval), clients: Cells::new(burst * NETWORKS, interval / NETWORKS) }
    }

    /// What one network may not do costs the client nothing.
    fn take(&self, client: &ClientId, from: Option<IpAddr>, now: Timestamp) -> bool {
        let guesser = guesser(client, from);
        if !self.each.take(&guesser, now) {
            return false;
        }
        let is_allowed = self.clients.take(client, now);
        if !is_allowed {
            self.each.give_back(&guesser);
        }
        is_allowed
    }

    fn give_back(&self, client: &ClientId, from: Option<IpAddr>) {
        self.each.give_back(&guesser(client, from));
        self.clients.give_back(client);
    }
}

/// Here a network is a whole site: the /64s that one customer has would be all the networks whose guesses there are. Those of whom
/// nobody knows where they are count as one network.
fn guesser(client: &ClientId, from: Option<IpAddr>) -> (ClientId, IpAddr) {
    let address = address_or_nowhere(from);
    let network = Network::from(address).site().map_or(address, |site| site.first().into());
    (client.clone(), network)
}

/// Cells by some key. Bound: [`CAPACITY`], half of it for those that are new. Staleness: none; who is forgotten starts anew. Nobody empties it.
struct Cells<K> {
    due: Cache<K, Arc<AtomicI64>>,
    burst: i64,
    /// In milliseconds.
    interval: i64,
}

impl<K: Hash + Eq + Clone> Cells<K> {
    fn new(burst: i64, interval: i64) -> Self {
        Self { due: half_for_new(CAPACITY), burst, interval }
    }

    fn take(&self, key: &K, now: Timestamp) -> bool {
        let now = now.as_millis();
        let latest = now.saturating_add(self.interval.saturating_mul(self.burst - 1));
        // It is later only if the clock was set back.
        let last = latest.saturating_add(self.interval).saturating_add(ANOTHER_CLOCK.as_millis());
        // The theoretical arrival time of the next guess.
        self.cell(key)
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |due| {
                let due = if due > last { now } else { due.max(now) };
                (due <= latest).then(|| due.saturating_add(self.interval))
            })
            .is_ok()
    }

    fn give_back(&self, key: &K) {
        self.cell(key).fetch_sub(self.interval, Ordering::AcqRel);
    }

    fn cell(&self, key: &K) -> Arc<AtomicI64> {
        let made = self.due.get_or_insert_with(key, || Ok::<_, Infallible>(Arc::default()));
        match made {
            Ok(cell) => cell,
            Err(never) => match never {},
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000_000);
    const HERE: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));

    fn at(last: u8) -> IpAddr {
        [198, 51, 100, last].into()
    }

    #[test]
    fn guesses_are_limited_and_come_back_with_time() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        assert!((0..BURST).all(|_| limit.take(&client, HERE, NOW)));
        assert!(!limit.take(&client, HERE, NOW));
        assert!(limit.take(&"other".parse().unwrap(), HERE, NOW));
        assert!(limit.take(&client, HERE, NOW + INTERVAL));
        assert!(!limit.take(&client, HERE, NOW + INTERVAL));
    }

    #[test]
    fn a_network_that_guesses_takes_nothing_from_others_and_all_together_no_more_than_eight() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        assert_eq!((0..1000).filter(|_| limit.take(&client, HERE, NOW)).count(), 10);
        assert!(limit.take(&client, Some(at(0)), NOW) && limit.take(&client, None, NOW));
        let others = (1..100).flat_map(|last| [at(last); 10]);
        assert_eq!(others.filter(|from| limit.take(&client, Some(*from), NOW)).count(), 80 - 12);
        assert!(!limit.take(&client, Some(at(200)), NOW));
        assert!(limit.take(&client, Some(at(200)), NOW + INTERVAL));
    }

    #[test]
    fn the_networks_of_one_site_have_no_more_guesses_than_one() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        let site = 0x2001_0db8_0001_u128 << 80;
        let inside = |network: u128| Some(IpAddr::from(Ipv6Addr::from_bits(site + (network << 64) + 1)));
        let guesses = (0..64).flat_map(|network| [inside(network); 10]);
        let allowed = guesses.filter(|from| limit.take(&client, *from, NOW)).count();
        assert_eq!(allowed, 10);
        for other in ["2001:db8:2::1", "192.0.2.1", "::ffff:192.0.2.2"] {
            assert!(limit.take(&client, Some(other.parse().unwrap()), NOW), "{other}");
        }
    }

    #[test]
    fn guesses_by_a_clock_that_was_ahead_cost_nothing_once_it_is_right() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        let ahead = NOW + Lifetime::hours(1);
        let guesses = (0..8).flat_map(|last| [at(last); 10]);
        assert!(guesses.clone().all(|from| limit.take(&client, Some(from), ahead)));
        assert!(!limit.take(&client, HERE, ahead));
        let waited = ahead - Lifetime::secs(30);
        assert!(!limit.take(&client, Some(at(0)), waited), "who read the time before the others came");
        assert_eq!(guesses.filter(|from| limit.take(&client, Some(*from), NOW)).count(), 80);
        assert!(!limit.take(&client, HERE, NOW));
    }

    #[test]
    fn those_who_guess_no_more_do_not_keep_others_from_being_counted() {
        let limit = FailureLimit::new();
        let take = |number: usize| limit.take(&format!("client-{number}").parse().unwrap(), HERE, NOW);
        assert!((0..2 * CAPACITY).all(take));
        let new = 2 * CAPACITY..2 * CAPACITY + 2_000;
        for _ in 0..BURST {
            assert!(new.clone().all(take));
        }
        assert_eq!(new.filter(|number| take(*number)).count(), 0);
    }

    #[test]
    fn what_comes_again_is_limited_by_itself() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        assert_eq!((0..1000).filter(|_| limit.take(&client, HERE, NOW)).count(), 10);
        assert!(limit.take_again(&client, HERE, NOW) && !limit.take_again(&client, HERE, NOW));
        assert!(limit.take_again(&"other".parse().unwrap(), HERE, NOW));
        let later = NOW + INTERVAL;
        assert!(limit.take_again(&client, HERE, later) && !limit.take_again(&client, HERE, later));
        limit.give_back_again(&client, HERE);
        assert!(limit.take_again(&client, HERE, later));
        assert!(!limit.take(&client, HERE, NOW), "guesses have no more for it");
    }

    #[test]
    fn who_brings_each_guess_twice_takes_the_turns_of_one_network_and_many_those_of_eight() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        assert_eq!((0..1000).filter(|_| limit.take_again(&client, Some(at(0)), NOW)).count(), 1);
        assert!(limit.take_again(&client, HERE, NOW));
        let others = (1..100).filter(|last| limit.take_again(&client, Some(at(*last)), NOW));
        assert_eq!(others.count(), 8 - 2);
        assert!(!limit.take_again(&client, Some(at(200)), NOW));
        assert!(limit.take_again(&client, Some(at(200)), NOW + INTERVAL));
    }

    #[test]
    fn a_right_secret_costs_nothing() {
        let (limit, client) = (FailureLimit::new(), "app".parse().unwrap());
        for _ in 0..1000 {
            assert!(limit.take(&client, HERE, NOW));
            limit.give_back(&client, HERE);
        }
    }
}
