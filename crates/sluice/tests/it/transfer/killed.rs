//! `kill -9` of an import, three times. Nobody is lost, nobody is there twice, and each bad line is told once.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sluice_testkit::{Backend, TestSluice};
use tempfile::TempDir;

use super::{SECRET, lines, settings, sluice};
use crate::both_stores::on_both_stores;
use crate::process::until;
use crate::program::start;

on_both_stores!(an_import_that_is_killed_brings_everybody_once_and_tells_of_bad_lines_once);

const LINES: u64 = 30_000;
/// After so many lines the program keeps how far it has come.
const KEPT: u64 = 20_000;
/// One line of so many is bad: so many that the report does not wait in memory.
const ONE_OF: u64 = 15;
/// How many records are on their way at a time: few, so that it takes a while.
const IN_FLIGHT: &str = "64";

fn is_bad(line: u64) -> bool {
    line % ONE_OF == 7
}

/// Whether a bad line is somebody who was there before; not while the first person may still be on the way.
fn is_duplicate(line: u64) -> bool {
    is_bad(line) && line > 1_000 && line / ONE_OF % 3 == 2
}

/// Up to where it is kept how far the import has come, most lines are empty: it is about what comes then.
fn is_empty(line: u64) -> bool {
    line <= KEPT && line % 3 != 1 && !is_bad(line)
}

fn person(line: u64) -> String {
    format!("person-{line}@example.com")
}

fn written(line: u64) -> String {
    match line / ONE_OF % 3 {
        _ if is_empty(line) => String::new(),
        _ if is_duplicate(line) => format!("{{\"email\": \"{}\"}}", person(1)),
        _ if !is_bad(line) => format!("{{\"email\": \"{}\"}}", person(line)),
        0 => "nonsense".to_owned(),
        _ => format!("{{\"email\": \"person {line}\"}}"),
    }
}

/// A file of people, and what is beside it.
struct Import {
    directory: TempDir,
    server: TestSluice,
}

impl Import {
    async fn given(backend: Backend) -> Self {
        let server = TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
        let import = Self { directory: tempfile::tempdir().unwrap(), server };
        let mut text = String::new();
        for line in 1..=LINES {
            writeln!(text, "{}", written(line)).unwrap();
        }
        fs::write(import.path("people.ndjson"), text).unwrap();
        import
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn arguments(&self) -> Vec<String> {
        let (people, errors) = (self.path("people.ndjson"), self.path("errors.ndjson"));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let fixed = ["--in-flight", IN_FLIGHT, "--format", "json", "--errors"].map(str::to_owned);
        let named = ["import".to_owned(), "identities".to_owned(), text(&people)];
        named.into_iter().chain(fixed).chain([text(&errors)]).collect()
    }

    /// The last line that the report tells of. What is behind it may be half a line.
    fn told(&self) -> u64 {
        let report = fs::read_to_string(self.path("errors.ndjson")).unwrap_or_default();
        let number = |line: &str| serde_json::from_str::<Value>(line).ok()?["line"].as_u64();
        report.lines().rev().find_map(number).unwrap_or(0)
    }

    /// How many lines are kept as done.
    fn kept(&self) -> u64 {
        let state = fs::read_to_string(self.path("people.ndjson.sluice-import")).unwrap_or_default();
        let state: Value = serde_json::from_str(&state).unwrap_or_default();
        state["counts"]["lines"].as_u64().unwrap_or(0)
    }

    /// Imports, and is killed at this moment.
    async fn killed_when(&self, what: &str, moment: impl Fn() -> bool) {
        let [dsn, secret] = settings(&self.server);
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let more = ["--dev", "--set", dsn.as_str(), "--set", secret.as_str()];
        let mut child = start(&[&arguments[..], &more].concat(), &[]);
        until(what, async || {
            let has_come = moment();
            assert!(has_come || child.try_wait().unwrap().is_none(), "it ended before: {what}");
            has_come
        })
        .await;
        child.kill().unwrap();
        let signal = child.wait().unwrap().signal();
        assert_eq!(signal, Some(9), "it ended before it was killed: {what}");
    }

    /// Imports to the end; what it says, and the summary. Bad lines make it fail.
    fn finished(&self) -> (String, Value) {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = sluice(&self.server, &arguments);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        let summary = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
        (ended.stderr, summary)
    }
}

async fn an_import_that_is_killed_brings_everybody_once_and_tells_of_bad_lines_once(backend: Backend) {
    // given
    let import = Import::given(backend).await;
    let everybody: BTreeSet<String> =
        (1..=LINES).filter(|line| !is_bad(*line) && !is_empty(*line)).map(person).collect();
    let bad: Vec<u64> = (1..=LINES).filter(|line| is_bad(*line)).collect();
    // when
    import.killed_when("nothing is kept yet", || import.told() > 0).await;
    import.killed_when("the first lines are kept", || import.kept() >= KEPT).await;
    let before = import.told().max(KEPT);
    import.killed_when("it has gone on", || import.told() > before).await;
    let (said, summary) = import.finished();
    // then
    assert!(said.contains("going on behind line 20"), "{said}");
    let told = |before: &str| said.split_once(before)?.1.split_once('\n')?.0.parse::<u64>().ok();
    let brought =
        ["people are being imported before=", "people imported count="].map(|line| told(line).expect(&said));
    assert!(brought[0] > 0, "{said}");
    assert_eq!(brought[0] + brought[1], summary["imported"].as_u64().unwrap(), "{said}");
    let counts = ["lines", "imported", "duplicates", "invalid"].map(|name| summary[name].as_u64().unwrap());
    let duplicates = bad.iter().filter(|line| is_duplicate(**line)).count();
    let [people, duplicates, invalid] =
        [everybody.len(), duplicates, bad.len() - duplicates].map(|count| u64::try_from(count).unwrap());
    assert_eq!(counts, [LINES, people, duplicates, invalid]);
    assert_eq!(summary["finished"], true);
    let told = || -> Vec<u64> {
        lines(&import.path("errors.ndjson")).iter().map(|line| line["line"].as_u64().unwrap()).collect()
    };
    assert_eq!(told(), bad);
    // and when it is done again
    let (said, again) = import.finished();
    assert!(said.contains("--restart begins anew"), "{said}");
    assert_eq!((again, told()), (summary, bad));
    let exported = import.path("exported.ndjson");
    let ended = sluice(&import.server, &["export", "identities", exported.to_str().unwrap()]);
    assert!(ended.success, "{}", ended.stderr);
    let found: Vec<String> =
        lines(&exported).iter().map(|person| person["email"].as_str().unwrap().to_owned()).collect();
    assert_eq!(found.len(), everybody.len());
    assert!(found.into_iter().collect::<BTreeSet<_>>() == everybody, "everybody, once");
    import.server.node.stop().await;
}
