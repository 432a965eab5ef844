//! The demo without a browser: register, log in, consent, code, tokens, userinfo, introspect, refresh, revoke, introspect.
//!
//! [`play`]: plays it and says how it ended. `script`: the steps. `browser`: cookies and redirects. `form`: the forms of
//! the built-in pages. `check`: what an answer must be. `report`: what is printed.

mod browser;
mod check;
mod form;
mod report;
mod script;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use super::DemoParts;
use super::admin::Admin;
use super::relying_party::RelyingParty;
use report::Report;
use script::Script;

/// Plays every step once and prints it. Success if every answer was as it must be.
pub(super) async fn play(party: RelyingParty, admin: Admin, world: DemoParts) -> ExitCode {
    let mut report = Report::begin(world.printer.clone());
    let outcome = Script::new(party, admin, world).play(&mut report).await;
    report.end(outcome.as_ref().err());
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
