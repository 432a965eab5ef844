//! The headers that a request goes on with: what only the gateway may say is taken away, and what it says is set.
//!
//! Whoever reads `OAuth-User-Id` believes it. So no such header of a client goes on, on any route, in any spelling that an upstream may
//! take for it: CGI and its heirs turn every `-` of a name into `_`, and `oauth_user_id` and `oauth.user.id` with it.
//!
//! Nor does a header by which an application would be asked for something else than what was judged.

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;

use super::claims::{Claims, text};
use super::value::{has_value, header_value};
use crate::authn::Caller;
use crate::authn::extract::{is_of_token, value_of};
use crate::route::{Enrichment, TokenSources};

/// Who calls: `sub`. Not set for a client that acts for itself.
pub static USER_ID: HeaderName = HeaderName::from_static("oauth-user-id");
/// What was granted, words separated by one space. Not set if nothing was.
pub static USER_SCOPE: HeaderName = HeaderName::from_static("oauth-user-scope");
/// The client that the token was issued to.
pub static CLIENT_ID: HeaderName = HeaderName::from_static("oauth-client-id");
/// Who issued the token, where that was another issuer: its subjects are not this installation's, whatever they are called.
pub static ISSUER: HeaderName = HeaderName::from_static("oauth-issuer");
/// Where the client's address is (ISO 3166-1 alpha-2).
pub static COUNTRY: HeaderName = HeaderName::from_static("oauth-country");

static DPOP: HeaderName = HeaderName::from_static("dpop");

/// To many frameworks and servers of applications the method, the path or the host of a request is what these say, or what is before its
/// path: `SCRIPT_NAME` and `PATH_INFO` to gunicorn, which believes a proxy on its own machine, `Daphne-Root-Path` to Daphne, `X-Vhm-Root`
/// to Pyramid, `X-Script-Name` to much that is written in Python. `/x/admin` is `/admin` to an application that is said to be at `/x`.
const OVERRIDES: [&str; 11] = [
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-script-name",
    "x-vhm-root",
    "x-vhm-host",
    "script_name",
    "path_info",
    "daphne-root-path",
];

/// Takes away what clients may not say: every name that begins with `OAuth-`, the names in `configured`, those that `enrichment`
/// sets, and those of another method, path or host unless it forwards them; all of them also with another sign in the place of a dash.
/// For trailers too.
pub fn strip(headers: &mut HeaderMap, configured: &[HeaderName], enrichment: Option<&Enrichment>) {
    let forwards_overrides = enrichment.is_some_and(|enrichment| enrichment.forward_overrides);
    let enrichment = enrichment.filter(|enrichment| sets_any(enrichment));
    let is_doomed = |name: &&HeaderName| {
        let name = name.as_str();
        is_reserved(name)
            || (!forwards_overrides && is_override(name))
            || configured.iter().any(|own| is_same(own.as_str(), name))
            || enrichment.is_some_and(|enrichment| is_set_by(enrichment, name))
    };
    let doomed: SmallVec<[HeaderName; 4]> = headers.keys().filter(is_doomed).cloned().collect();
    for name in doomed {
        headers.remove(name);
    }
}

/// Whether a name begins with `OAuth-`, or with what an upstream may take for it.
pub fn is_reserved(name: &str) -> bool {
    let Some((prefix, rest)) = name.as_bytes().split_first_chunk::<5>() else { return false };
    let [first, ..] = prefix;
    (first | 0x20) == b'o'
        && prefix.eq_ignore_ascii_case(b"oauth")
        && rest.first().is_some_and(|next| !next.is_ascii_alphanumeric())
}

/// Whether a name is that of a header with another method, path or host than those that were judged, or what an upstream may take for it.
pub(crate) fn is_override(name: &str) -> bool {
    // All of them begin with one of these, and few others do that requests have. Of those the length tells nearly all apart.
    let may_be =
        name.as_bytes().first().is_some_and(|first| matches!(first | 0x20, b'x' | b's' | b'p' | b'd'));
    may_be && OVERRIDES.iter().any(|known| is_same(known, name))
}

/// Whether it sets headers by names of its own.
fn sets_any(enrichment: &Enrichment) -> bool {
    !enrichment.fixed.is_empty() || !enrichment.claims.is_empty() || enrichment.phantom.is_some()
}

fn is_set_by(enrichment: &Enrichment, name: &str) -> bool {
    let fixed = enrichment.fixed.iter().map(|(header, _)| header);
    let claims = enrichment.claims.iter().map(|from| &from.header);
    let phantom = enrichment.phantom.iter().map(|phantom| &phantom.header);
    fixed.chain(claims).chain(phantom).any(|own| is_same(own.as_str(), name))
}

/// Whether two names are one to an upstream that folds signs.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    let is_sign = |byte: u8| !byte.is_ascii_alphanumeric();
    let mut pairs = left.bytes().zip(right.bytes());
    left.len() == right.len()
        && pairs.all(|(left, right)| left.eq_ignore_ascii_case(&right) || (is_sign(left) && is_sign(right)))
}

