//! Which certificate a client proved to hold (RFC 8705): by its connection, or by the word of a proxy that ends TLS.
//!
//! [`client_certificate`]: the decision. [`ForwardedCertificatePolicy`]: whose word counts, and in which header.
//! `header`: the formats of such a header.
//!
//! Nothing here trusts a certificate: whether it belongs to a client is for the authorization server to say.

mod header;

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

pub use header::{CertificateHeader, CertificateHeaderFormat};

use crate::listen::PeerCertificates;

/// Who may pass on certificates of clients, and how. Default: nobody.
///
/// Such a proxy must remove the headers from what clients send, also where a client shows no certificate (RFC 9440
/// §4): what it lets through is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForwardedCertificatePolicy {
    /// The headers. More than one only if the proxies remove all of them.
    pub headers: Vec<CertificateHeader>,
    /// The networks of the proxies.
    pub from: Vec<IpNet>,
}

impl ForwardedCertificatePolicy {
    /// Whether `peer` speaks for its clients: then its own certificate is not theirs.
    pub fn believes(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        !self.headers.is_empty() && self.from.iter().any(|network| network.contains(&peer))
    }

    /// The certificate in the headers. Two headers of which one may be forged are as bad as one that is repeated.
    fn forwarded(&self, headers: &HeaderMap) -> Result<Option<Vec<u8>>, UnreadableCertificate> {
        let mut found = None;
        for header in &self.headers {
            let mut lines = headers.get_all(&header.name).iter();
            let Some(line) = lines.next() else { continue };
            if lines.next().is_some() {
                return Err(UnreadableCertificate::Repeated(header.name.clone()));
            }
            let Some(leaf) = header.read(line.as_bytes())? else { continue };
            if found.replace(leaf).is_some() {
                return Err(UnreadableCertificate::Repeated(header.name.clone()));
            }
        }
        Ok(found)
    }
}

/// A certificate whose key the client proved to hold, to this server or to a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate itself, DER.
    pub leaf: Vec<u8>,
    /// Who saw the proof.
    pub source: ClientCertificateSource,
}

/// Who saw the proof of a client's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientCertificateSource {
    /// This server, in the handshake.
    Direct {
        /// All that the client sent, leaf first, DER. Nobody has verified who issued it.
        chain: Arc<[Vec<u8>]>,
    },
    /// A proxy, which may have verified the issuer as well.
    Forwarded,
}

/// Why the certificate that a proxy passes cannot be read. None of these sentences repeats it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableCertificate {
    /// More than one: one of them may be the client's own.
    #[error("there is more than one certificate, the last in {0}")]
    Repeated(HeaderName),
    /// The header breaks its format.
    #[error("the header {0} breaks its format")]
    Malformed(HeaderName),
    /// The header holds something else, also a certificate of an earlier version than 3, or with an extension that is critical and not
    /// known.
    #[error("the header {0} holds no X.509 v3 certificate that can be read")]
    NotACertificate(HeaderName),
}

/// The certificate of the client that sent `headers`; `direct` is what `peer` showed in its handshake.
///
/// Of a peer that passes certificates on, only the header counts, and without it there is none; of any other, only its
/// own certificate.
///
/// # Errors
/// [`UnreadableCertificate`]: such a peer sent a header that cannot be relied on.
pub fn client_certificate(
    peer: IpAddr,
    headers: &HeaderMap,
    direct: Option<&PeerCertificates>,
    policy: &ForwardedCertificatePolicy,
) -> Result<Option<ClientCertificate>, UnreadableCertificate> {
    if policy.believes(peer) {
        let leaf = policy.forwarded(headers)?;
        return Ok(leaf.map(|leaf| ClientCertificate { leaf, source: ClientCertificateSource::Forwarded }));
    }
    Ok(direct.and_then(shown))
}

fn shown(PeerCertificates(chain): &PeerCertificates) -> Option<ClientCertificate> {
    let leaf = chain.first()?.clone();
    Some(ClientCertificate { leaf, source: ClientCertificateSource::Direct { chain: chain.clone() } })
}
