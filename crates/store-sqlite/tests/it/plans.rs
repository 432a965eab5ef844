//! Query plans: nothing that a request waits for walks over a table.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sluice_store_contract::Fixture;

use crate::fixture::SqliteFixture;

/// What walks over a table: upkeep that no request waits for, counts that end at a number, and a table of a few rows.
const WALKERS: [&str; 10] = [
    "factor/all_recovery_codes_left.sql",
    "feed/forget_changes.sql",
    "feed/forget_nodes.sql",
    "grant/forget_markers.sql",
    "hardening/backlog.sql",
    "identity_session/expired.sql",
    "login_session/expired.sql",
    "outbox/depth.sql",
    "parked_flow/park.sql",
    "signing_key/sets.sql",
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

/// Whether a plan has a step that walks over a whole table or index.
fn walks(connection: &Connection, sql: &str) -> bool {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let unbound = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps =
        statement.query_map(rusqlite::params_from_iter(unbound), |row| row.get::<_, String>("detail"));
    let bounded = ["SCAN CONSTANT ROW", "SCAN known", "SCAN p", "SCAN share", "SCAN u"];
    let is_walk =
        |step: String| step.starts_with("SCAN") && !bounded.iter().any(|known| step.starts_with(known));
    steps.unwrap().map(Result::unwrap).any(is_walk)
}

#[tokio::test]
async fn no_statement_of_a_request_walks() {
    let fixture = SqliteFixture::start().await;
    let connection = Connection::open(fixture.path()).unwrap();
    let walkers = statements().into_iter().filter(|(_, sql)| walks(&connection, sql));
    assert_eq!(walkers.map(|(file, _)| file).collect::<Vec<_>>(), WALKERS);
}
