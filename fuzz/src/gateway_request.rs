//! The head of a request to the gateway: `METHOD target VERSION`, then headers, a line each.

use std::path::Path;
use std::sync::OnceLock;

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Request, Version};
use sluice_gateway::proxy::prepare;
use sluice_gateway::route::{RouteTable, file};

const ROUTES: &str = "
upstreams:
  backend: {servers: [http://127.0.0.1:9]}
routes:
  - {name: guarded, match: {prefix: /admin/}, upstream: backend, rewrite_prefix: /inner/}
  - {name: open, match: {prefix: /}, upstream: backend, auth: none}
";

/// What ends the path for some servers.
const ENDS: [&[u8]; 5] = [b"", b";", b"?", b"#", b";?#"];

/// Reads the head as the gateway does. What goes on can be read in one way only, and no spelling of a guarded path leads to
/// the open route.
pub fn run(input: &[u8]) {
    let Some(mut parts) = head(input) else { return };
    let Ok(host) = prepare(&mut parts) else { return };
    for gone in [CONNECTION, TRANSFER_ENCODING, TE, UPGRADE, EXPECT] {
        assert!(!parts.headers.contains_key(&gone), "{gone} goes on");
    }
    assert!(parts.headers.get_all(CONTENT_LENGTH).iter().count() <= 1);
    assert!(parts.headers.get_all(HOST).iter().all(|said| *said == host));
    assert!(parts.uri.authority().is_none());
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let mut values = parts.headers.values().map(HeaderValue::as_bytes);
    assert!(
        !values.any(|value| is_blank(value.first()) || is_blank(value.last())),
        "a blank at an edge goes on"
    );
    let path = parts.uri.path();
    let host = host.to_str().expect("a host is text");
    if let Ok(route) = table().find(&parts.method, host, path) {
        let target = route.upstream_path(path);
        assert!(target.starts_with('/') && PathAndQuery::try_from(&*target).is_ok(), "{target}");
        assert!(&*route.name == "guarded" || !is_guarded(path), "{path} is open");
    }
    let (uri, headers) = (parts.uri.clone(), parts.headers.clone());
    assert!(prepare(&mut parts).is_ok() && parts.uri == uri && parts.headers == headers, "twice is not once");
}

fn table() -> &'static RouteTable {
    static TABLE: OnceLock<RouteTable> = OnceLock::new();
    TABLE.get_or_init(|| file::read(ROUTES, Path::new(".")).expect("the routes are right").table)
}

fn head(input: &[u8]) -> Option<Parts> {
    let mut lines = input.split(|byte| *byte == b'\n');
    let mut first = lines.next()?.splitn(3, |byte| *byte == b' ');
    let (method, target) = (first.next()?, first.next()?);
    let version = match first.next()? {
        b"0" => Version::HTTP_10,
        b"2" => Version::HTTP_2,
        _ => Version::HTTP_11,
    };
    let mut request = Request::builder().method(method).uri(target).version(version);
    for line in lines {
        let at = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(line.get(..at)?).ok()?;
        let value = line.get(at + 1..)?;
        let value = if version == Version::HTTP_2 { value } else { value.trim_ascii() };
        request = request.header(name, HeaderValue::from_bytes(value).ok()?);
    }
    Some(request.body(()).ok()?.into_parts().0)
}

/// Whether some server finds the guarded path: one that unescapes it up to three times, takes what follows `//` for a host or does not, ends it
/// at one of some characters, merges slashes, cuts parameters off and resolves dots.
fn is_guarded(path: &str) -> bool {
    let once = unescape(path.as_bytes());
    let twice = unescape(&once);
    let thrice = unescape(&twice);
    let whole = [&*once, &*twice, &*thrice];
    let paths = whole.into_iter().flat_map(|path| [path, behind_host(path)]);
    let ended = |path| ENDS.into_iter().map(move |ends| cut(path, ends));
    paths.flat_map(ended).any(|path| first_segment(path) == Some(b"admin"))
}

/// The path as who takes what follows `//` for a host finds it.
fn behind_host(path: &[u8]) -> &[u8] {
    let Some(mut host) = path.strip_prefix(b"//") else { return path };
    while let Some(after) = host.strip_prefix(b"/") {
        host = after;
    }
    host.iter().position(|byte| *byte == b'/').and_then(|at| host.get(at..)).unwrap_or_default()
}

/// What comes before the first of these bytes.
fn cut<'a>(text: &'a [u8], ends: &[u8]) -> &'a [u8] {
    text.split(|byte| ends.contains(byte)).next().unwrap_or_default()
}

/// The first name of a path whose slashes are merged, without parameters and dots.
fn first_segment(path: &[u8]) -> Option<&[u8]> {
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| matches!(byte, b'/' | b'\\')) {
        match cut(segment, b";") {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    segments.first().copied()
}

fn unescape(text: &[u8]) -> Vec<u8> {
    let mut unescaped = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
        unescaped.push(escaped.unwrap_or(*first));
    }
    unescaped
}
