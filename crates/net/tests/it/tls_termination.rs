//! Hydra's `allow_termination_from`.

use sluice_net::{NotTerminated, is_tls_terminated};

use crate::given::headers;

fn decide(peer: &str, lines: &[(&'static str, &str)]) -> Result<(), NotTerminated> {
    is_tls_terminated(peer.parse().unwrap(), &headers(lines), &["10.0.0.0/8".parse().unwrap()])
}

#[test]
fn a_proxy_that_was_asked_by_https_is_believed() {
    assert_eq!(decide("10.1.1.1", &[("x-forwarded-proto", "https")]), Ok(()));
    assert_eq!(decide("10.1.1.1", &[("x-forwarded-proto", "wss")]), Ok(()), "as Traefik says of a WebSocket");
    assert_eq!(decide("::ffff:10.1.1.1", &[("x-forwarded-proto", "HTTPS")]), Ok(()));
    assert_eq!(decide("10.1.1.1", &[("forwarded", "for=192.0.2.1;proto=https")]), Ok(()));
}

#[test]
fn plain_http_is_refused_with_its_reason() {
    let https = ("x-forwarded-proto", "https");
    let peer = "10.1.1.1".parse().unwrap();
    assert_eq!(is_tls_terminated(peer, &headers(&[https]), &[]), Err(NotTerminated::NotAllowed));
    assert_eq!(decide("192.0.2.1", &[https]), Err(NotTerminated::ForeignPeer));
    assert_eq!(decide("10.1.1.1", &[]), Err(NotTerminated::NoForwardedProto));
    for lines in [
        &[("x-forwarded-proto", "http")][..],
        &[("x-forwarded-proto", "ws")],
        &[https, ("x-forwarded-proto", "http")],
    ] {
        assert_eq!(decide("10.1.1.1", lines), Err(NotTerminated::NotHttps));
    }
    let forwarded = |line| decide("10.1.1.1", &[("forwarded", line)]);
    assert_eq!(forwarded("proto=https, for=192.0.2.1;proto=http"), Err(NotTerminated::NotHttps));
    assert_eq!(forwarded("proto=https, for=192.0.2.1"), Err(NotTerminated::NoForwardedProto));
    let both = [("x-forwarded-proto", "http"), ("forwarded", "proto=https")];
    assert_eq!(decide("10.1.1.1", &both), Err(NotTerminated::NotHttps), "the header of proxies comes first");
}

#[test]
fn an_address_that_the_client_wrote_does_not_count() {
    let lines = [("x-forwarded-proto", "https"), ("x-forwarded-for", "10.1.1.1")];
    assert_eq!(decide("192.0.2.1", &lines), Err(NotTerminated::ForeignPeer));
}
