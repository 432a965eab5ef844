//! What can tell whether a token holds.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use sluice_primitives::Timestamp;

use super::last_token::LastToken;
use crate::authn::Caller;
use crate::route::RoutePolicy;

/// Why a token does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFault {
    /// No issuer of this route made it: unknown, forged, malformed.
    NotAuthentic,
    /// It is longer than tokens are, so that nobody has looked at it.
    TooLong,
    /// It names an issuer that does not count on this route, or its issuer names another one.
    WrongIssuer,
    /// It is for somebody else than its issuer's tokens must be for.
    WrongAudience,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYet,
    /// It was revoked, or its issuer calls it inactive.
    Revoked,
    /// Its issuer cannot be asked now.
    Unreachable,
    /// As many questions are under way as may be, or as may be of this client.
    Busy,
    /// Revocations may have been missed for longer than the route allows.
    Stale,
}

impl TokenFault {
    /// The label of it in metrics and the access log.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotAuthentic => "token_not_authentic",
            Self::TooLong => "token_too_long",
            Self::WrongIssuer => "wrong_issuer",
            Self::WrongAudience => "wrong_audience",
            Self::Expired => "token_expired",
            Self::NotYet => "token_not_yet_valid",
            Self::Revoked => "token_revoked",
            Self::Unreachable => "issuer_unreachable",
            Self::Busy => "issuer_busy",
            Self::Stale => "revocations_stale",
        }
    }
}

/// A validation that has to wait for somebody else.
pub type BoxedValidation = Pin<Box<dyn Future<Output = Result<Arc<Caller>, TokenFault>> + Send>>;

/// The outcome of a validation, or the way to it.
pub enum Validated {
    /// Known from memory.
    Now(Result<Arc<Caller>, TokenFault>),
    /// To be waited for; nothing blocks meanwhile, and nobody is asked before it is polled.
    Later(BoxedValidation),
}

/// A token to be checked. It prints nothing: tokens are secrets.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The token.
    pub token: &'a str,
    /// What the route demands: whose tokens count, and what to do when knowledge is old.
    pub policy: &'a RoutePolicy,
    /// The name of the route.
    pub route: &'a str,
    /// When.
    pub now: Timestamp,
    /// Whose request it came with: nobody's questions to issuers take the places of all others.
    pub client: IpAddr,
    /// What the connection that it came on was used with. `None`: nothing is remembered of it.
    pub last: Option<&'a LastToken>,
}
