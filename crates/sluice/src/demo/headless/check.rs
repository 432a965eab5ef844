//! What an answer must be.

use std::fmt::Display;

use serde_json::Value;
use sluice_commit::chain;

use super::browser::BrowserError;
use crate::demo::DemoError;
use crate::demo::relying_party::RelyingPartyError;

/// Why the play ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("expected {expected}, got {got}")]
    Unexpected { expected: String, got: String },
    #[error("expected an answer that the application accepts, got {}", chain(.0))]
    RelyingParty(#[from] RelyingPartyError),
    #[error("expected a page, got {}", chain(.0))]
    Browser(#[from] BrowserError),
    #[error("{}", chain(.0))]
    Demo(#[from] DemoError),
}

/// Fails unless `holds`.
pub(super) fn must(holds: bool, expected: impl Display, got: impl Display) -> Result<(), Failure> {
    if holds {
        return Ok(());
    }
    Err(Failure::Unexpected { expected: expected.to_string(), got: got.to_string() })
}

/// Fails unless the member `name` of `answer` is `expected`.
pub(super) fn member(answer: &Value, name: &str, expected: &Value) -> Result<(), Failure> {
    let got = answer.get(name).unwrap_or(&Value::Null);
    must(got == expected, format_args!("`{name}` to be {expected}"), format_args!("{got} in {answer}"))
}
