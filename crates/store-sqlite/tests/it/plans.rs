//! Query plans: nothing that a request waits for walks over a table.

use rusqlite::Connection;
use sluice_store_contract::Fixture;

use crate::fixture::SqliteFixture;

macro_rules! statements {
    ($($file:literal),+ $(,)?) => { [$(($file, include_str!(concat!("../../src/", $file)))),+] };
}

/// The steps of a plan that walk over a whole table or index.
fn scans(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let unbound = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps =
        statement.query_map(rusqlite::params_from_iter(unbound), |row| row.get::<_, String>("detail"));
    let constant = ["SCAN CONSTANT ROW", "SCAN known", "SCAN p"];
    let is_scan =
        |step: &String| step.starts_with("SCAN") && !constant.iter().any(|known| step.starts_with(known));
    steps.unwrap().map(Result::unwrap).filter(is_scan).collect()
}

#[tokio::test]
async fn no_statement_of_a_request_scans() {
    let fixture = SqliteFixture::start().await;
    let connection = Connection::open(fixture.path()).unwrap();
    drop(fixture.store());
    let hot = statements![
        "client/delete.sql",
        "client/exists.sql",
        "client/find.sql",
        "client/forget_consents.sql",
        "client/insert.sql",
        "client/list.sql",
        "client/replace.sql",
        "consent/find.sql",
        "consent/forget_all.sql",
        "consent/forget_one.sql",
        "consent/remember.sql",
        "device/deny.sql",
        "device/find_by_user_code.sql",
        "device/insert.sql",
        "device/poll.sql",
        "device/purge_expired.sql",
        "feed/append_change.sql",
        "feed/append_marker.sql",
        "feed/read_changes.sql",
        "feed/read_revocations.sql",
        "grant/attempt.sql",
        "grant/examine.sql",
        "grant/find.sql",
        "grant/insert.sql",
        "grant/is_marked.sql",
        "grant/list.sql",
        "grant/participate.sql",
        "grant/punish.sql",
        "grant/purge_candidates.sql",
        "grant/purge_expired.sql",
        "grant/redeem_code.sql",
        "grant/revoke.sql",
        "grant/rotate_refresh.sql",
        "grant/slice_end.sql",
        "grant/sweep_candidates.sql",
        "grant/sweep_revoked.sql",
        "identity/attempt.sql",
        "identity/find.sql",
        "identity/find_by_login_name.sql",
        "identity/register.sql",
        "identity/register_name.sql",
        "identity/replace_credential.sql",
        "login_session/end_one.sql",
        "login_session/end_subject.sql",
        "login_session/find.sql",
        "login_session/forget_participants.sql",
        "login_session/forget_participants_of_subject.sql",
        "login_session/insert.sql",
        "login_session/participants.sql",
        "login_session/subject.sql",
        "login_session/touch.sql",
        "outbox/delivered.sql",
        "outbox/failed.sql",
        "outbox/insert.sql",
        "outbox/lease.sql",
        "parked_flow/fetch.sql",
        "parked_flow/purge_expired.sql",
        "replay/purge_expired.sql",
        "replay/spend.sql",
        "signing_key/add.sql",
        "signing_key/create_missing.sql",
        "signing_key/delete.sql",
        "signing_key/delete_set.sql",
        "signing_key/set.sql",
        "trust/delete.sql",
        "trust/find.sql",
        "trust/find_for.sql",
        "trust/insert.sql",
        "trust/list.sql",
        "trust/purge_expired.sql",
    ];
    let scanning: Vec<_> = hot
        .iter()
        .map(|(file, sql)| (file, scans(&connection, sql)))
        .filter(|(_, scans)| !scans.is_empty())
        .collect();
    assert!(scanning.is_empty(), "{scanning:#?}");
}
