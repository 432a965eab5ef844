//! Whom this server believes about its clients.

use std::net::{IpAddr, Ipv4Addr};

use axum::http::HeaderMap;
use sluice_identity::Network;
use sluice_net::{ForwardedCertificatePolicy, PeerAddress, TrustedProxies};

/// Whom this server believes about its clients: proxies that say where a request comes from, and those that pass on the
/// certificate of the client (RFC 8705).
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are what their types say")]
pub struct Proxies {
    pub addresses: TrustedProxies,
    pub certificates: ForwardedCertificatePolicy,
}

impl Proxies {
    /// The address that a request counts for, as far as it is known where it comes from.
    pub(crate) fn address(&self, peer: Option<PeerAddress>, headers: &HeaderMap) -> Option<IpAddr> {
        let PeerAddress(peer) = peer?;
        self.addresses.counted_address(peer.ip(), headers)
    }

    /// The network that a request counts for. Those of whom nobody knows where they are count as one, which is not that of their
    /// proxy: the proxy's may be exempt from limits.
    pub(crate) fn network(&self, peer: Option<PeerAddress>, headers: &HeaderMap) -> Network {
        self.address(peer, headers).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).into()
    }
}
