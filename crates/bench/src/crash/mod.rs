//! kill -9 in the middle of a load, again and again, while users go on. Afterwards what they were told is held against the
//! server: nothing that was answered is lost, nothing that works once has worked twice.
//!
//! `meanwhile`: what users do. `kill`: when, and whom. `promises`: what the ledger says. `check`: whether the server keeps it. `report`: what came of it.

mod check;
mod kill;
mod meanwhile;
mod promises;
mod report;

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
use crate::open_files;
use crate::run::occasion;
use crate::scenario::{Dialect, Kind, TokenFormat};
use crate::target::{Start, Target, TargetError};

pub use check::Kept;
use kill::Rounds;
pub use meanwhile::Meanwhile;
use promises::Promises;
pub use report::CrashReport;

/// No run takes longer; its rounds end it.
const AT_MOST: Duration = Duration::from_hours(24);
/// A code that is presented once more after the run is to be refused because it was spent, not because it is old.
const LONG_CODES: &str = "ttl.auth_code=10m";
/// A token that is not active after the run is to have been lost, and not to be old.
const LONG_TOKENS: &str = "ttl.access_token=25h";
/// Whoever got no answer to a refresh may do something else first, and comes again later.
const LONG_GRACE: &str = "oauth2.grant.refresh_token.rotation_grace_period=5m";

/// Users, unless it is said.
const USERS: NonZeroUsize = NonZeroUsize::new(64).unwrap();
/// Of a scenario in which each operation waits for a hash.
const HASHED_FOR_USERS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// What crash tests are told.
#[derive(Debug, Clone, Args)]
pub struct CrashArgs {
    /// What users do meanwhile
    #[arg(value_enum)]
    pub scenario: Meanwhile,
    /// What is killed
    #[arg(long, value_enum, default_value_t)]
    pub kill: Victim,
    /// What the access tokens look like, of scenarios that are about some [default: opaque]
    #[arg(long, value_enum)]
    pub token: Option<TokenFormat>,
    /// How often
    #[arg(long, default_value = "10")]
    pub rounds: NonZeroU32,
    /// Each kill comes at a random moment within this time after everything was well
    #[arg(long, default_value = "3s", value_parser = humantime::parse_duration)]
    pub within: Duration,
    /// Users at the same time [default: 64, of login-password 16]
    #[arg(short, long)]
    pub connections: Option<NonZeroUsize>,
    /// Which server, and where it is told.
    #[command(flatten)]
    pub own: OwnServerArgs,
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

/// Runs it, and tells.
pub(crate) async fn perform(
    args: &CrashArgs,
    program: &Path,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let report = Box::pin(run(args, program, interrupt)).await?;
    let folder = args.own.report.as_deref();
    Outcome { report: &report, text: report.text(), json: args.own.json, folder, page: None }.tell()?;
    report.shortfall().map_or(Ok(()), |why| Err(BenchError::Verdict(why)))
}

/// Runs all rounds, and looks what is left.
async fn run(args: &CrashArgs, program: &Path, interrupt: &Interrupt) -> Result<CrashReport, BenchError> {
    let kind = args.kind();
    if args.token.is_some() && !args.scenario.takes_format() {
        return Err(BenchError::Usage(format!("{} has no --token", kind.name())));
    }
    if args.kill != Victim::Server && args.own.dsn.is_some() {
        return Err(BenchError::Usage("only a private PostgreSQL can be killed: leave --dsn out".to_owned()));
    }
    open_files::check(args.users(), kind.listeners(&Dialect::Hydra))?;
    crate::report::make(args.own.report.as_deref())?;
    let mut target = Target::started(&args.start(&kind), program).await?;
    let mut scenario = kind.scenario(&Dialect::Hydra)?;
    scenario.prepare(&target, args.users().get()).await.map_err(BenchError::Prepare)?;
    let (scenario, ledger) = (Arc::from(scenario), Arc::new(Ledger::default()));
    let (rounds, endpoints) = (Rounds::new(args, interrupt), Arc::clone(&target.endpoints));
    let (load, measuring) = (args.load(), interrupt.measuring());
    let working = driver::run(&load, endpoints, Arc::clone(&scenario), Some(Arc::clone(&ledger)), &rounds);
    let (measured, killed) = tokio::join!(working, rounds.kill(&mut target));
    drop(measuring);
    let (measured, back_after) = (measured?, killed?);
    forget(&mut target).await?;
    let mut promises = check::all(&target, &*scenario, Promises::of(ledger.take())).await?;
    if kind.only_reads() {
        promises.push(check::reads(&target, &*scenario, args.users().get()).await?);
    }
    let report = CrashReport::of(args, (measured, rounds.failed_in_calm()), &back_after, promises);
    let mut settings = target.settings();
    settings.extend(occasion());
    Ok(CrashReport { settings, ..report })
}

/// What nobody but the server's memory knows is gone after this, whatever was killed before.
async fn forget(target: &mut Target) -> Result<(), TargetError> {
    target.kill_server()?;
    target.start_server_again().await?;
    target.until_ready().await
}

impl CrashArgs {
    pub(crate) fn kind(&self) -> Kind {
        self.scenario.kind(self.token.unwrap_or_default())
    }

    /// How many users there are.
    pub(crate) fn users(&self) -> NonZeroUsize {
        self.connections.unwrap_or(if self.scenario.waits_for_hashes() { HASHED_FOR_USERS } else { USERS })
    }

    fn start(&self, kind: &Kind) -> Start {
        let own = kind.settings().iter().map(|(key, value)| format!("{key}={value}"));
        let long = [LONG_CODES, LONG_TOKENS, LONG_GRACE].map(str::to_owned);
        Start { gateway: kind.needs_gateway(), ..self.own.start(own.chain(long)) }
    }

    fn load(&self) -> Load {
        Load {
            users: self.users(),
            threads: self.own.threads.min(self.users()),
            pace: Pace::Closed,
            length: Length::Duration(AT_MOST),
            first_turn: 0,
        }
    }
}
