//! What a request is told about its connection.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use tower::util::Oneshot;
use tower::{Service, ServiceExt};

use super::supervision::Record;

/// The other end of the connection of a request, in its extensions: a client, or the last proxy before this server.
/// Behind a Unix socket it is loopback with port 0: whoever is there, is on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(pub SocketAddr);

impl PeerAddress {
    /// Who is at the other end of a Unix socket.
    pub(crate) const UNIX: Self = Self(SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0));
}

/// How a request came here, in its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// Whether the connection to this server was encrypted.
    pub tls: bool,
}

/// The service of one connection: tells each request where it came from, and counts it.
pub(crate) struct Stamped<S> {
    pub(crate) inner: S,
    pub(crate) peer: PeerAddress,
    pub(crate) transport: Transport,
    pub(crate) record: Arc<Record>,
}

impl<S> hyper::service::Service<Request<Incoming>> for Stamped<S>
where
    S: Service<Request<Incoming>> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Oneshot<S, Request<Incoming>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.record.count_request();
        let extensions = request.extensions_mut();
        extensions.insert(self.peer);
        extensions.insert(self.transport);
        self.inner.clone().oneshot(request)
    }
}
