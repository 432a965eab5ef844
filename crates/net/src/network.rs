//! Whom an address stands for: what is counted by address is counted by [`Network`], and by the [`Site`] that it belongs to, so that
//! nobody has more of it by having many addresses.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

use sluice_primitives::AddressText;

/// How many networks' worth of what is limited a site may have, where nothing else is said.
pub const NETWORKS_OF_A_SITE: u32 = 16;

/// Where something comes from: an IPv4 address, or the /64 of an IPv6 one, which one customer has as a rule. Whatever comes from
/// one /64 is equal.
#[derive(Clone, Copy)]
pub struct Network {
    /// The address, or the first one of the /64.
    first: IpAddr,
    /// The address alone, which may be exempt where its /64 is not.
    address: IpAddr,
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let first = match address {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
            v4 @ IpAddr::V4(_) => v4,
        };
        Self { first, address }
    }
}

impl PartialEq for Network {
    fn eq(&self, other: &Self) -> bool {
        self.first == other.first
    }
}

impl Eq for Network {}

impl Hash for Network {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.first.hash(state);
    }
}

impl Network {
    /// The address that something came from.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The site that the network belongs to, if it is one of version 6.
    pub fn site(&self) -> Option<Site> {
        match self.first {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => Some(Site(address.to_bits() >> 80)),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        AddressText::of(self.first).fmt(f)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)
    }
}

/// The /48 of an IPv6 address: whoever rents one has 65,536 networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Site(u128);

impl Site {
    /// The first of its addresses.
    pub const fn first(self) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.0 << 80)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn network(address: &str) -> Network {
        Network::from(address.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn an_address_of_version_4_is_a_network_and_one_of_version_6_is_in_a_64_and_in_a_48() {
        let networks_and_sites = [
            ("192.0.2.1", "192.0.2.1", None),
            ("::ffff:192.0.2.1", "192.0.2.1", None),
            ("2001:db8:1:2::", "2001:db8:1:2::", Some("2001:db8:1::")),
            ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::", Some("2001:db8:1::")),
            ("2001:db8:1:3::", "2001:db8:1:3::", Some("2001:db8:1::")),
            ("2001:db8:1:ffff:ffff:ffff:ffff:ffff", "2001:db8:1:ffff::", Some("2001:db8:1::")),
            ("2001:db8:2::", "2001:db8:2::", Some("2001:db8:2::")),
        ];
        for (address, first, site) in networks_and_sites {
            let of = network(address);
            assert_eq!([of.to_string(), format!("{of:?}")], [first, first], "{address}");
            let first_of_site = of.site().map(|site| site.first().to_string());
            assert_eq!(first_of_site.as_deref(), site, "{address}");
        }
    }

    #[test]
    fn the_addresses_of_one_customer_are_one_network_and_keep_what_tells_them_apart() {
        let (one, other) = (network("2001:db8::1"), network("2001:db8::ffff:1"));
        assert_eq!(one, other);
        assert_eq!(HashSet::from([one, other]).len(), 1);
        assert_ne!(one.address(), other.address());
        assert_ne!(one, network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }
}
