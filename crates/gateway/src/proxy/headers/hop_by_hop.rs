//! Headers between two neighbours (RFC 9110 §7.6.1): dropped both ways, but for what the gateway says itself.

use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, Entry, FORWARDED, HOST,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Version};
use sluice_net::is_chunked_at_most;
use smallvec::SmallVec;

use super::forwarded::is_about_origin;
use super::length::{is_plain as is_plain_length, leave_one_length};
use crate::enrichment::headers::is_same;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// What the dropped headers asked of the gateway.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::proxy) struct Handover {
    /// The protocol that the client wants to change to.
    pub(in crate::proxy) upgrade: Option<HeaderValue>,
    /// Whether the client waits for `100 Continue`.
    pub(in crate::proxy) expects_continue: bool,
    /// Whether the client takes trailers.
    pub(in crate::proxy) trailers: bool,
    /// Whether it is a gRPC call, whose trailers mean something.
    pub(in crate::proxy) grpc: bool,
}

/// Drops the headers of a request that are for the gateway only.
pub(in crate::proxy) fn strip_request(headers: &mut HeaderMap, version: Version) -> Handover {
    let grpc = headers
        .get(CONTENT_TYPE)
        .is_some_and(|content_type| content_type.as_bytes().starts_with(b"application/grpc"));
    let doomed = named(headers, |name| is_for_gateway(name) || (name == "trailer" && !grpc));
    let mut handover = Handover { grpc, ..Handover::default() };
    if doomed.is_empty() {
        return handover;
    }
    let connection = strip_connection(headers);
    for name in doomed.into_iter().filter(|name| *name != CONNECTION) {
        let Some(value) = headers.remove(&name) else { continue };
        if name == UPGRADE {
            let is_wanted = connection.upgrade && version == Version::HTTP_11 && is_foreign_protocol(&value);
            handover.upgrade = is_wanted.then_some(value);
        } else if name == EXPECT {
            handover.expects_continue =
                version == Version::HTTP_11 && value.as_bytes().eq_ignore_ascii_case(b"100-continue");
        } else if name == TE {
            handover.trailers = has_token(&value, "trailers");
        }
    }
    handover
}

/// Drops the headers of an answer that are for the gateway only, and leaves one length at most. `Upgrade` stays with 426, which means it for
/// the client. Whether its body, if it has one, is understood without them ([`is_chunked_at_most`]), and of one length.
pub(in crate::proxy) fn strip_answer(headers: &mut HeaderMap, keep_upgrade: bool) -> bool {
    let (mut doomed, mut lengths) = (SmallVec::<[HeaderName; 4]>::new(), 0);
    for (name, value) in &*headers {
        match name.as_str() {
            "content-length" => lengths += if is_plain_length(value) { 1 } else { 2 },
            "connection" | "transfer-encoding" | "keep-alive" | "proxy-connection" => {
                doomed.push(name.clone());
            }
            "upgrade" if !keep_upgrade => doomed.push(name.clone()),
            _ => {}
        }
    }
    let has_one_length = lengths < 2 || leave_one_length(headers);
    if doomed.is_empty() {
        return has_one_length;
    }
    if doomed.contains(&CONNECTION) {
        strip_connection(headers);
    }
    let is_coded = doomed.contains(&TRANSFER_ENCODING);
    let is_understood = if is_coded { is_chunked_at_most(headers) } else { has_one_length };
    for name in doomed.into_iter().filter(|name| *name != CONNECTION) {
        let was_there = headers.remove(&name).is_some();
        if was_there && name == TRANSFER_ENCODING {
            headers.remove(CONTENT_LENGTH);
        }
    }
    is_understood
}

/// The names that are there and are `wanted`: to look at each name once costs less than to search for each that might be there.
fn named(headers: &HeaderMap, wanted: impl Fn(&str) -> bool) -> SmallVec<[HeaderName; 4]> {
    headers.keys().filter(|name| wanted(name.as_str())).cloned().collect()
}

/// Whether a header of a request goes no further. CGI programs would take `Proxy` for the setting `HTTP_PROXY`.
fn is_for_gateway(name: &str) -> bool {
    is_like_framing(name)
        || matches!(
            name,
            "connection"
                | "upgrade"
                | "expect"
                | "te"
                | "transfer-encoding"
                | "keep-alive"
                | "proxy-connection"
                | "proxy-authorization"
                | "proxy"
                | "http2-settings"
        )
}

/// Whether a name is none of HTTP's, and one to CGI and its heirs that says how long a body is or how it is coded: `Content_Length`.
fn is_like_framing(name: &str) -> bool {
    let is_like = |known: &str| name != known && is_same(known, name);
    match name.len() {
        14 => is_like(CONTENT_LENGTH.as_str()),
        17 => is_like(TRANSFER_ENCODING.as_str()),
        _ => false,
    }
}

