//! How a page is sent: rendered, kept by nobody, framed by nobody.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, REFRESH, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::{Html, IntoResponse, Response};
use sluice_oauth::Config;
use sluice_primitives::Lifetime;
use tracing::error;

use super::brand;
use super::policy::Policy;
use super::views::OnwardPage;

/// A page.
pub(super) fn page(status: StatusCode, view: &impl Template, policy: &Policy) -> Response {
    let html = match view.render() {
        Ok(html) => html,
        Err(cause) => {
            error!(error = %cause, "page not rendered");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    };
    let Ok(policy) = HeaderValue::try_from(policy.header()) else {
        error!("page not sent: its content security policy is no header value");
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers = [
        (CONTENT_SECURITY_POLICY, policy),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (status, headers, Html(html)).into_response()
}

/// What a form leads to: a page that goes there by itself, not a redirect. Browsers hold `form-action` also against the
/// redirects that follow a form, and where those of a client lead in the end nobody can know.
pub(super) fn onward(config: &Config, url: &str) -> Response {
    let view = OnwardPage { brand: &brand(config), url };
    let mut response = page(StatusCode::OK, &view, &Policy::no_form());
    match HeaderValue::try_from(format!("0;url={url}")) {
        Ok(refresh) => response.headers_mut().insert(REFRESH, refresh),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    response
}

/// Says when to come again: in whole seconds, one at least.
pub(super) fn retry_after(mut response: Response, wait: Lifetime) -> Response {
    let seconds = u64::try_from(wait.as_millis()).unwrap_or(0).div_ceil(1000).max(1);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
