//! `/oauth2/sessions/logout` (OpenID Connect RP-Initiated Logout 1.0 §2).

use std::sync::Arc;

use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use sluice_commit::StoreError;
use sluice_identity::IdentityError;
use sluice_oauth::authorization::{Browser, CookieChange, CookieChanges};
use sluice_oauth::logout::{LogoutError, LogoutStep};
use sluice_protocol::{ErrorCode, Parameters};

use crate::extract::{InvalidForm, MAX_FORM, NoBody, is_form, whole};
use crate::respond::oauth_error::log;
use crate::respond::page::{ErrorView, SIGN_OUT, error_page, logged_out_page};
use crate::respond::redirect::{ask_again_with_get, redirect};
use crate::state::PublicState;
use crate::ui::UiState;

/// `GET /oauth2/sessions/logout`: a client asks, or the logout page sends the browser back.
pub(crate) async fn get(
    State(state): State<Arc<PublicState>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    answer(&state, query.unwrap_or_default().as_bytes(), &headers).await
}

/// `POST /oauth2/sessions/logout`: asked for again as `GET`, so that cookies with `SameSite=Lax` come along.
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let ui = state.ui.told_to(b"", request.headers());
    match form(request).await {
        Ok(bytes) => {
            let endpoint = state.config.issuer.endpoint("/oauth2/sessions/logout");
            ask_again_with_get(&endpoint, &bytes)
                .unwrap_or_else(|_| unreadable(&ui, &InvalidForm::Body(NoBody::TooLarge)))
        }
        Err(error) => unreadable(&ui, &error),
    }
}

/// The form; whoever sends nothing need not say what it is.
async fn form(request: Request) -> Result<Bytes, InvalidForm> {
    let (parts, body) = request.into_parts();
    if is_form(&parts.headers) {
        return Ok(whole(body, MAX_FORM).await?);
    }
    whole(body, 0).await.map_err(|_| InvalidForm::ContentType)
}

async fn answer(state: &PublicState, query: &[u8], headers: &HeaderMap) -> Response {
    let ui = state.ui.told_to(query, headers);
    match step(state, query, headers).await {
        Ok((step, account)) => {
            let mut response = go_on(state, &ui, step);
            if account == Account::Ended {
                state.ui.remove_account_cookie(response.headers_mut());
            }
            response
        }
        Err(error) => refuse(&ui, &error),
    }
}

/// What became of the session of the account pages that the browser has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Account {
    /// It goes on, or there is none.
    Left,
    /// It was of the person who signs out.
    Ended,
}

async fn step(
    state: &PublicState,
    query: &[u8],
    headers: &HeaderMap,
) -> Result<(LogoutStep, Account), LogoutError> {
    let account = state.ui.account_session(headers).await.map_err(of_account)?;
    let browser = Browser { account, ..state.cookies.browser(headers) };
    let parameters = Parameters::parse(query, 64 * 1024, &[]).unwrap_or_default();
    match parameters.get("logout_verifier") {
        Some(verifier) => finish(state, verifier, browser).await,
        None => Ok((state.logout.begin(query, &browser).await?, Account::Left)),
    }
}

/// The session of the account pages ends first: if that fails, the verifier is good for another try.
async fn finish(
    state: &PublicState,
    verifier: &str,
    mut browser: Browser,
) -> Result<(LogoutStep, Account), LogoutError> {
    let ends = state.logout.ends_account(verifier, &browser).await?;
    let mut account = Account::Left;
    if let Some(session) = browser.account.take_if(|_| ends) {
        state.ui.end_account_session(&session).await.map_err(of_account)?;
        account = Account::Ended;
    }
    Ok((state.logout.finish(verifier, &browser).await?, account))
}

/// Why it is not known who is signed in to the account pages, or they are not signed out: the store is the same.
fn of_account(error: IdentityError) -> LogoutError {
    match error {
        IdentityError::Store(error) => error.into(),
        other => StoreError::fault(other).into(),
    }
}

