//! What a listener grants its clients.

use std::time::Duration;

/// What a listener grants its clients. A request with more than 100 headers is refused over HTTP/1.1 in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections served at once; more wait in the kernel's backlog. Default: 16 384.
    pub max_connections: usize,
    /// How long a TLS handshake may take. Default: 10 s.
    pub tls_handshake_timeout: Duration,
    /// How long a connection may take to bring its first complete request head. Default: 10 s.
    pub first_request_timeout: Duration,
    /// How long a connection may go without a new request before it is asked to end; a request that is being
    /// answered is finished. Default: 75 s, above the 60 s for which common load balancers keep a connection.
    pub keep_alive_timeout: Duration,
    /// The most bytes of a request head. Default: 64 KiB, at least 8 KiB.
    pub max_header_bytes: u32,
    /// Requests served at once on one HTTP/2 connection. Default: 256.
    pub max_concurrent_streams: u32,
    /// How long requests may still take after a shutdown began. Default: 30 s.
    pub drain_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 16_384,
            tls_handshake_timeout: Duration::from_secs(10),
            first_request_timeout: Duration::from_secs(10),
            keep_alive_timeout: Duration::from_secs(75),
            max_header_bytes: 64 * 1024,
            max_concurrent_streams: 256,
            drain_grace: Duration::from_secs(30),
        }
    }
}
