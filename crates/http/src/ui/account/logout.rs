//! `POST /ui/account/logout`: out of the account pages, here.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::member::{Member, Refused, answer, without_cookie};
use super::place::{LOGIN, Place};
use crate::respond::redirect::redirect;
use crate::ui::UiState;

/// `POST /ui/account/logout`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, Place::Overview).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    ui.accounts.sessions.end(member.identity.id, member.session.id).await?;
    Ok(gone(ui))
}

/// To the login page, which says that nobody is signed in any more.
pub(super) fn gone(ui: &UiState) -> Response {
    let login = format!("{}?signed_out=1", ui.path(LOGIN));
    without_cookie(ui, redirect(StatusCode::SEE_OTHER, &login))
}
