//! Upkeep: what it costs however much there is, and that it neither stops half-way nor leaves anybody out.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use sluice_identity::mail::MailRepository;
use sluice_oauth::client::ClientRepository;
use sluice_oauth::consent::{ConsentRepository, Forget, RememberedConsent};
use sluice_oauth::device::DeviceCodeRepository;
use sluice_oauth::grant::{Grant, GrantRepository};
use sluice_oauth::login_session::{EndSessions, LoginSession, LoginSessionRepository};
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_primitives::{NodeId, OsRng, Timestamp};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};
use tokio_postgres::Client;

use crate::fixture::{PostgresFixture, connection, options};
use crate::identity_plans::{plan, planner};
use crate::late_commit::somebody_waits;

/// When the markers of these tests have expired.
const EXPIRED: i64 = 9001;

#[tokio::test]
async fn markers_and_changes_that_have_to_go_are_found_by_indexes_of_their_own() {
    let (_fixture, client) = planner().await;
    let needed = plan(&client, include_str!("../../src/grant/sweep_needed.sql"), "0").await;
    assert!(needed.contains("revocation_unswept") && needed.contains("revocation_wide_expiry"), "{needed}");
    let grants = plan(&client, include_str!("../../src/grant/forget_grant_markers.sql"), "0").await;
    assert_eq!(grants.matches("revocation_grant_expiry").count(), 2, "{grants}");
    let changes = plan(&client, include_str!("../../src/feed/forget_changes.sql"), "0").await;
    assert_eq!(changes.matches("change_time").count(), 2, "{changes}");
    let mark = plan(&client, include_str!("../../src/grant/sweep_mark.sql"), "'{}','{}'").await;
    assert!(mark.contains("revocation_unswept") && mark.contains("revocation_pkey"), "{mark}");
    assert!(mark.contains("identity_session_identity"), "{mark}");
    let forget = plan(&client, include_str!("../../src/grant/sweep_forget.sql"), "'{}','{}',0").await;
    assert!(forget.contains("Index Scan using revocation_wide_expiry"), "{forget}");
    assert_eq!(forget.matches("login_session_subject").count(), 2, "{forget}");
}

#[tokio::test]
async fn decisions_about_deleted_clients_are_found_by_client_and_deleted_by_their_key() {
    let (_fixture, client) = planner().await;
    let plan = plan(&client, include_str!("../../src/grant/sweep_decisions.sql"), "").await;
    assert!(plan.contains("client_pkey") && plan.contains("consent_client"), "{plan}");
    assert_eq!(plan.matches("consent_pkey").count(), 2, "{plan}");
}

/// Nor is anything waited for that another has at hand; the marker stays for it.
#[tokio::test]
async fn a_client_is_deleted_whoever_holds_decisions_about_it() {
    let fixture = PostgresFixture::start().await;
    let impatient = StoreOptions { deadline: Duration::from_secs(1), ..options() };
    let store = PostgresStore::connect(fixture.dsn(), impatient).await.unwrap();
    ClientRepository::insert(&store, &given::client("shop", "acme")).await.unwrap();
    GrantRepository::insert(&store, given::grant(), Some(given::decision()), false).await.unwrap();
    let other = connection(fixture.dsn()).await;
    other.batch_execute("BEGIN; SELECT 1 FROM consent FOR UPDATE").await.unwrap();
    let id = given::client_id("shop");
    assert!(ClientRepository::delete(&store, &id, given::at(20), given::at(9000)).await.unwrap());
    store.sweep_revoked(given::at(EXPIRED), 10).await.unwrap();
    assert_eq!(given::markers(&store).await.len(), 1);
    other.batch_execute("COMMIT").await.unwrap();
    store.sweep_revoked(given::at(EXPIRED), 10).await.unwrap();
    assert_eq!(given::markers(&store).await, []);
    assert_eq!(count(&other, "SELECT count(*) FROM consent").await, 0);
}

#[tokio::test]
async fn the_last_of_the_wide_markers_is_found_by_time_and_each_of_them_by_its_key() {
    let (_fixture, client) = planner().await;
    let (redeem, rotate) =
        (include_str!("../../src/grant/redeem_code.sql"), include_str!("../../src/grant/rotate_refresh.sql"));
    // Redeeming looks for the grant's own marker, too.
    let statements =
        [(redeem, "'{}','{}','{}','{}','{}'", 6), (rotate, "'{}','{}','{}','{}','{}','{}',0", 5)];
    for (sql, values, kinds) in statements {
        let plan = plan(&client, sql, values).await;
        assert_eq!(plan.matches("Backward using revocation_wide ").count(), 1, "{plan}");
        assert_eq!(plan.matches("using revocation_target_time ").count(), kinds, "{plan}");
    }
}

