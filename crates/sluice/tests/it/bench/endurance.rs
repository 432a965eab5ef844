//! `sluice bench endurance`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use sluice_testkit::PrivateCluster;
use sluice_testkit::postgres::TemporaryDatabase;
use tokio::task::block_in_place;

use super::{bench, setting};
use crate::program::{Ended, run};

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

/// Says that something is over when it goes, also by a panic: whoever looks for that would else go on for ever.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Seconds of logins whose rows die after six, on a database that is made so; a janitor comes each moment, as that of a server does each
/// minute. Of users there are as many as logins, as in `SHORT`. What it ended as, and what it says of rows.
async fn rows_on_a_database_that(is: &str) -> (Ended, Value) {
    let brief = ["--rate", "10", "--duration", "4s", "--lifetime", "6s", "--every", "500ms", "-c", "40"];
    let cluster = PrivateCluster::shared().await;
    let database = TemporaryDatabase::of(cluster).await;
    let migrated = run(&["migrate", "sql", "up", database.dsn(), "--yes"], &[]);
    assert!(migrated.success, "{}", migrated.stderr);
    cluster.execute(database.name(), is).await;
    let there = ["--upkeep", "8s", "--json", "--dsn", database.dsn()];
    let is_over = AtomicBool::new(false);
    let ended = block_in_place(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let tidied = run(&["janitor", database.dsn()], &[]);
                    assert!(tidied.success, "{}", tidied.stderr);
                    thread::sleep(Duration::from_millis(200));
                }
            });
            let _ending = Ending(&is_over);
            bench(&[&["endurance"], &brief[..], &there[..]].concat())
        })
    });
    let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.stderr));
    assert_eq!((&report["operations"], &report["errors"]), (&Value::from(40), &Value::from(0)), "{report}");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    let rows = verdicts.iter().find(|one| one["claim"] == "rows are back at what is alive");
    (ended, rows.expect("a verdict about rows").clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_die_are_gone_in_the_end() {
    let (ended, rows) = rows_on_a_database_that("SELECT 1").await;
    assert_eq!(rows["holds"], true, "{rows}");
    // Of disk and memory so short a run tells nothing.
    assert!(ended.stderr.contains("the run was too short to show what it must"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_stay_are_a_run_that_fails() {
    let keeps = "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
        CREATE TRIGGER keep BEFORE DELETE ON oauth_grant FOR EACH ROW EXECUTE FUNCTION keep()";
    let (ended, rows) = rows_on_a_database_that(keeps).await;
    assert_eq!(rows["holds"], false, "{rows}");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("the run does not show what it must"), "{}", ended.stderr);
}
