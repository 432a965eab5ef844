//! Host and path of a request, and whether its head can be read in one way only.

use std::sync::Arc;

use http::header::HOST;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use sluice_net::{has_too_many_lines, is_chunked_at_most};

use super::host::{Host, LastHost};
use super::length::normalise_length;

/// Why a request goes nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// More lines of headers than a request may have.
    #[error("the request has too many header lines")]
    Lines,
    /// No `Host`, more than one, or one that is no host (RFC 9112 §3.2).
    #[error("the request needs exactly one valid host")]
    Host,
    /// The target has a form that no request to an origin has (RFC 9112 §3.2).
    #[error("the request target cannot be used")]
    Target,
    /// A length that is none, or several that differ (RFC 9110 §8.6).
    #[error("the content length cannot be used")]
    Length,
    /// A transfer coding other than `chunked` (RFC 9112 §6.1).
    #[error("the transfer coding is not known")]
    TransferCoding,
    /// `CONNECT`: this is no forward proxy.
    #[error("CONNECT is not served")]
    Connect,
    /// `TRACE`: its answer would show the client what the gateway added (RFC 9110 §9.3.8).
    #[error("TRACE is not served")]
    Trace,
    /// The certificate in a trusted proxy's header cannot be read.
    #[error("the forwarded client certificate cannot be read")]
    Certificate,
    /// Plain http, where TLS is spoken, and not from a proxy that ended it.
    #[error("this port is reached over TLS only")]
    PlainHttp,
}

impl Malformed {
    /// What the client is answered.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Target | Self::Length | Self::Certificate => StatusCode::BAD_REQUEST,
            Self::TransferCoding | Self::Connect | Self::Trace => StatusCode::NOT_IMPLEMENTED,
            Self::PlainHttp => StatusCode::BAD_GATEWAY,
            Self::Lines => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        }
    }

    /// The label of it in metrics and the access log.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Lines => "too_many_header_lines",
            Self::Host => "bad_host",
            Self::Target => "bad_target",
            Self::Length => "bad_length",
            Self::TransferCoding => "bad_transfer_coding",
            Self::Connect => "connect_method",
            Self::Trace => "trace_method",
            Self::Certificate => "bad_certificate_header",
            Self::PlainHttp => "plain_http",
        }
    }
}

/// The host that a request is for, which may be the `last` of its connection; afterwards `Host` says the same, and the URI is path and query alone. The path is left as
/// it came, byte for byte.
///
/// hyper has refused by then what is no HTTP: folded lines, white space around names, lengths that differ, chunks that are
/// none. Of `Transfer-Encoding` beside `Content-Length` it has dropped the latter, and closes the connection after the
/// answer (RFC 9112 §6.1).
///
/// # Errors
/// [`Malformed`]: it could be read in more than one way, or not at all.
pub(in crate::proxy) fn read_target(parts: &mut Parts, last: &LastHost) -> Result<Arc<Host>, Malformed> {
    if has_too_many_lines(&parts.headers) {
        return Err(Malformed::Lines);
    }
    if parts.version >= Version::HTTP_2 {
        trim_values(&mut parts.headers);
    }
    match parts.method {
        Method::CONNECT => return Err(Malformed::Connect),
        Method::TRACE => return Err(Malformed::Trace),
        _ => {}
    }
    check_transfer_coding(&parts.headers)?;
    normalise_length(&mut parts.headers)?;
    let host = host(parts, last)?;
    if parts.uri.authority().is_some() {
        let path = parts.uri.path_and_query().cloned().ok_or(Malformed::Target)?;
        parts.uri = Uri::from(if parts.version < Version::HTTP_2 { with_slash(path)? } else { path });
        parts.headers.insert(HOST, host.value.clone());
    }
    let is_asterisk = parts.uri.path() == "*" && parts.method == Method::OPTIONS;
    // `path()` calls an empty one `/`, too.
    let has_path = parts.uri.path_and_query().is_some_and(|target| target.as_str().starts_with('/'));
    if has_path || is_asterisk { Ok(host) } else { Err(Malformed::Target) }
}

/// The empty path, which an absolute target may have before its query, as `/` (RFC 9110 §4.2.3). HTTP/2 knows no such path (RFC 9113
/// §8.3.1).
fn with_slash(target: PathAndQuery) -> Result<PathAndQuery, Malformed> {
    if !target.as_str().starts_with('?') {
        return Ok(target);
    }
    PathAndQuery::try_from(format!("/{}", target.as_str())).map_err(|_| Malformed::Target)
}

