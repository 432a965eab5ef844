//! `/oauth2/sessions/logout` (OpenID Connect RP-Initiated Logout 1.0 §2).

use std::sync::Arc;

use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sluice_oauth::authorization::{CookieChange, CookieChanges};
use sluice_oauth::logout::{LogoutError, LogoutStep};
use sluice_protocol::Parameters;

use crate::extract::form_bytes;
use crate::respond::oauth_error::log;
use crate::respond::page::{ErrorView, error_page, logged_out_page};
use crate::respond::redirect::{ask_again_with_get, redirect};
use crate::state::PublicState;

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
    match form_bytes(request).await {
        Ok((_, bytes)) => {
            ask_again_with_get(&state.config.issuer.endpoint("/oauth2/sessions/logout"), &bytes)
        }
        Err(_) => {
            refuse(&state, &LogoutError::Parameters(sluice_protocol::parameters::InvalidParameters::NotUtf8))
        }
    }
}

async fn answer(state: &PublicState, query: &[u8], headers: &HeaderMap) -> Response {
    let browser = state.cookies.browser(headers);
    let parameters = Parameters::parse(query, 64 * 1024, &[]).unwrap_or_default();
    let step = match parameters.get("logout_verifier") {
        Some(verifier) => state.logout.finish(verifier, &browser).await,
        None => state.logout.begin(query, &browser).await,
    };
    match step {
        Ok(LogoutStep::Confirm { page, binding }) => {
            let mut response = redirect(StatusCode::FOUND, &page);
            state
                .cookies
                .apply(&CookieChanges { binding, ..CookieChanges::default() }, response.headers_mut());
            response
        }
        Ok(LogoutStep::Done { frames, continue_to, ends_cookie }) => {
            let mut response = done(state, &frames, continue_to.as_deref());
            if ends_cookie {
                let changes = CookieChanges { session: CookieChange::Remove, ..CookieChanges::default() };
                state.cookies.apply(&changes, response.headers_mut());
            }
            response
        }
        Err(error) => refuse(state, &error),
    }
}

fn done(state: &PublicState, frames: &[url::Url], continue_to: Option<&str>) -> Response {
    match continue_to {
        Some(url) if frames.is_empty() => redirect(StatusCode::FOUND, url),
        _ => logged_out_page(&state.config, frames, continue_to).into_response(),
    }
}

fn refuse(state: &PublicState, error: &LogoutError) -> Response {
    log("logout", error.code(), error);
    let view = ErrorView { code: error.code(), sentence: error.sentence(), way_out: None, over: false };
    error_page(&state.config, &view).into_response()
}
