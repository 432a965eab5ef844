//! `X-Forwarded-For`: addresses between commas, the nearest last. No standard, but everybody's.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};

use super::parse_node;

pub(super) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The addresses, nearest first; `None` for what is none. Nothing if there is no such header.
pub(super) fn hops(headers: &HeaderMap) -> Option<impl Iterator<Item = Option<IpAddr>>> {
    let lines = headers.get_all(X_FORWARDED_FOR);
    headers
        .contains_key(X_FORWARDED_FOR)
        .then(|| lines.iter().rev().flat_map(|line| hops_of_line(line.as_bytes())))
}

/// What is no text in one entry says nothing about those that proxies wrote after it.
fn hops_of_line(line: &[u8]) -> impl Iterator<Item = Option<IpAddr>> {
    let entries = line.rsplit(|byte| *byte == b',');
    entries.map(|entry| parse_node(str::from_utf8(entry).ok()?.trim_matches([' ', '\t'])))
}
