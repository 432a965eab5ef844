//! `GET /auth/proof-of-work`: a puzzle to solve before a registration or a login, where that is configured.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use sluice_identity::proof_of_work::{PuzzlePurpose, PuzzleSolution};

use super::text::Text;
use super::wire::answer;
use super::{IdentityState, Shared};
use crate::respond::{Problem, ProblemKind};

/// The member `proof_of_work` of a body.
#[derive(Deserialize)]
pub(super) struct SolutionBody<'a> {
    #[serde(borrow, default)]
    challenge: Text<'a>,
    #[serde(borrow, default)]
    solution: Text<'a>,
}

#[derive(Serialize)]
struct PuzzleBody<'a> {
    challenge: &'a str,
    bits: u8,
}

/// `GET /auth/proof-of-work?purpose=registration` or `login`
pub(super) async fn issue(State(state): Shared, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = query.unwrap_or_default();
    let mut parameters = form_urlencoded::parse(query.as_bytes());
    let purpose =
        match parameters.find(|(name, _)| name == "purpose").as_ref().map(|(_, value)| value.as_ref()) {
            Some("registration") => PuzzlePurpose::Registration,
            Some("login") => PuzzlePurpose::Login,
            Some(_) => {
                let expected = "It is `registration` or `login`.";
                return Err(Problem::field("purpose", "purpose_malformed", expected));
            }
            None => return Err(Problem::missing("purpose")),
        };
    let puzzle = state
        .proof_of_work
        .issue(purpose)
        .ok_or_else(|| Problem::of(ProblemKind::NotOffered).saying("Nothing needs to be solved for this."))?;
    Ok(answer(StatusCode::OK, &PuzzleBody { challenge: &puzzle.challenge, bits: puzzle.bits }))
}

impl IdentityState {
    /// Whether enough was solved.
    pub(super) fn check_puzzle(
        &self,
        purpose: PuzzlePurpose,
        solution: Option<&SolutionBody<'_>>,
    ) -> Result<(), Problem> {
        let solution = solution.map(|body| PuzzleSolution {
            challenge: body.challenge.or_empty(),
            solution: body.solution.or_empty(),
        });
        if self.proof_of_work.check(purpose, solution) {
            Ok(())
        } else {
            Err(Problem::of(ProblemKind::ProofOfWorkRequired).on("proof_of_work"))
        }
    }
}