/// Says that this hop is to change its protocol.
pub(in crate::proxy) fn announce_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// Drops from trailers what would mean something as a header (RFC 9110 §6.5.1): some servers merge the two. What is about the origin
/// of a request was said in its head, also by a trusted proxy.
pub(in crate::proxy) fn retain_harmless_trailers(trailers: &mut HeaderMap) {
    let harmful: SmallVec<[HeaderName; 4]> =
        trailers.keys().filter(|name| !is_harmless_trailer(name)).cloned().collect();
    for name in harmful {
        trailers.remove(name);
    }
}

fn is_harmless_trailer(name: &HeaderName) -> bool {
    const BARRED: [HeaderName; 16] = [
        AUTHORIZATION,
        CONNECTION,
        CONTENT_LENGTH,
        CONTENT_TYPE,
        COOKIE,
        EXPECT,
        FORWARDED,
        HOST,
        KEEP_ALIVE,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        SET_COOKIE,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    let text = name.as_str();
    !BARRED.contains(name)
        && !is_about_origin(text)
        && !is_like_framing(text)
        && !["oauth-", "content-"].iter().any(|prefix| text.starts_with(prefix))
}

/// What `Connection` said.
struct Connection {
    upgrade: bool,
}

/// Drops `Connection` and every header that it names, but for those without which a request would become another one.
fn strip_connection(headers: &mut HeaderMap) -> Connection {
    let mut named: SmallVec<[HeaderName; 4]> = SmallVec::new();
    let mut upgrade = false;
    let Entry::Occupied(lines) = headers.entry(CONNECTION) else { return Connection { upgrade } };
    for line in lines.iter().filter(|line| !is_plain(line)) {
        // In bytes: what cannot be read beside a name takes nothing from it.
        for token in line.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            upgrade |= token.eq_ignore_ascii_case(b"upgrade");
            named.extend(HeaderName::from_bytes(token).ok().filter(|name| !is_kept(name)));
        }
    }
    lines.remove_entry_mult();
    for name in named {
        headers.remove(name);
    }
    Connection { upgrade }
}

/// The two values that name no header: nearly every one.
fn is_plain(line: &HeaderValue) -> bool {
    let line = line.as_bytes();
    line.eq_ignore_ascii_case(b"keep-alive") || line.eq_ignore_ascii_case(b"close")
}

/// Headers that `Connection` may not take away, or that are looked at after it. What a trusted proxy says of the origin is among them: a
/// client that names it there would otherwise be taken for that proxy.
fn is_kept(name: &HeaderName) -> bool {
    [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE, TE, EXPECT, CONTENT_TYPE, FORWARDED].contains(name)
        || is_about_origin(name.as_str())
}

fn tokens(line: &HeaderValue) -> impl Iterator<Item = &str> {
    line.to_str().unwrap_or_default().split(',').map(str::trim).filter(|token| !token.is_empty())
}

fn has_token(line: &HeaderValue, wanted: &str) -> bool {
    tokens(line)
        .any(|token| token.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(wanted)))
}

