//! `sluice bench compare`.

use std::fs;

use super::{bench, report};

#[test]
fn two_runs_are_compared_from_what_they_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let few = ["-n", "40", "-c", "4", "--warm-up", "0s", "--dsn", "sqlite:", "--no-floor"];
    let mut run = report(&[&["introspect"], &few[..]].concat());
    for (name, rate, cpu) in [("slow.json", 100.0_f64, 50.0_f64), ("quick.json", 400.0, 10.0)] {
        (run["ops_per_second"], run["cpu_us"]) = (rate.into(), cpu.into());
        fs::write(path(name), run.to_string()).unwrap();
    }
    let (slow, page) = (format!("a={}", path("slow.json")), path("both"));
    let compared = report(&["compare", &slow, &path("quick.json"), "--report", &page]);
    let rows = compared["rows"].as_array().expect("rows");
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row["system"].as_str(), row["rate_ratio"].as_f64(), row["cpu_ratio"].as_f64()))
        .collect();
    assert_eq!(told, [(Some("a"), Some(1.0), Some(1.0)), (Some("quick"), Some(4.0), Some(0.2))]);
    assert!(rows.iter().all(|row| row["label"] == "introspect (opaque)" && row["runs"] == 1), "{compared}");
    assert!(fs::read_to_string(path("both/index.html")).unwrap().contains("introspect (opaque)"));
}

#[test]
fn what_is_no_run_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json").display().to_string();
    for is_there in [false, true] {
        if is_there {
            fs::write(&file, "{}").unwrap();
        }
        let ended = bench(&["compare", &file]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("other.json is no run"), "{}", ended.stderr);
    }
}
