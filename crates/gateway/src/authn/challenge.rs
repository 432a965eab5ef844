//! The answers to requests that may not pass: RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1, and problem details (RFC 9457).
//!
//! Bodies and sentences are fixed: the client learns that its token does not hold, not why.

use std::fmt::Write;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use sluice_primitives::Lifetime;
use sluice_protocol::ErrorCode;

use super::extract::Scheme;
use super::verdict::{Refusal, Verdict};
use crate::gateway::Admitted;
use crate::route::{Route, RoutePolicy};
use crate::validation::holder::is_about_proof;

/// The algorithms that proofs may be signed with (RFC 9449 §5.1): [`sluice_token::dpop::algorithm_names`].
const ALGORITHMS: &str = "ES256 EdDSA PS256 ES384 ES512 PS384 PS512 Ed25519";

/// When to come again if too many questions are under way: each takes a fraction of it.
const SOON: HeaderValue = HeaderValue::from_static("1");
/// When to come again if no more proofs can be remembered: some are forgotten about as often.
const LATER: HeaderValue = HeaderValue::from_static("10");

static DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// What is answered to a refusal.
#[derive(Clone, Copy)]
struct Answer {
    status: StatusCode,
    /// What goes into the challenge, if there is one and it names an error (RFC 6750 §3.1).
    error: Option<ErrorCode>,
    challenged: bool,
    /// What the body says in words.
    title: &'static str,
    body: &'static str,
}

impl Refusal {
    /// The status that is answered.
    pub fn status(&self) -> StatusCode {
        answer(self).status
    }

    /// What is answered, in a sentence: it says no more than the status does.
    pub fn sentence(&self) -> &'static str {
        answer(self).title
    }
}

/// The answer to a request that was refused. Of one that was not: 502.
pub(crate) fn refuse(admitted: &Admitted) -> Response<Full<Bytes>> {
    let unavailable = Refusal::Unavailable("not_refused");
    let refusal = match &admitted.verdict {
        Verdict::Refused(refusal) => refusal,
        Verdict::Anonymous | Verdict::Caller(_) => &unavailable,
    };
    let answer = answer(refusal);
    let mut response = Response::new(Full::new(Bytes::from_static(answer.body.as_bytes())));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    match refusal {
        Refusal::TooMany(wait) => {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds(*wait)));
        }
        Refusal::Busy => {
            headers.insert(RETRY_AFTER, SOON);
        }
        Refusal::TooManyProofs => {
            headers.insert(RETRY_AFTER, LATER);
        }
        Refusal::OtherMethods(allow) => {
            headers.insert(ALLOW, allow.clone());
        }
        Refusal::NonceWanted(nonce) => {
            if let Ok(nonce) = HeaderValue::from_str(nonce) {
                headers.insert(&DPOP_NONCE, nonce);
            }
        }
        _ => {}
    }
    if answer.challenged {
        challenge(headers, answer.error, admitted.scheme, admitted.route.as_deref());
    }
    response
}

macro_rules! problem {
    ($status:ident $number:literal, $code:literal, $title:literal) => {
        Answer {
            status: StatusCode::$status,
            error: None,
            challenged: false,
            title: $title,
            body: concat!(
                "{\"type\":\"urn:sluice:problem:",
                $code,
                "\",\"title\":\"",
                $title,
                "\",\"status\":",
                $number,
                ",\"code\":\"",
                $code,
                "\"}"
            ),
        }
    };
}

fn answer(refusal: &Refusal) -> Answer {
    match refusal {
        Refusal::NoRoute => problem!(NOT_FOUND 404, "no_route", "Nothing is served here."),
        Refusal::OtherMethods(_) => {
            problem!(METHOD_NOT_ALLOWED 405, "method_not_allowed", "Nothing is served here with this method.")
        }
        Refusal::Connect => problem!(NOT_IMPLEMENTED 501, "connect_method", "CONNECT is not served."),
        Refusal::Trace => problem!(NOT_IMPLEMENTED 501, "trace_method", "TRACE is not served."),
        Refusal::SmallLetters => {
            problem!(NOT_IMPLEMENTED 501, "small_letters_method", "Methods with small letters are not served.")
        }
        Refusal::AmbiguousPath => {
            problem!(BAD_REQUEST 400, "ambiguous_path", "The path can be read in more than one way.")
        }
        Refusal::TokenMissing => {
            challenged(None, problem!(UNAUTHORIZED 401, "token_missing", "An access token is needed."))
        }
        Refusal::TokenUnreadable => challenged(
            Some(ErrorCode::InvalidRequest),
            problem!(BAD_REQUEST 400, "invalid_request", "The access token is malformed, or there is more than one."),
        ),
        Refusal::TokenInvalid(_) => invalid_token(),
        Refusal::WrongAudience | Refusal::Untold => invalid_token(),
        Refusal::NotHolder(why) => not_holder(why),
        Refusal::NonceWanted(_) => challenged(
            Some(ErrorCode::UseDpopNonce),
            problem!(UNAUTHORIZED 401, "use_dpop_nonce", "The DPoP proof must carry the nonce of the answer."),
        ),
        Refusal::TooManyProofs => {
            problem!(SERVICE_UNAVAILABLE 503, "too_many_proofs", "Too many DPoP proofs were presented lately.")
        }
        Refusal::InsufficientScope => challenged(
            Some(ErrorCode::InsufficientScope),
            problem!(FORBIDDEN 403, "insufficient_scope", "The access token does not cover what was asked for."),
        ),
        Refusal::WrongSubjectKind => {
            problem!(FORBIDDEN 403, "wrong_subject_kind", "This is for another kind of caller.")
        }
        Refusal::CrossSite => {
            problem!(FORBIDDEN 403, "cross_site", "Pages of other sites may not ask for this.")
        }
        Refusal::TooMany(_) => problem!(TOO_MANY_REQUESTS 429, "too_many_requests", "Too many requests."),
        Refusal::Busy => {
            problem!(SERVICE_UNAVAILABLE 503, "authority_busy", "Too many access tokens are being checked now.")
        }
        Refusal::Unavailable(_) => {
            problem!(BAD_GATEWAY 502, "authority_unavailable", "The access token cannot be checked now.")
        }
        Refusal::AuthoritySilent(_) => problem!(
            SERVICE_UNAVAILABLE 503,
            "authority_unavailable",
            "The access token cannot be checked now."
        ),
    }
}

