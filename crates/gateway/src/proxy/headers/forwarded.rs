//! Where a request came from: `X-Forwarded-*` and `Forwarded` (RFC 7239).

use std::fmt::Write;
use std::net::IpAddr;

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName, HeaderValue};
use sluice_net::forwarded_without_hosts;
use smallvec::SmallVec;

use super::{Host, Visitor};
use crate::enrichment::headers::is_same;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
pub(super) const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

const X_FORWARDED: &str = "x-forwarded-";
const X_REAL_IP: &str = "x-real-ip";
const CLIENT_CERT: &str = "client-cert";
const CLIENT_CERT_CHAIN: &str = "client-cert-chain";

/// What a request was for, and who brought it.
#[derive(Debug)]
pub(in crate::proxy) struct Origin<'a> {
    /// The host that was asked for.
    pub(in crate::proxy) host: &'a Host,
    /// Whether the client used https.
    pub(in crate::proxy) https: bool,
    /// Whether the peer is a proxy whose word counts.
    pub(in crate::proxy) trusted: bool,
    /// Whether its word about the host goes on.
    pub(in crate::proxy) forwards_host: bool,
}

/// Tells the upstream where a request came from. What a client says of itself is replaced; what a trusted proxy says is
/// continued, in the headers that it uses: but for the host, which may be its client's word, and another one than was judged.
pub(in crate::proxy) fn tell_origin(headers: &mut HeaderMap, visitor: &Visitor, origin: &Origin<'_>) {
    let proto = HeaderValue::from_static(if origin.https { "https" } else { "http" });
    if origin.trusted {
        drop_lookalikes(headers);
        if !origin.forwards_host {
            drop_hosts(headers);
        }
        continue_origin(headers, visitor, origin);
        if !origin.host.text.is_empty() {
            headers.entry(X_FORWARDED_HOST).or_insert_with(|| origin.host.value.clone());
        }
    } else {
        drop_claims(headers);
        headers.insert(X_FORWARDED_FOR, visitor.address.clone());
        // Who is not trusted keeps its scheme.
        headers.insert(FORWARDED, origin.host.element(|| element(visitor.peer, origin)));
        tell_host(headers, origin.host);
    }
    headers.insert(X_FORWARDED_PROTO, proto);
}

/// The host that was asked for, if the request named one: over HTTP/1.0 it need not.
fn tell_host(headers: &mut HeaderMap, host: &Host) {
    if host.text.is_empty() {
        headers.remove(X_FORWARDED_HOST);
    } else {
        headers.insert(X_FORWARDED_HOST, host.value.clone());
    }
}

/// Drops what a client says about where it comes from and which certificate it has, in every spelling that an upstream may take for it;
/// the headers that are replaced anyway stay.
fn drop_claims(headers: &mut HeaderMap) {
    let is_replaced = |name: &HeaderName| {
        *name == X_FORWARDED_FOR || *name == X_FORWARDED_HOST || *name == X_FORWARDED_PROTO
    };
    remove(headers, |name| is_about_origin(name.as_str()) && !is_replaced(name));
}

/// Drops what an upstream may take for a word of a proxy though it is spelled otherwise: proxies write dashes, so it is their client's.
fn drop_lookalikes(headers: &mut HeaderMap) {
    let is_other_sign = |byte: u8| !byte.is_ascii_alphanumeric() && byte != b'-';
    remove(headers, |name| is_about_origin(name.as_str()) && name.as_str().bytes().any(is_other_sign));
}

/// Removes the headers whose names are `doomed`.
fn remove(headers: &mut HeaderMap, doomed: impl Fn(&HeaderName) -> bool) {
    let found: SmallVec<[HeaderName; 2]> = headers.keys().filter(|&name| doomed(name)).cloned().collect();
    for name in found {
        headers.remove(name);
    }
}

/// Drops what is said of the host that was asked for, in every spelling that an upstream may take for it.
fn drop_hosts(headers: &mut HeaderMap) {
    remove(headers, |name| is_same(X_FORWARDED_HOST.as_str(), name.as_str()));
    if !headers.contains_key(FORWARDED) {
        return;
    }
    for (name, line) in headers {
        if *name == FORWARDED
            && let Some(without) = forwarded_without_hosts(line)
        {
            *line = without;
        }
    }
}

