//! What a client is told about its limits: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10).

use std::fmt::Write;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;

use crate::route::{Limit, LimitBy};

/// `RateLimit-Policy`: `"subject";q=100;w=60`.
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// `RateLimit`: `"subject";r=12;t=30`.
const STANDING: HeaderName = HeaderName::from_static("ratelimit");

/// What a client is told about its limits.
#[derive(Debug, Clone)]
pub struct RateLimitHeaders {
    policy: HeaderValue,
    standings: SmallVec<[Standing; 2]>,
}

/// How a caller stands with one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) by: LimitBy,
    pub(super) remaining: u32,
    pub(super) restored_in: Duration,
}

impl RateLimitHeaders {
    pub(super) fn new(policy: &HeaderValue, standings: SmallVec<[Standing; 2]>) -> Self {
        Self { policy: policy.clone(), standings }
    }

    /// Sets both headers; an upstream's own give way.
    pub fn write(&self, headers: &mut HeaderMap) {
        let text = list(&self.standings, |text, standing| {
            let seconds = whole_seconds(standing.restored_in);
            write!(text, "{};r={};t={seconds}", name(standing.by), standing.remaining)
        });
        headers.insert(POLICY, self.policy.clone());
        headers.insert(STANDING, value(&text));
    }
}

/// The policies of a route. They never change while its rules do not.
pub(super) fn policy(limits: &[Limit]) -> HeaderValue {
    let text = list(limits, |text, limit| {
        write!(text, "{};q={};w={}", name(limit.by), limit.requests, whole_seconds(limit.period))
    });
    value(&text)
}

fn list<T>(items: &[T], mut item: impl FnMut(&mut String, &T) -> std::fmt::Result) -> String {
    let mut text = String::with_capacity(items.len() * 40);
    for one in items {
        if !text.is_empty() {
            text.push_str(", ");
        }
        let written = item(&mut text, one);
        debug_assert!(written.is_ok(), "a string takes all that is written");
    }
    text
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

/// A string of structured fields (RFC 9651 §3.3.3).
const fn name(by: LimitBy) -> &'static str {
    match by {
        LimitBy::Client => "\"client\"",
        LimitBy::Subject => "\"subject\"",
        LimitBy::Address => "\"address\"",
        LimitBy::Route => "\"route\"",
    }
}

/// Rounded up: whoever waits so long does not come too early.
const fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + if duration.subsec_nanos() > 0 { 1 } else { 0 }
}
