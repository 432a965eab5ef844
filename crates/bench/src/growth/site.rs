//! Where it is measured: the floor, the four scenarios as often as was said, the floor; at one size after the other.

use std::sync::Arc;
use std::time::Duration;

use super::GrowthArgs;
use super::curve::{GrowthPoint, medians};
use super::regions::Regions;
use super::work::{Grant, Logins, RefreshEach};
use crate::account::Accountant;
use crate::driver::{self, Length, Load, Measured, Pace};
use crate::error::BenchError;
use crate::floor::{Around, Floor, Floors};
use crate::interrupt::{Interrupt, Measuring};
use crate::progress::Progress;
use crate::scenario::{Dialect, IntrospectOptions, Kind, Scenario};
use crate::target::Target;

/// Of the grants to be refreshed, one in so many warms up.
const WARM_UP_SHARE: usize = 20;
/// How long what a load has left behind may go on.
const LONGEST_REST: Duration = Duration::from_mins(15);

/// Where it is measured.
pub(super) struct Site<'a> {
    args: &'a GrowthArgs,
    interrupt: &'a Interrupt,
    target: &'a Target,
    accountant: &'a Accountant,
    floors: Floors,
    logins: Arc<Logins>,
    introspect: Arc<dyn Scenario>,
    register: Arc<dyn Scenario>,
    shown: Shown,
    /// From the first measurement on there is something to tell.
    measuring: Option<Measuring<'a>>,
}

/// What it has shown so far.
#[derive(Default)]
pub(super) struct Shown {
    /// Of each size and scenario the run in the middle.
    pub(super) points: Vec<GrowthPoint>,
    /// All runs.
    pub(super) runs: Vec<GrowthPoint>,
    /// What there is to say about each size: how the machine came to rest, and what to beware of when it is counted in floors.
    pub(super) told: Vec<(String, String)>,
}

impl<'a> Site<'a> {
    /// With what the operations need.
    pub(super) async fn prepared(
        args: &'a GrowthArgs,
        interrupt: &'a Interrupt,
        target: &'a Target,
        accountant: &'a Accountant,
    ) -> Result<Self, BenchError> {
        let users = args.connections.get();
        let introspect = Kind::Introspect(IntrospectOptions::default());
        Ok(Self {
            args,
            interrupt,
            target,
            accountant,
            floors: Floors::start(&std::env::current_exe()?).await?,
            logins: Arc::new(Logins::prepared(target).await?),
            introspect: scenario(&introspect, target, users).await?,
            register: scenario(&Kind::Register, target, users).await?,
            shown: Shown::default(),
            measuring: None,
        })
    }

    /// Who logs in.
    pub(super) const fn logins(&self) -> &Arc<Logins> {
        &self.logins
    }

    /// What it has shown, at the end.
    pub(super) fn shown(self) -> Shown {
        self.shown
    }

    /// Everything at one size, as far as it comes before Ctrl-C. Returns whether there is any sense in a larger one: not after that, and not
    /// where of some scenario nothing ended well.
    pub(super) async fn measure(&mut self, grants: u64, regions: &Regions) -> Result<bool, BenchError> {
        let interrupt = self.interrupt;
        let Some(before) = interrupt.unless_requested(self.at_rest(grants)).await.transpose()? else {
            return Ok(false);
        };
        self.measuring.get_or_insert_with(|| interrupt.measuring());
        let (mut runs, mut goes_on) = (Vec::new(), true);
        for run in 0..self.args.runs.get() {
            eprintln!("at {grants} grants, run {} of {}", run + 1, self.args.runs);
            let points = self.once(grants, regions.even(run, self.args.runs)).await?;
            goes_on = !interrupt.is_requested() && points.iter().all(|point| point.operations > 0);
            runs.extend(points);
            if !goes_on {
                break;
            }
        }
        let after = interrupt.unless_requested(self.floor()).await.unwrap_or(Ok(before))?;
        let around = Around { before, after };
        let runs: Vec<_> = runs.into_iter().map(|run| run.counted_in(around.floor())).collect();
        self.shown.told.extend(around.caution().map(|caution| (format!("floor at {grants}"), caution)));
        self.shown.points.extend(medians(&runs));
        self.shown.runs.extend(runs);
        Ok(goes_on && !interrupt.is_requested())
    }

