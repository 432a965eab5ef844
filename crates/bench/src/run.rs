//! One scenario, measured: target, preparation, floor, warm-up, load between two looks at every counter, floor.

mod knee;
mod lifetime;
mod limits;
mod profile;
mod tell;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::account::build::Build;
use crate::account::{Accountant, Costs, Resolution, Snapshot, machine};
use crate::command::{Dialects, RunArgs, ServerArgs, check_database};
use crate::driver::{Length, Load, Measured, Pace, run as drive};
use crate::error::BenchError;
use crate::floor::{Around, Floor, Floors};
use crate::interrupt::{Interrupt, ended, ended_in};
use crate::open_files;
use crate::progress::Progress;
use crate::report::{self, COARSE_CPU, Memory, RunReport};
use crate::scenario::{Kind, Scenario};
use crate::target::{Found, Start, Target};
use limits::Limits;
pub(crate) use tell::occasion;

/// Runs it as often as it is said, or up to the knee, or at half of it; one report for each run.
///
/// # Errors
/// [`BenchError`] with a sentence for the terminal.
pub(crate) async fn run(
    kind: &Kind,
    args: &RunArgs,
    program: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<RunReport>, BenchError> {
    check(kind, args)?;
    report::make(args.report.as_deref())?;
    let mut bench = Bench::prepare(kind, args, program, interrupt).await?;
    let before = bench.floor().await?;
    bench.warm_up().await?;
    if args.profile {
        bench.warm_up_profiler().await;
    }
    if args.knee().is_some() {
        return Ok(vec![bench.find_knee(before).await?]);
    }
    bench.runs(before).await
}

/// Whether the options go together.
///
/// # Errors
/// [`BenchError::Usage`].
pub(crate) fn check(kind: &Kind, args: &RunArgs) -> Result<(), BenchError> {
    if kind.needs_rate() && args.rate.is_none() && args.knee().is_none() {
        let name = kind.name();
        return Err(BenchError::Usage(format!(
            "{name} is an open loop: say how fast with --rate, or have it found out with --find-knee or --half-knee"
        )));
    }
    if let Some(option) = args.knee()
        && args.warm_up.is_zero()
    {
        return Err(BenchError::Usage(format!("{option} needs a --warm-up")));
    }
    if args.profile {
        profile::seconds(args.load()?.length)?;
    }
    let server = &args.server;
    kind.check(&server.dialect()).map_err(BenchError::Usage)?;
    check_listeners(kind, server)?;
    open_files::check(args.connections, kind.listeners(&server.dialect()))?;
    check_database(server.dsn.as_deref().or(server.database_dsn.as_deref()), server.database_pid)
}

/// Whether every listener of a server that runs is named that is asked for something there.
fn check_listeners(kind: &Kind, server: &ServerArgs) -> Result<(), BenchError> {
    let is_known = !server.is_found() || server.server == Dialects::Standard;
    let missing = if is_known {
        None
    } else if kind.needs_gateway() && server.gateway_url.is_none() {
        Some("there is no gateway: say --gateway-url")
    } else if kind.needs_admin() && server.admin_url.is_none() {
        Some("this needs the admin listener: say --admin-url")
    } else {
        None
    };
    missing.map_or(Ok(()), |missing| Err(BenchError::Usage(missing.to_owned())))
}

/// Everything that a run needs.
struct Bench<'a> {
    kind: &'a Kind,
    label: String,
    args: &'a RunArgs,
    program: &'a Path,
    interrupt: &'a Interrupt,
    load: Load,
    target: Target,
    accountant: Accountant,
    scenario: Arc<dyn Scenario>,
    floors: Option<Floors>,
    /// What a server that was found says of itself.
    version: Option<String>,
    next_turn: u64,
}

/// What a run has shown.
struct Ran {
    measured: Measured,
    /// Whether Ctrl-C ended it.
    is_interrupted: bool,
    costs: Costs,
    /// Of the server, when it had ended.
    memory: Option<Memory>,
    /// What the scenario found when nothing was left to do.
    found: Vec<(String, String)>,
    /// The flame graph, if one was asked for.
    profile: Option<String>,
}

