//! The puzzle of a form, where one is configured: a script solves it while the person types.

use sluice_identity::proof_of_work::{Puzzle, PuzzlePurpose, PuzzleSolution};
use sluice_primitives::Lifetime;
use sluice_protocol::Parameters;

use super::UiState;

/// A form may be open for so long, however short flows are.
const SHORTEST: Lifetime = Lifetime::minutes(5);

/// What a form says that brings no solution.
pub(super) const UNSOLVED: &str =
    "Your browser has to prepare this form, for which it needs JavaScript. Please send the form once more.";
/// What a form says whose solution is good no more.
pub(super) const SPENT: &str =
    "This form was sent before, or was open for too long. Please send it once more.";

/// The puzzle of a form, which may be sent for as long as any flow lives, of a browser or a device: for five minutes at least, and an hour
/// at most. None if nothing needs to be solved.
pub(super) fn issue(ui: &UiState, purpose: PuzzlePurpose) -> Option<Puzzle> {
    let flow = ui.config.lifetimes.flow.max(ui.config.policies.device.lifetime);
    ui.proof_of_work.issue_for(purpose, flow.max(SHORTEST))
}

/// What the form says if the browser did not solve what it asked for.
pub(super) fn mistake(ui: &UiState, purpose: PuzzlePurpose, fields: &Parameters<'_>) -> Option<&'static str> {
    let solution = fields
        .get("puzzle")
        .zip(fields.get("solution"))
        .map(|(challenge, solution)| PuzzleSolution { challenge, solution });
    let said = if solution.is_some() { SPENT } else { UNSOLVED };
    (!ui.proof_of_work.check(purpose, solution)).then_some(said)
}
