//! A long run: logins at a pace, with lifetimes so short that what is born first has died long before the end. Latency,
//! memory, storage and write-ahead log over time; at last, rows and bytes must be back at what is alive.
//!
//! `sample`: what is looked at every few seconds. `verdict`: what must hold of all samples.

mod sample;
mod verdict;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tokio::time::sleep;

use crate::account::{Accountant, machine};
use crate::command::{DatabaseArgs, OwnServerArgs};
use crate::conclusion::Outcome;
use crate::driver::{self, Length, Load, Pace};
use crate::error::BenchError;
use crate::interrupt::{Interrupt, ended};
use crate::open_files;
use crate::report;
use crate::run::occasion;
use crate::scenario::{Dialect, Kind, LoginOptions};
use crate::target::{Start, Target};

pub use sample::Sample;
use sample::Sampler;
use verdict::Run;
pub use verdict::Verdict;

/// Of the steady time, which are compared.
const QUARTERS: u32 = 4;
/// Nothing that a login makes may live longer than the lifetime of the run.
const LIFETIMES: &[&str] = &[
    "ttl.access_token",
    "ttl.refresh_token",
    "ttl.id_token",
    "ttl.auth_code",
    "ttl.device_user_code",
    "ttl.login_consent_request",
];

/// What a long run is told.
#[derive(Debug, Clone, Args)]
pub struct EnduranceArgs {
    /// Logins a second, in an open loop: 772 are two billion a month
    #[arg(long, default_value = "772", value_parser = crate::command::bounded_rate)]
    pub rate: f64,
    /// For how long
    #[arg(long, default_value = "30m", value_parser = crate::command::lasting)]
    pub duration: Duration,
    /// How long tokens and flows live; what is older is deleted by the server
    #[arg(long, default_value = "2m", value_parser = crate::command::lasting)]
    pub lifetime: Duration,
    /// How long what is dead may still be there: by default twice what passes between two rounds of the janitor, and some more for
    /// its work. With less, the rows of a server that deletes at its own pace are told to stay
    #[arg(long, default_value = "150s", value_parser = crate::command::lasting)]
    pub upkeep: Duration,
    /// How often it is looked at
    #[arg(long, default_value = "10s", value_parser = crate::command::lasting)]
    pub every: Duration,
    /// Users at the same time, each with connections of its own
    #[arg(short, long, default_value = "256")]
    pub connections: NonZeroUsize,
    /// Which server, and where it is told.
    #[command(flatten)]
    pub own: OwnServerArgs,
    /// What is known of its database.
    #[command(flatten)]
    pub database: DatabaseArgs,
}

/// What a long run has shown.
#[derive(Debug, Clone, Serialize)]
pub struct EnduranceReport {
    /// Logins that ended well.
    pub operations: u64,
    /// Logins that did not.
    pub errors: u64,
    /// The same by what went wrong.
    pub errors_by_kind: std::collections::BTreeMap<String, u64>,
    /// Logins a second that were asked for.
    pub rate: f64,
    /// Over time, to the end of the last row.
    pub samples: Vec<Sample>,
    /// What must hold, and whether it does.
    pub verdicts: Vec<Verdict>,
    /// Whether it ended before it could tell what its database does tell.
    pub too_short: bool,
    /// How it was run.
    pub settings: Vec<(String, String)>,
    /// What it ran on.
    pub machine: Vec<(String, String)>,
}

impl EnduranceArgs {
    fn start(&self) -> Result<Start, BenchError> {
        let lifetime = format!("{}s", self.lifetime.as_secs());
        let short = LIFETIMES.iter().map(|key| format!("{key}={lifetime}"));
        self.database.known_to(self.own.start(short))
    }

    /// What the run will not show, if it is known before anything is started: of disk and memory it tells nothing until as much dies as
    /// is born, and then it looks once at least in each quarter.
    fn caution(&self) -> Option<String> {
        let quarters = self.every.saturating_mul(QUARTERS);
        let least = self.lifetime.saturating_add(self.upkeep).saturating_add(quarters);
        if self.duration >= least {
            return None;
        }
        let [said, least] = [self.duration, least].map(humantime::format_duration);
        Some(format!("{said} are too short to show whether disk and memory grow: give {least} of --duration"))
    }

    fn load(&self) -> Load {
        Load {
            users: self.connections,
            threads: self.own.threads.min(self.connections),
            pace: Pace::Open { rate: self.rate },
            length: Length::Duration(self.duration),
            first_turn: 0,
        }
    }
}

/// Runs it, and tells.
pub(crate) async fn perform(
    args: &EnduranceArgs,
    program: &Path,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let report = Box::pin(run(args, program, interrupt)).await?;
    Outcome {
        report: &report,
        text: report.text(),
        json: args.own.json,
        folder: args.own.report.as_deref(),
        page: Some(report::endurance_html),
    }
    .tell()?;
    report.shortfall().map_or(Ok(()), |why| Err(BenchError::Verdict(why)))
}