impl<'a> Bench<'a> {
    async fn prepare(
        kind: &'a Kind,
        args: &'a RunArgs,
        program: &'a Path,
        interrupt: &'a Interrupt,
    ) -> Result<Self, BenchError> {
        let load = args.load()?;
        let target = target(args, kind, program).await?;
        let mut scenario = kind.scenario(&args.server.dialect())?;
        scenario.prepare(&target, load.users.get()).await.map_err(BenchError::Prepare)?;
        let version = if target.is_own() { None } else { tell::version(&target).await };
        let accountant = Accountant::new(&target).await?;
        let own_program = std::env::current_exe()?;
        let floors = if args.no_floor { None } else { Some(Floors::start(&own_program).await?) };
        Ok(Self {
            kind,
            label: label(kind, &args.server),
            args,
            program,
            interrupt,
            load,
            target,
            accountant,
            scenario: Arc::from(scenario),
            floors,
            version,
            next_turn: 0,
        })
    }

    async fn floor(&self) -> Result<Option<Floor>, BenchError> {
        match &self.floors {
            Some(floors) => Ok(Some(floors.measure(&self.load).await?)),
            None => Ok(None),
        }
    }

    /// The floor after something was measured. Whoever asks for the end does not wait for it: then the one before counts.
    async fn floor_after(&self, before: Option<Floor>) -> Result<Option<Floor>, BenchError> {
        self.interrupt.unless_requested(self.floor()).await.unwrap_or(Ok(before))
    }

    /// One run after the other, as often as it is said; fewer after Ctrl-C, which loses none that was measured.
    async fn runs(&mut self, mut before: Option<Floor>) -> Result<Vec<RunReport>, BenchError> {
        let (interrupt, runs) = (self.interrupt, self.args.runs.get());
        let (mut reports, mut measuring, mut last) = (Vec::<RunReport>::new(), None, 0);
        for number in 1..=runs {
            last = number;
            let load = self.load.clone();
            let ran = match self.once(&load, &named(&self.label, number, runs)).await {
                // It had hardly begun.
                Err(BenchError::Interrupted) if !reports.is_empty() => break,
                ran => ran?,
            };
            measuring.get_or_insert_with(|| interrupt.measuring());
            let after = self.floor_after(before).await?;
            let around = before.zip(after).map(|(before, after)| Around { before, after });
            reports.push(self.report(&load, &ran, around).await?);
            if interrupt.is_requested() {
                break;
            }
            self.target.empty_log();
            before = after;
        }
        if interrupt.is_requested() {
            tell_ended(&mut reports, &ended_in(last, runs));
        }
        Ok(reports)
    }

    /// As fast as the users can, whatever the pace of the run: it opens caches, plans and connections. Returns operations a second.
    async fn warm_up(&mut self) -> Result<f64, BenchError> {
        if self.args.warm_up.is_zero() {
            return Ok(0.0);
        }
        let length = Length::Duration(self.args.warm_up);
        let load = Load { pace: Pace::Closed, length, ..self.load.clone() };
        let measured = self.drive(&load, "warming up").await?;
        Ok(measured.rate())
    }

    /// The first profile makes the tables of the profiler, which is no work of the server.
    async fn warm_up_profiler(&self) {
        // Of a server that does nothing there is no graph.
        let _ = profile::flame_graph(Arc::clone(&self.target.endpoints), 1).await;
    }

    async fn drive(&mut self, load: &Load, what: &str) -> Result<Measured, BenchError> {
        let load = Load { first_turn: self.next_turn, ..load.clone() };
        let progress = Progress::new(what, load.length, self.interrupt);
        let (endpoints, scenario) = (Arc::clone(&self.target.endpoints), Arc::clone(&self.scenario));
        let measured = drive(&load, endpoints, scenario, None, &progress).await?;
        self.next_turn = measured.next_turn;
        Ok(measured)
    }

