//! `sluice bench --profile`.

use std::fs;

use super::bench;

/// Introspection with a profile, for so long; the folder is where it is told.
fn profiled(folder: &str, duration: &str) -> crate::program::Ended {
    let run = ["introspect", "--dsn", "sqlite:", "--no-floor", "-c", "8", "--warm-up", "100ms"];
    bench(&[&run[..], &["--profile", "--report", folder, "--duration", duration]].concat())
}

#[test]
fn a_run_of_two_seconds_is_long_enough_for_a_flame_graph() {
    let folder = tempfile::tempdir().unwrap();
    let ended = profiled(folder.path().to_str().unwrap(), "2s");
    assert!(ended.success && !ended.stderr.contains("there is no profile"), "{}", ended.stderr);
    let svg = fs::read_to_string(folder.path().join("profile.svg")).unwrap();
    let (_, all) = svg.split_once("<title>all (").expect("a frame that holds all others");
    let samples = all.split_once(" samples").expect("how many samples there are").0.replace(',', "");
    assert!(samples.parse::<u32>().unwrap() >= 20, "{samples} samples");
    let page = fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.contains("src=\"data:image/svg+xml;base64,"), "the graph is in the page");
}

#[test]
fn a_run_that_is_too_short_for_a_profile_is_refused_before_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    let ended = profiled(folder.path().to_str().unwrap(), "1s");
    assert!(!ended.success);
    assert!(ended.stderr.contains("--profile needs a --duration of two seconds or more"), "{}", ended.stderr);
    assert!(!folder.path().join("run.json").exists());
}
