//! Who is asking: the address of the client, behind proxies that are trusted to say so.
//!
//! [`TrustedProxies`]: the walk from the peer back to the client. [`ClientAddress`]: where it ends. `x_forwarded_for`,
//! `forwarded`: the two headers; the latter also says how the proxy was asked, and for which host.
//!
//! Anyone can write these headers, so they are read from the right, where the nearest proxy wrote, and only as far as
//! each writer is trusted.

mod forwarded;
mod x_forwarded_for;

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

pub use forwarded::{forwarded_proto, forwarded_without_hosts};

/// The networks of the proxies before this server. Default: none, so that headers are never believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

/// Who asks, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress {
    /// The address that stands for the client.
    pub address: IpAddr,
    /// Whether it is the client's: that of the peer, or one that a trusted proxy named. Else it is that of a proxy which
    /// named none, or none that can be believed.
    pub is_named: bool,
}

impl TrustedProxies {
    /// Trusts the proxies in `networks`.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
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
    /// and nothing tells which: the peer it is.
    pub fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        self.client(peer, headers).address
    }

    /// The same, and whether it is the address of the client.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        if self.trusts(peer) { self.client_behind(peer, headers) } else { ClientAddress::named(peer) }
    }

    /// The same behind a peer that is trusted for a reason of its own: one on this machine, say.
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
        for hop in nearest_first {
            let Some(address) = hop else { return ClientAddress { is_named: false, ..reached } };
            reached = ClientAddress::named(address);
            if !self.trusts(address) {
                break;
            }
        }
        reached
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

/// An IP address, with a port or without; an IPv6 address with a port is in brackets, without it may be.
fn parse_node(text: &str) -> Option<IpAddr> {
    let without_port = || text.parse().ok();
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    without_port().or_else(in_brackets).or_else(with_port).map(|address: IpAddr| address.to_canonical())
}
