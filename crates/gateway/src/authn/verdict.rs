//! The gateway's answer about a request.

use std::sync::Arc;

use http::HeaderValue;
use sluice_primitives::Lifetime;

use super::caller::Caller;

/// The answer about a request.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// It may pass, and nobody in particular calls.
    Anonymous,
    /// It may pass, on behalf of this caller.
    Caller(Arc<Caller>),
    /// It may not pass.
    Refused(Refusal),
}

/// Why a request may not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No route is for it: 404.
    NoRoute,
    /// Routes are for its host and path, but only with these methods (`Allow`, RFC 9110 §10.2.1): 405.
    OtherMethods(HeaderValue),
    /// Its method is `CONNECT`: nothing in its tunnel could be judged: 501.
    Connect,
    /// Its method is `TRACE`, whose answer would show the client what the upstream was told: 501.
    Trace,
    /// Its method has small letters, which many applications take for the one without: 501.
    SmallLetters,
    /// Its path could be read in two ways (`..`, escaped slashes, NUL): 400.
    AmbiguousPath,
    /// There is no token: 401 without an error code (RFC 6750 §3).
    TokenMissing,
    /// More than one token, or an `Authorization` that cannot be read: 400 `invalid_request`.
    TokenUnreadable,
    /// The token is nobody's or another issuer's, too long, has expired or was revoked: 401 `invalid_token`. Which of them is for the log only.
    TokenInvalid(&'static str),
    /// The token is for another service: 401 `invalid_token`.
    WrongAudience,
    /// The token is bound to a key that the client did not prove to hold: 401 `invalid_token` or `invalid_dpop_proof`.
    NotHolder(&'static str),
    /// Who calls does not fit into the headers that would say so: 401 `invalid_token`.
    Untold,
    /// A DPoP proof needs this nonce: 401 `use_dpop_nonce` (RFC 9449 §9).
    NonceWanted(String),
    /// As many DPoP proofs as can be remembered are still good, so that one that was presented before could not be told: 503.
    TooManyProofs,
    /// The token's scope does not suffice: 403 `insufficient_scope`.
    InsufficientScope,
    /// The route is for another kind of caller: 403.
    WrongSubjectKind,
    /// A page of another site asks for it with a cookie that its browser added: 403.
    CrossSite,
    /// Too many requests: 429.
    TooMany(Lifetime),
    /// As many questions about tokens are under way as may be: 503.
    Busy,
    /// The authority cannot be asked, or what is known is too old, and policy forbids guessing: 502.
    Unavailable(&'static str),
    /// The same where a token alone was asked about, and no request is passed on: 503.
    AuthoritySilent(&'static str),
}

impl Refusal {
    /// The label of it in metrics and the access log.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoRoute => "no_route",
            Self::OtherMethods(_) => "other_methods",
            Self::Connect => "connect_method",
            Self::Trace => "trace_method",
            Self::SmallLetters => "small_letters_method",
            Self::AmbiguousPath => "ambiguous_path",
            Self::TokenMissing => "token_missing",
            Self::TokenUnreadable => "token_unreadable",
            Self::TokenInvalid(why) | Self::Unavailable(why) | Self::AuthoritySilent(why) => why,
            Self::WrongAudience => "wrong_audience",
            Self::NotHolder(_) => "not_holder",
            Self::Untold => "caller_too_long",
            Self::NonceWanted(_) => "nonce_wanted",
            Self::TooManyProofs => "too_many_proofs",
            Self::InsufficientScope => "insufficient_scope",
            Self::WrongSubjectKind => "wrong_subject_kind",
            Self::CrossSite => "cross_site",
            Self::TooMany(_) => "too_many",
            Self::Busy => "issuer_busy",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: &str = include_str!("../../../../docs/gateway/operations.md");
    /// Where labels are, each in a function `reason`.
    const SOURCES: [&str; 3] = [
        include_str!("verdict.rs"),
        include_str!("../validation/validator.rs"),
        include_str!("../proxy/headers/target.rs"),
    ];
    /// What is said of requests that were not refused, or that nobody judged.
    const OTHERS: [&str; 6] = ["anonymous", "asterisk", "caller", "document", "unjudged", "unreadable"];

    fn labels(source: &str) -> impl Iterator<Item = &str> {
        let (_, behind) = source.split_once("fn reason(").unwrap();
        let (body, _) = behind.split_once("\n    }\n").unwrap();
        body.lines().filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","))
    }

    #[test]
    fn the_page_has_all_verdicts_and_no_others() {
        let (_, section) = PAGE.split_once("\n### Verdicts\n").unwrap();
        let (table, _) = section.split_once("\n## ").unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let listed: Vec<&str> = rows.map(|(name, _)| name).filter(|name| *name != "verdict").collect();
        let known: BTreeSet<&str> = SOURCES.into_iter().flat_map(labels).chain(OTHERS).collect();
        assert!(known.contains(Refusal::NoRoute.reason()) && known.len() > 30, "{known:?}");
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len(), "one is there twice");
    }

    #[test]
    fn who_could_not_be_asked_is_told_apart_from_knowledge_that_is_too_old() {
        for why in ["issuer_unreachable", "revocations_stale"] {
            assert_eq!(
                (Refusal::Unavailable(why).reason(), Refusal::AuthoritySilent(why).reason()),
                (why, why)
            );
        }
    }
}
