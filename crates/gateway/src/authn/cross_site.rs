//! Requests that a page of another site has a browser make, with the cookie that a token is in (RFC 6265 §8.2).
//!
//! A browser says in `Origin` which page asks: with each request by another method than `GET` and `HEAD`, and with each handshake of a
//! WebSocket (Fetch §3.2, RFC 6455 §4.1). What says nothing comes from no browser of today.

use http::header::{ORIGIN, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{HeaderValue, Method};

use super::asked::Asked;
use super::extract;
use crate::route::RoutePolicy;

/// Whether a request, which has a token, does something by a cookie for a page that may not.
pub(crate) fn is_refused(policy: &RoutePolicy, asked: &Asked<'_>) -> bool {
    policy.sources.cookie.is_some()
        && does_something(asked)
        && asked.headers.get_all(ORIGIN).iter().any(|origin| !may_ask(policy, asked, origin))
        && extract::is_in_cookie(asked.headers, &policy.sources)
}

/// Some proxies that ask about a request leave its `Upgrade` out.
fn does_something(asked: &Asked<'_>) -> bool {
    !matches!(*asked.method, Method::GET | Method::HEAD | Method::OPTIONS)
        || asked.headers.contains_key(UPGRADE)
        || asked.headers.contains_key(SEC_WEBSOCKET_KEY)
}

fn may_ask(policy: &RoutePolicy, asked: &Asked<'_>, origin: &HeaderValue) -> bool {
    let mut listed = policy.sources.origins.iter().chain(&policy.cors_credentials);
    is_own(asked, origin) || listed.any(|known| known == origin)
}

/// Whether the page is of the host that is asked for. A page over https may be of a host to which the request came without: TLS ended at a
/// proxy that nobody named. Never the other way round: what comes over plain http anybody on the way may have written.
fn is_own(asked: &Asked<'_>, origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let (host, port) = if let Some(host) = origin.strip_prefix("https://") {
        (host, ":443")
    } else if let Some(host) = origin.strip_prefix("http://").filter(|_| !asked.https) {
        (host, ":80")
    } else {
        return false;
    };
    // Browsers leave the port of the scheme out; proxies may add it.
    let bare = asked.host.strip_suffix(port).unwrap_or(asked.host);
    !host.is_empty() && host.eq_ignore_ascii_case(bare)
}
