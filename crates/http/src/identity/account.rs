//! `/auth/me`, `/auth/password`, `/auth/email`: what people do with their own record.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use sluice_identity::account::{EmailChange, PasswordChange};

use super::body::JsonBody;
use super::caller::{Origin, SignedIn};
use super::proof::ProofBody;
use super::text::{SecretText, Text};
use super::wire::{PersonBody, TokensBody, answer, done};
use super::{Shared, went_through};
use crate::respond::Problem;

#[derive(Deserialize)]
struct PasswordBody {
    #[serde(default)]
    current_password: SecretText,
    #[serde(default)]
    new_password: SecretText,
}

#[derive(Deserialize)]
struct EmailBody<'a> {
    #[serde(borrow, default)]
    email: Text<'a>,
    #[serde(default)]
    password: SecretText,
}

#[derive(Deserialize)]
struct PersonEditBody<'a> {
    #[serde(borrow, default)]
    username: Text<'a>,
}

#[derive(Deserialize)]
struct FarewellBody {
    #[serde(default)]
    password: SecretText,
}

/// `GET /auth/me`
pub(super) async fn me(State(state): Shared, SignedIn(caller): SignedIn) -> Result<Response, Problem> {
    Ok(answer(StatusCode::OK, &PersonBody::from(&state.person(&caller).await?)))
}

/// `PATCH /auth/me`
pub(super) async fn edit(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    body: JsonBody,
) -> Result<Response, Problem> {
    let edit: PersonEditBody<'_> = body.read()?;
    if let Some(username) = edit.username.given() {
        went_through(state.accounts.set_username(caller.identity, username).await?)?;
    }
    Ok(answer(StatusCode::OK, &PersonBody::from(&state.person(&caller).await?)))
}

/// `DELETE /auth/me`
pub(super) async fn delete(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let farewell: FarewellBody = body.read_or_empty()?;
    let password = farewell.password.required("password")?;
    went_through(state.accounts.delete_account(caller.identity, &password, network).await?)?;
    Ok(done(StatusCode::NO_CONTENT))
}

/// `POST /auth/password`: everybody who was signed in is signed out; the caller goes on with the tokens of the answer.
pub(super) async fn change_password(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let typed: PasswordBody = body.read()?;
    let change = PasswordChange {
        identity: caller.identity,
        current: typed.current_password.required("current_password")?,
        new: typed.new_password.required("new_password")?,
        keep: Some(caller.session),
        network,
    };
    let changed = state.accounts.change_password(change).await?;
    match went_through(changed).map_err(|problem| problem.about("new_password"))? {
        Some(pair) => Ok(answer(StatusCode::OK, &TokensBody::from(&pair))),
        None => Ok(done(StatusCode::NO_CONTENT)),
    }
}

/// `POST /auth/email`: sends a code to the new address.
pub(super) async fn change_email(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let typed: EmailBody<'_> = body.read()?;
    let change = EmailChange {
        identity: caller.identity,
        password: typed.password.required("password")?,
        new_email: typed.email.required("email")?.to_owned(),
        network,
    };
    went_through(state.accounts.begin_email_change(&change).await?)?;
    Ok(done(StatusCode::ACCEPTED))
}

/// `POST /auth/email/confirm`
pub(super) async fn confirm_email(
    State(state): Shared,
    caller: Option<SignedIn>,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let proof = body.read::<ProofBody<'_>>()?.proof(caller.as_ref())?;
    went_through(state.accounts.confirm_email_change(&proof, network).await?)?;
    Ok(done(StatusCode::NO_CONTENT))
}

/// `POST /auth/verification`: sends a code to the address.
pub(super) async fn send_verification(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
) -> Result<Response, Problem> {
    went_through(state.accounts.send_verification(caller.identity, network).await?)?;
    Ok(done(StatusCode::ACCEPTED))
}

/// `POST /auth/verification/confirm`
pub(super) async fn confirm_verification(
    State(state): Shared,
    caller: Option<SignedIn>,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let proof = body.read::<ProofBody<'_>>()?.proof(caller.as_ref())?;
    went_through(state.accounts.verify_email(&proof, network).await?)?;
    Ok(done(StatusCode::NO_CONTENT))
}
