//! Certificates of clients that a proxy passes in a header.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;
use proptest::prelude::*;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sluice_net::{
    ClientCertificate, ClientCertificateSource, ForwardedCertificatePolicy, PeerCertificates,
    UnreadableCertificate, client_certificate, self_signed,
};

use crate::given::*;

const PROXY: &str = "10.0.0.1";
const CLIENT_CERT: &str = "client-cert";
const X_CLIENT_CERT: &str = "x-client-cert";
const XFCC: &str = "x-forwarded-client-cert";
/// A certificate of X.509 version 1, as `openssl x509 -req` makes it where no extension is asked for.
const VERSION_1: &str = "MIIBHjCBxQIUOWOjX7Z4MOiZzFUHl53phQnj8ZYwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGY2xpZW50MCAXDTI2MTEyOD\
                         IxMzgwMFoYDzIxMjYxMTA0MjEzODAwWjARMQ8wDQYDVQQDDAZjbGllbnQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQT\
                         ASGREmEMZVghxN7q39r5fS+Via9FIwNWQfLQZFa00wGV8VIacRBuGv98yYQKWlyQ9o5Q0adGtQTREemg6Q7MMAoGCCqGSM\
                         49BAMCA0gAMEUCIHHZ4mmrwcKRtuv+yBZGs0mNhs5WcNWswaBdA9HfFTmpAiEA070eY1wWwKlwrRGCvmQ3pRy1SW9IRdND\
                         EptVaUydOeM=";

type Decision = Result<Option<ClientCertificate>, UnreadableCertificate>;

/// A certificate as proxies spell it.
struct Spelt {
    der: Vec<u8>,
    pem: String,
}

impl Spelt {
    fn new() -> Self {
        let pem = self_signed(&["client".into()], now()).unwrap().certificate;
        Self { der: CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec(), pem }
    }

    fn byte_sequence(&self) -> String {
        format!(":{}:", STANDARD.encode(&self.der))
    }

    /// As nginx writes `$ssl_client_escaped_cert`.
    fn escaped(&self) -> String {
        percent_encoding::utf8_percent_encode(&self.pem, percent_encoding::NON_ALPHANUMERIC).to_string()
    }

    fn forwarded(&self) -> ClientCertificate {
        ClientCertificate { leaf: self.der.clone(), source: ClientCertificateSource::Forwarded }
    }
}

fn policy(names: &[&'static str]) -> ForwardedCertificatePolicy {
    ForwardedCertificatePolicy {
        headers: names.iter().map(|name| HeaderName::from_static(name).into()).collect(),
        from: vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()],
    }
}