/// Runs it to the end of its last row.
async fn run(
    args: &EnduranceArgs,
    program: &Path,
    interrupt: &Interrupt,
) -> Result<EnduranceReport, BenchError> {
    let logins = Kind::Login(LoginOptions::default());
    open_files::check(args.connections, logins.listeners(&Dialect::Hydra))?;
    let start = args.start()?;
    report::make(args.own.report.as_deref())?;
    if let Some(caution) = args.caution() {
        eprintln!("{caution}");
    }
    let target = Target::started(&start, program).await?;
    let mut scenario = logins.scenario(&Dialect::Hydra)?;
    scenario.prepare(&target, args.connections.get()).await.map_err(BenchError::Prepare)?;
    let accountant = Accountant::new(&target).await?;
    let mut sampler = Sampler::new(&target, &accountant, interrupt).await?;
    let _measuring = interrupt.measuring();
    let measured = {
        let (load, endpoints) = (args.load(), Arc::clone(&target.endpoints));
        let watch = sampler.watch();
        let load = driver::run(&load, endpoints, Arc::from(scenario), None, &*watch);
        tokio::pin!(load);
        loop {
            tokio::select! {
                measured = &mut load => break measured?,
                () = sleep(args.every) => sampler.look().await?,
            }
        }
    };
    sampler.look().await?;
    let loaded = sampler.elapsed();
    until_dead(&mut sampler, args).await?;
    let run = Run {
        samples: sampler.samples(),
        loaded,
        lifetime: args.lifetime,
        upkeep: args.upkeep,
        before: sampler.before(),
    };
    let mut on = machine::describe();
    on.extend(machine::program(program));
    on.extend(accountant.database().await);
    let mut settings = target.settings();
    settings.extend(interrupt.is_requested().then(|| ended(sampler.elapsed())));
    settings.extend(occasion());
    Ok(EnduranceReport {
        operations: measured.operations,
        errors: measured.failed(),
        verdicts: run.verdicts(measured.failed()),
        too_short: run.is_too_short(),
        errors_by_kind: measured.errors,
        rate: args.rate,
        samples: sampler.samples().to_vec(),
        settings,
        machine: on,
    })
}

/// Until all that was made is gone, or should be.
async fn until_dead(sampler: &mut Sampler<'_>, args: &EnduranceArgs) -> Result<(), BenchError> {
    let began = Instant::now();
    while began.elapsed() < args.lifetime + args.upkeep && !sampler.is_back() && !sampler.is_interrupted() {
        sleep(args.every).await;
        sampler.look().await?;
    }
    Ok(())
}

impl EnduranceReport {
    /// Why it does not show that everything holds that must, in a sentence: something does not, nobody logged in, or it ended too early.
    pub fn shortfall(&self) -> Option<&'static str> {
        if self.verdicts.iter().any(|verdict| verdict.holds == Some(false)) {
            return Some("the run does not show what it must: see the verdicts");
        }
        if self.operations == 0 {
            return Some("nobody logged in, so that nothing is shown");
        }
        self.too_short.then_some("the run was too short to show what it must: see the verdicts")
    }

    /// For the terminal: a line for every sample, then the verdicts.
    pub fn text(&self) -> String {
        let mut text = Sample::heading();
        self.samples.iter().for_each(|sample| text.push_str(&sample.line()));
        let errors = self.errors_by_kind.iter().map(|(kind, count)| format!("  {count} × {kind}\n"));
        let Self { operations, rate, errors: failed, .. } = self;
        text.extend(
            [format!("\n{operations} logins at {rate}/s, {failed} errors\n")].into_iter().chain(errors),
        );
        text.extend(self.verdicts.iter().map(Verdict::line));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_will_be_too_short_says_so_before_it_begins() {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            endurance: EnduranceArgs,
        }
        let caution = |said: &str| {
            let line = ["endurance"].into_iter().chain(said.split(' '));
            <Cli as clap::Parser>::try_parse_from(line).unwrap().endurance.caution()
        };
        let told = caution("--duration 5m").unwrap();
        let expected = "5m are too short to show whether disk and memory grow: give 5m 10s of --duration";
        assert_eq!(told, expected);
        assert_eq!(caution("--duration 5m10s"), None);
        assert_eq!(caution("--every 10s"), None, "half an hour is enough");
        assert!(caution("--duration 5m10s --lifetime 3m").is_some());
        assert_eq!(caution("--duration 1m --lifetime 10s --upkeep 10s"), None);
    }

    #[test]
    fn a_run_that_shows_nothing_does_not_end_well() {
        let verdict = |holds| Verdict { claim: "rows".to_owned(), holds, seen: String::new() };
        let report = |holds| EnduranceReport {
            operations: 9,
            errors: 0,
            errors_by_kind: std::collections::BTreeMap::new(),
            rate: 772.0,
            samples: Vec::new(),
            verdicts: vec![verdict(Some(true)), verdict(holds)],
            too_short: false,
            settings: Vec::new(),
            machine: Vec::new(),
        };
        let good = report(Some(true));
        assert_eq!(good.shortfall(), None);
        assert_eq!(report(None).shortfall(), None, "this database never tells");
        assert!(report(Some(false)).shortfall().unwrap().contains("see the verdicts"));
        let short = EnduranceReport { too_short: true, ..good.clone() };
        assert!(short.shortfall().unwrap().starts_with("the run was too short"));
        let idle = EnduranceReport { operations: 0, ..good };
        assert!(idle.shortfall().unwrap().starts_with("nobody logged in"));
    }
}
