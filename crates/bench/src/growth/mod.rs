//! What an operation costs with ever more in the database: login, refresh, introspection and registration at each size.
//!
//! `bulk`: rows by the million, cloned from those that the server made. `regions`: grants that are real, spread among them.
//! `work`: what users do. `curve`: what came of it.
//!
//! What is loaded was made over the last thirty days, as its ids say. Real grants are made by logins and shuffled among it, so that
//! whoever refreshes each of them once touches the pages of the table as if all grants were drawn from. Their ids are of today: the pages
//! of the index that hold them are few.

mod bulk;
mod curve;
mod regions;
mod work;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::account::{Accountant, machine};
use crate::command::OwnServerArgs;
use crate::conclusion::Outcome;
use crate::driver::{self, Length, Load, Measured, Pace};
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::scenario::{Dialect, IntrospectOptions, Kind, Scenario};
use crate::target::Target;

use bulk::Bulk;
pub use curve::{GrowthPoint, GrowthReport};
use regions::Regions;
use work::{Logins, RefreshEach};

/// Of the grants to be refreshed, one in so many warms up.
const WARM_UP_SHARE: usize = 20;
/// How long what a load has left behind may go on.
const LONGEST_REST: Duration = Duration::from_secs(15 * 60);

/// What a growing database is told.
#[derive(Debug, Clone, Args)]
pub struct GrowthArgs {
    /// How many grants, and as many people: numbers with k for thousands, m for millions
    #[arg(long, value_delimiter = ',', default_value = "0,1m,10m", value_parser = size)]
    pub grants: Vec<u64>,
    /// How many real grants are spread among them, to be refreshed each once
    #[arg(long, default_value = "20000")]
    pub sample: NonZeroUsize,
    /// For how long each operation is measured; refresh ends with the last grant
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
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
    program: &Path,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let report = Box::pin(run(args, program, interrupt)).await?;
    Outcome {
        report: &report,
        text: report.text(),
        json: args.own.json,
        folder: args.own.report.as_deref(),
        page: Some(crate::report::growth_html),
    }
    .tell()?;
    Ok(())
}

async fn run(args: &GrowthArgs, program: &Path, interrupt: &Interrupt) -> Result<GrowthReport, BenchError> {
    let mut sizes = args.grants.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let own = ["identity.hardening.enabled=false".to_owned()];
    let target = Target::started(&args.own.start(own), program).await?;
    let accountant = Accountant::new(&target).await?;
    let Some(postgres) = accountant.postgres() else {
        return Err(BenchError::Usage(
            "rows are loaded into PostgreSQL only: give --dsn postgres://… or none".to_owned(),
        ));
    };
    bulk::check_disk(sizes.last().copied().unwrap_or_default(), args.own.dsn.is_none())?;
    let mut site = Site {
        args,
        interrupt,
        target: &target,
        accountant: &accountant,
        points: Vec::new(),
        waits: Vec::new(),
    };
    let logins = Arc::new(Logins::prepared(&target).await?);
    let introspect = site.prepared(&Kind::Introspect(IntrospectOptions::default())).await?;
    let register = site.prepared(&Kind::Register).await?;
    let (mut regions, mut bulk) = (Regions::default(), Bulk::new(postgres));
    for grants in sizes {
        regions.grow(&target, &logins, &mut bulk, (grants, args.sample.get())).await?;
        bulk.tidy().await?;
        site.settle(&format!("at {grants}")).await?;
        site.over_time("login", grants, Arc::<Logins>::clone(&logins)).await?;
        site.refresh(grants, &logins, &regions).await?;
        site.over_time("introspect", grants, Arc::clone(&introspect)).await?;
        site.over_time("register", grants, Arc::clone(&register)).await?;
        if interrupt.is_requested() {
            break;
        }
    }
    let mut on = machine::describe();
    on.extend(machine::program(program));
    on.extend(accountant.database().await?);
    let settings = target.settings().into_iter().chain(site.waits).collect();
    Ok(GrowthReport { points: site.points, settings, machine: on })
}

/// Where it is measured.
struct Site<'a> {
    args: &'a GrowthArgs,
    interrupt: &'a Interrupt,
    target: &'a Target,
    accountant: &'a Accountant,
    points: Vec<GrowthPoint>,
    /// How long the machine took to come to rest: at which size, and how long.
    waits: Vec<(String, String)>,
}

impl Site<'_> {
    /// What a load leaves to be done is done before anything is measured.
    async fn settle(&mut self, at: &str) -> Result<(), BenchError> {
        let told = self.accountant.settle(LONGEST_REST).await?.to_string();
        eprintln!("rest {at}: {told}");
        self.waits.push((format!("rest {at}"), told));
        Ok(())
    }

    async fn prepared(&self, kind: &Kind) -> Result<Arc<dyn Scenario>, BenchError> {
        let mut scenario = kind.scenario(&Dialect::Hydra)?;
        scenario.prepare(self.target, self.args.connections.get()).await.map_err(BenchError::Prepare)?;
        Ok(Arc::from(scenario))
    }

    async fn over_time(
        &mut self,
        name: &str,
        grants: u64,
        scenario: Arc<dyn Scenario>,
    ) -> Result<(), BenchError> {
        let (warm_up, run) = (Length::Duration(self.args.warm_up), Length::Duration(self.args.duration));
        self.measure(name, grants, scenario, (warm_up, run)).await
    }

    /// Each of the real grants once.
    async fn refresh(
        &mut self,
        grants: u64,
        logins: &Arc<Logins>,
        regions: &Regions,
    ) -> Result<(), BenchError> {
        let each = RefreshEach::new(Arc::clone(logins), regions.even());
        let first = each.len() / WARM_UP_SHARE;
        let lengths = [first, each.len() - first].map(|length| Length::Operations(length as u64));
        self.measure("refresh", grants, Arc::new(each), lengths.into()).await
    }

    /// Every page that is changed for the first time is logged whole, as after every checkpoint.
    async fn measure(
        &mut self,
        name: &str,
        grants: u64,
        scenario: Arc<dyn Scenario>,
        (warm_up, run): (Length, Length),
    ) -> Result<(), BenchError> {
        let what = format!("{name} at {grants}");
        let warmed = self.drive(&format!("{what}, warming up"), warm_up, &scenario, 0).await?;
        self.accountant.checkpoint().await?;
        let before = self.accountant.snapshot().await?;
        let measured = self.drive(&what, run, &scenario, warmed.next_turn).await?;
        let after = self.accountant.snapshot().await?;
        let costs = self.accountant.costs(&before, &after).await?;
        let point = GrowthPoint::of(name, grants, &measured, &costs);
        let first = self.points.iter().find(|earlier| earlier.scenario == name);
        eprint!("{}", point.line(first));
        self.points.push(point);
        self.target.empty_log();
        Ok(())
    }

    async fn drive(
        &self,
        what: &str,
        length: Length,
        scenario: &Arc<dyn Scenario>,
        first_turn: u64,
    ) -> Result<Measured, BenchError> {
        let load = Load {
            users: self.args.connections,
            threads: self.args.own.threads.min(self.args.connections),
            pace: Pace::Closed,
            length,
            first_turn,
        };
        let progress = Progress::new(what, length, self.interrupt);
        let endpoints = Arc::clone(&self.target.endpoints);
        Ok(driver::run(&load, endpoints, Arc::clone(scenario), None, &progress).await?)
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
}