    /// The floor, once there is rest.
    async fn at_rest(&mut self, grants: u64) -> Result<Floor, BenchError> {
        self.settle(grants).await?;
        self.floor().await
    }

    /// What a load leaves to be done is done before anything is measured.
    async fn settle(&mut self, grants: u64) -> Result<(), BenchError> {
        let at = format!("rest at {grants}");
        let told = self.accountant.settle(LONGEST_REST).await?.to_string();
        eprintln!("{at}: {told}");
        self.shown.told.push((at, told));
        Ok(())
    }

    async fn floor(&self) -> Result<Floor, BenchError> {
        Ok(self.floors.measure(&self.load(Length::Duration(self.args.duration), 0)).await?)
    }

    /// The four, one after the other, until Ctrl-C.
    async fn once(&self, grants: u64, drawn: Vec<Grant>) -> Result<Vec<GrowthPoint>, BenchError> {
        let over_time = [self.args.warm_up, self.args.duration].map(Length::Duration);
        let refresh = RefreshEach::new(Arc::clone(&self.logins), drawn);
        let first = refresh.len() / WARM_UP_SHARE;
        let each_once = [first, refresh.len() - first].map(|length| Length::Operations(length as u64));
        let four: [(&str, Arc<dyn Scenario>, [Length; 2]); 4] = [
            ("login", Arc::<Logins>::clone(&self.logins), over_time),
            ("refresh", Arc::new(refresh), each_once),
            ("introspect", Arc::clone(&self.introspect), over_time),
            ("register", Arc::clone(&self.register), over_time),
        ];
        let mut points = Vec::new();
        for (name, scenario, lengths) in four {
            let Some(point) = self.one((name, grants), scenario, lengths).await? else { break };
            points.push(point);
        }
        Ok(points)
    }

    /// A warm-up and a run of so long; nothing of one that Ctrl-C has ended. Every page that is changed for the first time is logged whole, as
    /// after every checkpoint.
    async fn one(
        &self,
        (name, grants): (&str, u64),
        scenario: Arc<dyn Scenario>,
        [warm_up, run]: [Length; 2],
    ) -> Result<Option<GrowthPoint>, BenchError> {
        let what = format!("{name} at {grants}");
        let warmed = self.drive(&format!("{what}, warming up"), warm_up, &scenario, 0).await?;
        let checkpoint = self.interrupt.unless_requested(self.accountant.checkpoint());
        let Some(()) = checkpoint.await.transpose()? else { return Ok(None) };
        let before = self.accountant.snapshot().await?;
        let measured = self.drive(&what, run, &scenario, warmed.next_turn).await?;
        if self.interrupt.is_requested() {
            return Ok(None);
        }
        let after = self.accountant.snapshot().await?;
        let costs = self.accountant.costs(&before, &after).await;
        let point = GrowthPoint::of(name, grants, &measured, &costs);
        let first = self.shown.points.iter().find(|earlier| earlier.scenario == name);
        eprint!("{}", point.line(first));
        self.target.empty_log();
        Ok(Some(point))
    }

    async fn drive(
        &self,
        what: &str,
        length: Length,
        scenario: &Arc<dyn Scenario>,
        first_turn: u64,
    ) -> Result<Measured, BenchError> {
        let progress = Progress::new(what, length, self.interrupt);
        let (load, endpoints) = (self.load(length, first_turn), Arc::clone(&self.target.endpoints));
        Ok(driver::run(&load, endpoints, Arc::clone(scenario), None, &progress).await?)
    }

    fn load(&self, length: Length, first_turn: u64) -> Load {
        Load {
            users: self.args.connections,
            threads: self.args.own.threads.min(self.args.connections),
            pace: Pace::Closed,
            length,
            first_turn,
        }
    }
}

async fn scenario(kind: &Kind, target: &Target, users: usize) -> Result<Arc<dyn Scenario>, BenchError> {
    let mut scenario = kind.scenario(&Dialect::Hydra)?;
    scenario.prepare(target, users).await.map_err(BenchError::Prepare)?;
    Ok(Arc::from(scenario))
}
