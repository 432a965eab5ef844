//! `Forwarded` (RFC 7239): elements between commas, the nearest last, each of `name=value` pairs between semicolons.

use std::net::IpAddr;

use http::header::FORWARDED;
use http::{HeaderMap, HeaderValue};

use super::parse_node;
use crate::quoted_list::split_unquoted;

/// An element that says nothing (RFC 7239 §6.2): those behind it keep their places.
const UNKNOWN: &str = "for=unknown";

/// The `for` of each element, nearest last; `None` where it is missing, hidden or malformed. Nothing if there is no
/// such header. A line that breaks the grammar is one element whose `for` is unknown.
pub(super) fn hops(headers: &HeaderMap) -> Option<Vec<Option<IpAddr>>> {
    if !headers.contains_key(FORWARDED) {
        return None;
    }
    let lines = headers.get_all(FORWARDED).iter();
    let hops = lines.flat_map(|line| {
        let text = str::from_utf8(line.as_bytes()).ok();
        text.and_then(hops_of_line).unwrap_or_else(|| vec![None])
    });
    Some(hops.collect())
}

/// The scheme by which the proxy before this server was asked, as that says: `proto` of the last element. `None`: it does not say, or
/// the line breaks the grammar.
pub fn forwarded_proto(headers: &HeaderMap) -> Option<&str> {
    let line = headers.get_all(FORWARDED).iter().next_back()?;
    let nearest = split_unquoted(str::from_utf8(line.as_bytes()).ok()?, b',')?.pop()?;
    value_of(nearest, "proto").flatten()
}

/// A line without what it says, or may be read to say, about hosts: whoever ignores the grammar finds none in it either. `None`: it
/// says nothing about any.
pub fn forwarded_without_hosts(line: &HeaderValue) -> Option<HeaderValue> {
    if !names_host(line.as_bytes()) {
        return None;
    }
    let text = str::from_utf8(line.as_bytes()).ok();
    let elements = text.and_then(|text| split_unquoted(text, b','));
    let kept =
        elements.and_then(|elements| elements.into_iter().map(without_host).collect::<Option<Vec<_>>>());
    let line = kept.and_then(|elements| HeaderValue::from_str(&elements.join(", ")).ok());
    Some(line.unwrap_or(HeaderValue::from_static(UNKNOWN)))
}

/// `None`: the element breaks the grammar.
fn without_host(element: &str) -> Option<String> {
    let pairs = split_unquoted(element, b';')?;
    let kept: Vec<&str> = pairs.into_iter().filter(|pair| !names_host(pair.as_bytes())).collect();
    Some(if kept.is_empty() { UNKNOWN.to_owned() } else { kept.join(";") })
}

fn names_host(text: &[u8]) -> bool {
    text.windows(4).any(|part| part.eq_ignore_ascii_case(b"host"))
}

/// `None`: the line breaks the grammar.
fn hops_of_line(line: &str) -> Option<Vec<Option<IpAddr>>> {
    let node = |element| value_of(element, "for").map(|node| node.and_then(parse_node));
    split_unquoted(line, b',')?.into_iter().map(node).collect()
}

/// What an element says by a name. `None`: it breaks the grammar. `Some(None)`: it says nothing.
#[expect(clippy::option_option, reason = "two different failures, told apart by the caller")]
fn value_of<'a>(element: &'a str, wanted: &str) -> Option<Option<&'a str>> {
    let mut found = None;
    for pair in split_unquoted(element, b';')? {
        let (name, value) = pair.split_once('=')?;
        if !is_token(name) {
            return None;
        }
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"')?,
            None if is_token(value) => value,
            None => return None,
        };
        if name.eq_ignore_ascii_case(wanted) && found.replace(value).is_some() {
            return None;
        }
    }
    Some(found)
}

/// RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}