/// Takes away what carries a token, and nothing else: of cookies the one of that name; of `Authorization` the schemes that count. A proof
/// for a token that is gone goes with it.
pub(crate) fn remove_token(headers: &mut HeaderMap, sources: &TokenSources) {
    if sources.authorization && headers.get_all(AUTHORIZATION).iter().any(is_of_token) {
        headers.remove(AUTHORIZATION);
        headers.remove(&DPOP);
    }
    if let Some(name) = &sources.header {
        headers.remove(name);
    }
    if let Some(name) = &sources.cookie {
        remove_cookie(headers, name);
    }
}

/// Takes away what an upstream may take for the header of the token, and where none is looked for: its name with another sign in the place
/// of a dash.
pub(crate) fn remove_twins(headers: &mut HeaderMap, sources: &TokenSources) {
    let Some(header) = &sources.header else { return };
    let is_twin = |name: &&HeaderName| *name != header && is_same(header.as_str(), name.as_str());
    let twins: SmallVec<[HeaderName; 1]> = headers.keys().filter(is_twin).cloned().collect();
    for name in twins {
        headers.remove(name);
    }
}

fn remove_cookie(headers: &mut HeaderMap, name: &str) {
    let is_named = |pair: &&[u8]| value_of(pair, name).is_some();
    let pairs =
        |value: &HeaderValue| value.as_bytes().split(|byte| *byte == b';').any(|pair| is_named(&pair));
    if !headers.get_all(COOKIE).iter().any(pairs) {
        return;
    }
    let kept: SmallVec<[HeaderValue; 2]> =
        headers.get_all(COOKIE).iter().filter_map(|value| without(value, name)).collect();
    headers.remove(COOKIE);
    for value in kept {
        headers.append(COOKIE, value);
    }
}

/// A `Cookie` without the cookies of this name; `None` if no other is left.
fn without(value: &HeaderValue, name: &str) -> Option<HeaderValue> {
    let pairs = value.as_bytes().split(|byte| *byte == b';');
    let others = pairs.filter(|pair| value_of(pair, name).is_none()).map(<[u8]>::trim_ascii);
    let others: SmallVec<[&[u8]; 8]> = others.filter(|pair| !pair.is_empty()).collect();
    if others.is_empty() {
        return None;
    }
    HeaderValue::from_bytes(&others.join(&b"; "[..])).ok()
}

/// Says who calls.
pub(crate) fn set_identity(headers: &mut HeaderMap, caller: &Caller) {
    Identity::of(caller).set(headers);
}

/// Whether headers can say who `caller` is. An upstream that is told of no person takes a client for the caller, and one that is told of no
/// other issuer takes the subject for one of this installation: so what does not fit must not be left out.
pub(crate) fn can_tell(caller: &Caller) -> bool {
    let facts = [caller.subject(), caller.client(), caller.foreign_issuer()];
    facts.into_iter().flatten().all(has_value)
}

/// The headers that say who calls.
#[derive(Debug, Clone)]
pub struct Identity([Option<HeaderValue>; 4]);

impl Identity {
    /// What is said of `caller`.
    pub(crate) fn of(caller: &Caller) -> Self {
        let facts = [caller.subject(), caller.client(), Some(caller.scope()), caller.foreign_issuer()];
        Self(facts.map(|fact| fact.and_then(header_value)))
    }

    /// Says it.
    pub(crate) fn set(self, headers: &mut HeaderMap) {
        for (name, value) in Self::names().into_iter().zip(self.0) {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }

    fn names() -> [&'static HeaderName; 4] {
        [&USER_ID, &CLIENT_ID, &USER_SCOPE, &ISSUER]
    }
}

/// Sets headers from claims: strings as they are, everything else as JSON, escaped where a header demands it. What the token does not
/// say, and what is longer than 4096 bytes, is not set. `false`: a claim is missing that may have been too large to be in the token.
pub(crate) fn set_claims(headers: &mut HeaderMap, enrichment: &Enrichment, caller: &Caller) -> bool {
    if enrichment.claims.is_empty() {
        return true;
    }
    let claims = Claims::of(caller);
    let mut are_all_known = true;
    for from in &enrichment.claims {
        let claim = claims.find(&from.claim);
        are_all_known &= claim.is_some() || claims.are_all_in_token();
        if let Some(value) = claim.and_then(|claim| header_value(&text(claim))) {
            headers.insert(&from.header, value);
        }
    }
    are_all_known
}

/// Sets the headers with a fixed value.
pub(crate) fn set_fixed(headers: &mut HeaderMap, enrichment: &Enrichment) {
    for (name, value) in &enrichment.fixed {
        headers.insert(name, value.clone());
    }
}

#[cfg(test)]
mod tests;