#[tokio::test]
async fn notices_are_found_by_client_and_counted_by_index() {
    let (_fixture, client) = planner().await;
    let lease = plan(&client, include_str!("../../src/outbox/lease.sql"), "0,0,10,10,'{}'").await;
    assert!(lease.contains("Index Cond: ((client_id = w_1.client_id) AND (due_at <= $1))"), "{lease}");
    assert_eq!(lease.matches("outbox_pkey").count(), 2, "by their keys: {lease}");
    let depth = plan(&client, include_str!("../../src/outbox/depth.sql"), "10").await;
    assert_eq!(depth.matches("Index Only Scan").count(), 2, "{depth}");
    let purge = plan(&client, include_str!("../../src/outbox/purge.sql"), "0,10").await;
    assert!(purge.contains("outbox_due") && purge.contains("outbox_pkey"), "{purge}");
}

/// However many there are: it is asked for again and again.
#[tokio::test]
async fn mails_are_counted_to_a_hundred_thousand() {
    let fixture = PostgresFixture::start().await;
    let many = "INSERT INTO mail (due_at, id, attempts, dead, sealed)
        SELECT c, gen_random_uuid(), 0, c % 2 = 0, 'sealed' FROM generate_series(1, 200002) AS c";
    connection(fixture.dsn()).await.batch_execute(many).await.unwrap();
    assert_eq!(MailRepository::depth(&*fixture.store()).await.unwrap(), (100_000, 100_000));
}

#[tokio::test]
async fn what_has_expired_is_found_by_time_and_deleted_by_its_key() {
    let (_fixture, client) = planner().await;
    let statements = [
        ("consent", include_str!("../../src/consent/purge_expired.sql"), "consent_pkey"),
        ("replay", include_str!("../../src/replay/purge_expired.sql"), "replay_pkey"),
        ("mail_code", include_str!("../../src/mail_code/purge_expired.sql"), "mail_code_pkey"),
        ("device_code", include_str!("../../src/device/purge_expired.sql"), "device_code_pkey"),
        ("parked_flow", include_str!("../../src/parked_flow/purge_expired.sql"), "parked_flow_pkey"),
        ("trusted_issuer", include_str!("../../src/trust/purge_expired.sql"), "trusted_issuer_id"),
        ("hydra_token", include_str!("../../src/hydra_token/purge_expired.sql"), "hydra_token_pkey"),
    ];
    for (table, sql, key) in statements {
        let plan = plan(&client, sql, "0,10").await;
        assert!(plan.contains(&format!("{table}_expiry")) && plan.contains(key), "{plan}");
    }
}

/// All nodes delete what has expired: who finds a row taken by another goes on with the next ones.
#[tokio::test]
async fn who_deletes_what_has_expired_waits_for_nobody() {
    let fixture = PostgresFixture::start().await;
    let (store, other) = (fixture.store(), connection(fixture.dsn()).await);
    for _ in 0..3 {
        let hash = given::random_hash();
        assert!(store.spend(ReplayKind::DpopProof, hash, given::at(0), given::at(60)).await.unwrap());
        assert!(DeviceCodeRepository::insert(&*store, given::device_code(), given::at(0)).await.unwrap());
    }
    other.batch_execute("BEGIN").await.unwrap();
    for table in ["replay", "device_code"] {
        let take = format!("SELECT 1 FROM {table} ORDER BY expires_at LIMIT 1 FOR UPDATE");
        other.batch_execute(&take).await.unwrap();
    }
    let purge = async || {
        let ids = ReplayRepository::purge_expired(&*store, given::at(EXPIRED), 10).await.unwrap();
        (ids, DeviceCodeRepository::purge_expired(&*store, given::at(EXPIRED), 10).await.unwrap())
    };
    assert_eq!(purge().await, (2, 2));
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(purge().await, (1, 1));
}

/// Neither while it is being renewed nor afterwards.
#[tokio::test]
async fn a_decision_that_is_renewed_meanwhile_stays() {
    let fixture = PostgresFixture::start().await;
    let (store, other) = (fixture.store(), connection(fixture.dsn()).await);
    for client in ["shop", "bank"].map(given::client_id) {
        let expires_at = given::at(60);
        let decision = RememberedConsent { client: client.clone(), expires_at, ..given::decision() };
        let grant = Grant { client, ..given::grant() };
        GrantRepository::insert(&*store, grant, Some(decision), false).await.unwrap();
    }
    let renew = format!("BEGIN; UPDATE consent SET expires_at = {} WHERE client_id = 'shop'", i64::MAX);
    other.batch_execute(&renew).await.unwrap();
    let purge = async || ConsentRepository::purge_expired(&*store, given::at(EXPIRED), 10).await.unwrap();
    assert_eq!(purge().await, 1, "what another node has at hand is left to it");
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(purge().await, 0);
    assert_eq!(count(&other, "SELECT count(*) FROM consent WHERE client_id = 'shop'").await, 1);
}

