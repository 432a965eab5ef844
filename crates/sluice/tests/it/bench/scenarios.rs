//! Every scenario of `sluice bench`, a few operations of each, and the search for the knee.

use std::thread;

use clap::{Args, Command};
use serde_json::Value;
use sluice_bench::BenchCommand;

use super::{report, setting};

/// What `sluice bench` does beside running a scenario.
const NO_SCENARIOS: [&str; 5] = ["growth", "endurance", "crash", "compare", "floor"];
/// Each starts a server, and mostly waits for what that takes while it is idle.
const LANES: usize = 4;
const FEW: &[&str] = &["-n", "40", "-c", "8", "--warm-up", "0s", "--dsn", "sqlite:", "--no-floor"];
/// Whatever is known of them.
const FIELDS: [&str; 14] = [
    "scenario",
    "operations",
    "errors",
    "ops_per_second",
    "latency_ms",
    "server_cpu_us",
    "postgres_cpu_us",
    "driver_cpu_us",
    "floor_cpu_us",
    "floors",
    "statements",
    "commits",
    "rows_written",
    "wal_bytes",
];

/// As the command line has them, so that a new one is among them.
fn scenarios() -> Vec<String> {
    let command = BenchCommand::augment_args(Command::new("bench"));
    let mut names: Vec<_> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    assert!(NO_SCENARIOS.iter().all(|other| names.iter().any(|name| name == other)), "{names:?}");
    names.retain(|name| !NO_SCENARIOS.contains(&name.as_str()));
    names
}

#[test]
fn every_scenario_does_what_is_asked_and_says_what_it_costs() {
    let names = scenarios();
    assert!(names.len() >= 14, "{names:?}");
    thread::scope(|scope| {
        for lane in names.chunks(names.len().div_ceil(LANES)) {
            scope.spawn(move || lane.iter().for_each(|name| does_what_is_asked(name)));
        }
    });
}

fn does_what_is_asked(name: &str) {
    // The others begin an operation when the last has ended.
    let pace: &[&str] = if name == "mix" { &["--rate", "20"] } else { &[] };
    let report = report(&[&[name], FEW, pace].concat());
    let fields = report.as_object().expect("an object");
    for field in FIELDS {
        assert!(fields.contains_key(field), "{name}: {field}");
    }
    let told = [&report["scenario"], &report["operations"], &report["errors"]];
    assert_eq!(told, [&Value::from(name), &Value::from(40), &Value::from(0)], "{report}");
    for known in ["ops_per_second", "driver_cpu_us"] {
        assert!(report[known].is_number(), "{name}: {known}");
    }
    // So few operations may be done before the clock has ticked.
    let is_counted = report["server_cpu_us"].is_number();
    assert!(is_counted || setting(&report, "CPU").contains("too few to tell"), "{name}: {report}");
    for percentile in ["p50", "p95", "p99", "max"] {
        let latency = &report["latency_ms"][percentile];
        assert!(latency.as_f64().is_some_and(|number| number > 0.0), "{name}: {percentile}");
    }
}

/// Rates for a moment each; whoever is late by less is not too late.
const BRIEF: &[&str] = &["--duration", "500ms", "--warm-up", "500ms", "--p99-below", "400ms", "-c", "8"];
const ALONE: &[&str] = &["--dsn", "sqlite:", "--no-floor"];

/// Otherwise whoever registers in the warm-up is hardened in the run, and is what it costs.
#[test]
fn a_mix_begins_with_nobody_to_be_hardened_and_leaves_nobody() {
    let brief = ["--rate", "40", "-n", "40", "-c", "8", "--warm-up", "1s"];
    let report = report(&[&["mix"], &brief[..], ALONE].concat());
    assert_eq!(setting(&report, "not hardened when the run began"), "0");
    assert_eq!(setting(&report, "still to be hardened"), "0");
    let pace = setting(&report, "pace");
    assert!(pace.starts_with("open loop: 40 operations a second at the highest, 19 on average, "), "{pace}");
}

/// Twelve seconds are a day: quiet for the first half, everybody from the seventh second on, ebbing away from the tenth.
#[test]
fn a_day_is_quiet_before_everybody_comes() {
    let day = ["--rate", "30", "--duration", "12s", "-c", "64", "--warm-up", "0s"];
    let report = report(&[&["mix"], &day[..], ALONE].concat());
    let seconds = report["seconds"].as_array().expect("seconds");
    let told: Vec<_> = seconds.iter().map(|one| one["operations"].as_f64().expect("a count")).collect();
    assert!(told.len() >= 11, "{told:?}");
    let (quiet, full) = (told[1..5].iter().sum::<f64>() / 4.0, told[7..10].iter().sum::<f64>() / 3.0);
    // It is a tenth of them: but what is late belongs to a later second, and others use the machine, too.
    assert!(quiet * 3.0 < full, "{quiet} and then {full} a second: {told:?}");
}

#[test]
fn the_knee_is_found_and_looked_at_from_below() {
    let report = report(&[&["introspect", "--find-knee"], BRIEF, ALONE].concat());
    assert!(report["operations"].as_u64().is_some_and(|count| count > 0), "{report}");
    for told in ["knee", "at 50 % of the knee", "at 80 % of the knee"] {
        let told = setting(&report, told);
        assert!(told.contains("/s asked for, ") && told.contains("p99 "), "{told}");
    }
    assert!(setting(&report, "pace").starts_with("open loop: "), "{report}");
    assert_eq!(report["half_of_knee"], Value::Null, "it is the knee itself");
}

#[test]
fn half_of_the_knee_is_what_is_told_and_judged() {
    let report = report(&[&["introspect", "--half-knee"], BRIEF, ALONE].concat());
    let knee = report["half_of_knee"].as_f64().expect("a rate");
    let pace = format!("open loop: {:.0} operations a second", knee / 2.0);
    assert!(setting(&report, "pace").starts_with(&pace), "{knee}: {report}");
    assert!(setting(&report, "knee").starts_with(&format!("{knee:.0}/s asked for")), "{knee}: {report}");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    let late = verdicts.iter().find(|one| one["claim"] == "p99 under 10 times the median");
    assert!(late.is_some_and(|one| one["holds"].is_boolean()), "{verdicts:?}");
}
