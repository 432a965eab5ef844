//! `/auth/login`: who it is. A password first, then, where there is one, a second factor, or one that is to be set up
//! ([`super::enrolment`]); or a passkey alone.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sluice_identity::factor::{
    Aal, FactorOutcome, FactorProof, FirstFactor, NextStep, PasskeyChallenge, PasskeyStep, TicketData,
};
use sluice_identity::proof_of_work::PuzzlePurpose;
use sluice_identity::{Attempt, Identity, LoginOutcome, Network};

use super::body::JsonBody;
use super::caller::{Device, Origin};
use super::puzzle::SolutionBody;
use super::text::{SecretText, Text};
use super::wire::{ChallengeBody, TokensBody, answer};
use super::{IdentityState, Shared};
use crate::respond::problem::{USED_CODE, WRONG_PASSKEY};
use crate::respond::{Problem, ProblemKind};

/// What a login ticket of the API is for: it does not end anywhere else.
pub(super) const CONTEXT: &[u8] = b"/auth/login";

#[derive(Deserialize)]
pub(super) struct LogInBody<'a> {
    #[serde(borrow, default)]
    email: Text<'a>,
    #[serde(default)]
    password: SecretText,
    #[serde(borrow, default)]
    acr_values: Text<'a>,
    #[serde(borrow)]
    proof_of_work: Option<SolutionBody<'a>>,
}

#[derive(Deserialize)]
pub(super) struct FactorStepBody<'a> {
    #[serde(borrow, default)]
    login_ticket: Text<'a>,
    #[serde(default)]
    totp: SecretText,
    #[serde(default)]
    recovery_code: SecretText,
    #[serde(borrow)]
    passkey: Option<PasskeyBody<'a>>,
}

/// What a browser made of the options of a ceremony.
#[derive(Deserialize)]
pub(super) struct PasskeyBody<'a> {
    #[serde(borrow, default)]
    pub(super) state: Text<'a>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
}

impl PasskeyBody<'_> {
    /// The `PublicKeyCredential`, as JSON.
    pub(super) fn response(&self) -> Result<&str, Problem> {
        self.response.map(RawValue::get).ok_or_else(|| Problem::missing("response"))
    }
}

/// `POST /auth/login`
pub(super) async fn log_in(
    State(state): Shared,
    Origin(network): Origin,
    Device(device): Device,
    body: JsonBody,
) -> Result<Response, Problem> {
    let typed: LogInBody<'_> = body.read()?;
    state.check_puzzle(PuzzlePurpose::Login, typed.proof_of_work.as_ref())?;
    let acr_values: Vec<&str> = typed.acr_values.or_empty().split(' ').collect();
    let wanted = Aal::from_acr_values(&acr_values);
    let attempt = Attempt {
        email: typed.email.required("email")?.to_owned(),
        password: typed.password.required("password")?,
        network,
        // A program has no cookies of ours: here only networks are known.
        known_as: None,
    };
    match state.login.log_in(attempt).await? {
        LoginOutcome::LoggedIn(identity) => {
            after_password(&state, &identity, wanted, (&device, network)).await
        }
        LoginOutcome::Refused(_) => Err(Problem::of(ProblemKind::InvalidCredentials)),
        LoginOutcome::TooMany(wait) => Err(Problem::too_many(wait)),
    }
}

/// `POST /auth/login/factor`
pub(super) async fn show_factor(
    State(state): Shared,
    Origin(network): Origin,
    Device(device): Device,
    body: JsonBody,
) -> Result<Response, Problem> {
    let typed: FactorStepBody<'_> = body.read()?;
    let ticket = typed.login_ticket.required("login_ticket")?;
    let (totp, recovery_code) = (typed.totp.given(), typed.recovery_code.given());
    let proof = match (&totp, &recovery_code, &typed.passkey) {
        (Some(code), None, None) => FactorProof::Totp(code.expose()),
        (None, Some(code), None) => FactorProof::RecoveryCode(code.expose()),
        (None, None, Some(passkey)) => {
            FactorProof::Passkey { state: passkey.state.required("state")?, response: passkey.response()? }
        }
        _ => {
            let one = "One of totp, recovery_code and passkey is expected.";
            return Err(Problem::field("totp", "factor_missing", one));
        }
    };
    let outcome = state.factors.finish_with(ticket, proof, CONTEXT, network).await?;
    sign_in(&state, outcome, (&device, network)).await
}