/// Another version of HTTP is for this hop alone (RFC 9110 §7.8): handed on, it would be a way around the gateway.
fn is_foreign_protocol(protocols: &HeaderValue) -> bool {
    protocols.to_str().is_ok_and(|_| {
        tokens(protocols).all(|protocol| {
            let name = protocol.split('/').next().unwrap_or_default();
            !["h2c", "h2", "http", "tls"].iter().any(|own| name.eq_ignore_ascii_case(own))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn what_connection_names_is_dropped_but_not_what_makes_the_request() {
        let mut request = headers(&[
            ("host", "a"),
            ("content-length", "3"),
            ("connection", "close, X-Secret"),
            ("connection", "host, content-length"),
            ("x-secret", "1"),
            ("x-hop", "1"),
            ("keep-alive", "5"),
            ("proxy-connection", "keep-alive"),
            ("proxy-authorization", "Basic x"),
            ("proxy", "http://evil"),
            ("te", "gzip"),
            ("accept", "*/*"),
        ]);
        let unreadable = HeaderValue::from_bytes(b"X-Hop, \xe9,, ").unwrap();
        request.append(CONNECTION, unreadable);
        assert_eq!(strip_request(&mut request, Version::HTTP_11), Handover::default());
        assert_eq!(request, headers(&[("host", "a"), ("content-length", "3"), ("accept", "*/*")]));
    }

    #[test]
    fn what_looks_like_the_frame_of_a_message_and_is_none_is_dropped() {
        let mut request = headers(&[
            ("content-length", "3"),
            ("content_length", "9"),
            ("content.length", "9"),
            ("transfer_encoding", "chunked"),
            ("content-lengths", "9"),
            ("content_language", "de"),
        ]);
        strip_request(&mut request, Version::HTTP_11);
        let left = [("content-length", "3"), ("content-lengths", "9"), ("content_language", "de")];
        assert_eq!(request, headers(&left));
    }

    #[test]
    fn connection_takes_away_nothing_that_is_said_of_the_origin() {
        let said = [
            ("x-forwarded-for", "203.0.113.9"),
            ("x-forwarded-proto", "https"),
            ("x-real-ip", "203.0.113.9"),
            ("forwarded", "for=203.0.113.9"),
            ("client-cert", ":AA==:"),
        ];
        let connection =
            ("connection", "X-Forwarded-For, x-forwarded-proto, x-real-ip, Forwarded, client-cert");
        let mut request = headers(&[&said[..], &[connection]].concat());
        strip_request(&mut request, Version::HTTP_11);
        assert_eq!(request, headers(&said));
    }

    #[test]
    fn an_upgrade_is_handed_over_only_to_another_protocol() {
        for (protocol, passes) in [
            ("websocket", true),
            ("h2c", false),
            ("websocket, H2C", false),
            ("HTTP/2.0", false),
            ("TLS/1.0", false),
        ] {
            let mut request = headers(&[
                ("connection", "Upgrade, HTTP2-Settings"),
                ("upgrade", protocol),
                ("http2-settings", "x"),
            ]);
            let handover = strip_request(&mut request, Version::HTTP_11);
            assert_eq!(handover.upgrade.is_some(), passes, "{protocol}");
            assert!(request.is_empty(), "{request:?}");
        }
        let mut unasked = headers(&[("upgrade", "websocket")]);
        assert_eq!(strip_request(&mut unasked, Version::HTTP_11).upgrade, None);
    }

    #[test]
    fn what_the_client_asked_of_this_hop_is_remembered() {
        let mut request = headers(&[
            ("expect", "100-Continue"),
            ("te", "trailers, deflate;q=0.5"),
            ("transfer-encoding", "chunked"),
            ("content-type", "application/grpc+proto"),
        ]);
        let handover = strip_request(&mut request, Version::HTTP_11);
        assert!(handover.expects_continue && handover.trailers && handover.grpc);
        assert_eq!(request.len(), 1);
    }

    /// One of HTTP/1.0 does not wait (RFC 9110 §10.1.1), and nobody over HTTP/2 could be told.
    #[test]
    fn only_a_client_of_http_1_1_waits_to_be_asked_for_its_body() {
        for (version, waits) in
            [(Version::HTTP_10, false), (Version::HTTP_11, true), (Version::HTTP_2, false)]
        {
            let mut request = headers(&[("expect", "100-continue")]);
            let handover = strip_request(&mut request, version);
            assert_eq!((handover.expects_continue, request.len()), (waits, 0), "{version:?}");
        }
    }

    #[test]
    fn trailers_that_would_pose_as_headers_are_dropped() {
        let mut trailers = headers(&[
            ("grpc-status", "0"),
            ("oauth-user-id", "root"),
            ("x-forwarded-for", "1.2.3.4"),
            ("x_forwarded_proto", "https"),
            ("x-real-ip", "1.2.3.4"),
            ("client-cert", ":AA==:"),
            ("client_cert_chain", ":AA==:"),
            ("content-length", "5"),
            ("content_length", "5"),
            ("transfer_encoding", "chunked"),
            ("authorization", "Bearer x"),
        ]);
        retain_harmless_trailers(&mut trailers);
        assert_eq!(trailers, headers(&[("grpc-status", "0")]));
    }

    #[test]
    fn an_answer_never_keeps_two_lengths() {
        let mut answer =
            headers(&[("transfer-encoding", "chunked"), ("content-length", "5"), ("server", "x")]);
        assert!(strip_answer(&mut answer, false));
        assert_eq!(answer, headers(&[("server", "x")]));
        for (lines, left) in [
            (&[("content-length", "5, 5"), ("server", "x")][..], Some("5")),
            (&[("content-length", "5"), ("content-length", "5")][..], Some("5")),
            (&[("content-length", "5, 6")][..], None),
            (&[("content-length", "5"), ("connection", "close"), ("content-length", "6")][..], None),
        ] {
            let mut answer = headers(lines);
            assert_eq!(strip_answer(&mut answer, false), left.is_some(), "{lines:?}");
            let kept: Vec<_> = answer.get_all(CONTENT_LENGTH).iter().collect();
            assert_eq!(kept, left.as_slice(), "{lines:?}");
        }
    }

    #[test]
    fn chunks_make_lengths_of_no_account() {
        let mut answer = headers(&[("transfer-encoding", "chunked"), ("content-length", "5, 6")]);
        assert!(strip_answer(&mut answer, false));
        assert!(answer.is_empty());
    }

    #[test]
    fn a_body_is_understood_without_its_coding_only_if_that_was_chunks() {
        for (lines, is_understood) in [
            (&[("server", "x")][..], true),
            (&[("connection", "close")][..], true),
            (&[("transfer-encoding", "Chunked")][..], true),
            (&[("transfer-encoding", "gzip")][..], false),
            (&[("transfer-encoding", "gzip, chunked")][..], false),
            (&[("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")][..], false),
            (&[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")][..], false),
        ] {
            assert_eq!(strip_answer(&mut headers(lines), false), is_understood, "{lines:?}");
        }
    }
}
