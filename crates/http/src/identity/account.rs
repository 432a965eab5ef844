//! `/auth/me`, `/auth/password`, `/auth/email`: what people do with their own record.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use sluice_identity::account::{Denied, Outcome, PasswordChange};

use super::body::JsonBody;
use super::caller::{Origin, SignedIn};
use super::confirmation::Shown;
use super::proof::ProofBody;
use super::text::{SecretText, Text};
use super::wire::{TokensBody, answer, done, person};
use super::{Shared, went_through};
use crate::respond::{Problem, ProblemKind};

#[derive(Deserialize)]
pub(super) struct PasswordBody {
    #[serde(default)]
    current_password: SecretText,
    #[serde(default)]
    new_password: SecretText,
    #[serde(default)]
    totp: SecretText,
    #[serde(default)]
    recovery_code: SecretText,
}

#[derive(Deserialize)]
pub(super) struct EmailBody<'a> {
    #[serde(borrow, default)]
    email: Text<'a>,
    #[serde(default)]
    password: SecretText,
    #[serde(default)]
    totp: SecretText,
    #[serde(default)]
    recovery_code: SecretText,
}

#[derive(Deserialize)]
pub(super) struct PersonEditBody<'a> {
    #[serde(borrow, default)]
    username: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct FarewellBody {
    #[serde(default)]
    password: SecretText,
    #[serde(default)]
    totp: SecretText,
    #[serde(default)]
    recovery_code: SecretText,
}

/// `GET /auth/me`
pub(super) async fn me(State(state): Shared, SignedIn(caller): SignedIn) -> Result<Response, Problem> {
    Ok(person(StatusCode::OK, &state.person(&caller).await?))
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
    Ok(person(StatusCode::OK, &state.person(&caller).await?))
}

/// `DELETE /auth/me`
pub(super) async fn delete(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let FarewellBody { password, totp, recovery_code } = body.read_or_empty()?;
    let shown = Shown::new(password, totp, recovery_code);
    went_through(state.accounts.delete_account(&shown.by(&caller, network)?).await?)?;
    Ok(done(StatusCode::NO_CONTENT))
}

/// `POST /auth/password`: everybody who was signed in is signed out; the caller goes on with the tokens of the answer.
pub(super) async fn change_password(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let PasswordBody { current_password, new_password, totp, recovery_code } = body.read()?;
    let new = new_password.required("new_password")?;
    let shown = Shown::new(current_password, totp, recovery_code);
    let confirmation = shown.by(&caller, network)?;
    let change = PasswordChange { confirmation, new: &new, keep: Some(caller.session) };
    let changed = match state.accounts.change_password(&change).await? {
        Outcome::Denied(Denied::ConfirmationRequired) => {
            return Err(Problem::of(ProblemKind::ConfirmationRequired).on("current_password"));
        }
        changed => changed,
    };
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
    let shown = Shown::new(typed.password, typed.totp, typed.recovery_code);
    let (confirmation, email) = (shown.by(&caller, network)?, typed.email.required("email")?);
    went_through(state.accounts.begin_email_change(&confirmation, email).await?)?;
    Ok(done(StatusCode::ACCEPTED))
}

/// `POST /auth/email/confirm`: by the person whose address it is to be. The mail alone sets nobody's address.
pub(super) async fn confirm_email(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let proof = body.read::<ProofBody<'_>>()?.proof_of(caller.identity)?;
    let who = (caller.identity, caller.session);
    went_through(state.accounts.confirm_email_change(who, &proof, network).await?)?;
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
    let proof = body.read::<ProofBody<'_>>()?.proof(caller.map(|SignedIn(caller)| caller.identity))?;
    went_through(state.accounts.verify_email(&proof, network).await?)?;
    Ok(done(StatusCode::NO_CONTENT))
}
