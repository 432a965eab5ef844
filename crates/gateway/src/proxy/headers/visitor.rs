//! What is known of a connection from its first request to its last.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderValue};
use sluice_crypto::digest::sha256;
use sluice_net::{
    ConnectionFacts, ForwardedCertificatePolicy, PeerCertificates, client_certificate, forwarded_proto,
    is_over_tls,
};

use super::forwarded::X_FORWARDED_PROTO;
use super::{LastHost, Malformed};
use crate::validation::LastToken;

/// Of no table.
const NEVER: u64 = u64::MAX;

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
    /// The last host asked for.
    pub(in crate::proxy) host: LastHost,
    /// Whether the peer was trusted under the last table, and under which: its number doubled, and one more if it was.
    trust: AtomicU64,
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
            host: LastHost::default(),
            trust: AtomicU64::new(NEVER),
            last: LastToken::default(),
        }
    }

    /// Whether the connection is encrypted.
    pub(in crate::proxy) const fn has_tls(&self) -> bool {
        self.tls
    }

    /// Whether the peer is trusted, which is asked once for all requests under the table of this number.
    pub(in crate::proxy) fn is_trusted(&self, generation: u64, ask: impl FnOnce() -> bool) -> bool {
        let known = self.trust.load(Ordering::Relaxed);
        if known >> 1 == generation {
            return known & 1 == 1;
        }
        let is_trusted = ask();
        self.trust.store((generation << 1) | u64::from(is_trusted), Ordering::Relaxed);
        is_trusted
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

#[cfg(test)]
mod tests {
    use sluice_net::{PeerAddress, Transport};

    use super::*;

    #[test]
    fn whether_a_peer_is_trusted_is_asked_once_under_each_table() {
        let visitor = Visitor::new(ConnectionFacts {
            peer: PeerAddress("192.0.2.1:9".parse().unwrap()),
            transport: Transport { tls: false },
            certificates: None,
        });
        for (generation, is_trusted) in [(0, false), (1, true), (2, true), (3, false), (1, true)] {
            assert_eq!(visitor.is_trusted(generation, || is_trusted), is_trusted);
            assert_eq!(visitor.is_trusted(generation, || panic!("it is known")), is_trusted);
        }
    }
}
