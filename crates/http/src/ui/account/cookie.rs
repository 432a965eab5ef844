//! The cookie of the account pages: the id of the session, and whether the browser keeps it, sealed.

use axum::http::header::{HeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName};
use cookie::{Cookie, SameSite};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Lifetime, Rng, SessionId};

use crate::cookies::presented;

/// The longest that browsers keep a cookie, in seconds (RFC 6265bis §5.5).
const MAX_AGE: i64 = 400 * 24 * 3600;
/// What follows the id of the session in a cookie that outlives the run of the browser. In any other nothing follows it.
const KEPT: u8 = 1;

/// A cookie that opens.
#[derive(Clone)]
pub(super) struct AccountCookie {
    pub(super) session: SessionId,
    /// Whether the browser keeps it when it is closed, as the person wished.
    pub(super) is_kept: bool,
    /// As the browser holds it: what its forms are bound to.
    pub(super) value: String,
}

impl AccountCookie {
    /// A cookie for a session, and whether the browser keeps it.
    pub(super) fn new((session, is_kept): (SessionId, bool), sealer: &Sealer, rng: &dyn Rng) -> Self {
        let mut bytes = session.as_bytes().to_vec();
        if is_kept {
            bytes.push(KEPT);
        }
        Self { session, is_kept, value: sealer.seal(Purpose::AccountCookie, &bytes, rng) }
    }

    /// The browser's cookie, if it presents one of ours.
    pub(super) fn of(headers: &HeaderMap, secure: bool, sealer: &Sealer) -> Option<Self> {
        let mut cookies = presented(headers);
        let cookie = cookies.find(|cookie| cookie.name() == name(secure))?;
        let bytes = sealer.open(Purpose::AccountCookie, cookie.value()).ok()?;
        let (session, mark) = bytes.split_first_chunk::<16>()?;
        let is_kept = match mark {
            [] => false,
            [KEPT] => true,
            _ => return None,
        };
        Some(Self { session: SessionId::from_bytes(*session), is_kept, value: cookie.value().to_owned() })
    }

    /// The header that sets it, for `keep` or until the browser is closed. When the session ends is written in its row.
    pub(super) fn set(&self, secure: bool, keep: Lifetime) -> Option<(HeaderName, HeaderValue)> {
        header(secure, &self.value, self.is_kept.then(|| keep.as_secs().min(MAX_AGE)))
    }
}

/// The header that removes the cookie.
pub(super) fn removal(secure: bool) -> Option<(HeaderName, HeaderValue)> {
    header(secure, "", Some(0))
}

/// With `__Host-` no other host can set it (RFC 6265bis §4.1.3.2); without TLS, which only `--dev` allows, that is not
/// possible.
const fn name(secure: bool) -> &'static str {
    if secure { "__Host-sluice_account" } else { "sluice_account" }
}

/// For so many seconds; without them until the browser is closed.
fn header(secure: bool, value: &str, seconds: Option<i64>) -> Option<(HeaderName, HeaderValue)> {
    let mut cookie = Cookie::build((name(secure), value))
        .path("/")
        .http_only(true)
        .secure(secure)
        .same_site(SameSite::Lax);
    if let Some(seconds) = seconds {
        cookie = cookie.max_age(cookie::time::Duration::seconds(seconds));
    }
    Some((SET_COOKIE, HeaderValue::from_str(&cookie.build().to_string()).ok()?))
}