/// Takes blanks from the edges of values, where HTTP/1.1 has them around a value. Over HTTP/2 they are part of it and must not go on (RFC 9113
/// §8.2.1), but clients send them, and some servers end the connection over one: what is judged here is then what others read.
pub(in crate::proxy) fn trim_values(headers: &mut HeaderMap) {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    for value in headers.values_mut() {
        let bytes = value.as_bytes();
        if (is_blank(bytes.first()) || is_blank(bytes.last()))
            && let Ok(mut trimmed) = HeaderValue::from_bytes(bytes.trim_ascii())
        {
            trimmed.set_sensitive(value.is_sensitive());
            *value = trimmed;
        }
    }
}

fn check_transfer_coding(headers: &HeaderMap) -> Result<(), Malformed> {
    if is_chunked_at_most(headers) { Ok(()) } else { Err(Malformed::TransferCoding) }
}

fn host(parts: &Parts, last: &LastHost) -> Result<Arc<Host>, Malformed> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let (named, further) = (hosts.next(), hosts.next());
    if further.is_some() {
        return Err(Malformed::Host);
    }
    let found = match (parts.uri.authority(), named) {
        (Some(authority), named) => {
            check_form(parts)?;
            let differs = named
                .is_some_and(|named| !named.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes()));
            if differs && parts.version >= Version::HTTP_2 {
                return Err(Malformed::Host);
            }
            last.read(&HeaderValue::from_str(authority.as_str()).map_err(|_| Malformed::Host)?)
        }
        (None, Some(named)) => last.read(named),
        (None, None) if parts.version < Version::HTTP_11 => Some(Host::unnamed()),
        (None, None) => None,
    };
    found.ok_or(Malformed::Host)
}

