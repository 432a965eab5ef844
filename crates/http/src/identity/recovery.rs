//! `/auth/recovery`: the way back in without the password.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::body::JsonBody;
use super::caller::Origin;
use super::proof::ProofBody;
use super::text::{SecretText, Text};
use super::wire::{answer, done};
use super::{Shared, went_through};
use crate::respond::Problem;

#[derive(Deserialize)]
pub(super) struct RecoveryBody<'a> {
    #[serde(borrow, default)]
    email: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct NewPasswordBody<'a> {
    #[serde(default)]
    ticket: SecretText,
    #[serde(default)]
    new_password: SecretText,
    #[serde(borrow, default)]
    email: Text<'a>,
    #[serde(default)]
    code: SecretText,
    #[serde(default)]
    token: SecretText,
}

#[derive(Serialize)]
struct TicketBody<'a> {
    ticket: &'a str,
}

/// `POST /auth/recovery`: the same answer, whether or not there is such an account.
pub(super) async fn begin(
    State(state): Shared,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let typed: RecoveryBody<'_> = body.read()?;
    went_through(state.accounts.begin_recovery(typed.email.or_empty(), network).await?)?;
    Ok(done(StatusCode::ACCEPTED))
}

/// `POST /auth/recovery/check`: exchanges the code for a ticket, with which a password may be chosen more than once.
pub(super) async fn check(
    State(state): Shared,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let proof = body.read::<ProofBody<'_>>()?.proof(None)?;
    let ticket = went_through(state.accounts.check_recovery(&proof, network).await?)?;
    Ok(answer(StatusCode::OK, &TicketBody { ticket: ticket.expose() }))
}

/// `POST /auth/recovery/confirm`: sets another password, by a ticket or by the code itself. A code is spent also if the
/// password may not be chosen; then the problem carries the ticket to go on with.
pub(super) async fn confirm(
    State(state): Shared,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let typed: NewPasswordBody<'_> = body.read()?;
    let password = typed.new_password.required("new_password")?;
    let (ticket, is_new) = if let Some(ticket) = typed.ticket.given() {
        (ticket, false)
    } else {
        let proof = ProofBody { email: typed.email, code: typed.code, token: typed.token }.proof(None)?;
        (went_through(state.accounts.check_recovery(&proof, network).await?)?, true)
    };
    let set = state.accounts.finish_recovery(ticket.expose(), &password, network).await;
    let set = set.map_err(Problem::from);
    set.and_then(|set| went_through(set).map_err(|problem| problem.about("new_password")))
        .map_err(|problem| if is_new { problem.with("ticket", ticket.expose().as_str()) } else { problem })?;
    Ok(done(StatusCode::NO_CONTENT))
}
