//! Errors of the token, revocation and userinfo endpoints (RFC 6749 §5.2, RFC 6750 §3): a fixed sentence for the client,
//! the cause for the operator, logged once, here, with whom it is about.

use std::error::Error;

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, HeaderValue, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sluice_commit::chain;
use sluice_oauth::refusals::{Endpoint, Refusals};
use sluice_primitives::Lifetime;
use sluice_protocol::ErrorCode;
use tracing::{debug, error, info, warn};

use super::crowd::{Crowds, told};

/// How long a client waits before it tries a busy server again, in seconds.
const RETRY_SECS: u64 = 1;

#[derive(Serialize)]
struct Body<'a> {
    error: &'static str,
    error_description: &'a str,
}

/// A request of a client that is refused, for who operates this server.
#[derive(Clone, Copy)]
pub(crate) struct Refusing<'a> {
    /// Where.
    pub(crate) endpoint: Endpoint,
    /// Whom the request names, whether or not it is theirs.
    pub(crate) client: Option<&'a str>,
    /// Counts it.
    pub(crate) refusals: &'a Refusals,
    /// Whether whoever asked has left, and was turned away for that.
    pub(crate) has_left: bool,
}

impl Refusing<'_> {
    /// Answers with an error, logs it with its cause, and counts it.
    pub(crate) fn refuse(self, code: ErrorCode, cause: &(dyn Error + 'static)) -> Response {
        self.refuse_saying((code, code.description()), cause)
    }

    /// The same with a sentence of its own.
    pub(crate) fn refuse_saying(
        self,
        (code, description): (ErrorCode, &str),
        cause: &(dyn Error + 'static),
    ) -> Response {
        self.log(code, cause);
        answer(code, description)
    }

    /// Logs an error with its cause, and counts it, unless nobody has to look for its cause.
    pub(crate) fn log(self, code: ErrorCode, cause: &(dyn Error + 'static)) {
        if self.has_left {
            return;
        }
        self.refusals.count(self.endpoint, code);
        log_about((self.endpoint.as_str(), self.client), code, cause);
    }
}

/// What is said of those who are turned away, of devices that do not wait, and of what failed: by endpoint and reason.
static TURNED_AWAY: Crowds = Crowds::new();
static SLOWED_DOWN: Crowds = Crowds::new();
static FAILED: Crowds = Crowds::new();

/// Answers who is no client with an error, and logs it with its cause.
pub(crate) fn refuse(endpoint: &'static str, code: ErrorCode, cause: &(dyn Error + 'static)) -> Response {
    log(endpoint, code, cause);
    answer(code, code.description())
}

fn answer(code: ErrorCode, description: &str) -> Response {
    let body = Json(Body { error: code.as_str(), error_description: description });
    let mut response = (status(code), body).into_response();
    no_store(&mut response);
    if code == ErrorCode::InvalidClient {
        let challenge = HeaderValue::from_static("Basic realm=\"sluice\", charset=\"UTF-8\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    retry_after(code, &mut response);
    response
}

/// Logs an error with its cause: the operator's fault loudly, the caller's quietly.
pub(crate) fn log(endpoint: &'static str, code: ErrorCode, cause: &(dyn Error + 'static)) {
    log_about((endpoint, None), code, cause);
}

fn log_about(
    (endpoint, client): (&'static str, Option<&str>),
    code: ErrorCode,
    cause: &(dyn Error + 'static),
) {
    let reason = chain(cause);
    match code {
        ErrorCode::ServerError => {
            if let Some(unsaid) = FAILED.admits(&(endpoint, &reason)) {
                error!(endpoint, client.id = client, error.code = %code, reason, unsaid = told(unsaid), "request failed");
            }
        }
        ErrorCode::TemporarilyUnavailable => {
            if let Some(unsaid) = TURNED_AWAY.admits(&(endpoint, &reason)) {
                warn!(endpoint, client.id = client, error.code = %code, reason, unsaid = told(unsaid), "request turned away");
            }
        }
        ErrorCode::SlowDown => {
            if let Some(unsaid) = SLOWED_DOWN.admits(&(endpoint, &reason)) {
                info!(endpoint, client.id = client, error.code = %code, reason, unsaid = told(unsaid), "request refused");
            }
        }
        // What every device hears until its user has decided.
        ErrorCode::AuthorizationPending => {
            debug!(endpoint, client.id = client, error.code = %code, reason, "request refused");
        }
        _ => info!(endpoint, client.id = client, error.code = %code, reason, "request refused"),
    }
}

/// Tells when to try again, if that helps.
pub(crate) fn retry_after(code: ErrorCode, response: &mut Response) {
    if code == ErrorCode::TemporarilyUnavailable {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_SECS));
    }
}

/// Tells so much later to try again, if that is known and a time is told.
pub(crate) fn retry_later(wait: Option<Lifetime>, response: &mut Response) {
    if let (Some(wait), Some(told)) = (wait, response.headers_mut().get_mut(RETRY_AFTER)) {
        *told = HeaderValue::from(wait.as_secs());
    }
}

/// The status of an error.
pub(crate) fn status(code: ErrorCode) -> StatusCode {
    StatusCode::from_u16(code.status()).unwrap_or(StatusCode::BAD_REQUEST)
}

/// What must not be kept by anybody (RFC 6749 §5.1).
pub(crate) fn no_store(response: &mut Response) {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
}

#[cfg(test)]
mod tests {
    use sluice_testkit::Captured;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Why(&'static str);

    #[test]
    fn of_devices_that_do_not_wait_a_sample_is_said() {
        let (log, _guard) = Captured::begin();
        for _ in 0..2_000 {
            super::log("devices of a test", ErrorCode::SlowDown, &Why("too fast"));
        }
        let said = log.lines("devices of a test").len();
        assert!((1..2_000).contains(&said), "{said}");
    }

    #[test]
    fn of_who_left_before_their_hash_was_computed_nothing_is_said_or_counted() {
        let (log, _guard) = Captured::begin();
        let (refusals, code) = (Refusals::default(), ErrorCode::TemporarilyUnavailable);
        let refusing = |has_left| Refusing {
            endpoint: Endpoint::Token,
            client: Some("an impatient client"),
            refusals: &refusals,
            has_left,
        };
        assert_eq!(refusing(true).refuse(code, &Why("left")).status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(
            refusals.counted().is_empty() && log.lines("an impatient client").is_empty(),
            "{}",
            log.text()
        );
        refusing(false).refuse(code, &Why("busy"));
        assert_eq!(refusals.counted().len(), 1);
    }
}