fn go_on(state: &PublicState, ui: &UiState, step: LogoutStep) -> Response {
    match step {
        LogoutStep::Confirm { page, binding } => {
            let mut response = redirect(StatusCode::FOUND, &page);
            state
                .cookies
                .apply(&CookieChanges { binding, ..CookieChanges::default() }, response.headers_mut());
            response
        }
        LogoutStep::Again { to } => redirect(StatusCode::FOUND, &to),
        LogoutStep::Done { frames, continue_to, ends_cookie } => {
            let mut response = done(ui, &frames, continue_to.as_deref());
            if ends_cookie {
                let changes = CookieChanges { session: CookieChange::Remove, ..CookieChanges::default() };
                state.cookies.apply(&changes, response.headers_mut());
            }
            response
        }
    }
}

fn done(ui: &UiState, frames: &[url::Url], continue_to: Option<&str>) -> Response {
    match continue_to {
        Some(url) if frames.is_empty() => redirect(StatusCode::FOUND, url),
        _ => logged_out_page(ui, frames, continue_to).into_response(),
    }
}

fn refuse(ui: &UiState, error: &LogoutError) -> Response {
    log("logout", error.code(), error);
    let view = ErrorView {
        title: SIGN_OUT,
        code: error.code(),
        sentence: error.sentence(),
        way_out: None,
        over: false,
    };
    error_page(ui, &view).into_response()
}

/// There is no form that could be asked for again.
fn unreadable(ui: &UiState, error: &InvalidForm) -> Response {
    let code = ErrorCode::InvalidRequest;
    log("logout", code, error);
    let (status, sentence) = reason(error);
    let view = ErrorView { title: SIGN_OUT, code, sentence, way_out: None, over: false };
    let mut response = error_page(ui, &view);
    // A configured error page is gone to by a redirect, whatever the reason.
    if response.status().is_client_error() {
        *response.status_mut() = status;
    }
    response
}

const fn reason(error: &InvalidForm) -> (StatusCode, &'static str) {
    match error {
        InvalidForm::ContentType => (StatusCode::BAD_REQUEST, "The sign-out request is malformed."),
        InvalidForm::Body(none) => {
            let sentence = match none {
                NoBody::TooLarge => "The sign-out request is too long.",
                NoBody::BrokeOff => "The sign-out request broke off.",
                NoBody::TooSlow => "The sign-out request did not come in time.",
            };
            (none.status(), sentence)
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::header::CONTENT_TYPE;

    use super::*;

    #[tokio::test]
    async fn what_says_nothing_is_an_empty_form_whatever_it_is_called() {
        const FORM: &str = "application/x-www-form-urlencoded";
        for (content_type, body, expected) in [
            (None, "", Some("")),
            (Some("application/json"), "", Some("")),
            (Some(FORM), "", Some("")),
            (Some(FORM), "state=a", Some("state=a")),
            (None, "state=a", None),
            (Some("application/json"), "{}", None),
        ] {
            let request = axum::http::Request::post("/oauth2/sessions/logout");
            let request = match content_type {
                Some(named) => request.header(CONTENT_TYPE, named),
                None => request,
            };
            let sent = form(request.body(Body::from(body)).unwrap()).await;
            assert_eq!(sent.ok().as_deref(), expected.map(str::as_bytes), "{content_type:?} {body}");
        }
    }

    #[test]
    fn a_form_that_cannot_be_read_is_refused_for_its_reason() {
        let table = [
            (InvalidForm::ContentType, 400_u16, "is malformed."),
            (InvalidForm::Body(NoBody::TooLarge), 413, "is too long."),
            (InvalidForm::Body(NoBody::BrokeOff), 400, "broke off."),
            (InvalidForm::Body(NoBody::TooSlow), 408, "did not come in time."),
        ];
        for (error, status, end) in table {
            let (told, sentence) = reason(&error);
            assert_eq!(told, status, "{error}");
            assert!(sentence.ends_with(end), "{sentence}");
        }
    }
}
