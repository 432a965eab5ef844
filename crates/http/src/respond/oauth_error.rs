//! Errors of the token, revocation and userinfo endpoints (RFC 6749 §5.2, RFC 6750 §3): a fixed sentence for the client,
//! the cause for the operator, logged once, here.

use std::error::Error;

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, HeaderValue, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sluice_commit::chain;
use sluice_primitives::Lifetime;
use sluice_protocol::ErrorCode;
use tracing::{debug, error, info, warn};

/// How long a client waits before it tries a busy server again, in seconds.
const RETRY_SECS: u64 = 1;

#[derive(Serialize)]
struct Body<'a> {
    error: &'static str,
    error_description: &'a str,
}

/// Answers with an error and logs it with its cause.
pub(crate) fn refuse(endpoint: &'static str, code: ErrorCode, cause: &(dyn Error + 'static)) -> Response {
    refuse_saying(endpoint, (code, code.description()), cause)
}

/// The same with a sentence of its own.
pub(crate) fn refuse_saying(
    endpoint: &'static str,
    (code, description): (ErrorCode, &str),
    cause: &(dyn Error + 'static),
) -> Response {
    log(endpoint, code, cause);
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
    let reason = chain(cause);
    match code {
        ErrorCode::ServerError => error!(endpoint, error.code = %code, reason, "request failed"),
        ErrorCode::TemporarilyUnavailable => {
            warn!(endpoint, error.code = %code, reason, "request turned away");
        }
        // What every device hears until its user has decided.
        ErrorCode::AuthorizationPending => debug!(endpoint, error.code = %code, reason, "request refused"),
        _ => info!(endpoint, error.code = %code, reason, "request refused"),
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