    /// Looks on while what operations have left is waited for, if the scenario does that: until Ctrl-C.
    fn waiting(&self) -> Progress<'a> {
        Progress::new(&format!("{}: what is left to do", self.label), Length::Operations(0), self.interrupt)
    }

    /// A load, what it costs, and what it left to do.
    async fn once(&mut self, load: &Load, what: &str) -> Result<Ran, BenchError> {
        let interrupt = self.interrupt;
        let _measuring = interrupt.measuring();
        self.scenario.begin(&self.target, &self.waiting()).await.map_err(BenchError::Prepare)?;
        if interrupt.is_requested() {
            return Err(BenchError::Interrupted);
        }
        self.target.forget_peaks();
        let before = self.accountant.snapshot().await?;
        let (endpoints, is_profiled) = (Arc::clone(&self.target.endpoints), self.args.profile);
        let profile = async {
            if !is_profiled {
                return Ok(None);
            }
            let graph = profile::flame_graph(endpoints, profile::seconds(load.length)?).await;
            // What was measured is worth telling without it.
            graph.map(Some).or_else(|failure| {
                eprintln!("there is no profile: {failure}");
                Ok::<_, BenchError>(None)
            })
        };
        let (ran, profile) = tokio::join!(self.measure(load, what, &before), profile);
        let ran = ran?;
        Ok(Ran { profile: profile?, ..ran })
    }

    /// What operations leave to be done, such as passwords to harden, is waited for at once: it is no cost of the run, and must not be
    /// under way when a floor is measured.
    async fn measure(&mut self, load: &Load, what: &str, before: &Snapshot) -> Result<Ran, BenchError> {
        let measured = self.drive(load, what).await?;
        let is_interrupted = self.interrupt.is_requested();
        // A profile that is written only now is no cost of the run.
        let after = self.accountant.snapshot().await?;
        let memory = self.target.memory();
        if measured.operations == 0 {
            if is_interrupted {
                return Err(BenchError::Interrupted);
            }
            let why = measured.errors.keys().next().map_or("there was none", String::as_str);
            return Err(BenchError::Nothing(why.to_owned()));
        }
        // The log of the run is read while it is still there.
        let waiting = self.waiting();
        let (costs, found) =
            tokio::join!(self.accountant.costs(before, &after), self.scenario.finish(&self.target, &waiting));
        let found = found.map_err(BenchError::Finish)?;
        Ok(Ran { measured, is_interrupted, costs, memory, found, profile: None })
    }

    async fn report(&self, load: &Load, ran: &Ran, around: Option<Around>) -> Result<RunReport, BenchError> {
        let mut settings = tell::settings(load, self.scenario.shape().as_ref(), self.args);
        settings.extend(ran.is_interrupted.then(|| ended(ran.measured.elapsed)));
        settings.extend(self.target.settings());
        // Where no process was named, that is told already.
        let is_lost = ran.costs.server_cpu.is_none() && !self.target.server_pids.is_empty();
        let why = self.target.why_unaccounted();
        settings.extend(is_lost.then(|| ("CPU of the server".to_owned(), format!("unknown: {why}"))));
        settings.extend(ran.found.iter().cloned());
        let coarse = ran.costs.resolution().and_then(Resolution::caution);
        settings.extend(coarse.map(|caution| (COARSE_CPU.to_owned(), caution)));
        settings.extend(around.and_then(Around::caution).map(|caution| ("floor".to_owned(), caution)));
        settings.extend(occasion());
        let mut on = machine::describe();
        on.extend(self.version.iter().map(|version| ("version of the server".to_owned(), version.clone())));
        if self.target.is_own() {
            on.extend(machine::program(self.program));
        }
        on.extend(self.accountant.database().await);
        let keeper = self.target.keeper;
        let mut report = tell::report(self.kind, ran, around.map(Around::floor), keeper);
        (report.label, report.settings, report.machine) = (self.label.clone(), settings, on);
        report.at_rest = tell::at_rest(&self.target, self.program);
        report.build = if self.target.is_own() { Build::of(self.program) } else { None };
        let cores = std::thread::available_parallelism()?.get();
        let (costs, elapsed) = (&ran.costs, ran.measured.elapsed);
        let limits = Limits { costs, elapsed, pace: load.pace, keeper, why_unaccounted: why };
        report.limited_by = limits.told(cores);
        Ok(report)
    }
}

