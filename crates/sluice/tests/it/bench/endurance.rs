//! `sluice bench endurance`.

use serde_json::Value;

use super::{bench, setting};

/// No more logins than there are users: each finds one, however long a disk takes that others are busy with.
const SHORT: &[&str] = &["--rate", "5", "--duration", "3s", "--lifetime", "10s", "--every", "1s", "-c", "16"];

#[test]
fn a_run_that_is_too_short_for_its_verdicts_is_told_and_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("told");
    let told = ["--dsn", "sqlite:", "--json", "--report", written.to_str().unwrap()];
    let ended = bench(&[&["endurance"], SHORT, &told[..]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("the run was too short to show what it must"), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).expect("what was seen");
    let told = [&report["operations"], &report["errors"], &report["too_short"]];
    assert_eq!(told, [&Value::from(15), &Value::from(0), &Value::from(true)], "{report}");
    assert!(setting(&report, "date").ends_with(" UTC"), "{report}");
    assert!(setting(&report, "command").contains("endurance --rate 5"), "{report}");
    let verdicts: Vec<_> =
        report["verdicts"].as_array().expect("verdicts").iter().map(|one| one["holds"].as_bool()).collect();
    assert_eq!(verdicts, [Some(true), None, None, None, None], "that no login failed is known");
    let samples = report["samples"].as_array().expect("samples");
    assert!(samples.len() >= 2, "{samples:?}");
    for sample in samples {
        assert!(sample["resident"].is_number() && sample["bytes"].is_number(), "{sample}");
    }
    let page = std::fs::read_to_string(written.join("index.html")).unwrap();
    assert!(page.contains("memory does not grow any more in the second half"), "a verdict that is open");
}
