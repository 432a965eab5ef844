//! How long an answer may be kept, by a cache of its own (RFC 9111 §4.2, §5.2.2).

use std::time::Duration;

use http::HeaderMap;
use http::header::{AGE, CACHE_CONTROL};

/// What `Cache-Control` says, less the `Age` of the answer. Zero for `no-store` and `no-cache`; of several `max-age`
/// the shortest; one that is no number counts as zero. `None`: it says nothing.
pub(super) fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all(CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    let directives = lines.flat_map(|line| line.split(',')).map(str::trim);
    let fresh_for = directives.filter_map(freshness_of).min()?;
    let age = headers.get(AGE).and_then(|age| age.to_str().ok()?.trim().parse().ok()).unwrap_or(0);
    Some(Duration::from_secs(fresh_for.saturating_sub(age)))
}

fn freshness_of(directive: &str) -> Option<u64> {
    let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
    match name.trim().to_ascii_lowercase().as_str() {
        "no-store" | "no-cache" => Some(0),
        "max-age" => Some(value.trim().trim_matches('"').parse().unwrap_or(0)),
        _ => None,
    }
}
