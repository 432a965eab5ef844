//! What an operation costs with ever more in the database: login, refresh, introspection and registration at each size.
//!
//! `bulk`: rows by the million, cloned from those that the server made. `regions`: those of them that are refreshed.
//! `work`: what users do. `site`: where it is measured. `curve`: what came of it.
//!
//! What is loaded was made over the last thirty days, as its ids say. Grants to be refreshed are drawn from all of it, and the program of
//! the server, which alone can, seals their tokens ([`Inside`]): so whoever refreshes each of them once touches the table and its index as
//! if all grants were drawn from, and nobody has touched those pages since they were loaded.

mod bulk;
mod curve;
mod regions;
mod site;
mod work;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use crate::account::{Accountant, machine};
use crate::command::{DatabaseArgs, OwnServerArgs};
use crate::conclusion::Outcome;
use crate::error::BenchError;
use crate::inside::Inside;
use crate::interrupt::{Interrupt, ended};
use crate::open_files;
use crate::report;
use crate::run::occasion;
use crate::scenario::{Dialect, Kind, LoginOptions};
use crate::target::{Target, is_sqlite};

use bulk::Bulk;
pub use curve::{GrowthPoint, GrowthReport};
use regions::Regions;
use site::{Shown, Site};

/// Nobody is hardened meanwhile, and tokens are good until the end: a load of many rows takes longer than they live by default.
const SETTINGS: [&str; 2] = ["identity.hardening.enabled=false", "ttl.access_token=25h"];

/// What is said of `--dsn`: rows are loaded into PostgreSQL only.
const DSN: &str = "The database of the server: postgres://… [default: a private PostgreSQL]";

/// Why there are no tokens for what is loaded.
const NOBODY_INSIDE: &str = "nobody here can seal refresh tokens of grants that are loaded: it takes the program of the server, sluice bench growth";

/// What a growing database is told.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("dsn", |dsn| dsn.help(DSN)))]
pub struct GrowthArgs {
    /// How many grants, and as many people: numbers with k for thousands, m for millions
    #[arg(long, value_delimiter = ',', default_value = "0,1m,10m", value_parser = size)]
    pub grants: Vec<u64>,
    /// How many of them are drawn to be refreshed: every run has as many of its own, and each once. At no grants they are made by logins
    #[arg(long, default_value = "100000")]
    pub sample: NonZeroUsize,
    /// Measure so many times at each size, and tell the run in the middle by CPU
    #[arg(long, default_value = "3")]
    pub runs: NonZeroUsize,
    /// For how long each operation is measured; refresh ends with the last grant
    #[arg(long, default_value = "10s", value_parser = crate::command::lasting)]
    pub duration: Duration,
    /// For how long before
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    pub warm_up: Duration,
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

/// A number with k or m behind it.
fn size(said: &str) -> Result<u64, String> {
    let (digits, times) = match said.to_ascii_lowercase() {
        text if text.ends_with('k') => (text.trim_end_matches('k').to_owned(), 1_000),
        text if text.ends_with('m') => (text.trim_end_matches('m').to_owned(), 1_000_000),
        text => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| "a number such as 500k or 10m".to_owned())?;
    number.checked_mul(times).ok_or_else(|| "too many".to_owned())
}

/// Runs it, and tells.
pub(crate) async fn perform(
    args: &GrowthArgs,
    (program, inside): (&Path, Option<&dyn Inside>),
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let inside = inside.ok_or_else(|| BenchError::Usage(NOBODY_INSIDE.to_owned()))?;
    let report = Box::pin(run(args, (program, inside), interrupt)).await?;
    Outcome {
        report: &report,
        text: report.text(),
        json: args.own.json,
        folder: args.own.report.as_deref(),
        page: Some(report::growth_html),
    }
    .tell()?;
    report.check()?;
    // What was measured so far is not what was asked for.
    if interrupt.is_requested() { Err(BenchError::Interrupted) } else { Ok(()) }
}

/// Up to the last size, or as far as it came before Ctrl-C.
async fn run(
    args: &GrowthArgs,
    (program, inside): (&Path, &dyn Inside),
    interrupt: &Interrupt,
) -> Result<GrowthReport, BenchError> {
    args.check()?;
    let start = args.database.known_to(args.own.start(SETTINGS.map(str::to_owned)))?;
    report::make(args.own.report.as_deref())?;
    let target = Target::started(&start, program).await?;
    let accountant = Accountant::new(&target).await?;
    let (postgres, sizes) = (accountant.postgres().ok_or_else(no_postgres)?, args.sizes());
    bulk::check_disk(sizes.last().copied().unwrap_or_default(), args.own.dsn.is_none())?;
    let mut on = machine::describe();
    on.extend(machine::program(program));
    // At the end its connection may be busy with a load that Ctrl-C has ended.
    on.extend(accountant.database().await);
    let mut site = Site::prepared(args, interrupt, &target, &accountant).await?;
    let (mut regions, began) = (Regions::default(), Instant::now());
    let mut bulk = Bulk::new(postgres, inside, Arc::clone(site.logins()));
    for grants in sizes {
        let grown = async {
            regions.grow(&target, &mut bulk, (grants, args.sample.get())).await?;
            bulk.tidy().await
        };
        let Some(()) = interrupt.unless_requested(grown).await.transpose()? else { break };
        if !site.measure(grants, &regions).await? {
            break;
        }
    }
    let Shown { points, runs, told } = site.shown();
    if points.is_empty() {
        return Err(BenchError::Interrupted);
    }
    let runs = if args.runs.get() > 1 { runs } else { Vec::new() };
    let ended = interrupt.is_requested().then(|| ended(began.elapsed()));
    let known = target.settings().into_iter().chain(args.told()).chain(told);
    let settings = known.chain(ended).chain(occasion()).collect();
    Ok(GrowthReport { points, runs, settings, machine: on })
}

fn no_postgres() -> BenchError {
    BenchError::Usage("rows are loaded into PostgreSQL only: give --dsn postgres://… or none".to_owned())
}

impl GrowthArgs {
    /// Whether it can be done, as far as that is known before anything is started.
    fn check(&self) -> Result<(), BenchError> {
        if self.sample < self.runs {
            return Err(BenchError::Usage(
                "every run refreshes grants of its own: give more --sample".to_owned(),
            ));
        }
        let smallest = self.grants.iter().copied().filter(|grants| *grants > 0).min();
        if let Some(grants) = smallest.filter(|grants| *grants < self.sample.get() as u64) {
            return Err(BenchError::Usage(format!(
                "{grants} grants are fewer than are refreshed: give fewer --sample"
            )));
        }
        if self.own.dsn.as_deref().is_some_and(is_sqlite) {
            return Err(no_postgres());
        }
        let logins = Kind::Login(LoginOptions::default());
        open_files::check(self.connections, logins.listeners(&Dialect::Hydra))
    }

