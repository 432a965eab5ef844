//! Errors of the identity API: problem details (RFC 9457) with a code that never changes.
//!
//! [`kind`]: every code, its status and its sentence. [`refusals`]: what the identity service says, in these words.

mod kind;
mod refusals;

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};
use sluice_commit::chain;
use sluice_primitives::Lifetime;
use tracing::field::display;
use tracing::{error, info, warn};

use super::crowd::{Crowds, told};
pub(crate) use kind::ProblemKind;
pub(crate) use refusals::{OVER, USED_CODE, WRONG_PASSKEY};

/// What the `type` of a problem begins with.
const TYPE: &str = "urn:sluice:problem:";
/// What is said of those who are turned away, of those who come too often, and of what failed: by code and reason.
static TURNED_AWAY: Crowds = Crowds::new();
static TOO_MANY: Crowds = Crowds::new();
static FAILED: Crowds = Crowds::new();
/// How long to wait where nothing better is known.
const SOON: Lifetime = Lifetime::secs(1);

/// Why a request of the identity API is refused. The caller reads a fixed sentence; causes go to the log.
#[derive(Debug)]
pub(crate) struct Problem(Box<Details>);

#[derive(Debug)]
struct Details {
    kind: ProblemKind,
    /// Of a field: what is wrong with it, in the place of the kind's own code.
    code: Option<Cow<'static, str>>,
    field: Option<Cow<'static, str>>,
    detail: Option<Cow<'static, str>>,
    wait: Option<Lifetime>,
    /// Whether the caller presented a token, where one is asked for.
    presented: bool,
    members: Map<String, Value>,
    /// What only the log says.
    cause: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(flatten)]
    members: &'a Map<String, Value>,
}

impl Problem {
    /// The problem of this kind, without more words.
    pub(crate) fn of(kind: ProblemKind) -> Self {
        Self(Box::new(Details {
            kind,
            code: None,
            field: None,
            detail: None,
            wait: None,
            presented: false,
            members: Map::new(),
            cause: None,
        }))
    }

    /// A field of the request is not as it must be: what is wrong with it, as a code that begins with its name.
    pub(crate) fn field(
        field: impl Into<Cow<'static, str>>,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        let mut problem = Self::of(ProblemKind::InvalidField);
        problem.0.field = Some(field.into());
        problem.0.code = Some(code.into());
        problem.0.detail = Some(detail.into());
        problem
    }

    /// A field of the request is missing.
    pub(crate) fn missing(field: &'static str) -> Self {
        Self::field(field, format!("{field}_missing"), "The field is missing.")
    }

    /// 429: the next may come after this time.
    pub(crate) fn too_many(wait: Lifetime) -> Self {
        let mut problem = Self::of(ProblemKind::TooManyRequests);
        problem.0.wait = Some(wait);
        problem
    }

    /// 401 for a token that was presented and does not hold: why, for the log.
    pub(crate) fn of_token(kind: ProblemKind, why: impl Into<String>) -> Self {
        let mut problem = Self::of(kind);
        problem.0.presented = true;
        problem.0.cause = Some(why.into());
        problem
    }

    /// 500, or 503 if trying later may help; the cause is logged.
    pub(crate) fn fault(cause: &dyn std::error::Error, temporary: bool) -> Self {
        let kind = if temporary { ProblemKind::TemporarilyUnavailable } else { ProblemKind::ServerError };
        let mut problem = Self::of(kind);
        problem.0.cause = Some(chain(cause));
        problem
    }

    /// The same, and when to come again, if that is known.
    pub(crate) fn after(mut self, wait: Option<Lifetime>) -> Self {
        self.0.wait = wait;
        self
    }

    /// The same with a sentence about this occurrence.
    pub(crate) fn saying(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// The same, of a field.
    pub(crate) fn on(mut self, field: &'static str) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// The same about a field that the request calls something else.
    pub(crate) fn about(mut self, field: &'static str) -> Self {
        if self.0.field.is_some() {
            self.0.field = Some(field.into());
        }
        self
    }

    /// The same with a member of its own (RFC 9457 §3.2).
    pub(crate) fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.0.members.insert(member.to_owned(), value.into());
        self
    }

    fn code(&self) -> &str {
        self.0.code.as_deref().unwrap_or(self.0.kind.code())
    }

    fn log(&self, status: StatusCode) {
        let (status, code) = (status.as_u16(), self.code());
        match (self.0.kind, &self.0.cause) {
            (ProblemKind::ServerError, Some(cause)) => {
                if let Some(unsaid) = FAILED.admits(&(code, cause)) {
                    error!(http.status = status, error.code = code, error = %cause, unsaid = told(unsaid), "identity request failed");
                }
            }
            (ProblemKind::TemporarilyUnavailable, Some(cause)) => {
                if let Some(unsaid) = TURNED_AWAY.admits(&(code, cause)) {
                    warn!(http.status = status, error.code = code, reason = %cause, unsaid = told(unsaid), "identity request turned away");
                }
            }
            (ProblemKind::TooManyRequests, cause) => {
                if let Some(unsaid) = TOO_MANY.admits(&(code, cause)) {
                    let reason = cause.as_ref().map(display);
                    info!(
                        http.status = status,
                        error.code = code,
                        reason,
                        unsaid = told(unsaid),
                        "identity request refused"
                    );
                }
            }
            (_, cause) => {
                let reason = cause.as_ref().map(display);
                info!(http.status = status, error.code = code, reason, "identity request refused");
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = self.0.kind;
        let status = kind.status();
        self.log(status);
        let code = self.code();
        let body = Body {
            r#type: format!("{TYPE}{code}"),
            title: kind.title(),
            status: status.as_u16(),
            code,
            detail: self.0.detail.as_deref(),
            field: self.0.field.as_deref(),
            members: &self.0.members,
        };
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if matches!(kind, ProblemKind::TooManyRequests | ProblemKind::TemporarilyUnavailable) {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds(self.0.wait.unwrap_or(SOON))));
        }
        if kind.asks_for_token() {
            // RFC 6750 §3.1: who presents nothing is told no error.
            let challenge = if self.0.presented {
                "Bearer realm=\"sluice\", error=\"invalid_token\""
            } else {
                "Bearer realm=\"sluice\""
            };
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}

/// Whole seconds, one at least: whoever waits so long does not come too early.
fn seconds(wait: Lifetime) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(0).div_ceil(1000).max(1)
}

#[cfg(test)]
mod tests;
