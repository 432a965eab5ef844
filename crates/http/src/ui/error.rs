//! The error page, for what may not be reported to a client, the page of a flow that has expired, and that of an address where nothing is.

use axum::extract::RawQuery;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sluice_protocol::{ErrorCode, Parameters};

use super::UiState;
use super::page::page;
use super::policy::Policy;
use super::standalone::sign_in_url;
use super::views::{ErrorPage, ExpiredPage, WayOut};
use crate::extract::{MAX_FORM, accept};
use crate::respond::page::{ErrorView, SIGN_IN};
use crate::respond::{self, oauth_error};

/// The codes that `/ui/error` knows: those of an authorization or logout request.
pub(super) const SHOWN: [ErrorCode; 15] = [
    ErrorCode::InvalidRequest,
    ErrorCode::InvalidClient,
    ErrorCode::UnauthorizedClient,
    ErrorCode::UnsupportedResponseType,
    ErrorCode::InvalidScope,
    ErrorCode::InvalidTarget,
    ErrorCode::AccessDenied,
    ErrorCode::ServerError,
    ErrorCode::TemporarilyUnavailable,
    ErrorCode::LoginRequired,
    ErrorCode::ConsentRequired,
    ErrorCode::InteractionRequired,
    ErrorCode::RequestNotSupported,
    ErrorCode::RequestUriNotSupported,
    ErrorCode::RegistrationNotSupported,
];

/// `GET /ui/error`: the sentence of a known code. No other word of the query is shown: anybody can write it.
pub(super) async fn show(ui: UiState, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let fields = Parameters::parse(query.as_bytes(), MAX_FORM, &[]).unwrap_or_default();
    let named = fields.get("error").and_then(|named| SHOWN.into_iter().find(|code| code.as_str() == named));
    let code = named.unwrap_or(ErrorCode::InvalidRequest);
    let view = ErrorView { title: SIGN_IN, code, sentence: code.description(), way_out: None, over: false };
    own_page(&ui, &view, None)
}

/// Any page that is not there. Programs get the status alone.
pub(super) async fn not_found(ui: UiState, headers: HeaderMap) -> Response {
    if !accept::names(&headers, "text/html") {
        return StatusCode::NOT_FOUND.into_response();
    }
    let url = sign_in_url(&ui, None);
    let view = ErrorPage {
        brand: &ui.brand(),
        title: "This page is not there",
        sentence: "The address is mistyped, or the page was moved.",
        error_code: "not_found",
        hint: None,
        request_id: None,
        way_out: url.as_deref().map(account_link),
    };
    page(&ui, StatusCode::NOT_FOUND, &view, &Policy::no_form())
}

/// Shows an error: on the page that is configured, or on our own.
pub(super) fn error_page(ui: &UiState, view: &ErrorView<'_>) -> Response {
    if ui.config.pages.error.is_some() {
        respond::page::error_page(ui, view)
    } else {
        own_page(ui, view, view.way_out)
    }
}

/// The same where there is nothing to try again: from our own page a link leads to the person's account.
pub(super) fn stray_page(ui: &UiState, view: &ErrorView<'_>) -> Response {
    if ui.config.pages.error.is_some() {
        return respond::page::error_page(ui, view);
    }
    let url = sign_in_url(ui, None);
    own_page(ui, view, url.as_deref().map(account_link))
}

/// The page of a flow that is too old or spent, with the way back to its beginning, or to the application.
pub(super) fn expired_page(ui: &UiState, way_out: Option<WayOut<'_>>) -> Response {
    let view = ExpiredPage { brand: &ui.brand(), request_id: None, way_out };
    page(ui, StatusCode::GONE, &view, &Policy::no_form())
}

/// The way from an address that is none, or leads nowhere by itself.
fn account_link(url: &str) -> WayOut<'_> {
    WayOut { url, label: "Your account" }
}

fn own_page(ui: &UiState, error: &ErrorView<'_>, way_out: Option<WayOut<'_>>) -> Response {
    let view = ErrorPage {
        brand: &ui.brand(),
        title: title(error.code),
        sentence: error.sentence,
        error_code: error.code.as_str(),
        hint: None,
        request_id: None,
        way_out,
    };
    let mut response = page(ui, oauth_error::status(error.code), &view, &Policy::no_form());
    oauth_error::retry_after(error.code, &mut response);
    response
}

fn title(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::ServerError => "Something went wrong",
        ErrorCode::TemporarilyUnavailable => "Please try again in a moment",
        ErrorCode::AccessDenied => "Access was denied",
        ErrorCode::LoginRequired | ErrorCode::ConsentRequired | ErrorCode::InteractionRequired => {
            "You need to sign in again"
        }
        _ => "This request cannot be completed",
    }
}