    /// Each once, the smallest first.
    fn sizes(&self) -> Vec<u64> {
        let mut sizes = self.grants.clone();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// How it was run, in words.
    fn told(&self) -> [(String, String); 3] {
        let length = humantime::format_duration(self.duration);
        let of_a_run = self.sample.get() / self.runs;
        [
            ("connections".to_owned(), self.connections.to_string()),
            ("length".to_owned(), format!("{length}; refresh: {of_a_run} grants, each once")),
            (
                "runs at each size".to_owned(),
                format!("{}, of which the one in the middle is told", self.runs),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_may_be_written_short() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("500k"), Ok(500_000));
        assert_eq!(size("10M"), Ok(10_000_000));
        assert!(size("many").is_err());
        assert!(size("99999999999999999999m").is_err());
    }

    fn args(said: &[&str]) -> GrowthArgs {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            growth: GrowthArgs,
        }
        <Cli as clap::Parser>::try_parse_from([&["growth"], said].concat()).unwrap().growth
    }

    #[test]
    fn sizes_come_in_their_order_and_once() {
        assert_eq!(args(&["--grants", "2k,0,2000,1k"]).sizes(), [0, 1_000, 2_000]);
    }

    #[test]
    fn what_cannot_grow_is_refused_before_anything_is_started() {
        let refused = |said: &[&str]| {
            let refused = args(said).check().unwrap_err();
            assert!(refused.is_usage(), "{refused}");
            refused.to_string()
        };
        assert!(refused(&["--dsn", "sqlite:"]).starts_with("rows are loaded into PostgreSQL only"));
        assert!(refused(&["--sample", "2"]).ends_with("give more --sample"));
        assert!(refused(&["--grants", "0,1k"]).starts_with("1000 grants are fewer than are refreshed"));
        assert!(refused(&["-c", "2000000000"]).contains(" open files"));
        assert!(args(&["--dsn", "postgres://db/x"]).check().is_ok());
        assert!(args(&["--grants", "0,1k", "--sample", "1000"]).check().is_ok());
    }
}
