//! What a request is told about its connection.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::Request;
use rustls::pki_types::CertificateDer;
use tower::util::Oneshot;
use tower::{Service, ServiceExt};

use super::incoming_body::IncomingBody;

/// The other end of the connection of a request, in its extensions: a client, or the last proxy before this server.
/// Behind a Unix socket it is loopback with port 0: whoever is there, is on this machine. One of IPv4 is told as such, also where `::` is
/// listened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(pub SocketAddr);

impl PeerAddress {
    /// Who is at the other end of a Unix socket.
    pub(crate) const UNIX: Self = Self(SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0));

    /// Of a connection over TCP.
    pub(crate) fn of(peer: SocketAddr) -> Self {
        let address = peer.ip().to_canonical();
        Self(if address.is_ipv4() { SocketAddr::new(address, peer.port()) } else { peer })
    }
}

/// How a request came here, in its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// Whether the connection to this server was encrypted.
    pub tls: bool,
}

/// The certificates that the peer showed in its handshake, leaf first, DER, in the extensions of each request of a
/// peer that showed any. It proved to hold the leaf's key; nothing else was verified. Behind a proxy they are the
/// proxy's: [`client_certificate`](crate::client_certificate()) tells whose count.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerCertificates(pub Arc<[Vec<u8>]>);

impl PeerCertificates {
    /// `None`: there are none.
    pub(crate) fn of(chain: Option<&[CertificateDer<'_>]>) -> Option<Self> {
        let chain = chain.filter(|chain| !chain.is_empty())?;
        Some(Self(chain.iter().map(|certificate| certificate.to_vec()).collect()))
    }
}

impl fmt::Debug for PeerCertificates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PeerCertificates({})", self.0.len())
    }
}

/// What is true of a connection from its first request to its last.
#[derive(Debug, Clone)]
pub struct ConnectionFacts {
    /// The other end.
    pub peer: PeerAddress,
    /// How requests come.
    pub transport: Transport,
    /// The certificates that the peer showed; `None`: none.
    pub certificates: Option<PeerCertificates>,
}

impl ConnectionFacts {
    /// Of a connection that is not encrypted.
    pub(crate) fn plain(peer: PeerAddress) -> Self {
        Self { peer, transport: Transport { tls: false }, certificates: None }
    }

    /// Of an encrypted connection whose peer showed `certificates`.
    pub(crate) fn encrypted(peer: PeerAddress, certificates: Option<&[CertificateDer<'_>]>) -> Self {
        let certificates = PeerCertificates::of(certificates);
        Self { peer, transport: Transport { tls: true }, certificates }
    }
}

/// The service of one connection: tells each request where it came from.
pub(crate) struct Stamped<S> {
    pub(crate) inner: S,
    pub(crate) facts: ConnectionFacts,
}

impl<S> hyper::service::Service<Request<IncomingBody>> for Stamped<S>
where
    S: Service<Request<IncomingBody>> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Oneshot<S, Request<IncomingBody>>;

    fn call(&self, mut request: Request<IncomingBody>) -> Self::Future {
        let extensions = request.extensions_mut();
        extensions.insert(self.facts.peer);
        extensions.insert(self.facts.transport);
        if let Some(certificates) = &self.facts.certificates {
            extensions.insert(certificates.clone());
        }
        self.inner.clone().oneshot(request)
    }
}
