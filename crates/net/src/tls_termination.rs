//! Whether a request over plain http may be believed to have been https (Hydra's `allow_termination_from`).

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::client_address::forwarded_proto;

/// The scheme by which the client asked the proxy.
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Why a request over plain http is refused. Hydra answers 502.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTerminated {
    /// Nobody may end TLS before this listener.
    #[error("TLS termination is not enabled")]
    NotAllowed,
    /// The peer is not among those who may.
    #[error("the peer is in none of the networks that may terminate TLS")]
    ForeignPeer,
    /// The proxy does not say how it was asked.
    #[error("neither X-Forwarded-Proto nor Forwarded says how the proxy was asked")]
    NoForwardedProto,
    /// The proxy was asked over plain http too.
    #[error("the proxy says that it was not asked by https")]
    NotHttps,
}

/// Decides about a request that came over plain http to a listener whose clients must use TLS.
///
/// The proxy says how it was asked in `X-Forwarded-Proto` or, without that header, in `Forwarded` (RFC 7239 §5.4).
///
/// Only the peer counts: Hydra also looks for the networks in `X-Forwarded-For`, which any client may write. Health
/// endpoints are exempt, which is for the caller to know.
///
/// # Errors
/// [`NotTerminated`]: it must be refused.
pub fn is_tls_terminated(
    peer: IpAddr,
    headers: &HeaderMap,
    allow_termination_from: &[IpNet],
) -> Result<(), NotTerminated> {
    let peer = peer.to_canonical();
    if allow_termination_from.is_empty() {
        return Err(NotTerminated::NotAllowed);
    }
    if !allow_termination_from.iter().any(|network| network.contains(&peer)) {
        return Err(NotTerminated::ForeignPeer);
    }
    let is_https = if headers.contains_key(X_FORWARDED_PROTO) {
        let mut schemes = headers.get_all(X_FORWARDED_PROTO).iter();
        schemes.all(|scheme| is_over_tls(scheme.as_bytes()))
    } else {
        is_over_tls(forwarded_proto(headers).ok_or(NotTerminated::NoForwardedProto)?.as_bytes())
    };
    if is_https { Ok(()) } else { Err(NotTerminated::NotHttps) }
}

/// Whether a proxy that names this scheme was asked over TLS: `https`, or `wss` (RFC 6455 §3), which Traefik says of a request to
/// open a WebSocket.
pub fn is_over_tls(scheme: &[u8]) -> bool {
    scheme.eq_ignore_ascii_case(b"https") || scheme.eq_ignore_ascii_case(b"wss")
}
