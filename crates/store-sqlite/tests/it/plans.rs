//! Query plans: nothing that a request waits for walks over a table, and what a node starts without is missed by no statement.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sluice_store_contract::Fixture;
use sluice_store_sqlite::MigrationStatus;

use crate::fixture::SqliteFixture;

/// Upkeep that finds what it looks for by an index of its own, and by which, for each part of the statement.
const BY_INDEX: [(&str, &[&str]); 4] = [
    ("consent/purge_expired.sql", &["consent_expiry (expires_at<?)"]),
    ("feed/forget_changes.sql", &["change_time (at<?)"]),
    ("grant/sweep_markers.sql", &["revocation_unswept (kind>?)"]),
    ("login_session/expired.sql", &["login_session_expiry (remembered=? AND expires_at<?)"; 2]),
];

/// What walks over a table: upkeep that no request waits for, counts that end at a number or are made once a second or once between two
/// changes of clients, and tables of a few rows.
const WALKERS: [&str; 12] = [
    "client/count.sql",
    "factor/all_recovery_codes_left.sql",
    "feed/forget_nodes.sql",
    "hardening/backlog.sql",
    "hydra_token/is_there.sql",
    "mail/depth.sql",
    "outbox/depth.sql",
    "serving_node/forget.sql",
    "serving_node/is_there.sql",
    "serving_node/known.sql",
    "signing_key/sets.sql",
    "trust/count_trusted.sql",
];

/// All statements of the repositories: file and text.
fn statements() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|path| path.is_dir() && !path.ends_with("migrations"));
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let statements = files.filter(|file| file.extension().is_some_and(|extension| extension == "sql"));
    let mut statements: Vec<_> = statements
        .map(|file| {
            let name = file.strip_prefix(&source).unwrap().display().to_string();
            (name, fs::read_to_string(&file).unwrap())
        })
        .collect();
    statements.sort_unstable();
    statements
}

/// The steps of the plan of a statement.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let unbound = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps =
        statement.query_map(rusqlite::params_from_iter(unbound), |row| row.get::<_, String>("detail"));
    steps.unwrap().map(Result::unwrap).collect()
}

/// Whether a plan has a step that walks over a whole table or index.
fn walks(connection: &Connection, sql: &str) -> bool {
    let bounded = ["SCAN CONSTANT ROW", "SCAN due", "SCAN known", "SCAN p", "SCAN share", "SCAN u"];
    let is_walk =
        |step: &String| step.starts_with("SCAN") && !bounded.iter().any(|known| step.starts_with(known));
    plan(connection, sql).iter().any(is_walk)
}

/// How many tables and indexes a statement writes.
fn written(connection: &Connection, sql: &str) -> usize {
    let mut statement = connection.prepare(&format!("EXPLAIN {sql}")).unwrap();
    let unbound = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps =
        statement.query_map(rusqlite::params_from_iter(unbound), |row| row.get::<_, String>("opcode"));
    steps.unwrap().map(Result::unwrap).filter(|step| step == "OpenWrite").count()
}

#[tokio::test]
async fn a_session_that_is_used_writes_no_index_unless_its_end_moves() {
    let fixture = SqliteFixture::start().await;
    let connection = Connection::open(fixture.path()).unwrap();
    let statements: HashMap<_, _> = statements().into_iter().collect();
    let written = |file: &str| written(&connection, &statements[file]);
    assert_eq!((written("login_session/touch.sql"), written("login_session/extend.sql")), (1, 2));
}

#[tokio::test]
async fn no_statement_of_a_request_walks() {
    let fixture = SqliteFixture::start().await;
    let connection = Connection::open(fixture.path()).unwrap();
    let walkers = statements().into_iter().filter(|(_, sql)| walks(&connection, sql));
    assert_eq!(walkers.map(|(file, _)| file).collect::<Vec<_>>(), WALKERS);
}

#[tokio::test]
async fn upkeep_finds_what_has_to_go_by_indexes_of_its_own() {
    let fixture = SqliteFixture::start().await;
    let connection = Connection::open(fixture.path()).unwrap();
    let statements: HashMap<_, _> = statements().into_iter().collect();
    for (file, expected) in BY_INDEX {
        let plan = plan(&connection, &statements[file]);
        let found = plan.iter().filter_map(|step| step.split_once(" USING COVERING INDEX "));
        assert_eq!(found.map(|(_, index)| index).collect::<Vec<_>>(), expected, "{file}: {plan:?}");
    }
    // Which of these goes depends on more than is in an index.
    let plan = plan(&connection, &statements["grant/forget_markers.sql"]);
    for index in ["INDEX revocation_expiry (expires_at<?)", "INDEX login_session_subject (subject=?)"] {
        assert!(plan.iter().any(|step| step.ends_with(index)), "{index}: {plan:?}");
    }
}

/// Whether a node looks whether the table is there before it runs it.
fn is_done_without(file: &str) -> bool {
    file.starts_with("hydra_") || file.starts_with("serving_node/")
}

/// The others are for speed, for what only an import writes and a node then reads, or for what nodes say of themselves: it starts without them.
#[tokio::test]
async fn no_statement_needs_a_migration_that_is_not_required() {
    let known = SqliteFixture::start().await.store().migrate_status().await.unwrap();
    let connection = Connection::open_in_memory().unwrap();
    for MigrationStatus { version, name, .. } in known.into_iter().filter(|migration| migration.is_required) {
        let file = format!("src/migrations/{version:04}_{name}.sql");
        let sql = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        connection.execute_batch(&sql).unwrap();
    }
    for (file, sql) in statements().into_iter().filter(|(file, _)| !is_done_without(file)) {
        let prepared = connection.prepare(&sql).map(drop);
        assert!(prepared.is_ok(), "{file}: {prepared:?}");
    }
}
