//! What a request to an endpoint for clients brings beside its form.

use std::net::IpAddr;

use axum::http::{Extensions, HeaderMap};
use sluice_net::{ClientCertificateSource, PeerAddress, PeerCertificates, client_certificate};
use sluice_oauth::caller::{Caller, DpopHeader, PresentedCertificate};
use tracing::warn;

use crate::proxies::Proxies;

/// The caller behind these headers and this connection.
pub(crate) fn caller(headers: &HeaderMap, extensions: &Extensions, proxies: &Proxies) -> Caller {
    let peer = extensions.get::<PeerAddress>().copied();
    Caller {
        dpop: dpop(headers),
        certificate: peer.and_then(|PeerAddress(peer)| certificate(peer.ip(), headers, extensions, proxies)),
        address: proxies.address(peer, headers),
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

/// The certificate whose key the client proved to hold. One that a proxy garbles is none: who needs it is refused.
fn certificate(
    peer: IpAddr,
    headers: &HeaderMap,
    extensions: &Extensions,
    proxies: &Proxies,
) -> Option<PresentedCertificate> {
    let direct = extensions.get::<PeerCertificates>();
    match client_certificate(peer, headers, direct, &proxies.certificates) {
        Ok(found) => found.map(|certificate| PresentedCertificate {
            leaf: certificate.leaf,
            chain: match certificate.source {
                ClientCertificateSource::Direct { chain } => Some(chain.iter().skip(1).cloned().collect()),
                ClientCertificateSource::Forwarded => None,
            },
        }),
        Err(error) => {
            warn!(%peer, reason = %error, "a proxy passed on a client certificate that cannot be read");
            None
        }
    }
}
