//! Where the token of a request is: in a header (RFC 6750 §2.1), or a cookie. Never in a query or a body, which are logged, kept and
//! sent on.
//!
//! Nothing is allocated. Credentials of another scheme (`Basic`) are no token.

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderValue};

use super::verdict::Refusal;
use crate::route::TokenSources;

/// How a token was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `Bearer` (RFC 6750 §2.1), or a header or cookie of its own.
    Bearer,
    /// `DPoP` (RFC 9449 §7.1).
    Dpop,
}

/// The token of a request, as it was presented.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Presented<'a> {
    /// The token.
    pub token: &'a str,
    /// How.
    pub scheme: Scheme,
}

/// There is a token, or what may be one, that is not to be used.
struct Unreadable;

/// The token of a request; none if there is none.
///
/// # Errors
/// [`Refusal::TokenUnreadable`] if there is more than one, or one that cannot be read.
pub fn token<'a>(headers: &'a HeaderMap, sources: &TokenSources) -> Result<Option<Presented<'a>>, Refusal> {
    find(headers, sources).map_err(|Unreadable| Refusal::TokenUnreadable)
}

fn find<'a>(headers: &'a HeaderMap, sources: &TokenSources) -> Result<Option<Presented<'a>>, Unreadable> {
    let mut found = if sources.authorization { in_authorization(headers)? } else { None };
    if let Some(name) = &sources.header {
        let own = only(headers.get_all(name).iter())?.map(in_own_header).transpose()?;
        found = at_most_one(found, own)?;
    }
    if let Some(name) = &sources.cookie {
        found = at_most_one(found, in_cookie(headers, name)?)?;
    }
    Ok(found)
}

fn at_most_one<'a>(
    first: Option<Presented<'a>>,
    second: Option<Presented<'a>>,
) -> Result<Option<Presented<'a>>, Unreadable> {
    if first.is_some() && second.is_some() { Err(Unreadable) } else { Ok(first.or(second)) }
}

/// The one item there is, if there is any.
fn only<T>(mut items: impl Iterator<Item = T>) -> Result<Option<T>, Unreadable> {
    let first = items.next();
    if items.next().is_some() { Err(Unreadable) } else { Ok(first) }
}

fn in_authorization(headers: &HeaderMap) -> Result<Option<Presented<'_>>, Unreadable> {
    match only(headers.get_all(AUTHORIZATION).iter())? {
        Some(value) => in_credentials(value.as_bytes()),
        None => Ok(None),
    }
}

/// `credentials = auth-scheme 1*SP token68` (RFC 9110 §11.4), of the two schemes that count.
///
/// What stands before it an upstream may take away, such as a blank that is none to HTTP (U+00A0): a token behind that is one, and unreadable.
fn in_credentials(given: &[u8]) -> Result<Option<Presented<'_>>, Unreadable> {
    let start = given.iter().position(|byte| is_tchar(*byte)).unwrap_or(given.len());
    let value = given.get(start..).unwrap_or_default();
    let end = value.iter().position(|byte| !is_tchar(*byte)).unwrap_or(value.len());
    let (name, rest) = value.split_at_checked(end).unwrap_or((value, &[]));
    let scheme = if name.eq_ignore_ascii_case(b"Bearer") {
        Scheme::Bearer
    } else if name.eq_ignore_ascii_case(b"DPoP") {
        Scheme::Dpop
    } else {
        return Ok(None);
    };
    let token = rest.trim_ascii_start();
    let spaces = rest.get(..rest.len() - token.len()).unwrap_or_default();
    if value.len() != given.len() || spaces.is_empty() || spaces.iter().any(|byte| *byte != b' ') {
        return Err(Unreadable);
    }
    Ok(Some(Presented { token: token68(token)?, scheme }))
}

/// Whether the token of a request that has one is in a cookie: what a browser adds of itself, whichever page asks.
pub(crate) fn is_in_cookie(headers: &HeaderMap, sources: &TokenSources) -> bool {
    sources.cookie.as_ref().is_some_and(|name| matches!(in_cookie(headers, name), Ok(Some(_))))
}

/// Whether credentials are of a scheme that carries a token, readable or not.
pub(crate) fn is_of_token(credentials: &HeaderValue) -> bool {
    !matches!(in_credentials(credentials.as_bytes()), Ok(None))
}

fn in_own_header(value: &HeaderValue) -> Result<Presented<'_>, Unreadable> {
    Ok(Presented { token: token68(value.as_bytes())?, scheme: Scheme::Bearer })
}

/// The cookie of this name (RFC 6265 §4.2.1), quoted or not. One without a value is what remains of a deleted one: none.
fn in_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<Presented<'a>>, Unreadable> {
    let pairs = headers.get_all(COOKIE).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
    let named = pairs.filter_map(|pair| value_of(pair, name)).filter(|value| !value.is_empty());
    let Some(value) = only(named)? else { return Ok(None) };
    Ok(Some(Presented { token: token68(value)?, scheme: Scheme::Bearer }))
}

/// The value of a cookie pair, if it is the cookie of this name.
pub(crate) fn value_of<'a>(pair: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let value =
        pair.trim_ascii_start().strip_prefix(name.as_bytes())?.trim_ascii_start().strip_prefix(b"=")?;
    let value = value.trim_ascii();
    let inside = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    Some(inside.unwrap_or(value))
}

/// `token68 = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="` (RFC 9110 §11.2).
fn token68(bytes: &[u8]) -> Result<&str, Unreadable> {
    let end = bytes.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let body = bytes.get(..end).unwrap_or_default();
    // All of it is looked at: without a way out, many signs are at once.
    let others = body.iter().fold(0_u8, |others, byte| others | u8::from(!is_token68(*byte)));
    if body.is_empty() || others != 0 {
        return Err(Unreadable);
    }
    str::from_utf8(bytes).map_err(|_| Unreadable)
}

/// Whether a text has the form of a token.
pub(crate) fn is_token(text: &str) -> bool {
    token68(text.as_bytes()).is_ok()
}

/// One sign of a token. `-`, `.`, `/` and the digits are neighbours, and a letter differs from its capital in one bit.
const fn is_token68(byte: u8) -> bool {
    let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let is_digit_or_near = byte.wrapping_sub(b'-') <= b'9' - b'-';
    is_letter || is_digit_or_near || byte == b'_' || byte == b'~' || byte == b'+'
}

/// What a scheme's name is made of (RFC 9110 §5.6.2).
const fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

#[cfg(test)]
mod tests;
