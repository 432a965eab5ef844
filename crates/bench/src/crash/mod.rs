//! kill -9 in the middle of a load, again and again, while users go on. Afterwards what they were told is held against the
//! server: nothing that was answered is lost, nothing that works once has worked twice.
//!
//! `kill`: when, and whom. `promises`: what the ledger says. `check`: whether the server keeps it. `report`: what came of it.

mod check;
mod kill;
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
use crate::scenario::{
    ClientCredentialsOptions, Dialect, Kind, LoginOptions, LoginPasswordOptions, RefreshOptions,
    RegisterHardenOptions,
};
use crate::target::{Target, TargetError};

pub use check::Kept;
use kill::Rounds;
use promises::Promises;
pub use report::CrashReport;

/// No run takes longer; its rounds end it.
const AT_MOST: Duration = Duration::from_hours(24);
/// A code that is presented once more after the run is to be refused because it was spent, not because it is old.
const LONG_CODES: &str = "ttl.auth_code=10m";
/// A token that is not active after the run is to have been lost, and not to be old.
const LONG_TOKENS: &str = "ttl.access_token=25h";

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
    /// The same through the pages of the server, with passwords
    LoginPassword,
    /// Refresh tokens are rotated
    Refresh,
    /// Tokens are revoked
    Revoke,
    /// People are registered
    Register,
    /// People are registered, and passwords are hardened meanwhile
    #[value(name = "register+harden")]
    RegisterHarden,
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

impl Promising {
    fn kind(self) -> Kind {
        match self {
            Self::Login => Kind::Login(LoginOptions::default()),
            Self::LoginPassword => Kind::LoginPassword(LoginPasswordOptions::default()),
            Self::Refresh => Kind::Refresh(RefreshOptions::default()),
            Self::Revoke => Kind::Revoke(ClientCredentialsOptions::default()),
            Self::Register => Kind::Register,
            Self::RegisterHarden => Kind::RegisterHarden(RegisterHardenOptions::default()),
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
    report.shortfall().map_or(Ok(()), |why| Err(BenchError::Verdict(why)))
}

/// Runs all rounds, and looks what is left.
async fn run(args: &CrashArgs, program: &Path, interrupt: &Interrupt) -> Result<CrashReport, BenchError> {
    let kind = args.scenario.kind();
    let own = kind.settings().iter().map(|(key, value)| format!("{key}={value}"));
    let start = args.own.start(own.chain([LONG_CODES, LONG_TOKENS].map(str::to_owned)));
    crate::report::make(args.own.report.as_deref())?;
    let mut target = Target::started(&start, program).await?;
    if args.kill != Victim::Server && !target.has_own_postgres() {
        return Err(BenchError::Usage("only a private PostgreSQL can be killed: leave --dsn out".to_owned()));
    }
    let mut scenario = kind.scenario(&Dialect::Hydra)?;
    scenario.prepare(&target, args.connections.get()).await.map_err(BenchError::Prepare)?;
    let (scenario, ledger) = (Arc::from(scenario), Arc::new(Ledger::default()));
    let (rounds, endpoints) = (Rounds::new(args, interrupt), Arc::clone(&target.endpoints));
    let (load, measuring) = (args.load(), interrupt.measuring());
    let working = driver::run(&load, endpoints, Arc::clone(&scenario), Some(Arc::clone(&ledger)), &rounds);
    let (measured, killed) = tokio::join!(working, rounds.kill(&mut target));
    drop(measuring);
    let (measured, back_after) = (measured?, killed?);
    forget(&mut target).await?;
    let promises = check::all(&target, &*scenario, Promises::of(ledger.take())).await?;
    let report = CrashReport::of(args, (measured, rounds.failed_in_calm()), &back_after, promises);
    Ok(CrashReport { settings: target.settings(), ..report })
}

/// What nobody but the server's memory knows is gone after this, whatever was killed before.
async fn forget(target: &mut Target) -> Result<(), TargetError> {
    target.kill_server()?;
    target.start_server_again().await?;
    target.until_ready().await
}

impl CrashArgs {
    fn load(&self) -> Load {
        Load {
            users: self.connections,
            threads: self.own.threads.min(self.connections),
            pace: Pace::Closed,
            length: Length::Duration(AT_MOST),
            first_turn: 0,
        }
    }
}
