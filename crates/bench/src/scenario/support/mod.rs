//! What scenarios share: the application whose users log in, what a server calls its endpoints, answers read without parsing them.

pub(super) mod application;
pub(super) mod code_flow;
pub(super) mod crowd;
pub(super) mod field;
pub(super) mod form;
pub(super) mod hardening;
pub(super) mod id_token;
pub(super) mod legs;
pub(super) mod metrics;
pub(super) mod pages;
pub(super) mod people;
pub(super) mod places;
pub(super) mod proof;
pub(super) mod tokens;

use crate::driver::Failure;

/// What [`super::Scenario::prepare`] made.
///
/// # Errors
/// [`Failure::Setup`] before it was called.
pub(super) fn prepared<T>(made: Option<&T>) -> Result<&T, Failure> {
    made.ok_or_else(|| Failure::Setup("the scenario was not prepared".to_owned()))
}
