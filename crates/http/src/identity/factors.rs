//! `/auth/factors`: what is asked beside the password. To change them asks for the password, or a login with a passkey a
//! moment ago; and for a second factor, of those who have one.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use sluice_identity::factor::{Enrolled, EnrolmentOutcome, NewPasskey, RemovalOutcome, RenameOutcome};
use sluice_identity::session::Caller;
use sluice_identity::{Identity, Network};

use super::body::JsonBody;
use super::caller::{Id, Origin, SignedIn};
use super::confirmation::Shown;
use super::login::{PasskeyBody, challenged};
use super::text::{SecretText, Text};
use super::wire::{EnrolledBody, FactorsBody, RecoveryCodesBody, TotpBody, answer, done};
use super::{IdentityState, Shared, went_through};
use crate::respond::{Problem, ProblemKind};

#[derive(Deserialize)]
pub(super) struct ConfirmationBody {
    #[serde(default)]
    password: SecretText,
    #[serde(default)]
    totp: SecretText,
    #[serde(default)]
    recovery_code: SecretText,
}

#[derive(Deserialize)]
pub(super) struct TotpCodeBody<'a> {
    #[serde(default)]
    pub(super) ticket: SecretText,
    #[serde(default)]
    pub(super) code: SecretText,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct NameBody<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
}

/// `GET /auth/factors`
pub(super) async fn list(State(state): Shared, SignedIn(caller): SignedIn) -> Result<Response, Problem> {
    let factors = state.factors.list(caller.identity).await?;
    let codes_left = state.factors.recovery_codes_left(caller.identity).await?;
    Ok(answer(StatusCode::OK, &FactorsBody::new(&factors, codes_left)))
}

/// `PATCH /auth/factors/{id}`
pub(super) async fn rename(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Id(factor): Id,
    body: JsonBody,
) -> Result<Response, Problem> {
    let edit: NameBody<'_> = body.read()?;
    match state.factors.rename(caller.identity, factor, edit.name.or_empty()).await? {
        RenameOutcome::Renamed => Ok(done(StatusCode::NO_CONTENT)),
        RenameOutcome::Missing => Err(Problem::of(ProblemKind::NotFound)),
        RenameOutcome::TooMany(wait) => Err(Problem::too_many(wait)),
    }
}

/// `DELETE /auth/factors/{id}`
pub(super) async fn remove(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    Id(factor): Id,
    body: JsonBody,
) -> Result<Response, Problem> {
    let identity = confirmed(&state, (&caller, network), &body).await?;
    match state.factors.remove(&identity, factor).await? {
        RemovalOutcome::Removed => Ok(done(StatusCode::NO_CONTENT)),
        RemovalOutcome::Missing => Err(Problem::of(ProblemKind::NotFound)),
        RemovalOutcome::Required => Err(Problem::of(ProblemKind::FactorRequired)),
    }
}

/// `POST /auth/factors/totp`
pub(super) async fn begin_totp(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let identity = enrolling(&state, (&caller, network), &body).await?;
    Ok(answer(StatusCode::OK, &TotpBody::from(&state.factors.begin_totp(&identity))))
}

/// `POST /auth/factors/totp/confirm`
pub(super) async fn confirm_totp(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    body: JsonBody,
) -> Result<Response, Problem> {
    let typed: TotpCodeBody<'_> = body.read()?;
    let (ticket, code) = (typed.ticket.required("ticket")?, typed.code.required("code")?);
    let identity = state.present(&caller).await?;
    let name = typed.name.or_empty();
    let shown = (ticket.expose().as_str(), code.expose().as_str(), name);
    enrolled(state.accounts.add_totp((&identity, caller.session), shown).await?)
}

/// `POST /auth/factors/passkeys`
pub(super) async fn begin_passkey(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let identity = enrolling(&state, (&caller, network), &body).await?;
    let challenge = state.factors.begin_passkey_enrolment(&identity, caller.session.as_bytes()).await?;
    challenged(challenge.as_ref())
}

/// `POST /auth/factors/passkeys/confirm`
pub(super) async fn confirm_passkey(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    body: JsonBody,
) -> Result<Response, Problem> {
    let made: PasskeyBody<'_> = body.read()?;
    let new = NewPasskey {
        state: made.state.required("state")?,
        response: made.response()?,
        name: made.name.or_empty(),
        context: caller.session.as_bytes(),
    };
    let identity = state.present(&caller).await?;
    enrolled(state.accounts.add_passkey((&identity, caller.session), new).await?)
}

/// `POST /auth/factors/recovery-codes`: new ones, shown once; the former ones are none any more.
pub(super) async fn make_recovery_codes(
    State(state): Shared,
    SignedIn(caller): SignedIn,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let identity = confirmed(&state, (&caller, network), &body).await?;
    match state.factors.regenerate_recovery_codes(&identity).await? {
        Some(codes) => Ok(answer(StatusCode::CREATED, &RecoveryCodesBody::from(codes.as_slice()))),
        None => Err(Problem::of(ProblemKind::SecondFactorMissing)),
    }
}

async fn confirmed(
    state: &IdentityState,
    (caller, network): (&Caller, Network),
    body: &JsonBody,
) -> Result<Identity, Problem> {
    let ConfirmationBody { password, totp, recovery_code } = body.read_or_empty()?;
    let shown = Shown::new(password, totp, recovery_code);
    went_through(state.accounts.confirm(&shown.by(caller, network)?).await?)
}

/// The same, of somebody who may add a factor.
async fn enrolling(
    state: &IdentityState,
    caller: (&Caller, Network),
    body: &JsonBody,
) -> Result<Identity, Problem> {
    let identity = confirmed(state, caller, body).await?;
    if state.factors.may_enrol(&identity) {
        Ok(identity)
    } else {
        Err(Problem::of(ProblemKind::EmailUnverified))
    }
}

fn enrolled(outcome: EnrolmentOutcome) -> Result<Response, Problem> {
    Ok(answer(StatusCode::CREATED, &EnrolledBody::from(&added(outcome)?)))
}

/// The factor that was added, if it was.
pub(super) fn added(outcome: EnrolmentOutcome) -> Result<Enrolled, Problem> {
    match outcome {
        EnrolmentOutcome::Enrolled(enrolled) => Ok(enrolled),
        EnrolmentOutcome::Unverified => Err(Problem::of(ProblemKind::EmailUnverified)),
        EnrolmentOutcome::Wrong => Err(Problem::of(ProblemKind::WrongCode)),
        EnrolmentOutcome::Known => Err(Problem::of(ProblemKind::FactorExists)),
        EnrolmentOutcome::Expired => Err(Problem::of(ProblemKind::EnrolmentExpired)),
        EnrolmentOutcome::TooMany => Err(Problem::of(ProblemKind::TooManyFactors)),
    }
}
