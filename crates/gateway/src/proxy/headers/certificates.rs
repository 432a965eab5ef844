//! Headers that tell of a client's certificate.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use sluice_net::ForwardedCertificatePolicy;
use smallvec::SmallVec;

use crate::enrichment::headers::is_same;

/// Drops the headers in which proxies pass on their clients' certificates if `peer` is none of these proxies: what the gateway
/// does not believe, no upstream is to believe because it comes from the gateway. Also in the spellings that CGI and its heirs
/// take for the same name.
pub(in crate::proxy) fn drop_unbelieved_certificates(
    headers: &mut HeaderMap,
    policy: &ForwardedCertificatePolicy,
    peer: IpAddr,
) {
    if !policy.headers.is_empty() && !policy.believes(peer) {
        drop_certificates(headers, policy);
    }
}

/// Drops the same, whoever says it: of trailers, since a certificate is told of in the head, before anything was judged.
pub(in crate::proxy) fn drop_certificates(headers: &mut HeaderMap, policy: &ForwardedCertificatePolicy) {
    let is_doomed =
        |name: &&HeaderName| policy.headers.iter().any(|known| is_same(known.name.as_str(), name.as_str()));
    let doomed: SmallVec<[HeaderName; 1]> = headers.keys().filter(is_doomed).cloned().collect();
    for name in doomed {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use sluice_net::CertificateHeader;

    use super::*;

    fn left(from: &str, peer: &str) -> Vec<String> {
        let policy = ForwardedCertificatePolicy {
            headers: vec![CertificateHeader::from(HeaderName::from_static("x-client-cert"))],
            from: vec![from.parse().unwrap()],
        };
        let mut headers = HeaderMap::new();
        for name in ["x-client-cert", "x_client.cert", "x-client-certs", "accept"] {
            headers.insert(name, HeaderValue::from_static("forged"));
        }
        drop_unbelieved_certificates(&mut headers, &policy, peer.parse().unwrap());
        let mut left: Vec<_> = headers.keys().map(ToString::to_string).collect();
        left.sort();
        left
    }

    #[test]
    fn a_certificate_goes_on_from_those_who_are_believed_alone() {
        assert_eq!(left("10.0.0.0/8", "192.0.2.1"), ["accept", "x-client-certs"]);
        assert_eq!(left("10.0.0.0/8", "10.1.2.3").len(), 4);
    }
}