const fn challenged(error: Option<ErrorCode>, answer: Answer) -> Answer {
    Answer { error, challenged: true, ..answer }
}

const fn invalid_token() -> Answer {
    challenged(
        Some(ErrorCode::InvalidToken),
        problem!(UNAUTHORIZED 401, "invalid_token", "The access token is malformed, expired or revoked."),
    )
}

/// A proof that does not hold is one thing, a token that is bound to another key another (RFC 9449 §7.1).
fn not_holder(why: &str) -> Answer {
    if !is_about_proof(why) {
        return invalid_token();
    }
    challenged(
        Some(ErrorCode::InvalidDpopProof),
        problem!(UNAUTHORIZED 401, "invalid_dpop_proof", "The DPoP proof is missing or does not fit the request."),
    )
}

/// The challenges: of the scheme that was used with the error, of the other one without. Whoever used DPoP is not offered less. Who
/// presents nothing is told the scope to ask for, and no more than will do; who presents too little of it, all that may be missing.
fn challenge(
    headers: &mut HeaderMap,
    error: Option<ErrorCode>,
    scheme: Option<Scheme>,
    route: Option<&Route>,
) {
    let policy = route.map(|route| &route.policy);
    let is_first = error.is_none();
    let takes_dpop = policy.is_none_or(|policy| policy.sources.authorization);
    if scheme != Some(Scheme::Dpop) {
        append(headers, &written("Bearer realm=\"sluice\"", (error, is_first), policy));
    }
    if scheme == Some(Scheme::Dpop) || takes_dpop {
        let error = error.filter(|_| scheme == Some(Scheme::Dpop));
        let dpop = format!("DPoP realm=\"sluice\", algs=\"{ALGORITHMS}\"");
        append(headers, &written(&dpop, (error, is_first), policy));
    }
}

fn append(headers: &mut HeaderMap, challenge: &str) {
    if let Ok(value) = HeaderValue::from_str(challenge) {
        headers.append(WWW_AUTHENTICATE, value);
    }
}

fn written(
    beginning: &str,
    (error, is_first): (Option<ErrorCode>, bool),
    policy: Option<&RoutePolicy>,
) -> String {
    let mut text = String::with_capacity(256);
    text.push_str(beginning);
    if let Some(error) = error {
        // Writing into a string does not fail.
        let _ = write!(text, ", error=\"{error}\", error_description=\"{}\"", error.description());
    }
    let Some(policy) = policy else { return text };
    // Clients ask for all that is named, and may be refused for one of those that they can do without.
    let of_any = if is_first { 1 } else { policy.any_scope.len() };
    let mut words = policy.scopes.iter().chain(policy.any_scope.iter().take(of_any)).peekable();
    let names_scope = is_first || error == Some(ErrorCode::InsufficientScope);
    if names_scope && words.peek().is_some() {
        text.push_str(", scope=\"");
        for (place, word) in words.enumerate() {
            if place > 0 {
                text.push(' ');
            }
            push_quoted(&mut text, word);
        }
        text.push('"');
    }
    if let Some(resource) = &policy.resource {
        text.push_str(", resource_metadata=\"");
        push_quoted(&mut text, &resource.metadata_url);
        text.push('"');
    }
    text
}

/// The inside of a quoted string (RFC 9110 §5.6.4).
fn push_quoted(text: &mut String, inside: &str) {
    for character in inside.chars() {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
}

/// Whole seconds, one at least: whoever waits so long does not come too early.
fn seconds(wait: Lifetime) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(0).div_ceil(1000).max(1)
}

#[cfg(test)]
mod tests;
