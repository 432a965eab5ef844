//! `sluice bench` that is told to end.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
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

#[test]
fn a_search_that_is_interrupted_tells_what_it_had_found_and_is_no_success() {
    let brief = ["--duration", "500ms", "--warm-up", "500ms", "--p99-below", "400ms", "-c", "8"];
    let alone = ["--dsn", "sqlite:", "--no-floor", "--json"];
    let mut child = begun(&[&["introspect", "--find-knee"], &brief[..], &alone[..]].concat());
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains(": kept up") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it kept up with anything");
    }
    send(&child, Signal::INT);
    let rest = thread::spawn(move || {
        let mut rest = String::new();
        said.read_to_string(&mut rest).map(|_| rest)
    });
    let output = child.wait_with_output().unwrap();
    let rest = rest.join().unwrap().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("what was found");
    let knee = setting(&report, "knee");
    assert!(knee.starts_with("at least ") && knee.ends_with("; interrupted"), "{knee}");
    assert!(report["operations"].as_u64().is_some_and(|count| count > 0), "{report}");
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