/// `POST /auth/login/passkey`: asks for the passkey of whoever has one, or, with a ticket, of its person.
pub(super) async fn begin_passkey(State(state): Shared, body: JsonBody) -> Result<Response, Problem> {
    let typed: FactorStepBody<'_> = body.read_or_empty()?;
    let challenge = match typed.login_ticket.given() {
        Some(ticket) => match state.factors.begin_passkey_step(ticket, CONTEXT).await? {
            PasskeyStep::Expired => return Err(Problem::of(ProblemKind::LoginTicketExpired)),
            asked => asked.challenge(),
        },
        None => state.factors.begin_passkey(None, CONTEXT).await?,
    };
    challenged(challenge.as_ref())
}

/// `POST /auth/login/passkey/finish`: a login by a passkey alone.
pub(super) async fn finish_passkey(
    State(state): Shared,
    Origin(network): Origin,
    Device(device): Device,
    body: JsonBody,
) -> Result<Response, Problem> {
    let shown: PasskeyBody<'_> = body.read()?;
    let (ceremony, response) = (shown.state.required("state")?, shown.response()?);
    match state.factors.finish_passkey_login(ceremony, response, CONTEXT, network).await? {
        FactorOutcome::Wrong | FactorOutcome::Late | FactorOutcome::Used => {
            Err(Problem::of(ProblemKind::WrongFactor).saying(WRONG_PASSKEY))
        }
        outcome => sign_in(&state, outcome, (&device, network)).await,
    }
}

/// What a browser is to do with a passkey.
pub(super) fn challenged(challenge: Option<&PasskeyChallenge>) -> Result<Response, Problem> {
    match challenge {
        Some(PasskeyChallenge { options, state }) => {
            Ok(answer(StatusCode::OK, &ChallengeBody { options, state }))
        }
        None => Err(Problem::of(ProblemKind::NotOffered).saying("There is no passkey to ask for.")),
    }
}

async fn after_password(
    state: &IdentityState,
    identity: &Identity,
    wanted: Aal,
    whence: (&str, Network),
) -> Result<Response, Problem> {
    let first =
        FirstFactor { identity, amr: &["pwd"], wanted, context: CONTEXT, data: TicketData::default() };
    match state.factors.after_first(first).await? {
        NextStep::Done { amr, .. } => begin(state, identity, amr, whence).await,
        NextStep::Factor { ticket, kinds } => {
            let factors: Vec<Value> = kinds.names().map(Value::from).collect();
            let problem = Problem::of(ProblemKind::SecondFactorRequired);
            Err(problem.with("login_ticket", ticket).with("factors", factors))
        }
        NextStep::Enrolment { ticket } => {
            let offered = [Some("totp"), state.factors.offers_passkeys().then_some("passkey")];
            let factors: Vec<Value> = offered.into_iter().flatten().map(Value::from).collect();
            let problem = Problem::of(ProblemKind::FactorEnrolmentRequired);
            Err(problem.with("enrolment_ticket", ticket).with("factors", factors))
        }
        NextStep::CannotReach => Err(Problem::of(ProblemKind::SecondFactorMissing)),
    }
}

async fn sign_in(
    state: &IdentityState,
    outcome: FactorOutcome,
    whence: (&str, Network),
) -> Result<Response, Problem> {
    match outcome {
        FactorOutcome::Done { identity, amr, .. } => begin(state, &identity, amr, whence).await,
        FactorOutcome::Wrong | FactorOutcome::Late => Err(Problem::of(ProblemKind::WrongFactor)),
        FactorOutcome::Used => Err(Problem::of(ProblemKind::WrongFactor).saying(USED_CODE)),
        FactorOutcome::TooMany(wait) => Err(Problem::too_many(wait)),
        FactorOutcome::Expired => Err(Problem::of(ProblemKind::LoginTicketExpired)),
    }
}

async fn begin(
    state: &IdentityState,
    identity: &Identity,
    amr: Vec<String>,
    (device, network): (&str, Network),
) -> Result<Response, Problem> {
    let pair = state.accounts.sign_in(identity, amr, device, network).await?;
    Ok(answer(StatusCode::OK, &TokensBody::from(&pair)))
}
