//! Pages of other origins, and what they may read of the gateway's own answers (CORS: Fetch §3.2).
//!
//! What an application answers is its own affair. But a page that may not read a refusal cannot tell it from a broken network, and never
//! learns the nonce that its next DPoP proof needs (RFC 9449 §8).

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ORIGIN,
};
use http::{HeaderMap, HeaderValue};

use crate::gateway::Admitted;
use crate::route::{Preflight, RoutePolicy};

/// Pages of all origins; browsers do not take it for requests with cookies.
const ANY: HeaderValue = HeaderValue::from_static("*");
/// What else of an answer pages may read.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("WWW-Authenticate, DPoP-Nonce, Retry-After, RateLimit, RateLimit-Policy");

/// A page that asks, and may read what the gateway itself answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// Of any origin.
    Any,
    /// Of the origin with this number in [`RoutePolicy::cors_credentials`].
    Named(usize),
}

impl Page {
    /// The page that a request with these headers is of: on routes to which pages of other origins come.
    pub(crate) fn of(policy: &RoutePolicy, headers: &HeaderMap) -> Option<Self> {
        if policy.preflight != Preflight::Pass {
            return None;
        }
        let origin = headers.get(ORIGIN)?;
        let named = policy.cors_credentials.iter().position(|known| known == origin);
        Some(named.map_or(Self::Any, Self::Named))
    }
}

/// Lets the page that asked read an answer of the gateway's own. The origin is told as it is configured.
pub(crate) fn open(admitted: &Admitted, answer: &mut HeaderMap) {
    let Some(page) = admitted.page else { return };
    let named = match page {
        Page::Any => None,
        Page::Named(number) => {
            admitted.route.as_ref().and_then(|route| route.policy.cors_credentials.get(number))
        }
    };
    answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, named.cloned().unwrap_or(ANY));
    if named.is_some() {
        answer.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
}
