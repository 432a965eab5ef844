//! What commands without a server leave in the audit trail, and what they leave alone: what they print.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_testkit::{Backend, Database, TestSluice};

use crate::program::{Ended, run};

const OLD: &str = "the-system-secret-of-last-year";
const BOTH: &str = "the-system-secret-of-this-year,the-system-secret-of-last-year";
const ANOTHER: &str = "a-secret-that-has-sealed-nothing";
const BCRYPT: &str = "$2b$05$f5Wln.c9p1tJ/BOosudp1uoOWFqgwCkFgK8NE3cdQZzAWfgiyskVe";
/// What a filter that names it can do.
const SILENT: (&str, &str) = ("SLUICE_LOG", "off,sluice_audit=off");

/// A database with the keys of a node, which is gone.
async fn left() -> Arc<Database> {
    let TestSluice { node, database, .. } =
        TestSluice::with(Backend::Sqlite, &[("secrets.system", OLD)]).await;
    node.stop().await;
    database
}

/// Does this with the database.
fn sluice(database: &Database, secrets: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    let [dsn, secrets] = [format!("dsn={}", database.dsn), format!("secrets.system={secrets}")];
    let installation = ["--dev", "--set", dsn.as_str(), "--set", secrets.as_str()];
    let ended = run(&[arguments, &installation].concat(), environment);
    assert!(ended.success, "{arguments:?}: {}", ended.stderr);
    ended
}

/// The lines of the trail, from their sentences on.
fn trail(ended: &Ended) -> Vec<&str> {
    let lines = ended.stderr.lines().filter_map(|line| line.split_once("INFO sluice_audit: "));
    lines.map(|(_, told)| told).collect()
}

/// How many lines begin with these sentences.
fn counted(trail: &[&str], sentences: [&str; 2]) -> [usize; 2] {
    sentences.map(|sentence| trail.iter().filter(|line| line.starts_with(sentence)).count())
}