fn decide(peer: &str, lines: &[(&'static str, &str)], direct: Option<&PeerCertificates>) -> Decision {
    let policy = policy(&[CLIENT_CERT, X_CLIENT_CERT, XFCC]);
    client_certificate(peer.parse().unwrap(), &headers(lines), direct, &policy)
}

fn by_proxy(name: &'static str, value: &str) -> Decision {
    decide(PROXY, &[(name, value)], None)
}

fn malformed(name: &'static str) -> Decision {
    Err(UnreadableCertificate::Malformed(HeaderName::from_static(name)))
}

fn not_a_certificate(name: &'static str) -> Decision {
    Err(UnreadableCertificate::NotACertificate(HeaderName::from_static(name)))
}

#[test]
fn a_certificate_is_read_in_each_format() {
    let client = Spelt::new();
    assert_eq!(by_proxy(CLIENT_CERT, &client.byte_sequence()), Ok(Some(client.forwarded())));
    assert_eq!(
        by_proxy(CLIENT_CERT, &format!("{};by=nginx", client.byte_sequence())),
        Ok(Some(client.forwarded()))
    );
    assert_eq!(by_proxy(X_CLIENT_CERT, &client.escaped()), Ok(Some(client.forwarded())));
    assert_eq!(by_proxy(XFCC, &format!("Cert=\"{}\"", client.escaped())), Ok(Some(client.forwarded())));
    assert_eq!(
        decide("::ffff:10.1.1.1", &[(X_CLIENT_CERT, &client.escaped())], None),
        Ok(Some(client.forwarded()))
    );
}

#[test]
fn of_a_chain_in_one_header_the_first_is_the_client_s() {
    let (client, issuer) = (Spelt::new(), Spelt::new());
    let chain = format!("{}{}", client.escaped(), issuer.escaped());
    assert_eq!(by_proxy(X_CLIENT_CERT, &chain), Ok(Some(client.forwarded())));
}

#[test]
fn of_envoy_s_list_only_the_last_hop_counts() {
    let (client, other) = (Spelt::new(), Spelt::new());
    let (cert, earlier) = (client.escaped(), other.escaped());
    for list in [
        format!(
            "By=spiffe://mesh/sluice;Hash=468ed33b;cert=\"{cert}\";Subject=\"CN=a,O=\\\"b;Cert=c\\\"\";URI="
        ),
        format!("Cert=\"{earlier}\";Hash=1,Hash=2;Cert=\"{cert}\""),
        format!("Chain=\"{earlier}\";Cert={cert};"),
    ] {
        assert_eq!(by_proxy(XFCC, &list), Ok(Some(client.forwarded())), "{list}");
    }
    for list in [
        "By=spiffe://mesh/sluice;Hash=468ed33b;Subject=\"/CN=a\"".to_owned(),
        // Whoever sent this to the proxy showed it no certificate: the one before is its own invention.
        format!("Cert=\"{earlier}\";Hash=1, By=spiffe://mesh/edge;Hash=2;Subject=\"\""),
        format!("Cert=\"{earlier}\","),
    ] {
        assert_eq!(by_proxy(XFCC, &list), Ok(None), "{list}");
    }
}

#[test]
fn what_is_no_certificate_is_refused() {
    let client = Spelt::new();
    let cert = client.escaped();
    for value in ["MIIB", ":MIIB", ":M\u{fc}:", "\"text\"", ":AAAA:, :AAAA:", "?1"] {
        assert_eq!(by_proxy(CLIENT_CERT, value), malformed(CLIENT_CERT), "{value}");
    }
    for list in [
        format!("Cert=\"{cert}"),
        format!("Cert=\"{cert}\";Cert=\"{cert}\""),
        format!("Cert=\"{cert}\",nonsense"),
        format!("Cert=\"{cert}\"x"),
    ] {
        assert_eq!(by_proxy(XFCC, &list), malformed(XFCC), "{list}");
    }
    assert_eq!(by_proxy(CLIENT_CERT, ":AAAA:"), not_a_certificate(CLIENT_CERT));
    let key = cert.replace("CERTIFICATE", "PRIVATE%20KEY");
    for value in ["nonsense", "(null)", &key, cert.split_at(cert.len() / 2).0] {
        assert_eq!(by_proxy(X_CLIENT_CERT, value), not_a_certificate(X_CLIENT_CERT), "{value}");
    }
    assert_eq!(by_proxy(XFCC, "Cert=\"x\""), not_a_certificate(XFCC));
}

#[test]
fn a_certificate_of_an_earlier_version_is_refused_and_the_reason_says_which_there_must_be() {
    let refused = by_proxy(CLIENT_CERT, &format!(":{VERSION_1}:"));
    assert_eq!(refused, not_a_certificate(CLIENT_CERT));
    let reason = "the header client-cert holds no X.509 v3 certificate that can be read";
    assert_eq!(refused.unwrap_err().to_string(), reason);
}

#[test]
fn a_header_that_is_repeated_is_refused_whatever_it_says() {
    let client = Spelt::new();
    let (one, other) = ((X_CLIENT_CERT, &*client.escaped()), (CLIENT_CERT, &*client.byte_sequence()));
    for (lines, last) in [([one, one], X_CLIENT_CERT), ([one, (X_CLIENT_CERT, "")], X_CLIENT_CERT)] {
        let repeated = Err(UnreadableCertificate::Repeated(HeaderName::from_static(last)));
        assert_eq!(decide(PROXY, &lines, None), repeated);
    }
    let in_two_headers = decide(PROXY, &[one, other], None);
    assert!(matches!(in_two_headers, Err(UnreadableCertificate::Repeated(_))), "{in_two_headers:?}");
}

#[test]
fn a_proxy_that_passes_none_has_a_client_without_whatever_its_own() {
    let own = PeerCertificates(Arc::new([Spelt::new().der]));
    assert_eq!(decide(PROXY, &[], Some(&own)), Ok(None));
    assert_eq!(decide(PROXY, &[(X_CLIENT_CERT, "")], Some(&own)), Ok(None));
    for empty in [" ", "::", " :: ", "::;by=caddy"] {
        assert_eq!(decide(PROXY, &[(CLIENT_CERT, empty)], Some(&own)), Ok(None), "{empty}");
    }
    let (client, passed) = (Spelt::new(), "::");
    let lines = [(CLIENT_CERT, passed), (X_CLIENT_CERT, &*client.escaped())];
    assert_eq!(decide(PROXY, &lines, None), Ok(Some(client.forwarded())));
}

#[test]
fn a_peer_that_is_no_proxy_is_judged_by_its_handshake_alone() {
    let (forged, own, issuer) = (Spelt::new(), Spelt::new(), Spelt::new());
    let lines =
        [(CLIENT_CERT, &*forged.byte_sequence()), (X_CLIENT_CERT, "nonsense"), (X_CLIENT_CERT, "twice")];
    assert_eq!(decide("192.0.2.1", &lines, None), Ok(None));
    let chain: Arc<[Vec<u8>]> = Arc::new([own.der.clone(), issuer.der]);
    let shown =
        ClientCertificate { leaf: own.der, source: ClientCertificateSource::Direct { chain: chain.clone() } };
    assert_eq!(decide("192.0.2.1", &lines, Some(&PeerCertificates(chain))), Ok(Some(shown)));
}

#[test]
fn nobody_is_believed_by_default_and_no_header_but_those_that_are_named() {
    let client = Spelt::new();
    let (peer, lines) = (PROXY.parse().unwrap(), headers(&[(X_CLIENT_CERT, &client.escaped())]));
    for policy in [ForwardedCertificatePolicy::default(), policy(&[]), policy(&[CLIENT_CERT])] {
        assert_eq!(client_certificate(peer, &lines, None, &policy), Ok(None));
    }
}

proptest! {
    #[test]
    fn nonsense_is_never_a_certificate(value in "[ -~]{1,120}") {
        for name in [CLIENT_CERT, X_CLIENT_CERT, XFCC] {
            prop_assert!(!matches!(by_proxy(name, &value), Ok(Some(_))));
        }
    }
}