/// Markers of another node: 2,500 of grants, 2,500 of subjects that have expired, 2,500 of subjects that have not.
async fn append_many(client: &Client) {
    let origin = NodeId::generate(Timestamp::default(), &OsRng).as_uuid();
    client.execute("INSERT INTO node VALUES ($1, 7500, 0, 0)", &[&origin]).await.unwrap();
    let append = "INSERT INTO revocation
        SELECT $1::uuid, c, $2::bigint, CASE WHEN c > 5000 THEN $4::bigint ELSE $3::bigint END,
               CASE WHEN c > 2500 THEN 3 ELSE 1 END, c <= 2500,
               CASE WHEN c > 2500 THEN 'subject-' || c ELSE gen_random_uuid()::text END
        FROM generate_series(1, 7500) AS c";
    let at = |secs| given::at(secs).as_millis();
    client.execute(append, &[&origin, &at(20), &at(9000), &at(90_000)]).await.unwrap();
}

async fn count(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_sweep_forgets_and_marks_more_than_one_statement_takes() {
    let fixture = PostgresFixture::start().await;
    let (store, client) = (fixture.store(), connection(fixture.dsn()).await);
    append_many(&client).await;
    let old = "INSERT INTO change SELECT gen_random_uuid(), c, c, 1, 'client-' || c FROM generate_series(1, 2500) AS c";
    client.execute(old, &[]).await.unwrap();
    store.sweep_revoked(given::at(EXPIRED), 10).await.unwrap();
    assert_eq!(count(&client, "SELECT count(*) FROM revocation").await, 2500);
    assert_eq!(count(&client, "SELECT count(*) FROM revocation WHERE kind = 3 AND swept").await, 2500);
    assert_eq!(count(&client, "SELECT count(*) FROM change").await, 0);
}

/// Logins of `alice`: 1,500 that began at $1, and one at $2.
const LOGINS: &str = "INSERT INTO login_session
    (authenticated_at, last_seen_at, expires_at, idle, sid, remembered, subject, amr)
    SELECT CASE WHEN c > 1500 THEN $2::bigint ELSE $1::bigint END, $1, 9223372036854775807, 9223372036854775807,
           gen_random_uuid(), TRUE, 'alice', '[]'
    FROM generate_series(1, 1501) AS c";

/// How many logins each statement deletes, and how many markers there are afterwards.
const NOTED: &str = "CREATE TABLE noted (logins bigint, markers bigint);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO noted SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM revocation);
            RETURN NULL;
        END $$;
    CREATE TRIGGER noted AFTER DELETE ON login_session
        REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note()";

/// A node of an older release takes the sessions of a subject for deleted, however many are left.
#[tokio::test]
async fn sessions_that_ended_and_were_left_go_a_thousand_at_a_time_and_before_their_marker() {
    let fixture = PostgresFixture::start().await;
    let (store, client) = (fixture.store(), connection(fixture.dsn()).await);
    let at = |secs| given::at(secs).as_millis();
    client.execute(LOGINS, &[&at(10), &at(30)]).await.unwrap();
    let alices = EndSessions::Subject(given::subject("alice"));
    LoginSessionRepository::end(&*store, alices, given::at(20), given::at(9000), Vec::new()).await.unwrap();
    client.batch_execute("UPDATE revocation SET swept = TRUE").await.unwrap();
    client.batch_execute(NOTED).await.unwrap();
    store.sweep_revoked(given::at(EXPIRED), 10).await.unwrap();
    assert_eq!(given::markers(&*store).await, []);
    assert_eq!(count(&client, "SELECT count(*) FROM login_session").await, 1, "of a later login");
    assert_eq!(count(&client, "SELECT max(logins) FROM noted").await, 1000);
    assert_eq!(count(&client, "SELECT min(markers) FROM noted WHERE logins > 0").await, 1);
}

/// Markers of `bob`, of another node: one for each of 1,200 milliseconds after $2.
const ENDS: &str = "INSERT INTO revocation
    SELECT $1::uuid, c, $2::bigint + c, $3::bigint, 3, FALSE, 'bob' FROM generate_series(1, 1200) AS c";

/// They may be any number, and a statement may end between two of one subject.
#[tokio::test]
async fn what_is_left_of_sessions_is_looked_for_by_a_thousand_markers_at_a_time() {
    let fixture = PostgresFixture::start().await;
    let (store, client) = (fixture.store(), connection(fixture.dsn()).await);
    let (bob, start) = (given::subject("bob"), given::at(20).as_millis());
    let until = Timestamp::from_millis(start + 1150);
    let session = LoginSession { subject: bob.clone(), authenticated_at: until, ..given::session() };
    assert!(LoginSessionRepository::insert(&*store, session).await.unwrap());
    let origin = NodeId::generate(Timestamp::default(), &OsRng).as_uuid();
    client.execute(ENDS, &[&origin, &start, &given::at(9000).as_millis()]).await.unwrap();
    let before = store.statistics().upkeep.statements;
    let statements = || store.statistics().upkeep.statements - before;
    assert_eq!(store.left_over(None).await.unwrap(), Some((bob.clone(), until)));
    assert_eq!(statements(), 2);
    assert_eq!(store.left_over(Some(&bob)).await.unwrap(), None);
    assert_eq!(statements(), 3);
}

/// Behind it on the same connection they would wait as long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_logins_write_waits_for_no_upkeep() {
    let fixture = PostgresFixture::start().await;
    let options = StoreOptions { lanes: NonZeroUsize::MIN, ..options() };
    let store = Arc::new(PostgresStore::connect(fixture.dsn(), options).await.unwrap());
    let (stall, watching) = (connection(fixture.dsn()).await, connection(fixture.dsn()).await);
    stall.batch_execute("BEGIN; LOCK TABLE replay IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let purging = tokio::spawn({
        let store = store.clone();
        async move { ReplayRepository::purge_expired(&*store, given::at(EXPIRED), 10).await }
    });
    somebody_waits(&watching).await;
    given::redeemed(&*store, given::grant()).await;
    assert!(!purging.is_finished());
    stall.batch_execute("COMMIT").await.unwrap();
    assert_eq!(purging.await.unwrap().unwrap(), 0);
}

