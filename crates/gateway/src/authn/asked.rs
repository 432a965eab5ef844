//! A request as far as a verdict needs it: of a client at the gateway, or of one that another proxy asks about.

use std::net::IpAddr;

use http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, CONTENT_LENGTH, HeaderName, ORIGIN, SEC_WEBSOCKET_KEY, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{HeaderMap, Method};

use crate::enrichment::headers::is_override;
use crate::validation::LastToken;

static DPOP: HeaderName = HeaderName::from_static("dpop");

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
    /// Whether a body follows, as far as it is known: over HTTP/2 no header need say so.
    pub has_body: bool,
    /// The address of the client, behind trusted proxies.
    pub client: IpAddr,
    /// SHA-256 of the certificate (DER) whose key the client proved to hold (RFC 8705 §3.1).
    pub certificate: Option<[u8; 32]>,
    /// What the connection that it came on was used with. `None`: nothing is remembered of it.
    pub last: Option<&'a LastToken>,
}

impl Asked<'_> {
    /// Whether this is a CORS preflight: an `OPTIONS` without a body that says where it comes from and what is to follow it. One that asks for
    /// another method, path or protocol is none: no browser's does, and an application that heeds it would do for nobody what it says.
    pub fn is_preflight(&self) -> bool {
        let has_body = || {
            self.has_body
                || self.headers.contains_key(TRANSFER_ENCODING)
                || self.headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0")
        };
        *self.method == Method::OPTIONS
            && self.headers.contains_key(ORIGIN)
            && self.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
            && !has_body()
            && !self.headers.contains_key(UPGRADE)
            && !self.headers.contains_key(SEC_WEBSOCKET_KEY)
            && !self.headers.keys().any(|name| is_override(name.as_str()))
    }
}

/// As much of a request as its verdict still needs while it is waited for.
pub(crate) struct AskedLater {
    method: Method,
    https: bool,
    host: Box<str>,
    path: Box<str>,
    proofs: HeaderMap,
    client: IpAddr,
    certificate: Option<[u8; 32]>,
}

impl AskedLater {
    /// What is needed of `asked`.
    pub(crate) fn of(asked: &Asked<'_>) -> Self {
        let proofs = asked.headers.get_all(&DPOP).iter().map(|proof| (DPOP.clone(), proof.clone()));
        Self {
            method: asked.method.clone(),
            https: asked.https,
            host: asked.host.into(),
            path: asked.path.into(),
            proofs: proofs.collect(),
            client: asked.client,
            certificate: asked.certificate,
        }
    }

    /// The request, without what was not needed.
    pub(crate) fn as_asked(&self) -> Asked<'_> {
        Asked {
            method: &self.method,
            https: self.https,
            host: &self.host,
            path: &self.path,
            query: None,
            headers: &self.proofs,
            has_body: false,
            client: self.client,
            certificate: self.certificate,
            last: None,
        }
    }
}
