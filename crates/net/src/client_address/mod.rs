//! Who is asking: the address of the client, behind proxies that are trusted to say so.
//!
//! [`TrustedProxies`]: the walk from the peer back to the client. [`ClientAddress`]: where it ends. `x_forwarded_for`,
//! `forwarded`: the two headers; the latter also says how the proxy was asked, and for which host.
//!
//! Anyone can write these headers, so they are read from the right, where the nearest proxy wrote, and only as far as
//! each writer is trusted. What a proxy passes on of a client's own must not make the client the proxy: a request whose client
//! cannot be told counts for no address ([`TrustedProxies::counted_address`]).

mod forwarded;
mod x_forwarded_for;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;
use ipnet::{IpNet, Ipv4Net};
use tokio::time::Instant;
use tracing::warn;

pub use forwarded::{forwarded_proto, forwarded_without_hosts};

use crate::seldom::Seldom;

/// When it was last said that a client cannot be told.
static UNTOLD: Seldom = Seldom::new();

/// The networks of the proxies before this server. Default: none, so that headers are never believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

/// Who asks, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress {
    /// The address that stands for the client.
    pub address: IpAddr,
    /// Whether it is the client's: that of the peer, or one that a trusted proxy named. Else it is that of a proxy which
    /// named none, or none that can be believed: one on its own machine, say.
    pub is_named: bool,
}

impl TrustedProxies {
    /// Trusts the proxies in `networks`.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks.into_iter().map(canonical_network).collect())
    }

    /// Whether `address` is that of a trusted proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client: the first from the right, the peer included, that is no trusted proxy.
    ///
    /// An entry that is no address (`unknown`, `_hidden`, nonsense) ends the walk at the proxy that wrote it. If both
    /// `X-Forwarded-For` and `Forwarded` (RFC 7239) are there and lead to different clients, one of them was forged
    /// and nothing tells which: the peer it is. A loopback address (or one in `::/64`) that comes from another machine is there and not
    /// here; most often somebody wrote it who is in a network that is trusted: the walk ends at the nearest machine to it.
    pub fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        self.client(peer, headers).address
    }

    /// The same, and whether it is the address of the client.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        if self.trusts(peer) { self.client_behind(peer, headers) } else { ClientAddress::named(peer) }
    }

    /// The address that a request counts for: that of its client, or that of a trusted proxy which says of nobody that it asks
    /// for them. `None`: it asks for somebody whom its headers do not name, name in two ways, or have on the proxy's own machine.
    /// Anybody can bring that about by a header that the proxy passes on, so it counts for nobody who may more than others. A warning
    /// says so once a minute.
    pub fn counted_address(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let client = self.client(peer, headers);
        if client.is_named || names_nobody(headers) {
            return Some(client.address);
        }
        if UNTOLD.is_due(Instant::now()) {
            warn!(
                peer.address = %peer,
                "a trusted proxy does not name its client, or two headers name two, or it names 127.0.0.1 and is on another machine: \
                 it must set X-Forwarded-For or Forwarded, and remove the other, and no network is to be trusted that clients are in"
            );
        }
        None
    }

    /// As [`Self::client`] behind a peer that is trusted for a reason of its own: one on this machine, say.
    pub fn client_behind(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let by_x_forwarded_for =
            x_forwarded_for::hops(headers).map(|nearest_first| self.walk(peer, nearest_first));
        let by_forwarded = forwarded::hops(headers).map(|hops| self.walk(peer, hops.into_iter().rev()));
        match (by_x_forwarded_for, by_forwarded) {
            (Some(client), Some(also)) if client.address != also.address => ClientAddress::of_proxy(peer),
            (Some(client), Some(also)) => {
                ClientAddress { is_named: client.is_named && also.is_named, ..client }
            }
            (Some(client), None) | (None, Some(client)) => client,
            (None, None) => ClientAddress::of_proxy(peer),
        }
    }

    /// Where it ends among trusted proxies only, the farthest is the client.
    fn walk(&self, peer: IpAddr, nearest_first: impl Iterator<Item = Option<IpAddr>>) -> ClientAddress {
        let mut reached = ClientAddress::of_proxy(peer);
        let mut elsewhere = None;
        for hop in nearest_first {
            let Some(address) = hop else { return ClientAddress { is_named: false, ..reached } };
            if !is_own(reached.address) {
                elsewhere = Some(reached.address);
            }
            reached = ClientAddress::named(address);
            if !self.trusts(address) {
                break;
            }
        }
        match elsewhere {
            Some(machine) if is_own(reached.address) => ClientAddress::of_proxy(machine),
            _ => reached,
        }
    }
}

impl ClientAddress {
    /// Of a client that is known to be there.
    pub fn named(address: IpAddr) -> Self {
        Self { address: address.to_canonical(), is_named: true }
    }

    /// Of a client that is somewhere behind the proxy which is there.
    fn of_proxy(address: IpAddr) -> Self {
        Self { address: address.to_canonical(), is_named: false }
    }
}

/// A network in the form in which peers are told: one of IPv4 that is written as one of IPv6 (`::ffff:10.0.0.0/104`, RFC 4291
/// §2.5.5.2) as the network of IPv4 that it is. Else nobody would be in it.
pub fn canonical_network(network: IpNet) -> IpNet {
    let IpNet::V6(mapped) = network else { return network };
    let parts = mapped.addr().to_ipv4_mapped().zip(mapped.prefix_len().checked_sub(96));
    parts.and_then(|(first, length)| Ipv4Net::new(first, length).ok()).map_or(network, IpNet::V4)
}

/// Whether an address is of this machine wherever it is read: loopback, or in the /64 of `::1`, which nobody is given (RFC 4291
/// §2.5). Of IPv4 inside IPv6 it is asked in the form of IPv4.
fn is_own(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback(),
        IpAddr::V6(v6) => network_of(v6) == network_of(Ipv6Addr::LOCALHOST),
    }
}

/// The first 64 bits.
fn network_of(address: Ipv6Addr) -> u128 {
    address.to_bits() >> 64
}

/// Whether no header says anything of a client.
fn names_nobody(headers: &HeaderMap) -> bool {
    !headers.contains_key(x_forwarded_for::X_FORWARDED_FOR) && !headers.contains_key(http::header::FORWARDED)
}

/// An IP address, with a port or without; an IPv6 address with a port is in brackets, without it may be.
fn parse_node(text: &str) -> Option<IpAddr> {
    let without_port = || text.parse().ok();
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    without_port().or_else(in_brackets).or_else(with_port).map(|address: IpAddr| address.to_canonical())
}