/// A host in the target is there in absolute form (`http://host/path`), never alone.
fn check_form(parts: &Parts) -> Result<(), Malformed> {
    match parts.uri.scheme_str() {
        Some("http" | "https") => Ok(()),
        _ => Err(Malformed::Target),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use http::header::{CONTENT_LENGTH, COOKIE, TRANSFER_ENCODING};
    use http::uri::Authority;
    use sluice_net::MAX_HEADER_LINES;

    use super::*;

    fn read(request: http::request::Builder) -> Result<(String, String), Malformed> {
        let mut parts = request.body(()).unwrap().into_parts().0;
        let host = read_target(&mut parts, &LastHost::default())?;
        assert!(parts.headers.get(HOST).is_none_or(|said| said == host.value && *said == *host.text));
        Ok((host.text.to_string(), parts.uri.to_string()))
    }

    #[test]
    fn the_host_of_an_absolute_target_wins_over_the_header() {
        let request = Request::get("http://one.example/a?b").header(HOST, "two.example");
        assert_eq!(read(request), Ok(("one.example".to_owned(), "/a?b".to_owned())));
    }

    #[test]
    fn a_head_of_too_many_lines_is_refused_whatever_it_says() {
        let request = |lines| {
            let request = Request::get("/").header(HOST, "a");
            (1..lines).fold(request, |request, _| request.header(COOKIE, "a=1"))
        };
        assert!(read(request(MAX_HEADER_LINES)).is_ok());
        assert_eq!(read(request(MAX_HEADER_LINES + 1)), Err(Malformed::Lines));
        assert_eq!(read(request(MAX_HEADER_LINES + 1).method("CONNECT")), Err(Malformed::Lines));
    }

    #[test]
    fn over_http_2_two_hosts_that_differ_are_refused() {
        let request = || Request::get("https://one.example/").version(Version::HTTP_2);
        assert_eq!(read(request().header(HOST, "two.example")), Err(Malformed::Host));
        assert_eq!(
            read(request().header(HOST, "One.Example")),
            Ok(("one.example".to_owned(), "/".to_owned()))
        );
        assert_eq!(read(request()), Ok(("one.example".to_owned(), "/".to_owned())));
    }

    #[test]
    fn a_host_that_is_missing_repeated_or_none_is_refused() {
        assert_eq!(read(Request::get("/")), Err(Malformed::Host));
        assert_eq!(read(Request::get("/").header(HOST, "a").header(HOST, "a")), Err(Malformed::Host));
        for host in ["", "a b", "user@a", "a/b", "a,b", "a\\b", "a?b", "a#b", "a%00", "ä", "a\t", "a:\u{660}"]
        {
            assert_eq!(read(Request::get("/").header(HOST, host)), Err(Malformed::Host), "{host}");
        }
        assert!(read(Request::get("/").version(Version::HTTP_10)).is_ok());
    }

    #[test]
    fn a_host_is_an_authority_with_one_port_at_most() {
        for host in ["a:1:2", "a::", ":80", "a:x", "a:+1", "a:65536", "a[", "]a", "a[::1]", "::1"] {
            assert_eq!(read(Request::get("/").header(HOST, host)), Err(Malformed::Host), "{host}");
        }
        for host in [".", "..", "a..", "a...", ".a", "a..b", "a..:80", "..."] {
            assert_eq!(read(Request::get("/").header(HOST, host)), Err(Malformed::Host), "{host}");
        }
        for host in ["[::1", "[::1]a", "[::1]80", "[::1]:x", "[a]", "[]", "[[::1]]"] {
            assert_eq!(read(Request::get("/").header(HOST, host)), Err(Malformed::Host), "{host}");
        }
        for host in ["a", "a_b.c~d-e.", "a:", "a:080", "10.0.0.1:65535", "[::1]", "[2001:DB8::1]:443"] {
            assert_eq!(read(Request::get("/").header(HOST, host)), Ok((host.to_owned(), "/".to_owned())));
            assert!(Authority::try_from(host).is_ok(), "{host}");
        }
    }

    #[test]
    fn transfer_codings_other_than_chunked_are_refused() {
        for codings in [&["gzip, chunked"][..], &["chunked", "chunked"], &["identity"], &["chunked, chunked"]]
        {
            let request = codings.iter().fold(Request::post("/").header(HOST, "a"), |request, coding| {
                request.header(TRANSFER_ENCODING, *coding)
            });
            assert_eq!(read(request), Err(Malformed::TransferCoding), "{codings:?}");
        }
        assert!(read(Request::post("/").header(HOST, "a").header(TRANSFER_ENCODING, "Chunked")).is_ok());
    }

    #[test]
    fn targets_of_other_forms_are_refused() {
        assert_eq!(read(Request::connect("a:443").header(HOST, "a:443")), Err(Malformed::Connect));
        assert_eq!(read(Request::trace("/").header(HOST, "a")), Err(Malformed::Trace));
        assert_eq!(read(Request::get("a:443").header(HOST, "a:443")), Err(Malformed::Target));
        assert_eq!(read(Request::get("ftp://a/").header(HOST, "a")), Err(Malformed::Target));
        assert_eq!(read(Request::get("*").header(HOST, "a")), Err(Malformed::Target));
        assert!(read(Request::options("*").header(HOST, "a")).is_ok());
    }

    #[test]
    fn an_empty_path_before_a_query_is_a_slash_but_over_http_2_it_is_none() {
        let target = |uri: Uri, version| -> Result<String, Malformed> {
            let request = Request::get(uri).version(version).header(HOST, "a");
            let mut parts = request.body(()).unwrap().into_parts().0;
            read_target(&mut parts, &LastHost::default())?;
            Ok(parts.uri.path_and_query().unwrap().as_str().to_owned())
        };
        let absolute = || Uri::from_static("http://a?x=1");
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert_eq!(target(absolute(), version), Ok("/?x=1".to_owned()));
        }
        let alone = Uri::from(PathAndQuery::from_static("?x=1"));
        for uri in [absolute(), alone] {
            assert_eq!(target(uri, Version::HTTP_2), Err(Malformed::Target));
        }
        assert_eq!(target(Uri::from_static("http://a"), Version::HTTP_2), Ok("/".to_owned()));
    }

    /// The lengths that are left of `lengths`.
    fn lengths(lengths: &[&str], coding: Option<&str>) -> Result<Vec<String>, Malformed> {
        let post = Request::post("/").header(HOST, "a");
        let request = lengths.iter().fold(post, |request, length| request.header(CONTENT_LENGTH, *length));
        let request =
            coding.into_iter().fold(request, |request, coding| request.header(TRANSFER_ENCODING, coding));
        let mut parts = request.body(()).unwrap().into_parts().0;
        read_target(&mut parts, &LastHost::default())?;
        let left = parts.headers.get_all(CONTENT_LENGTH).iter();
        Ok(left.map(|length| length.to_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn one_length_is_left_without_leading_zeros_and_none_beside_chunks() {
        assert_eq!(lengths(&["010"], None), Ok(vec!["10".to_owned()]));
        assert_eq!(lengths(&["5", "05", "5"], None), Ok(vec!["5".to_owned()]));
        assert_eq!(lengths(&["0"], None), Ok(vec!["0".to_owned()]));
        assert_eq!(lengths(&["5"], Some("chunked")), Ok(vec![]));
        for bad in [&["5", "6"][..], &["+5"], &["5,5"], &[""], &["5 "], &["0x5"], &["99999999999999999999"]] {
            assert_eq!(lengths(bad, None), Err(Malformed::Length), "{bad:?}");
        }
    }
}
