//! A run as a report.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::Ran;
use crate::command::RunArgs;
use crate::driver::{Agent, Ask, Length, Load, Origin, Pace, Second};
use crate::floor::Floor;
use crate::number::as_f64;
use crate::report::{AtRest, Latency, NO_TARGET, RunReport, SecondReport};
use crate::scenario::{Kind, Shape};
use crate::target::{Keeper, Target, shown_command};

/// Steps of the plot of percentiles for each halving of what is left to 100.
const STEPS: u32 = 5;
/// Ranges of response times.
const RANGES: u64 = 10;

/// How it was run, in words. The rate of an open loop may have had a shape.
pub(super) fn settings(load: &Load, shape: Option<&Shape>, args: &RunArgs) -> Vec<(String, String)> {
    let pace = match load.pace {
        Pace::Closed => "closed loop: a user begins when its last operation has ended".to_owned(),
        Pace::Open { rate } => {
            let mean = |shape: &Shape| format!(" at the highest, {:.0} on average", rate * shape.mean());
            let mean = shape.map_or_else(String::new, mean);
            format!("open loop: {rate:.0} operations a second{mean}, latency from the moment they are due")
        }
    };
    let length = match load.length {
        Length::Operations(operations) => format!("{operations} operations"),
        Length::Duration(duration) => humantime::format_duration(duration).to_string(),
    };
    let behind =
        if load.pace.lets_others_go_first() { ", which wait for a free core (SCHED_BATCH)" } else { "" };
    let no_target = no_target(args).map(|why| (NO_TARGET, why.to_owned()));
    let said = [
        ("connections", load.users.to_string()),
        ("threads of the driver", format!("{}{behind}", load.threads)),
        ("pace", pace),
        ("length", length),
        ("warm-up", humantime::format_duration(args.warm_up).to_string()),
    ];
    said.into_iter().chain(no_target).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// When it was, and what was typed for it.
pub(crate) fn occasion() -> [(String, String); 2] {
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
    let typed = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    [("date", date), ("command", shown_command(typed))].map(|(name, value)| (name.to_owned(), value))
}

/// What a server that was found says of its version, if it does so as Hydra does.
pub(super) async fn version(target: &Target) -> Option<String> {
    const STEP: &str = "version";
    /// In characters.
    const LONGEST: usize = 80;
    let endpoints = &target.endpoints;
    let at = if endpoints.admin.is_some() { Origin::Admin } else { Origin::Public };
    let mut agent = Agent::new(0, Arc::clone(endpoints), None);
    let answer = agent.send(&Ask::get(at, "/version")).await.ok()?.expect(200, STEP).ok()?;
    let said: Version = answer.json(STEP).ok()?;
    let version: String = said.version.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    (!version.is_empty()).then_some(version)
}

/// What is said of it.
#[derive(serde::Deserialize)]
struct Version {
    version: String,
}

/// Why the server is held against no target: those are for this program as it ships.
const fn no_target(args: &RunArgs) -> Option<&'static str> {
    if args.server.is_found() {
        Some("none: the server was not started here, and may be another or set up otherwise")
    } else if !args.server.set.is_empty() || args.profile {
        Some("none: the server was not as it ships")
    } else {
        None
    }
}

/// What was counted. Settings and machine are whoever's knows them.
pub(super) fn report(kind: &Kind, ran: &Ran, floor: Option<Floor>, keeper: Keeper) -> RunReport {
    let (measured, costs) = (&ran.measured, &ran.costs);
    let operations = measured.operations;
    let micros = |spent: Duration| each(spent.as_secs_f64() * 1e6, operations);
    let count = |counted: Option<u64>| counted.map(|counted| each(as_f64(counted), operations));
    // Of a few ticks of the clock a figure would be made up.
    let is_counted = costs.resolution().is_none_or(|resolution| !resolution.tells_nothing());
    let told = |spent: Option<Duration>| spent.filter(|_| is_counted).map(micros);
    let (together, lowest) = (told(costs.together(keeper)), floor.map(Floor::lowest));
    RunReport {
        scenario: kind.name().to_owned(),
        label: kind.label(),
        operations,
        errors: measured.failed(),
        errors_by_kind: measured.errors.clone(),
        ops_per_second: measured.rate(),
        elapsed_s: measured.elapsed.as_secs_f64(),
        latency_ms: latency(&measured.latency),
        half_of_knee: None,
        server_cpu_us: told(costs.server_cpu),
        postgres_cpu_us: told(costs.postgres_cpu),
        cpu_us: together,
        driver_cpu_us: micros(costs.driver_cpu),
        floor_cpu_us: lowest,
        hyper_floor_cpu_us: floor.map(|floor| floor.hyper),
        nginx_floor_cpu_us: floor.and_then(|floor| floor.nginx),
        floors: together.zip(lowest).map(|(together, floor)| together / floor),
        statements: count(costs.statements),
        commits: count(costs.commits),
        rows_written: count(costs.rows_written),
        wal_bytes: count(costs.wal_bytes),
        seconds: measured.seconds.iter().map(|one| second(one, measured.latency.max())).collect(),
        histogram: histogram(&measured.latency),
        percentiles: percentiles(&measured.latency),
        settings: Vec::new(),
        machine: Vec::new(),
        at_rest: None,
        build: None,
        server_memory: ran.memory,
        limited_by: String::new(),
        profile: ran.profile.clone(),
    }
}

