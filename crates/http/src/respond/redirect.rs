//! Answers that send the browser on.

use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY};
use axum::response::{Html, IntoResponse, Response};
use form_urlencoded::Serializer;
use sluice_oauth::authorization::Location;
use sluice_protocol::authorization_request::MAX_REQUEST;
use sluice_protocol::parameters::InvalidParameters;

/// Sends the browser on; the address it comes from is told to nobody (sealed values are in it).
pub(crate) fn go(location: &Location) -> Response {
    match location {
        Location::Redirect(url) => redirect(StatusCode::FOUND, url),
        Location::FormPost { action, fields } => form_post(action, fields),
    }
}

/// A redirect with this status.
pub(crate) fn redirect(status: StatusCode, url: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(url) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (status, headers).into_response()
}

/// Asks for what was posted again with `GET`, at `endpoint`. The form is written anew: its bytes may be none that a header
/// can hold.
///
/// # Errors
/// [`InvalidParameters::TooLong`] if that `GET` would be refused for its length. Nobody is sent there for it: proxies take a longer head for
/// a fault of this server, and leave it out for a while.
pub(crate) fn ask_again_with_get(endpoint: &str, form: &[u8]) -> Result<Response, InvalidParameters> {
    let query = Serializer::new(String::new()).extend_pairs(form_urlencoded::parse(form)).finish();
    if query.len() > MAX_REQUEST {
        return Err(InvalidParameters::TooLong(MAX_REQUEST));
    }
    Ok(redirect(StatusCode::SEE_OTHER, &format!("{endpoint}?{query}")))
}

/// The page that posts itself (Form Post Response Mode §2). Its one script is allowed by its hash.
fn form_post(action: &str, fields: &[(String, String)]) -> Response {
    let page = super::page::form_post_page(action, fields);
    let policy = HeaderValue::from_str(&page.content_security_policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
    let headers = [
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("content-security-policy"), policy),
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
    ];
    (headers, Html(page.html)).into_response()
}
