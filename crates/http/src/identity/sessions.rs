//! `/auth/refresh`, `/auth/logout`, `/auth/sessions`: who is signed in, on which devices, and for how long.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use sluice_identity::session::{RefreshOutcome, Unauthenticated};
use sluice_primitives::SessionId;

use super::Shared;
use super::body::JsonBody;
use super::caller::{Id, SignedIn};
use super::text::Text;
use super::wire::{SessionBody, TokensBody, answer, done};
use crate::extract::bearer;
use crate::respond::{Problem, ProblemKind};

#[derive(Deserialize)]
pub(super) struct RefreshBody<'a> {
    #[serde(borrow, default)]
    refresh_token: Text<'a>,
}

#[derive(Serialize)]
struct SessionsBody<'a> {
    sessions: Vec<SessionBody<'a>>,
}

/// `POST /auth/refresh`
pub(super) async fn refresh(State(state): Shared, body: JsonBody) -> Result<Response, Problem> {
    let presented: RefreshBody<'_> = body.read()?;
    match state.sessions.refresh(presented.refresh_token.required("refresh_token")?).await? {
        RefreshOutcome::Refreshed(pair) => Ok(answer(StatusCode::OK, &TokensBody::from(&pair))),
        RefreshOutcome::Refused => Err(Problem::of(ProblemKind::InvalidRefreshToken)),
    }
}

/// `POST /auth/logout`: by the refresh token, by the access token, or by both. A session that is over is none to complain
/// about; one that may go on, because nothing that names it could be read, is.
pub(super) async fn log_out(
    State(state): Shared,
    headers: HeaderMap,
    body: JsonBody,
) -> Result<Response, Problem> {
    let presented: RefreshBody<'_> = body.read_or_empty()?;
    let access_token = bearer(&headers);
    match (presented.refresh_token.given(), access_token) {
        (Some(refresh_token), _) => state.sessions.log_out(refresh_token).await?,
        (None, Some(_)) => {}
        (None, None) => return Err(Problem::missing("refresh_token")),
    }
    // The refresh token may have been another session's, or none.
    let is_refresh = presented.refresh_token.given().is_some();
    match access_token.map(|token| state.sessions.authenticate(token)) {
        Some(Ok(caller)) => {
            state.sessions.end(caller.identity, caller.session).await?;
        }
        Some(Err(why @ Unauthenticated::Unknown)) => return Err(why.into()),
        Some(Err(
            why @ (Unauthenticated::NotOurs | Unauthenticated::OtherIssuer | Unauthenticated::Expired),
        )) if !is_refresh => {
            return Err(why.into());
        }
        Some(Err(_)) | None => {}
    }
    Ok(done(StatusCode::NO_CONTENT))
}

/// `GET /auth/sessions`
pub(super) async fn list(State(state): Shared, SignedIn(caller): SignedIn) -> Result<Response, Problem> {
    let sessions = state.sessions.list(caller.identity).await?;
    let of_person = |session| SessionBody::of_person(session, caller.session);
    let sessions = sessions.iter().map(of_person).collect();
    Ok(answer(StatusCode::OK, &SessionsBody { sessions }))
}

/// `DELETE /auth/sessions/{id}`
pub(super) async fn end(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Id(session): Id,
) -> Result<Response, Problem> {
    if state.sessions.end(caller.identity, SessionId::from_uuid(session)).await? {
        Ok(done(StatusCode::NO_CONTENT))
    } else {
        Err(Problem::of(ProblemKind::NotFound))
    }
}

/// `DELETE /auth/sessions`: all but that of the caller.
pub(super) async fn end_others(
    State(state): Shared,
    SignedIn(caller): SignedIn,
) -> Result<Response, Problem> {
    state.sessions.end_others(caller.identity, caller.session).await?;
    Ok(done(StatusCode::NO_CONTENT))
}