/// Whether a name is one of those that proxies write, or what CGI and its heirs make the same of.
pub(super) fn is_about_origin(name: &str) -> bool {
    let is = |known: &str, name: &[u8]| {
        name.iter().zip(known.bytes()).all(|(byte, known)| match known {
            b'-' => !byte.is_ascii_alphanumeric(),
            known => *byte == known,
        })
    };
    let name = name.as_bytes();
    match name.first() {
        Some(b'x') => {
            let is_forwarded = name.len() > X_FORWARDED.len() && is(X_FORWARDED, name);
            is_forwarded || (name.len() == X_REAL_IP.len() && is(X_REAL_IP, name))
        }
        // RFC 9440 §2.4.
        Some(b'c') => {
            [CLIENT_CERT, CLIENT_CERT_CHAIN].iter().any(|known| name.len() == known.len() && is(known, name))
        }
        _ => false,
    }
}

/// A header that the proxy does not use is not begun: it would name the proxy as the client.
fn continue_origin(headers: &mut HeaderMap, visitor: &Visitor, origin: &Origin<'_>) {
    let (addresses, elements) = (headers.contains_key(X_FORWARDED_FOR), headers.contains_key(FORWARDED));
    if addresses || !elements {
        append(headers, X_FORWARDED_FOR, &visitor.address);
    }
    if elements || !addresses {
        append(headers, FORWARDED, &element(visitor.peer, origin));
    }
}

/// Makes one line of all, `value` last.
fn append(headers: &mut HeaderMap, name: HeaderName, value: &HeaderValue) {
    let mut line = Vec::new();
    for part in headers.get_all(&name).iter().chain([value]) {
        if !line.is_empty() {
            line.extend_from_slice(b", ");
        }
        line.extend_from_slice(part.as_bytes());
    }
    let line = HeaderValue::from_bytes(&line).unwrap_or_else(|_| value.clone());
    headers.insert(name, line);
}

fn element(peer: IpAddr, origin: &Origin<'_>) -> HeaderValue {
    let mut text = String::with_capacity(64);
    let written = match peer {
        IpAddr::V4(address) => write!(text, "for={address}"),
        IpAddr::V6(address) => write!(text, "for=\"[{address}]\""),
    };
    text.push_str(if origin.https { ";proto=https" } else { ";proto=http" });
    if !origin.host.text.is_empty() {
        text.push_str(";host=\"");
        text.push_str(&origin.host.text);
        text.push('"');
    }
    let line = written.ok().and_then(|()| HeaderValue::from_str(&text).ok());
    line.unwrap_or_else(|| HeaderValue::from_static("for=unknown"))
}

#[cfg(test)]
mod tests {
    use sluice_net::{ConnectionFacts, PeerAddress, Transport};

    use super::*;

    fn told(peer: &str, lines: &[(&'static str, &'static str)]) -> Vec<String> {
        told_by(peer, lines, false)
    }

    fn told_by(peer: &str, lines: &[(&'static str, &'static str)], forwards_host: bool) -> Vec<String> {
        let facts = ConnectionFacts {
            peer: PeerAddress(peer.parse().unwrap()),
            transport: Transport { tls: false },
            certificates: None,
        };
        let visitor = Visitor::new(facts);
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let trusted = peer.starts_with("10.");
        let https = visitor.is_https(trusted, &headers);
        let host = visitor.host.read(&HeaderValue::from_static("api.example:8443")).unwrap();
        tell_origin(&mut headers, &visitor, &Origin { host: &host, https, trusted, forwards_host });
        let mut told: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        told.sort();
        told
    }

    #[test]
    fn what_a_client_says_of_itself_is_replaced() {
        let lies = [
            ("x-forwarded-for", "127.0.0.1"),
            ("x-forwarded-for", "::1"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "admin"),
            ("forwarded", "for=127.0.0.1"),
            ("x_forwarded_for", "127.0.0.1"),
            ("x.forwarded.proto", "https"),
            ("x-forwarded-prefix", "/admin"),
            ("x-real-ip", "127.0.0.1"),
            ("client-cert", ":AA==:"),
            ("client_cert_chain", ":AA==:"),
        ];
        assert_eq!(
            told("[2001:db8::7]:9", &lies),
            [
                "forwarded: for=\"[2001:db8::7]\";proto=http;host=\"api.example:8443\"",
                "x-forwarded-for: 2001:db8::7",
                "x-forwarded-host: api.example:8443",
                "x-forwarded-proto: http",
            ]
        );
    }