/// What the server took before it was asked for anything, if `program` was started for this run.
pub(super) fn at_rest(target: &Target, program: &Path) -> Option<AtRest> {
    target.is_own().then(|| AtRest {
        start_ms: target.started_in.map(|took| took.as_secs_f64() * 1e3),
        idle_cpu_percent: target.idle.and_then(|idle| idle.cores).map(|cores| cores * 100.0),
        idle_resident: target.idle.map(|idle| idle.resident),
        program_bytes: program.metadata().ok().map(|file| file.len()),
    })
}

fn latency(counted: &Histogram<u64>) -> Latency {
    let at = |quantile| milliseconds(counted.value_at_quantile(quantile));
    Latency {
        min: milliseconds(counted.min()),
        mean: counted.mean() / 1e3,
        p10: at(0.1),
        p25: at(0.25),
        p50: at(0.5),
        p75: at(0.75),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: milliseconds(counted.max()),
    }
}

/// Each with the latency that [`latency`] says of it.
fn percentiles(counted: &Histogram<u64>) -> Vec<(f64, f64)> {
    let steps = counted.iter_quantiles(STEPS).map(|step| rounded(step.quantile_iterated_to()));
    steps
        .map(|quantile| (rounded(quantile * 100.0), milliseconds(counted.value_at_quantile(quantile))))
        .collect()
}

/// Steps that are added up are off in the last digit: a quantile beyond the one that is meant is the next operation's.
fn rounded(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}

/// How many lie in each of some ranges between the fastest and the slowest.
fn histogram(counted: &Histogram<u64>) -> Vec<(f64, u64)> {
    if counted.is_empty() {
        return Vec::new();
    }
    let step = (counted.max() - counted.min() + 1).div_ceil(RANGES);
    let (mut ranges, mut from) = (Vec::new(), counted.min());
    while from <= counted.max() {
        let to = from + step;
        ranges.push((milliseconds(to.min(counted.max())), within(counted, from..to)));
        from = to;
    }
    ranges
}

/// What is recorded stands for a bucket, which belongs where its lowest value lies.
fn within(counted: &Histogram<u64>, range: Range<u64>) -> u64 {
    let recorded = counted.iter_recorded();
    let inside = recorded.filter(|step| {
        let lowest = counted.lowest_equivalent(step.value_iterated_to()).max(counted.min());
        range.contains(&lowest)
    });
    inside.map(|step| step.count_at_value()).sum()
}

/// A second is counted with fewer digits than the run, whose slowest operation took `most` µs.
fn second(second: &Second, most: u64) -> SecondReport {
    SecondReport {
        operations: second.operations,
        errors: second.errors,
        p50_ms: milliseconds(second.p50_us.min(most)),
        p99_ms: milliseconds(second.p99_us.min(most)),
    }
}

fn milliseconds(micros: u64) -> f64 {
    as_f64(micros) / 1e3
}

