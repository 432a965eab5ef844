//! kill -9 in the middle of a load, again and again, while users go on. Afterwards what they were told is held against the
//! server: nothing that was answered is lost, nothing that works once has worked twice.
//!
//! `kill`: when, and whom. `promises`: what the ledger says. `check`: whether the server keeps it.

mod check;
mod kill;
mod promises;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::command::OwnServerArgs;
use crate::conclusion::Outcome;
use crate::driver::{self, Ledger, Length, Load, Pace};
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::scenario::{ClientCredentialsOptions, Dialect, Kind, LoginOptions, RefreshOptions};
use crate::target::Target;

pub use check::Kept;
use kill::Rounds;
use promises::Promises;

/// No run takes longer; its rounds end it.
const AT_MOST: Duration = Duration::from_hours(24);

/// What crash tests are told.
#[derive(Debug, Clone, Args)]
pub struct CrashArgs {
    /// What users do meanwhile
    #[arg(value_enum)]
    pub scenario: Promising,
    /// What is killed
    #[arg(long, value_enum, default_value_t)]
    pub kill: Victim,
    /// How often
    #[arg(long, default_value = "10")]
    pub rounds: NonZeroU32,
    /// Each kill comes at a random moment within this time after everything was well
    #[arg(long, default_value = "3s", value_parser = humantime::parse_duration)]
    pub within: Duration,
    /// Users at the same time
    #[arg(short, long, default_value = "64")]
    pub connections: NonZeroUsize,
    /// Which server, and where it is told.
    #[command(flatten)]
    pub own: OwnServerArgs,
}

/// Scenarios whose answers promise something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Promising {
    /// Codes are redeemed, tokens issued
    Login,
    /// Refresh tokens are rotated
    Refresh,
    /// Tokens are revoked
    Revoke,
    /// People are registered
    Register,
    /// Clients are made
    CreateClient,
}

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Victim {
    /// The server
    #[default]
    Server,
    /// The private PostgreSQL
    Postgres,
    /// Both at once
    Both,
}

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub struct CrashReport {
    /// What users did.
    pub scenario: String,
    /// What was killed.
    pub kill: Victim,
    /// How often.
    pub rounds: u32,
    /// From each kill to the first operation that could succeed, in milliseconds.
    pub back_after_ms: Vec<u64>,
    /// Operations that were answered.
    pub operations: u64,
    /// Operations that a crash cut off; what became of them, nobody was told.
    pub cut_off: u64,
    /// Answers that no crash excuses.
    pub wrong: BTreeMap<String, u64>,
    /// What was promised, and how much of it was kept.
    pub promises: Vec<Kept>,
    /// How it was run.
    pub settings: Vec<(String, String)>,
}

impl Promising {
    fn kind(self) -> Kind {
        match self {
            Self::Login => Kind::Login(LoginOptions::default()),
            Self::Refresh => Kind::Refresh(RefreshOptions::default()),
            Self::Revoke => Kind::Revoke(ClientCredentialsOptions::default()),
            Self::Register => Kind::Register,
            Self::CreateClient => Kind::CreateClient,
        }
    }
}

/// Runs it, and tells.
pub(crate) async fn perform(
    args: &CrashArgs,
    program: &Path,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let report = Box::pin(run(args, program, interrupt)).await?;
    let folder = args.own.report.as_deref();
    Outcome { report: &report, text: report.text(), json: args.own.json, folder, page: None }.tell()?;
    if report.holds() { Ok(()) } else { Err(BenchError::Verdict("the server did not keep what it promised")) }
}

/// Runs all rounds, and looks what is left.
async fn run(args: &CrashArgs, program: &Path, interrupt: &Interrupt) -> Result<CrashReport, BenchError> {
    let kind = args.scenario.kind();
    let own = kind.settings().iter().map(|(key, value)| format!("{key}={value}"));
    let mut target = Target::started(&args.own.start(own), program).await?;
    if args.kill != Victim::Server && !target.has_own_postgres() {
        return Err(BenchError::Usage("only a private PostgreSQL can be killed: leave --dsn out".to_owned()));
    }
    let mut scenario = kind.scenario(&Dialect::Hydra)?;
    scenario.prepare(&target, args.connections.get()).await.map_err(BenchError::Prepare)?;
    let (scenario, ledger) = (Arc::from(scenario), Arc::new(Ledger::default()));
    let (rounds, endpoints) = (Rounds::new(args, interrupt), Arc::clone(&target.endpoints));
    let load = Load {
        users: args.connections,
        threads: args.own.threads.min(args.connections),
        pace: Pace::Closed,
        length: Length::Duration(AT_MOST),
        first_turn: 0,
    };
    let measuring = interrupt.measuring();
    let working = driver::run(&load, endpoints, Arc::clone(&scenario), Some(Arc::clone(&ledger)), &rounds);
    let (measured, killed) = tokio::join!(working, rounds.kill(&mut target));
    drop(measuring);
    let (measured, back_after) = (measured?, killed?);
    let promises = Promises::of(ledger.take());
    let (wrong, cut_off) = excused(measured.errors);
    Ok(CrashReport {
        scenario: kind.label(),
        kill: args.kill,
        rounds: u32::try_from(back_after.len()).unwrap_or(u32::MAX),
        back_after_ms: back_after
            .iter()
            .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
            .collect(),
        operations: measured.operations,
        cut_off,
        wrong,
        promises: check::all(&target, &*scenario, promises).await?,
        settings: target.settings(),
    })
}

/// What is wrong whatever was killed, and how many operations were only cut off: no answer, or one that says "later".
fn excused(errors: BTreeMap<String, u64>) -> (BTreeMap<String, u64>, u64) {
    let is_cut_off = |kind: &str| {
        kind.starts_with("connection: ")
            || kind.starts_with("no answer within")
            || kind.ends_with(": status 503")
    };
    let (cut_off, wrong): (BTreeMap<_, _>, BTreeMap<_, _>) =
        errors.into_iter().partition(|(kind, _)| is_cut_off(kind));
    (wrong, cut_off.values().sum())
}

impl CrashReport {
    /// Whether everything was kept.
    pub fn holds(&self) -> bool {
        self.wrong.is_empty() && self.promises.iter().all(Kept::holds)
    }

    /// For the terminal.
    pub fn text(&self) -> String {
        let whom = match self.kill {
            Victim::Server => "the server",
            Victim::Postgres => "PostgreSQL",
            Victim::Both => "the server and PostgreSQL",
        };
        let mut text = format!(
            "{}: killed {whom} {} times; back after {} ms at most; {} operations answered, {} cut off\n",
            self.scenario,
            self.rounds,
            self.back_after_ms.iter().max().unwrap_or(&0),
            self.operations,
            self.cut_off,
        );
        text.extend(self.wrong.iter().map(|(kind, count)| format!("  WRONG  {count} × {kind}\n")));
        text.extend(self.promises.iter().map(Kept::line));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_crash_explains_is_excused() {
        let errors = [
            "connection: connection refused",
            "no answer within 30 s",
            "token: status 503",
            "token: status 400",
        ];
        let errors = errors.into_iter().map(|kind| (kind.to_owned(), 2)).collect();
        let (wrong, cut_off) = excused(errors);
        assert_eq!(cut_off, 6);
        assert_eq!(wrong.into_keys().collect::<Vec<_>>(), ["token: status 400"]);
    }
}