    #[test]
    fn what_a_trusted_proxy_says_is_continued_in_the_headers_it_uses() {
        let said = [
            ("x-forwarded-for", "203.0.113.9"),
            ("x-forwarded-for", "10.1.1.1"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "www.example"),
        ];
        assert_eq!(
            told("10.2.2.2:9", &said),
            [
                "x-forwarded-for: 203.0.113.9, 10.1.1.1, 10.2.2.2",
                "x-forwarded-host: api.example:8443",
                "x-forwarded-proto: https",
            ]
        );
        assert_eq!(
            told("10.2.2.2:9", &[("forwarded", "for=203.0.113.9")]),
            [
                "forwarded: for=203.0.113.9, for=10.2.2.2;proto=http;host=\"api.example:8443\"",
                "x-forwarded-host: api.example:8443",
                "x-forwarded-proto: http",
            ]
        );
    }

    #[test]
    fn what_only_looks_like_the_word_of_a_trusted_proxy_is_its_clients() {
        let said = [
            ("x-forwarded-for", "203.0.113.9"),
            ("x-forwarded-prefix", "/shop"),
            ("x-real-ip", "203.0.113.9"),
            ("client-cert", ":AA==:"),
        ];
        let lies = [
            ("x_forwarded_for", "127.0.0.1"),
            ("x-forwarded_for", "127.0.0.1"),
            ("x.forwarded.proto", "https"),
            ("x_forwarded_host", "admin"),
            ("x_real_ip", "127.0.0.1"),
            ("client_cert", ":AAAA:"),
            ("client-cert_chain", ":AAAA:"),
        ];
        let both = [&said[..], &lies[..]].concat();
        for forwards_host in [false, true] {
            let honest = told_by("10.2.2.2:9", &said, forwards_host);
            assert!(honest.contains(&"x-real-ip: 203.0.113.9".to_owned()), "{honest:?}");
            assert_eq!(told_by("10.2.2.2:9", &both, forwards_host), honest);
        }
    }

    #[test]
    fn a_trusted_proxy_names_another_host_only_where_its_word_is_to_go_on() {
        let said = [
            ("x-forwarded-host", "admin.example"),
            ("x_forwarded_host", "admin.example"),
            ("forwarded", "for=203.0.113.9;host=admin.example"),
            ("forwarded", "for=10.1.1.1;proto=https"),
        ];
        let own = "for=10.2.2.2;proto=https;host=\"api.example:8443\"";
        let forwarded = format!("forwarded: for=203.0.113.9, for=10.1.1.1;proto=https, {own}");
        assert_eq!(
            told("10.2.2.2:9", &said),
            [&*forwarded, "x-forwarded-host: api.example:8443", "x-forwarded-proto: https"]
        );
        let kept = told_by("10.2.2.2:9", &said, true);
        assert!(kept.contains(&"x-forwarded-host: admin.example".to_owned()), "{kept:?}");
        assert!(kept.iter().any(|line| line.starts_with("forwarded: for=203.0.113.9;host=admin.example,")));
        let of_a_client = told_by("192.0.2.1:9", &said, true);
        assert!(!of_a_client.concat().contains("admin"), "{of_a_client:?}");
    }

    #[test]
    fn a_websocket_that_came_to_a_trusted_proxy_over_tls_is_told_of_as_https() {
        for (scheme, told_as) in [("wss", "https"), ("WSS", "https"), ("ws", "http")] {
            let headers = told("10.2.2.2:9", &[("x-forwarded-proto", scheme)]);
            assert!(headers.contains(&format!("x-forwarded-proto: {told_as}")), "{scheme}: {headers:?}");
        }
    }

    #[test]
    fn a_trusted_proxy_that_says_https_in_forwarded_alone_is_believed_and_not_contradicted() {
        assert_eq!(
            told("10.2.2.2:9", &[("forwarded", "for=203.0.113.9;proto=HTTPS")]),
            [
                "forwarded: for=203.0.113.9;proto=HTTPS, for=10.2.2.2;proto=https;host=\"api.example:8443\"",
                "x-forwarded-host: api.example:8443",
                "x-forwarded-proto: https",
            ]
        );
        for lines in [["https", "http"], ["http", "https"]] {
            let told = told("10.2.2.2:9", &lines.map(|scheme| ("x-forwarded-proto", scheme)));
            assert!(told.contains(&"x-forwarded-proto: http".to_owned()), "all lines must agree: {told:?}");
        }
        let of_a_client = told("192.0.2.1:9", &[("forwarded", "for=203.0.113.9;proto=https")]);
        assert!(of_a_client.contains(&"x-forwarded-proto: http".to_owned()), "{of_a_client:?}");
        let both = told("10.2.2.2:9", &[("forwarded", "proto=https"), ("x-forwarded-proto", "http")]);
        assert!(both.contains(&"x-forwarded-proto: http".to_owned()), "{both:?}");
    }
}
