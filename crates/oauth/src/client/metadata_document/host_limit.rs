//! How often one host is asked: whoever names URLs here must not make requests of this server a flood for others.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use sluice_net::Network;
use sluice_primitives::{Lifetime, Timestamp};

use crate::network_limit::Counts;

/// How often a host may be asked within [`WINDOW`].
const MOST: u32 = 30;
/// How long a request counts.
const WINDOW: Lifetime = Lifetime::minutes(1);

/// Counts by host. Key: the host, whatever its port; of an IPv6 address its /64, which one customer has.
pub(super) struct HostLimit(Counts<String>);

impl HostLimit {
    pub(super) fn new() -> Self {
        Self(Counts::new(MOST, WINDOW))
    }

    /// Counts one more request, so that one that is given up counts; whether it may be made.
    pub(super) fn allows(&self, host: &str, now: Timestamp) -> bool {
        self.0.allows(counted(host).into_owned(), now)
    }

    /// A request brought what it was for: it does not count.
    pub(super) fn forgive(&self, host: &str) {
        self.0.give_back(counted(host).into_owned());
    }
}

/// As what a host counts.
fn counted(host: &str) -> Cow<'_, str> {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')?.parse::<Ipv6Addr>().ok());
    match address {
        Some(address) => Cow::Owned(Network::from(IpAddr::V6(address)).to_string()),
        None => Cow::Borrowed(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than are counted at once.
    const HOSTS: usize = 10_000;

    #[test]
    fn a_host_is_asked_so_often_and_no_more_until_the_window_ends() {
        let (limit, now) = (HostLimit::new(), Timestamp::from_secs(1_000_000));
        assert!((0..MOST).all(|_| limit.allows("app.example", now)));
        assert!(!limit.allows("app.example", now));
        assert!(limit.allows("other.example", now));
        assert!(limit.allows("app.example", now + WINDOW));
    }

    #[test]
    fn requests_by_a_clock_that_was_ahead_do_not_count_once_it_is_right() {
        let (limit, now) = (HostLimit::new(), Timestamp::from_secs(1_000_000));
        let ahead = now + Lifetime::hours(1);
        assert!((0..MOST).all(|_| limit.allows("app.example", ahead)));
        assert!(!limit.allows("app.example", ahead));
        limit.forgive("app.example");
        assert!((0..MOST).all(|_| limit.allows("app.example", now)));
        assert!(!limit.allows("app.example", now));
    }

    #[test]
    fn the_addresses_of_one_customer_are_one_host() {
        let (limit, now) = (HostLimit::new(), Timestamp::from_secs(1_000_000));
        let asked = (1..=2 * MOST).filter(|n| limit.allows(&format!("[2001:db8::{n:x}]"), now)).count();
        assert_eq!(asked, MOST as usize);
        assert!(limit.allows("[2001:db8:0:1::1]", now), "another customer");
        assert!((0..MOST).all(|_| limit.allows("192.0.2.1", now)));
        assert!(!limit.allows("[::ffff:c000:201]", now), "the same address");
        limit.forgive("[2001:db8::ffff]");
    }

    #[test]
    fn hosts_that_nobody_names_any_more_do_not_keep_new_ones_from_being_counted() {
        let (limit, now) = (HostLimit::new(), Timestamp::from_secs(1_000_000));
        let host = |number: usize| format!("{number}.example");
        assert!((0..2 * HOSTS).all(|number| limit.allows(&host(number), now)));
        let (new, now) = (2 * HOSTS..2 * HOSTS + 500, now + WINDOW);
        for _ in 0..MOST {
            assert!(new.clone().all(|number| limit.allows(&host(number), now)));
        }
        assert_eq!(new.filter(|number| limit.allows(&host(*number), now)).count(), 0);
    }

    #[test]
    fn what_was_there_does_not_count() {
        let (limit, now) = (HostLimit::new(), Timestamp::from_secs(1_000_000));
        for _ in 0..2 * MOST {
            assert!(limit.allows("app.example", now));
            limit.forgive("app.example");
        }
        assert!((0..MOST).all(|_| limit.allows("app.example", now)));
        limit.forgive("other.example");
        assert!(!limit.allows("app.example", now));
    }
}
