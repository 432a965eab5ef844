//! How a page is sent: rendered, kept by nobody, framed by nobody.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, REFRESH, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::{Html, IntoResponse, Response};
use sluice_oauth::flow::{FlowAnswer, Request};
use sluice_primitives::Lifetime;
use tracing::error;
use url::Url;

use super::UiState;
use super::policy::Policy;
use super::views::OnwardPage;
use crate::respond::page::say_language;

/// A page, in the language that it is told in here.
pub(super) fn page(ui: &UiState, status: StatusCode, view: &impl Template, policy: &Policy) -> Response {
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
    let mut response = (status, headers, Html(html)).into_response();
    say_language(&ui.language, &mut response);
    response
}

/// What a form leads to: a page that goes there by itself, not a redirect. Browsers hold `form-action` also against the
/// redirects that follow a form, and where those of a client lead in the end nobody can know.
pub(super) fn onward(ui: &UiState, url: &str) -> Response {
    moving_on(ui, &OnwardPage { brand: &ui.brand(), url, opens_application: false, restart_url: None })
}

/// The same from the last page of this flow. An application that is no page opens beside the browser, which stays where it is: it is told
/// so, and where to start again, for what led there is spent by then.
pub(super) fn onward_in<F: AsRef<Request>>(ui: &UiState, answer: &FlowAnswer<F>, url: &str) -> Response {
    let opens_application = opens_application(answer.flow.as_ref());
    let restart = if opens_application { answer.way_out() } else { None };
    let restart_url = restart.as_deref();
    moving_on(ui, &OnwardPage { brand: &ui.brand(), url, opens_application, restart_url })
}

/// Whether the flow ends in an application that the browser only opens (RFC 8252 §7.1). That of a device ends here.
fn opens_application(request: &Request) -> bool {
    let is_elsewhere = |url: Url| !matches!(url.scheme(), "http" | "https");
    !request.details.device && request.redirect_uri.url().is_some_and(is_elsewhere)
}

fn moving_on(ui: &UiState, view: &OnwardPage<'_>) -> Response {
    let mut response = page(ui, StatusCode::OK, view, &Policy::no_form());
    match HeaderValue::try_from(format!("0;url={}", view.url)) {
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
