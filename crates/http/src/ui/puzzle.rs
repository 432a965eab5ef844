//! The puzzle of a form, where one is configured: a script solves it while the person types.

use sluice_identity::proof_of_work::{PuzzlePurpose, PuzzleSolution};
use sluice_protocol::Parameters;

use super::UiState;

/// What a form says whose puzzle was not solved: without a script, or so long ago that it is none any more.
pub(super) const UNSOLVED: &str =
    "Your browser has to prepare this form, for which it needs JavaScript. Please send the form once more.";

/// Whether the browser solved what the form asked for.
pub(super) fn is_solved(ui: &UiState, purpose: PuzzlePurpose, fields: &Parameters<'_>) -> bool {
    let solution = fields
        .get("puzzle")
        .zip(fields.get("solution"))
        .map(|(challenge, solution)| PuzzleSolution { challenge, solution });
    ui.proof_of_work.check(purpose, solution)
}