fn each(sum: f64, operations: u64) -> f64 {
    if operations == 0 { 0.0 } else { sum / as_f64(operations) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::account::Costs;
    use crate::driver::Measured;

    const FLOOR: Floor = Floor { hyper: 10.0, nginx: Some(8.0) };

    /// Operations that cost server and database so many µs each.
    fn told(server: Option<u64>, database: Option<u64>, keeper: Keeper) -> RunReport {
        let mut latency = Histogram::new(3).unwrap();
        latency.record(250).unwrap();
        let measured = Measured {
            operations: 1_000,
            errors: BTreeMap::new(),
            elapsed: Duration::from_secs(1),
            latency,
            seconds: Vec::new(),
            next_turn: 1_000,
        };
        let [server_cpu, postgres_cpu] = [server, database].map(|cpu| cpu.map(Duration::from_millis));
        let costs = Costs { server_cpu, postgres_cpu, ..Costs::default() };
        report(
            &Kind::GetClient,
            &Ran { measured, is_interrupted: false, costs, memory: None, found: Vec::new(), profile: None },
            Some(FLOOR),
            keeper,
        )
    }

    #[test]
    fn a_database_whose_cpu_is_not_known_is_not_counted_as_none() {
        let floors = |server, database, keeper| told(server, database, keeper).floors.map(f64::round);
        assert_eq!(floors(Some(100), Some(60), Keeper::Others), Some(20.0));
        assert_eq!(floors(Some(100), None, Keeper::Others), None, "PostgreSQL is in a container");
        assert_eq!(floors(None, Some(60), Keeper::Others), None);
        assert_eq!(told(Some(100), None, Keeper::Others).cpu_us, None);
    }

    #[test]
    fn a_server_that_is_its_own_database_is_all_there_is() {
        let report = told(Some(160), None, Keeper::Server);
        assert_eq!((report.cpu_us, report.postgres_cpu_us), (report.server_cpu_us, None));
        assert_eq!(report.floors.map(f64::round), Some(20.0));
        assert_eq!(told(None, None, Keeper::Server).floors, None);
    }

    #[test]
    fn cpu_of_which_nothing_was_counted_is_not_known() {
        let costs = |server, database| {
            let report = told(Some(server), Some(database), Keeper::Others);
            [report.server_cpu_us, report.postgres_cpu_us, report.cpu_us, report.floors]
        };
        assert_eq!(costs(10, 0), [None; 4]);
        // It is known to have taken next to nothing beside the server.
        assert_eq!(costs(160, 0).map(|cost| cost.map(f64::round)), [160.0, 0.0, 160.0, 20.0].map(Some));
        assert_eq!(told(Some(0), None, Keeper::Server).cpu_us, None);
    }

    fn args(said: &[&str]) -> RunArgs {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            run: RunArgs,
        }
        <Cli as clap::Parser>::try_parse_from([&["bench"], said].concat()).unwrap().run
    }

    #[test]
    fn a_rate_that_changes_is_told_as_its_highest_and_its_mean() {
        let (args, rising) = (args(&["--rate", "100"]), Shape::through(&[(0.0, 0.0), (1.0, 1.0)]));
        let pace = |shape: Option<&Shape>| settings(&args.load().unwrap(), shape, &args).swap_remove(2).1;
        assert!(pace(None).starts_with("open loop: 100 operations a second, latency"));
        let told = pace(Some(&rising));
        let expected = "open loop: 100 operations a second at the highest, 50 on average, latency";
        assert!(told.starts_with(expected), "{told}");
    }

    #[test]
    fn a_server_that_is_not_known_to_be_as_it_ships_is_held_against_no_target() {
        let has_none = |said: &[&str]| {
            let args = args(said);
            settings(&args.load().unwrap(), None, &args).iter().any(|(name, _)| name == NO_TARGET)
        };
        assert!(!has_none(&[]));
        assert!(has_none(&["--set", "log.level=error"]));
        assert!(has_none(&["--profile", "--report", "somewhere"]));
        assert!(has_none(&["--public-url", "http://127.0.0.1:4444"]));
    }

    #[test]
    fn the_floor_of_a_report_is_the_one_that_counts() {
        let report = told(None, None, Keeper::Others);
        let floors = [report.floor_cpu_us, report.hyper_floor_cpu_us, report.nginx_floor_cpu_us];
        assert_eq!(floors, [Some(8.0), Some(10.0), Some(8.0)]);
    }

    #[test]
    fn the_plot_of_percentiles_says_what_the_percentiles_say() {
        let mut counted = Histogram::new(3).unwrap();
        (1..=32).for_each(|number| counted.record(number * 1_000).unwrap());
        let (plot, said) = (percentiles(&counted), latency(&counted));
        let at = |percent: f64| {
            let found = plot.iter().find(|(at, _)| at.to_bits() == percent.to_bits());
            found.unwrap_or_else(|| panic!("{percent}: {plot:?}")).1.to_string()
        };
        let told = [10.0, 50.0, 75.0, 90.0, 95.0].map(at);
        assert_eq!(told, [said.p10, said.p50, said.p75, said.p90, said.p95].map(|ms| ms.to_string()));
        assert!(plot.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1), "{plot:?}");
    }

    #[test]
    fn no_second_was_slower_than_the_run() {
        let told = second(&Second { operations: 2, errors: 0, p50_us: 200, p99_us: 218_111 }, 217_215);
        assert_eq!([told.p50_ms, told.p99_ms].map(|ms| ms.to_string()), ["0.2", "217.215"]);
    }

    #[test]
    fn every_operation_lies_in_one_range_of_the_histogram() {
        let mut counted = Histogram::new(3).unwrap();
        (1..=5_000).for_each(|micros| counted.record(micros * 7).unwrap());
        let ranges = histogram(&counted);
        assert_eq!(ranges.len(), 10);
        assert_eq!(ranges.iter().map(|(_, count)| count).sum::<u64>(), 5_000);
        assert!(ranges.is_sorted_by(|one, next| one.0 < next.0), "{ranges:?}");
        assert_eq!(histogram(&Histogram::new(3).unwrap()), []);
    }

    #[test]
    fn operations_that_all_took_as_long_lie_in_one_range() {
        let mut counted = Histogram::new(3).unwrap();
        counted.record_n(250, 9).unwrap();
        assert_eq!(histogram(&counted), [(0.25, 9)]);
    }
}
