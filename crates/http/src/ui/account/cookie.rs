//! The cookie of the account pages: the id of the session, sealed.

use axum::http::header::{COOKIE, HeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName};
use cookie::{Cookie, SameSite};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Lifetime, Rng, SessionId};

/// The longest that browsers keep a cookie, in seconds (RFC 6265bis §5.5).
const MAX_AGE: i64 = 400 * 24 * 3600;

/// A cookie that opens.
#[derive(Clone)]
pub(super) struct AccountCookie {
    pub(super) session: SessionId,
    /// As the browser holds it: what its forms are bound to.
    pub(super) value: String,
}

impl AccountCookie {
    /// A cookie for a session.
    pub(super) fn new(session: SessionId, sealer: &Sealer, rng: &dyn Rng) -> Self {
        Self { session, value: sealer.seal(Purpose::AccountCookie, session.as_bytes(), rng) }
    }

    /// The browser's cookie, if it presents one of ours.
    pub(super) fn of(headers: &HeaderMap, secure: bool, sealer: &Sealer) -> Option<Self> {
        let texts = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
        let mut cookies = texts.flat_map(Cookie::split_parse).flatten();
        let cookie = cookies.find(|cookie| cookie.name() == name(secure))?;
        let bytes = sealer.open(Purpose::AccountCookie, cookie.value()).ok()?;
        let session = SessionId::from_bytes(bytes.try_into().ok()?);
        Some(Self { session, value: cookie.value().to_owned() })
    }

    /// The header that sets it. When the session ends is written in its row.
    pub(super) fn set(&self, secure: bool, keep: Lifetime) -> Option<(HeaderName, HeaderValue)> {
        header(secure, &self.value, keep.as_secs().min(MAX_AGE))
    }
}

/// The header that removes the cookie.
pub(super) fn removal(secure: bool) -> Option<(HeaderName, HeaderValue)> {
    header(secure, "", 0)
}

/// With `__Host-` no other host can set it (RFC 6265bis §4.1.3.2); without TLS, which only `--dev` allows, that is not
/// possible.
const fn name(secure: bool) -> &'static str {
    if secure { "__Host-sluice_account" } else { "sluice_account" }
}

fn header(secure: bool, value: &str, seconds: i64) -> Option<(HeaderName, HeaderValue)> {
    let cookie = Cookie::build((name(secure), value))
        .path("/")
        .http_only(true)
        .secure(secure)
        .same_site(SameSite::Lax)
        .max_age(cookie::time::Duration::seconds(seconds));
    Some((SET_COOKIE, HeaderValue::from_str(&cookie.build().to_string()).ok()?))
}