#[test]
fn there_are_no_more_connections_than_there_may_be() {
    for most in 4..=40 {
        let limited = options().with_connections(most);
        assert_eq!((limited.has_upkeep_connection, limited.has_write_connection), (most > 6, most > 7));
        let own = usize::from(limited.has_upkeep_connection) + usize::from(limited.has_write_connection);
        let all = limited.lanes.get() + limited.readers.get() + own + 2;
        assert!(all <= usize::try_from(most).unwrap(), "{most}: {all}");
    }
}

#[tokio::test]
async fn a_pass_whose_end_failed_is_ended_by_the_next_call() {
    let fixture = PostgresFixture::start().await;
    let impatient = StoreOptions { deadline: Duration::from_secs(1), ..options() };
    let store = PostgresStore::connect(fixture.dsn(), impatient).await.unwrap();
    forget_alice(&store).await;
    let client = connection(fixture.dsn()).await;
    client.batch_execute("BEGIN; LOCK TABLE revocation IN SHARE MODE").await.unwrap();
    assert!(store.sweep_revoked(given::at(EXPIRED), 10).await.is_err());
    client.batch_execute("COMMIT").await.unwrap();
    // A pass that begins now would not know that the marker has expired.
    store.sweep_revoked(given::at(21), 10).await.unwrap();
    assert_eq!(given::markers(&store).await, []);
}

async fn forget_alice(store: &PostgresStore) {
    let (subject, now, marker_expires_at) = (given::subject("alice"), given::at(20), given::at(9000));
    store.forget(Forget { subject, client: None, now, marker_expires_at }).await.unwrap();
}

/// All nodes sweep, each its own pass: who finds a grant taken by another does not pass over those behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_that_meets_another_leaves_no_grant_out() {
    let fixture = PostgresFixture::start().await;
    let (store, other) = (fixture.store(), connection(fixture.dsn()).await);
    let watching = connection(fixture.dsn()).await;
    let mut grants = Vec::new();
    for _ in 0..3 {
        grants.push(given::inserted(&*store, given::grant()).await.id);
    }
    grants.sort_unstable();
    forget_alice(&store).await;
    other.batch_execute("BEGIN").await.unwrap();
    let revoke = "UPDATE oauth_grant SET revoked_at = 1 WHERE grant_id = $1";
    other.execute(revoke, &[&grants[0].as_uuid()]).await.unwrap();
    let sweeping = tokio::spawn({
        let store = store.clone();
        async move { store.sweep_revoked(given::at(EXPIRED), 1).await }
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while count(&watching, waiting).await == 0 {}
    other.batch_execute("COMMIT").await.unwrap();
    sweeping.await.unwrap().unwrap();
    for _ in 0..5 {
        store.sweep_revoked(given::at(EXPIRED), 1).await.unwrap();
    }
    assert_eq!(given::markers(&*store).await, []);
    for id in grants {
        let grant = GrantRepository::find(&*store, id).await.unwrap().unwrap();
        assert!(grant.revoked_at.is_some(), "{id}");
    }
}