/// A file of two people.
fn people(directory: &Path) -> String {
    let line = |name: &str| json!({"email": format!("{name}@example.com"), "password_hash": BCRYPT});
    let path = directory.join("people.ndjson");
    std::fs::write(&path, format!("{}\n{}\n", line("ada"), line("bob"))).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_and_goes_in_files_and_what_is_done_to_what_secrets_protect_is_told() {
    let (database, directory) = (left().await, tempfile::tempdir().unwrap());
    let file = people(directory.path());
    let import = ["import", "identities", file.as_str(), "--format", "json"];
    let ended = sluice(&database, OLD, &import, &[]);
    assert_eq!(trail(&ended), ["people are being imported before=0", "people imported count=2"]);
    let printed: Value = serde_json::from_str(&ended.stdout).expect("nothing else");
    assert_eq!(printed["imported"], 2);
    assert_eq!(trail(&sluice(&database, OLD, &import, &[])), [""; 0], "nobody came");
    let export = ["export", "identities"];
    let ended = sluice(&database, OLD, &export, &[]);
    assert_eq!(trail(&ended), ["people are being exported", "people exported count=2"]);
    assert_eq!(ended.stdout.lines().count(), 2);
    let [dsn, secret] = [format!("dsn={}", database.dsn), format!("secrets.system={OLD}")];
    let there = ["export", "identities", &file, "--dev", "--set", &dsn, "--set", &secret];
    let refused = run(&there, &[]);
    assert!(!refused.success && refused.stderr.contains("cannot be written"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("sluice_audit"), "nobody was read: {}", refused.stderr);
    assert_eq!(trail(&sluice(&database, OLD, &export, &[SILENT])), [""; 0]);

    let sealed = sluice(&database, BOTH, &["secrets", "reseal"], &[]);
    let again = "sealed again with the first secret";
    let expected =
        [("keys", 5), ("passwords", 2)].map(|(what, count)| format!("{again} what=\"{what}\" count={count}"));
    assert_eq!(trail(&sealed), expected);
    assert_eq!(trail(&sluice(&database, ANOTHER, &["secrets", "abandon"], &[])), [""; 0], "nothing is done");
    let given_up = sluice(&database, ANOTHER, &["secrets", "abandon", "--yes"], &[]);
    let told = trail(&given_up);
    let begun = "giving up what lost secrets protect passwords=2 factors=0 mails=0 client_secrets=0 keys=5";
    assert_eq!(told.first(), Some(&begun), "{told:?}");
    assert_eq!(told.get(1), Some(&"given up with a lost secret what=\"passwords\" count=2"), "{told:?}");
    assert_eq!(counted(&told, ["signing key made ", "key deleted "]), [4, 5], "{told:?}");
    assert_eq!(told.len(), 2 + 4 + 5, "{told:?}");
    assert_eq!(trail(&sluice(&database, ANOTHER, &["secrets", "abandon", "--yes"], &[])), [""; 0], "no more");
}

/// Where they go there is no room.
#[tokio::test(flavor = "multi_thread")]
async fn people_whose_export_failed_are_not_told_as_exported() {
    let (database, directory) = (left().await, tempfile::tempdir().unwrap());
    sluice(&database, OLD, &["import", "identities", &people(directory.path())], &[]);
    let [dsn, secret] = [format!("dsn={}", database.dsn), format!("secrets.system={OLD}")];
    let mut shell = Command::new("/bin/sh");
    let export = "exec \"$0\" export identities --dev --set \"$1\" --set \"$2\" > /dev/full";
    shell.env_clear().args(["-c", export, env!("CARGO_BIN_EXE_sluice"), &dsn, &secret]);
    let ended = shell.output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && said.contains("No space left on device"), "{said}");
    let told = said.lines().filter_map(|line| Some(line.split_once(" sluice_audit: ")?.1));
    let told: Vec<_> = told.collect();
    assert_eq!(told, ["people are being exported", "people may have been exported count=2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_copied_and_one_that_is_put_back_are_told() {
    let (database, directory) = (left().await, tempfile::tempdir().unwrap());
    let copy = directory.path().join("copy.db").display().to_string();
    let backup = run(&["backup", &copy, &database.dsn], &[("LOG_FORMAT", "json")]);
    let mut lines = backup.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let line = lines.next().expect("a line of the trail");
    assert_eq!((&line["target"], &line["message"]), (&json!("sluice_audit"), &json!("database copied")));
    let network = line["network.id"].as_str().unwrap();
    assert!(backup.stdout.contains(network), "{}", backup.stdout);
    let restored = run(&["restore", &copy, &database.dsn], &[]);
    assert_eq!(trail(&restored), [format!("database restored network.id={network}")]);
}

/// As one that is decrypted on its way to the program.
#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_can_be_read_once_is_read_once() {
    let (database, directory) = (left().await, tempfile::tempdir().unwrap());
    let copy = directory.path().join("copy.db").display().to_string();
    let configuration = json!({"dsn": database.dsn, "log": {"format": "json"}}).to_string();
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().args(["-c", "printf '%s' \"$2\" | \"$0\" backup \"$1\" -c /dev/stdin"]);
    let ended = shell.args([env!("CARGO_BIN_EXE_sluice"), &copy, &configuration]).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success() && Path::new(&copy).exists(), "{said}");
    let line: Value = serde_json::from_str(said.trim()).expect(&said);
    assert_eq!(line["message"], "database copied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_went_well_is_silent_if_it_is_told_to_be_and_is_not_made_with_a_bad_filter() {
    let (database, directory) = (left().await, tempfile::tempdir().unwrap());
    let copy = directory.path().join("copy.db").display().to_string();
    let refused = run(&["backup", &copy, &database.dsn], &[("SLUICE_LOG", "sluice=loud")]);
    assert!(!refused.success && refused.stderr.contains("the log filter is not valid"), "{}", refused.stderr);
    assert!(!Path::new(&copy).exists());
    let backup = run(&["backup", &copy, &database.dsn], &[SILENT]);
    assert!(backup.success && Path::new(&copy).exists(), "{}", backup.stderr);
    assert_eq!(backup.stderr, "");
}
