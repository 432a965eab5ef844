//! The walk from the peer back to the client.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use sluice_net::{TrustedProxies, forwarded_proto, forwarded_without_hosts};

use crate::given::headers;

const PROXY: &str = "10.0.0.1";

fn client(peer: &str, lines: &[(&'static str, &str)]) -> String {
    client_in(peer, &headers(lines))
}

fn client_in(peer: &str, headers: &HeaderMap) -> String {
    let networks = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
    let proxies = TrustedProxies::new(networks.to_vec());
    proxies.client_address(peer.parse().unwrap(), headers).to_string()
}

/// Behind a proxy that wrote `line` with what its client had written before it.
fn by_bytes(name: &'static str, line: &[u8]) -> String {
    let line = HeaderValue::from_bytes(line).unwrap();
    client_in(PROXY, &HeaderMap::from_iter([(HeaderName::from_static(name), line)]))
}

fn by_x_forwarded_for(value: &str) -> String {
    client(PROXY, &[("x-forwarded-for", value)])
}

fn by_forwarded(value: &str) -> String {
    client(PROXY, &[("forwarded", value)])
}

#[test]
fn a_peer_that_is_no_proxy_is_the_client_whatever_it_says() {
    let lines = [("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=1.2.3.4")];
    assert_eq!(client("192.0.2.7", &lines), "192.0.2.7");
}

#[test]
fn nobody_is_believed_by_default() {
    let peer: IpAddr = PROXY.parse().unwrap();
    let lines = headers(&[("x-forwarded-for", "1.2.3.4")]);
    assert_eq!(TrustedProxies::default().client_address(peer, &lines), peer);
}

#[test]
fn a_peer_that_is_believed_for_a_reason_of_its_own_names_the_client_and_no_more() {
    let proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
    for (said, found) in [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7, 127.0.0.1", "127.0.0.1"),
        ("192.0.2.7, 10.0.0.2", "192.0.2.7"),
    ] {
        let lines = headers(&[("x-forwarded-for", said)]);
        let client = proxies.client_behind("127.0.0.1".parse().unwrap(), &lines);
        assert_eq!(client.address.to_string(), found, "{said}");
        assert!(client.is_named, "{said}");
    }
    assert!(!proxies.client_behind("127.0.0.1".parse().unwrap(), &HeaderMap::new()).is_named);
}

#[test]
fn the_client_is_the_first_from_the_right_that_is_no_proxy() {
    assert_eq!(by_x_forwarded_for("1.2.3.4"), "1.2.3.4");
    assert_eq!(by_x_forwarded_for("6.6.6.6, 1.2.3.4"), "1.2.3.4");
    assert_eq!(by_x_forwarded_for("6.6.6.6,1.2.3.4 ,10.9.9.9,\t10.8.8.8"), "1.2.3.4");
    assert_eq!(by_x_forwarded_for("2001:db8::5, fd00::1"), "2001:db8::5");
}

#[test]
fn lines_of_one_header_are_one_list() {
    let lines = [("x-forwarded-for", "6.6.6.6, 1.2.3.4"), ("x-forwarded-for", "10.2.2.2")];
    assert_eq!(client(PROXY, &lines), "1.2.3.4");
    let lines = [("forwarded", "for=6.6.6.6, for=1.2.3.4"), ("forwarded", "for=10.2.2.2")];
    assert_eq!(client(PROXY, &lines), "1.2.3.4");
}

#[test]
fn a_chain_of_proxies_only_ends_at_the_farthest() {
    assert_eq!(by_x_forwarded_for("10.0.0.3, 10.0.0.2"), "10.0.0.3");
}

#[test]
fn an_entry_that_is_no_address_ends_the_walk_at_the_proxy_that_wrote_it() {
    for entry in ["unknown", "", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4:99999", "fe80::1%eth0", "[::1"] {
        assert_eq!(by_x_forwarded_for(entry), PROXY, "{entry:?}");
        assert_eq!(by_x_forwarded_for(&format!("6.6.6.6, {entry}, 10.5.5.5")), "10.5.5.5", "{entry:?}");
    }
    for element in ["for=unknown", "for=_hidden", "proto=https", "for", "for=", "for=1.2.3.4;for=1.2.3.5"] {
        assert_eq!(by_forwarded(element), PROXY, "{element:?}");
    }
}

#[test]
fn a_client_is_named_unless_the_walk_ends_at_a_proxy_that_names_nobody() {
    let proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
    let found = |peer: &str, lines: &[(&'static str, &str)]| {
        let client = proxies.client(peer.parse().unwrap(), &headers(lines));
        assert_eq!(client.address, proxies.client_address(peer.parse().unwrap(), &headers(lines)));
        client.is_named
    };
    for lines in [
        &[("x-forwarded-for", "1.2.3.4")][..],
        &[("x-forwarded-for", "unknown, 1.2.3.4")],
        &[("x-forwarded-for", "10.0.0.3, 10.0.0.2")],
        &[("x-forwarded-for", PROXY)],
        &[("forwarded", "for=10.0.0.3")],
        &[("x-forwarded-for", "10.0.0.3"), ("forwarded", "for=10.0.0.3")],
    ] {
        assert!(found(PROXY, lines), "{lines:?}");
    }
    for lines in [
        &[("x-forwarded-for", "1.2.3.4, unknown")][..],
        &[],
        &[("x-forwarded-for", "1.2.3.4, unknown, 10.5.5.5")],
        &[("forwarded", "for=1.2.3.4, for=_hidden")],
        &[("forwarded", "for=\"1.2.3.4")],
        &[("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=9.9.9.9")],
        &[("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=unknown")],
        &[("x-forwarded-for", "10.5.5.5"), ("forwarded", "for=unknown, for=10.5.5.5")],
    ] {
        assert!(!found(PROXY, lines), "{lines:?}");
    }
    assert!(found("192.0.2.7", &[("x-forwarded-for", "unknown")]), "nobody is asked about a stranger");
}

#[test]
fn a_request_whose_client_cannot_be_told_counts_for_no_address() {
    let proxies = TrustedProxies::new(vec!["127.0.0.0/8".parse().unwrap(), "10.0.0.0/8".parse().unwrap()]);
    let counted = |peer: &str, lines: &[(&'static str, &str)]| {
        proxies.counted_address(peer.parse().unwrap(), &headers(lines)).map(|address| address.to_string())
    };
    for lines in [
        &[("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=_x")][..],
        &[("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=9.9.9.9")],
        &[("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=\"")],
        &[("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=127.0.0.1")],
        &[("x-forwarded-for", "1.2.3.4"), ("forwarded", "")],
        &[("x-forwarded-for", "127.0.0.1"), ("forwarded", "for=_x")],
        &[("x-forwarded-for", "1.2.3.4, unknown")],
        &[("x-forwarded-for", "1.2.3.4, unknown, 10.0.0.2")],
        &[("x-forwarded-for", "")],
        &[("forwarded", "proto=https")],
    ] {
        assert_eq!(counted("127.0.0.1", lines), None, "{lines:?}");
        assert_eq!(counted("192.0.2.7", lines).as_deref(), Some("192.0.2.7"), "no proxy: {lines:?}");
    }
    for (lines, address) in [
        (&[("x-forwarded-for", "1.2.3.4")][..], "1.2.3.4"),
        (&[("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=1.2.3.4")], "1.2.3.4"),
        // Somebody on the machine of the proxy, who asks through it.
        (&[("x-forwarded-for", "127.0.0.1")], "127.0.0.1"),
        // The proxy itself, or a program beside it.
        (&[], "127.0.0.1"),
    ] {
        assert_eq!(counted("127.0.0.1", lines).as_deref(), Some(address), "{lines:?}");
    }
    assert_eq!(counted("::ffff:127.0.0.1", &[]).as_deref(), Some("127.0.0.1"));
}

#[test]
fn a_client_on_loopback_is_on_this_machine_or_cannot_be_told() {
    let trusted = ["127.0.0.0/8", "10.0.0.0/8"].map(|network| network.parse().unwrap()).to_vec();
    let ways = [TrustedProxies::new(trusted.clone()), TrustedProxies::new(trusted[1..].to_vec())];
    for (peer, said, found, counted) in [
        // Somebody in a network that is trusted, who wrote the first.
        ("10.0.0.2", "127.0.0.1, 10.8.0.5", "10.8.0.5", None),
        ("10.0.0.2", "127.0.0.1, 127.0.0.1, 10.8.0.5", "10.8.0.5", None),
        ("10.0.0.2", "::1, 10.8.0.5", "10.8.0.5", None),
        ("10.0.0.2", "::2, 10.8.0.5", "10.8.0.5", None),
        ("10.0.0.2", "::, 10.8.0.5", "10.8.0.5", None),
        ("10.0.0.2", "::ffff:ffff:ffff:ffff, 10.8.0.5", "10.8.0.5", None),
        ("10.0.0.2", "::1.2.3.4, 10.8.0.5", "10.8.0.5", None),
        // A program on the machine of the proxy, which is not this one.
        ("10.0.0.2", "127.0.0.1", "10.0.0.2", None),
        ("::ffff:10.0.0.2", "::ffff:127.0.0.1", "10.0.0.2", None),
        ("10.0.0.2", "::2", "10.0.0.2", None),
        // What is written like those, and is somebody's.
        ("10.0.0.2", "::ffff:1.2.3.4, 10.8.0.5", "1.2.3.4", Some("1.2.3.4")),
        ("10.0.0.2", "64:ff9b::1, 10.8.0.5", "64:ff9b::1", Some("64:ff9b::1")),
        ("10.0.0.2", "1.2.3.4, 10.8.0.5", "1.2.3.4", Some("1.2.3.4")),
    ] {
        for proxies in &ways {
            let (peer, lines) = (peer.parse().unwrap(), headers(&[("x-forwarded-for", said)]));
            assert_eq!(proxies.client_address(peer, &lines).to_string(), found, "{said}");
            let address = proxies.counted_address(peer, &lines).map(|address| address.to_string());
            assert_eq!(address.as_deref(), counted, "{said}");
        }
    }
    let [proxies, _] = &ways;
    for (peer, said, counted) in [
        ("127.0.0.1", "127.0.0.1", Some("127.0.0.1")),
        ("127.0.0.1", "::2", Some("::2")),
        // A proxy on this machine behind another one.
        ("127.0.0.1", "127.0.0.1, 10.8.0.5", None),
        // Two proxies on another machine.
        ("10.0.0.2", "1.2.3.4, 127.0.0.1", Some("1.2.3.4")),
    ] {
        let lines = headers(&[("x-forwarded-for", said)]);
        let address = proxies.counted_address(peer.parse().unwrap(), &lines).map(|it| it.to_string());
        assert_eq!(address.as_deref(), counted, "{said}");
    }
}

#[test]
fn what_is_no_text_says_nothing_about_what_proxies_wrote_after_it() {
    assert_eq!(by_bytes("x-forwarded-for", b"\xff, 1.2.3.4"), "1.2.3.4");
    assert_eq!(by_bytes("x-forwarded-for", b"6.6.6.6, \xff, 1.2.3.4,10.5.5.5"), "1.2.3.4");
    assert_eq!(by_bytes("x-forwarded-for", b"1.2.3.4, \xff"), PROXY);
}

#[test]
fn a_port_is_left_out() {
    assert_eq!(by_x_forwarded_for("1.2.3.4:5678"), "1.2.3.4");
    assert_eq!(by_x_forwarded_for("[2001:db8::5]:5678"), "2001:db8::5");
    assert_eq!(by_forwarded("for=\"1.2.3.4:5678\""), "1.2.3.4");
    assert_eq!(by_forwarded("For=\"[2001:db8::5]:5678\""), "2001:db8::5");
}

#[test]
fn an_ipv4_address_inside_an_ipv6_address_is_the_ipv4_address() {
    assert_eq!(client("::ffff:10.0.0.1", &[("x-forwarded-for", "::ffff:1.2.3.4")]), "1.2.3.4");
}

#[test]
fn a_proxy_that_is_named_by_an_ipv4_network_inside_ipv6_is_trusted() {
    let proxies = ["::ffff:127.0.0.1/128", "::ffff:10.0.0.0/104"].map(|network| network.parse().unwrap());
    let proxies = TrustedProxies::new(proxies.to_vec());
    let trusts = |address: &str| proxies.trusts(address.parse().unwrap());
    assert!(["127.0.0.1", "::ffff:127.0.0.1", "10.9.9.9"].into_iter().all(trusts));
    assert!(!["127.0.0.2", "11.0.0.1", "::1"].into_iter().any(trusts));
}

#[test]
fn forwarded_is_read_by_its_grammar() {
    assert_eq!(by_forwarded("for=6.6.6.6, for=1.2.3.4;proto=https;by=10.0.0.2"), "1.2.3.4");
    assert_eq!(by_forwarded("proto=http ; host=\"a,b;for=6.6.6.6\" ; for=1.2.3.4"), "1.2.3.4");
    assert_eq!(by_forwarded("for=\"6.6.6.6, for=1.2.3.4"), PROXY, "an open quote spoils the line");
    assert_eq!(by_forwarded("for=[2001:db8::5]"), PROXY, "an IPv6 address must be quoted");
}

#[test]
fn how_the_nearest_proxy_was_asked_is_in_the_last_element() {
    let nearest = |lines: &[&str]| {
        let headers = headers(&lines.iter().map(|line| ("forwarded", *line)).collect::<Vec<_>>());
        forwarded_proto(&headers).map(str::to_owned)
    };
    assert_eq!(nearest(&["for=1.2.3.4;proto=https"]).as_deref(), Some("https"));
    assert_eq!(nearest(&["Proto=\"HTTPS\" ; for=1.2.3.4"]).as_deref(), Some("HTTPS"));
    assert_eq!(nearest(&["proto=https, for=1.2.3.4;proto=http"]).as_deref(), Some("http"));
    assert_eq!(nearest(&["proto=https", "for=1.2.3.4;proto=http"]).as_deref(), Some("http"));
    assert_eq!(nearest(&["proto=https, for=1.2.3.4"]), None);
    assert_eq!(nearest(&["proto=https;proto=http"]), None);
    assert_eq!(nearest(&["for=\"1.2.3.4;proto=https"]), None);
    assert_eq!(nearest(&[]), None);
}

#[test]
fn a_line_without_hosts_names_none_in_any_reading_and_keeps_its_elements() {
    for (line, without) in [
        ("for=1.2.3.4;host=admin.example;proto=https", "for=1.2.3.4;proto=https"),
        ("Host=\"admin.example\", for=1.2.3.4", "for=unknown, for=1.2.3.4"),
        ("for=6.6.6.6, for=1.2.3.4; HOST = a", "for=6.6.6.6, for=1.2.3.4"),
        ("xhost=a;for=1.2.3.4", "for=1.2.3.4"),
        ("for=1.2.3.4;by=\"a, host=b;host=c\"", "for=1.2.3.4"),
        ("for=\"1.2.3.4;host=a", "for=unknown"),
    ] {
        let without_hosts = forwarded_without_hosts(&HeaderValue::from_static(line)).unwrap();
        assert_eq!(without_hosts, without, "{line}");
        assert_eq!(forwarded_without_hosts(&without_hosts), None);
    }
    let bytes = HeaderValue::from_bytes(b"host=\xff, for=1.2.3.4").unwrap();
    assert_eq!(forwarded_without_hosts(&bytes).unwrap(), "for=unknown");
    assert_eq!(forwarded_without_hosts(&HeaderValue::from_static("for=1.2.3.4;proto=https")), None);
}

#[test]
fn two_headers_must_lead_to_one_client() {
    let agreeing = [("x-forwarded-for", "6.6.6.6, 1.2.3.4"), ("forwarded", "for=1.2.3.4")];
    assert_eq!(client(PROXY, &agreeing), "1.2.3.4");
    let forged = [("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=9.9.9.9")];
    assert_eq!(client(PROXY, &forged), PROXY);
}

/// Whatever the value of a header may have (RFC 9110 §5.5).
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(b'\t'), b' '..=b'~', 0x80..=u8::MAX], 0..80)
}

proptest! {
    #[test]
    fn what_a_client_writes_never_changes_what_the_proxy_wrote_after_it(forged in value()) {
        let before = |written: &str| [&forged[..], written.as_bytes()].concat();
        prop_assert_eq!(by_bytes("x-forwarded-for", &before(", 1.2.3.4")), "1.2.3.4");
        let by_forwarded = by_bytes("forwarded", &before(", for=1.2.3.4"));
        prop_assert!(by_forwarded == "1.2.3.4" || by_forwarded == PROXY);
    }
}
