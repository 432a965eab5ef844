//! `/auth/login/enrolment`: a login that waits for its person to set up a second factor. Its ticket is good for that alone: it is no
//! access token, and no path but these takes it. With the factor the person is signed in, and not before.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use sluice_commit::chain;
use sluice_identity::factor::{Enrolling, EnrolmentOutcome, FactorKind, NewPasskey};
use sluice_identity::{Identity, Network};
use tracing::warn;

use super::body::JsonBody;
use super::caller::{Device, Origin};
use super::factors::{TotpCodeBody, added};
use super::login::{CONTEXT, PasskeyBody, challenged};
use super::text::Text;
use super::wire::{EnrolledBody, TokensBody, TotpBody, answer, done};
use super::{IdentityState, Shared, went_through};
use crate::respond::{Problem, ProblemKind};

#[derive(Deserialize)]
pub(super) struct TicketBody<'a> {
    #[serde(borrow, default)]
    enrolment_ticket: Text<'a>,
}

/// The factor that was added, and the tokens of the session that began with it.
#[derive(Serialize)]
struct SignedInBody<'a> {
    #[serde(flatten)]
    enrolled: EnrolledBody,
    #[serde(flatten)]
    tokens: TokensBody<'a>,
}

/// `POST /auth/login/enrolment/verification`: sends a code to the address, which is verified before a factor is added.
pub(super) async fn send_verification(
    State(state): Shared,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let identity = beginning(&state, &body).await?;
    went_through(state.accounts.send_verification(identity.id, network).await?)?;
    Ok(done(StatusCode::ACCEPTED))
}

/// `POST /auth/login/enrolment/totp`
pub(super) async fn begin_totp(State(state): Shared, body: JsonBody) -> Result<Response, Problem> {
    let identity = may_begin(&state, &body).await?;
    Ok(answer(StatusCode::OK, &TotpBody::from(&state.factors.begin_totp(&identity))))
}

/// `POST /auth/login/enrolment/totp/confirm`
pub(super) async fn confirm_totp(
    State(state): Shared,
    Origin(network): Origin,
    Device(device): Device,
    body: JsonBody,
) -> Result<Response, Problem> {
    let login = waiting(&state, &body).await?;
    let typed: TotpCodeBody<'_> = body.read()?;
    let (ticket, code) = (typed.ticket.required("ticket")?, typed.code.required("code")?);
    let shown = (ticket.expose().as_str(), code.expose().as_str(), typed.name.or_empty());
    let outcome = state.accounts.add_first_totp(&login, shown).await?;
    signed_in(&state, (&login, FactorKind::Totp), outcome, (&device, network)).await
}

/// `POST /auth/login/enrolment/passkeys`
pub(super) async fn begin_passkey(State(state): Shared, body: JsonBody) -> Result<Response, Problem> {
    let identity = may_begin(&state, &body).await?;
    let challenge = state.factors.begin_passkey_enrolment(&identity, CONTEXT).await?;
    challenged(challenge.as_ref())
}

/// `POST /auth/login/enrolment/passkeys/confirm`
pub(super) async fn confirm_passkey(
    State(state): Shared,
    Origin(network): Origin,
    Device(device): Device,
    body: JsonBody,
) -> Result<Response, Problem> {
    let login = waiting(&state, &body).await?;
    let made: PasskeyBody<'_> = body.read()?;
    let new = NewPasskey {
        state: made.state.required("state")?,
        response: made.response()?,
        name: made.name.or_empty(),
        context: CONTEXT,
    };
    let outcome = state.accounts.add_first_passkey(&login, new).await?;
    signed_in(&state, (&login, FactorKind::Passkey), outcome, (&device, network)).await
}

/// Whose login waits for a factor.
async fn beginning(state: &IdentityState, body: &JsonBody) -> Result<Identity, Problem> {
    Ok(waiting(state, body).await?.identity)
}

/// The same, of somebody who may add one.
async fn may_begin(state: &IdentityState, body: &JsonBody) -> Result<Identity, Problem> {
    let identity = beginning(state, body).await?;
    if state.factors.may_enrol(&identity) {
        Ok(identity)
    } else {
        Err(Problem::of(ProblemKind::EmailUnverified))
    }
}

/// The login that waits. None does whose person has a factor: what ended is not answered once more, as it would begin another session.
async fn waiting(state: &IdentityState, body: &JsonBody) -> Result<Enrolling, Problem> {
    let shown: TicketBody<'_> = body.read()?;
    let ticket = shown.enrolment_ticket.required("enrolment_ticket")?;
    let login = state.factors.enrolling(ticket, CONTEXT).await?;
    login.ok_or_else(|| Problem::of(ProblemKind::LoginTicketExpired))
}

async fn signed_in(
    state: &IdentityState,
    (login, kind): (&Enrolling, FactorKind),
    outcome: EnrolmentOutcome,
    (device, network): (&str, Network),
) -> Result<Response, Problem> {
    let enrolled = added(outcome)?;
    let id = login.identity.id;
    match state.accounts.sign_in(&login.identity, login.amr_with(kind), device, network).await {
        Ok(pair) => {
            let (enrolled, tokens) = (EnrolledBody::from(&enrolled), TokensBody::from(&pair));
            Ok(answer(StatusCode::CREATED, &SignedInBody { enrolled, tokens }))
        }
        // The factor is there, and its recovery codes are told once: the next login asks for it.
        Err(error) => {
            warn!(identity.id = %id, error = %chain(&error), "nobody signed in with the first factor");
            Ok(answer(StatusCode::CREATED, &EnrolledBody::from(&enrolled)))
        }
    }
}
