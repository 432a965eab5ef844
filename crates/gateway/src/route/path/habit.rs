//! What some programs do with a path before they look at what it is for.

use percent_encoding::percent_decode_str;

use super::{ESCAPED_SLASH, begins_with_hex};

/// What a program makes of a path without its escapes: something shorter, or nothing else.
pub(super) type Habit = fn(&str) -> Option<String>;

/// What programs are known to do.
pub(super) const HABITS: [Habit; 9] = [
    unescape_slashes,
    cut_parameters,
    cut_last_parameters,
    merge_slashes,
    cut_authority,
    unescape_again,
    end_at_semicolon,
    end_at_query,
    end_at_fragment,
];

/// What some do while the path has its escapes, so that an escaped `;` stays.
pub(super) const EARLY_HABITS: [Habit; 3] = [cut_parameters, cut_last_parameters, end_at_semicolon];

fn unescape_slashes(path: &str) -> Option<String> {
    path.contains(ESCAPED_SLASH).then(|| path.replace(ESCAPED_SLASH, "/"))
}

/// Cuts `;` and what follows off each segment (RFC 3986 §3.3), as servlets do.
fn cut_parameters(path: &str) -> Option<String> {
    if !path.contains(';') {
        return None;
    }
    let bare: Vec<&str> =
        path.split('/').map(|segment| segment.split(';').next().unwrap_or(segment)).collect();
    Some(bare.join("/"))
}

/// Cuts them off the last segment alone (RFC 1808 §2.1), as Python's `urlparse` does.
fn cut_last_parameters(path: &str) -> Option<String> {
    let (before, last) = path.split_at(path.rfind('/')?);
    last.split_once(';').map(|(bare, _)| format!("{before}{bare}"))
}

fn merge_slashes(path: &str) -> Option<String> {
    if !path.contains("//") {
        return None;
    }
    let mut merged = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter != '/' || !merged.ends_with('/') {
            merged.push(letter);
        }
    }
    Some(merged)
}

/// Takes what follows `//` at the beginning for a host (RFC 3986 §4.2), as who has the target of a request resolved as a reference: Node's
/// `new URL(target, base)`, Python's `urlsplit`, PHP's `parse_url`. Of further slashes before it URLs of the web take no notice.
fn cut_authority(path: &str) -> Option<String> {
    let authority = path.strip_prefix("//")?.trim_start_matches('/');
    Some(authority.split_once('/').map_or_else(|| "/".to_owned(), |(_, path)| format!("/{path}")))
}

/// Decodes what was decoded, of which RFC 3986 §2.4 warns.
fn unescape_again(path: &str) -> Option<String> {
    let has_escapes = path.split('%').skip(1).any(begins_with_hex);
    has_escapes.then(|| percent_decode_str(path).decode_utf8_lossy().into_owned())
}

/// Takes what follows the first `;` of all for a query, as Fastify before version 5 and Restify do.
fn end_at_semicolon(path: &str) -> Option<String> {
    before(path, ';')
}

/// Looks for the query when the path is decoded, as Apache before 2.4.60 does for PHP-FPM.
fn end_at_query(path: &str) -> Option<String> {
    before(path, '?')
}

/// Looks for a fragment then: who makes a URL of what was decoded.
fn end_at_fragment(path: &str) -> Option<String> {
    before(path, '#')
}

fn before(path: &str, end: char) -> Option<String> {
    path.split_once(end).map(|(before, _)| before.to_owned())
}