/// A server that was found, or told otherwise, does not have the settings of the scenario, which are its only variant then.
fn label(kind: &Kind, server: &ServerArgs) -> String {
    let is_set = |key: &str| {
        server.set.iter().any(|set| set.split_once('=').is_some_and(|(name, _)| name.trim() == key))
    };
    let own = kind.settings();
    if !own.is_empty() && (server.is_found() || own.iter().any(|(key, _)| is_set(key))) {
        return kind.name().to_owned();
    }
    kind.label()
}

fn named(label: &str, number: usize, runs: usize) -> String {
    if runs == 1 { label.to_owned() } else { format!("{label}, run {number} of {runs}") }
}

/// Whichever of them is told says it; one that was interrupted itself says when.
fn tell_ended(reports: &mut [RunReport], ended: &(String, String)) {
    let says = |report: &RunReport| report.settings.iter().any(|(name, _)| *name == ended.0);
    reports.iter_mut().filter(|report| !says(report)).for_each(|report| report.settings.push(ended.clone()));
}

/// The server that the options name; without one, it is started.
async fn target(run: &RunArgs, kind: &Kind, program: &Path) -> Result<Target, BenchError> {
    let args = &run.server;
    if let Some(public) = args.public_url.as_ref().or(args.issuer.as_ref()) {
        return Ok(Target::found(&Found {
            public: public.clone(),
            admin: args.admin_url.clone(),
            gateway: args.gateway_url.clone(),
            pids: args.server_pid.clone(),
            dsn: args.database_dsn.clone(),
            database_pid: args.database_pid,
            without_database: args.no_database,
            is_discovered: args.server == Dialects::Standard,
        })?);
    }
    Ok(Target::started(&start(run, kind), program).await?)
}

/// How the server is started that the options do not name.
pub(crate) fn start(run: &RunArgs, kind: &Kind) -> Start {
    let args = &run.server;
    let own = kind.settings().iter().map(|(key, value)| format!("{key}={value}"));
    let profiling = run.profile.then(|| profile::SETTING.to_owned());
    let lasting = lifetime::setting(run, kind);
    let set = own.chain(profiling).chain(lasting).chain(args.set.iter().cloned()).collect();
    let (dsn, database_pid) = (args.dsn.clone(), args.database_pid);
    Start { dsn, database_pid, set, gateway: kind.needs_gateway() }
}

/// Between two loads of different rates: what is on its way ends.
const CALM: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::report;

    #[test]
    fn hardening_is_off_where_the_benchmark_has_turned_it_off() {
        let label = |server: ServerArgs| label(&Kind::Register, &server);
        let set = |set: &str| ServerArgs { set: vec![set.to_owned()], ..ServerArgs::default() };
        assert_eq!(label(ServerArgs::default()), "register (hardening off)");
        assert_eq!(label(set("log.level=error")), "register (hardening off)");
        assert_eq!(label(set("identity.hardening.enabled=true")), "register");
        let public_url = Some("http://127.0.0.1:4444".parse().unwrap());
        assert_eq!(label(ServerArgs { public_url, ..ServerArgs::default() }), "register");
    }

    #[test]
    fn a_run_that_was_interrupted_itself_says_when_and_the_others_in_which() {
        let interrupted = RunReport { settings: vec![ended(Duration::from_secs(2))], ..report() };
        let mut reports = [RunReport { settings: Vec::new(), ..report() }, interrupted];
        tell_ended(&mut reports, &ended_in(2, 3));
        let told = reports.map(|report| report.settings);
        assert_eq!(told, [vec![ended_in(2, 3)], vec![ended(Duration::from_secs(2))]]);
    }
}
