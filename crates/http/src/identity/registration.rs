//! `POST /auth/register`: a new account. The hottest handler of the server: each field is copied once, nothing is looked up.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use sluice_identity::proof_of_work::PuzzlePurpose;
use sluice_identity::{RegistrationOutcome, SignUp};

use super::Shared;
use super::body::JsonBody;
use super::caller::Origin;
use super::puzzle::SolutionBody;
use super::text::{SecretText, Text};
use super::wire::{AcceptedBody, answer, person};
use crate::respond::{Problem, ProblemKind};

#[derive(Deserialize)]
pub(super) struct SignUpBody<'a> {
    #[serde(borrow, default)]
    email: Text<'a>,
    #[serde(borrow, default)]
    username: Text<'a>,
    #[serde(default)]
    password: SecretText,
    #[serde(borrow)]
    proof_of_work: Option<SolutionBody<'a>>,
}

pub(super) async fn register(
    State(state): Shared,
    Origin(network): Origin,
    body: JsonBody,
) -> Result<Response, Problem> {
    let typed: SignUpBody<'_> = body.read()?;
    let sign_up = SignUp {
        email: typed.email.into_string(),
        username: typed.username.into_string(),
        password: typed.password.or_empty(),
        network,
    };
    let valid = match state.registration.validate(&sign_up) {
        Ok(valid) => valid,
        Err(outcome) => return told(outcome),
    };
    // After what a typing mistake may be in: a solution is good once.
    state.check_puzzle(PuzzlePurpose::Registration, typed.proof_of_work.as_ref())?;
    told(state.registration.register_valid(valid).await?)
}

fn told(outcome: RegistrationOutcome) -> Result<Response, Problem> {
    match outcome {
        RegistrationOutcome::Registered(identity) => Ok(person(StatusCode::CREATED, &identity)),
        RegistrationOutcome::Accepted => {
            Ok(answer(StatusCode::ACCEPTED, &AcceptedBody { status: "accepted" }))
        }
        RegistrationOutcome::Taken => Err(Problem::of(ProblemKind::EmailTaken).on("email")),
        RegistrationOutcome::Invalid(field) => Err(field.into()),
        RegistrationOutcome::TooMany(wait) => Err(Problem::too_many(wait)),
        RegistrationOutcome::Closed => Err(Problem::of(ProblemKind::RegistrationClosed)),
    }
}
