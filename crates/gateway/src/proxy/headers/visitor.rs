//! What is known of a connection from its first request to its last.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use sluice_crypto::digest::sha256;
use sluice_net::{
    ConnectionFacts, ForwardedCertificatePolicy, PeerCertificates, client_certificate, forwarded_proto,
    is_over_tls,
};

use super::Malformed;
use super::forwarded::X_FORWARDED_PROTO;
use crate::validation::LastToken;

/// Who is at the other end of a connection.
#[derive(Debug)]
pub(in crate::proxy) struct Visitor {
    /// The other end.
    pub(in crate::proxy) peer: IpAddr,
    tls: bool,
    certificates: Option<PeerCertificates>,
    /// SHA-256 of the leaf of `certificates`.
    fingerprint: Option<[u8; 32]>,
    /// `X-Forwarded-For` of a client without proxies.
    pub(super) address: HeaderValue,
    /// The last host asked for, and the `Forwarded` that says so.
    pub(super) origin: Mutex<Option<(HeaderValue, HeaderValue)>>,
    /// The last token.
    pub(in crate::proxy) last: LastToken,
}

impl Visitor {
    /// Who comes with `facts`.
    pub(in crate::proxy) fn new(facts: ConnectionFacts) -> Self {
        let peer = facts.peer.0.ip().to_canonical();
        let leaf = facts.certificates.as_ref().and_then(|PeerCertificates(chain)| chain.first());
        Self {
            peer,
            tls: facts.transport.tls,
            fingerprint: leaf.map(|leaf| sha256(leaf)),
            certificates: facts.certificates,
            address: HeaderValue::from_str(&peer.to_string())
                .unwrap_or_else(|_| HeaderValue::from_static("unknown")),
            origin: Mutex::new(None),
            last: LastToken::default(),
        }
    }

    /// Whether the connection is encrypted.
    pub(in crate::proxy) const fn has_tls(&self) -> bool {
        self.tls
    }

    /// Whether the client used https, as far as the peer says, if it is `trusted`, or the connection shows. Of several lines one may be the
    /// client's own, and nothing tells which: all must say so.
    pub(in crate::proxy) fn is_https(&self, trusted: bool, headers: &HeaderMap) -> bool {
        if !trusted {
            return self.tls;
        }
        if headers.contains_key(X_FORWARDED_PROTO) {
            let mut said = headers.get_all(X_FORWARDED_PROTO).iter();
            return said.all(|scheme| is_over_tls(scheme.as_bytes()));
        }
        forwarded_proto(headers).map_or(self.tls, |scheme| is_over_tls(scheme.as_bytes()))
    }

    /// SHA-256 of the client's certificate.
    pub(in crate::proxy) fn certificate(
        &self,
        policy: &ForwardedCertificatePolicy,
        headers: &HeaderMap,
    ) -> Result<Option<[u8; 32]>, Malformed> {
        if !policy.believes(self.peer) {
            return Ok(self.fingerprint);
        }
        let direct = self.certificates.as_ref();
        client_certificate(self.peer, headers, direct, policy)
            .map(|found| found.map(|found| sha256(&found.leaf)))
            .map_err(|_| Malformed::Certificate)
    }
}
