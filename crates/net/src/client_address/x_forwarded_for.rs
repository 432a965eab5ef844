//! `X-Forwarded-For`: addresses between commas, the nearest last. No standard, but everybody's.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};

use super::parse_node;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The addresses, nearest first; `None` for what is none. Nothing if there is no such header.
pub(super) fn hops(headers: &HeaderMap) -> Option<impl Iterator<Item = Option<IpAddr>>> {
    let lines = headers.get_all(X_FORWARDED_FOR);
    headers
        .contains_key(X_FORWARDED_FOR)
        .then(|| lines.iter().rev().flat_map(|line| hops_of_line(line.as_bytes())))
}

/// A line that is not ASCII is one entry that is no address.
fn hops_of_line(line: &[u8]) -> impl Iterator<Item = Option<IpAddr>> {
    let text = str::from_utf8(line).unwrap_or("?");
    text.rsplit(',').map(|entry| parse_node(entry.trim_matches([' ', '\t'])))
}
