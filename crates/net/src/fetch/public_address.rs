//! Which addresses are public: reachable by everyone, so that reaching them gives nothing away.
//!
//! By the IANA special-purpose registries (RFC 6890 and its successors). For IPv6 it is the other way round: only
//! global unicast (`2000::/3`) is public, less its special parts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

const SPECIAL_V4: [Ipv4Net; 18] = [
    v4(0, 0, 0, 8),       // this network, unspecified
    v4(10, 0, 0, 8),      // private
    v4(100, 64, 0, 10),   // shared with customers of a carrier
    v4(127, 0, 0, 8),     // loopback
    v4(169, 254, 0, 16),  // link-local, metadata of clouds
    v4(172, 16, 0, 12),   // private
    v4(192, 0, 0, 24),    // protocol assignments
    v4(192, 0, 2, 24),    // documentation
    v4(192, 31, 196, 24), // AS112
    v4(192, 52, 193, 24), // AMT
    v4(192, 88, 99, 24),  // 6to4 relays
    v4(192, 168, 0, 16),  // private
    v4(192, 175, 48, 24), // AS112
    v4(198, 18, 0, 15),   // benchmarks
    v4(198, 51, 100, 24), // documentation
    v4(203, 0, 113, 24),  // documentation
    v4(224, 0, 0, 4),     // multicast
    v4(240, 0, 0, 4),     // reserved, broadcast
];

const GLOBAL_UNICAST_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

const SPECIAL_V6: [Ipv6Net; 5] = [
    v6(0x2001, 0, 0, 23),         // protocol assignments, Teredo
    v6(0x2001, 0xdb8, 0, 32),     // documentation
    v6(0x2002, 0, 0, 16),         // 6to4, holds an IPv4 address
    v6(0x2620, 0x4f, 0x8000, 48), // AS112
    v6(0x3fff, 0, 0, 20),         // documentation
];

/// Whether `address` is public. Addresses that stand for an IPv4 address (`::ffff:a.b.c.d`, NAT64, 6to4) are not: a
/// name that has a public IPv4 address says so itself.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_UNICAST_V6.contains(&address)
                && !SPECIAL_V6.iter().any(|network| network.contains(&address))
        }
    }
}
