//! What a request to an endpoint for clients brings beside its form.

use axum::http::{Extensions, HeaderMap};
use sluice_net::{PeerAddress, TrustedProxies};
use sluice_oauth::caller::{Caller, DpopHeader};

/// The caller behind these headers and this connection.
pub(crate) fn caller(headers: &HeaderMap, extensions: &Extensions, proxies: &TrustedProxies) -> Caller {
    let peer = extensions.get::<PeerAddress>();
    Caller {
        dpop: dpop(headers),
        certificate: None,
        address: peer.map(|PeerAddress(peer)| proxies.client_address(peer.ip(), headers)),
    }
}

/// The `DPoP` header (RFC 9449 §4.1).
fn dpop(headers: &HeaderMap) -> DpopHeader {
    let mut all = headers.get_all("dpop").iter();
    match (all.next().map(|only| only.to_str()), all.next()) {
        (None, _) => DpopHeader::None,
        (Some(Ok(only)), None) => DpopHeader::One(only.to_owned()),
        _ => DpopHeader::Unclear,
    }
}
