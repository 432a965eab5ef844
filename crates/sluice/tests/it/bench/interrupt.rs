//! `sluice bench` that is told to end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Output};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{environment, setting};
use crate::program::start_in_terminal;

/// Longer than a start may take.
const AT_MOST: Duration = Duration::from_secs(90);

fn begun(arguments: &[&str]) -> Child {
    let environment = environment();
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    start_in_terminal(&[&["bench"], arguments].concat(), &environment)
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Interrupts it once it has said such a line: how it ended, and what it said after that.
fn interrupted_after(mut child: Child, is_it: impl Fn(&str) -> bool) -> (Output, String) {
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !is_it(&line) {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it said so");
    }
    send(&child, Signal::INT);
    let rest = thread::spawn(move || {
        let mut rest = String::new();
        said.read_to_string(&mut rest).map(|_| rest)
    });
    let output = child.wait_with_output().unwrap();
    (output, rest.join().unwrap().unwrap())
}

#[test]
fn a_search_that_is_interrupted_tells_what_it_had_found_and_is_no_success() {
    let brief = ["--duration", "500ms", "--warm-up", "500ms", "--p99-below", "400ms", "-c", "8"];
    let alone = ["--dsn", "sqlite:", "--no-floor", "--json"];
    let child = begun(&[&["introspect", "--find-knee"], &brief[..], &alone[..]].concat());
    let (output, rest) = interrupted_after(child, |line| line.contains(": kept up"));
    assert_eq!(output.status.code(), Some(130), "{rest}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("what was found");
    let knee = setting(&report, "knee");
    assert!(knee.starts_with("at least ") && knee.ends_with("; interrupted"), "{knee}");
    assert!(report["operations"].as_u64().is_some_and(|count| count > 0), "{report}");
}

#[test]
fn a_growth_that_is_interrupted_tells_what_was_measured_and_is_no_success() {
    let brief = ["--duration", "1s", "--warm-up", "100ms", "-c", "4", "--runs", "1", "--json"];
    let child = begun(&[&["growth", "--grants", "0,400", "--sample", "80"], &brief[..]].concat());
    // The line of the first that was measured.
    let (output, rest) = interrupted_after(child, |line| line.starts_with("login "));
    assert_eq!(output.status.code(), Some(130), "{rest}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("what was measured");
    let points = report["points"].as_array().expect("points");
    assert_eq!(points[0]["scenario"], "login", "{report}");
    assert!(points.len() < 8 && points.iter().all(|point| point["floors"].is_number()), "{report}");
    assert!(setting(&report, "ended").starts_with("interrupted after "), "{report}");
}

#[test]
fn a_run_whose_terminal_is_closed_ends() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let long = ["introspect", "--duration", "10m", "--dsn", "sqlite:", "--no-floor"];
    let child = begun(&[&long[..], &["--report", report.to_str().unwrap()]].concat());
    let began = Instant::now();
    while !report.exists() {
        assert!(began.elapsed() < AT_MOST, "it does not begin");
        thread::sleep(Duration::from_millis(5));
    }
    send(&child, Signal::HUP);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
}
