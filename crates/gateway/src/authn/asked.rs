//! A request as far as a verdict needs it: of a client at the gateway, or of one that another proxy asks about.

use std::net::IpAddr;

use http::{HeaderMap, Method};

/// A request that a verdict is wanted on.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The method.
    pub method: &'a Method,
    /// Whether the client used https, as far as a trusted proxy or the connection tells.
    pub https: bool,
    /// The host the client asked for, as it was sent, with its port if it had one.
    pub host: &'a str,
    /// The path as it was sent: escaped, and judged in the same form in which the upstream gets it.
    pub path: &'a str,
    /// The query without its question mark.
    pub query: Option<&'a str>,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The address of the client, behind trusted proxies.
    pub client: IpAddr,
    /// SHA-256 of the certificate (DER) whose key the client proved to hold (RFC 8705 §3.1).
    pub certificate: Option<[u8; 32]>,
}
