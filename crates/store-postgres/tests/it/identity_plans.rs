//! How what is asked about people is planned, with the settings of the store's own connections, on empty tables, which
//! tempt a planner most; and what a change costs.

use futures_util::future::join_all;
use sluice_identity::identity::{EndsSessions, IdentityChange};
use sluice_identity::session::{IdentitySession, IdentitySessionRepository, Rotation};
use sluice_store_contract::{Fixture, given};
use tokio_postgres::Client;

use crate::fixture::{PostgresFixture, connection};

pub(crate) async fn planner() -> (PostgresFixture, Client) {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off").await.unwrap();
    (fixture, client)
}

/// The plan of a statement, which goes through no table from front to end.
pub(crate) async fn plan(client: &Client, sql: &str, values: &str) -> String {
    client.batch_execute(&format!("DEALLOCATE ALL; PREPARE planned AS {sql}")).await.unwrap();
    let values = if values.is_empty() { String::new() } else { format!("({values})") };
    let rows = client.query(&format!("EXPLAIN EXECUTE planned{values}"), &[]).await.unwrap();
    let plan = rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n");
    assert!(!plan.contains("Seq Scan"), "{plan}");
    plan
}

#[tokio::test]
async fn pages_of_identities_are_ranges_of_their_key() {
    let (_fixture, client) = planner().await;
    for sql in [include_str!("../../src/identity/list.sql"), include_str!("../../src/identity/look.sql")] {
        let plan = plan(&client, sql, "NULL,10").await;
        assert!(plan.contains("Index Scan using identity_pkey"), "{plan}");
        assert!(plan.contains("Index Cond: (identity_id > $1)"), "{plan}");
        assert!(!plan.contains("Sort") && !plan.contains("Filter"), "{plan}");
    }
}

#[tokio::test]
async fn recovery_codes_are_counted_by_ranges_of_their_key() {
    let (_fixture, client) = planner().await;
    let count = plan(&client, include_str!("../../src/factor/all_codes_left.sql"), "NULL,''").await;
    assert!(count.contains("recovery_code_pkey"), "{count}");
    assert!(count.contains("Index Cond: (ROW(identity_id, code_hash) > ROW($1, $2))"), "{count}");
}

#[tokio::test]
async fn what_waits_to_be_hardened_is_found_by_its_own_index() {
    let (_fixture, client) = planner().await;
    let lease = plan(&client, include_str!("../../src/hardening/lease.sql"), "0,0,10").await;
    assert!(lease.contains("using identity_hardening"), "{lease}");
    assert!(lease.contains("Index Cond: (identity_id = ANY ("), "by its key, however many wait: {lease}");
    let backlog = plan(&client, include_str!("../../src/hardening/backlog.sql"), "0,10").await;
    assert_eq!(backlog.matches("identity_hardening").count(), 3, "{backlog}");
    let harden = plan(&client, include_str!("../../src/hardening/harden.sql"), "'{}','{}','{}'").await;
    assert!(harden.contains("identity_pkey"), "{harden}");
}

#[tokio::test]
async fn sessions_mails_and_codes_are_found_by_their_keys() {
    let (_fixture, client) = planner().await;
    let five = ["'{}'"; 5].join(",");
    let rotate = plan(&client, include_str!("../../src/identity_session/rotate.sql"), &five).await;
    assert!(rotate.contains("Index Cond: (session_id = r.session_id)"), "{rotate}");
    assert!(rotate.contains("Nested Loop") && rotate.contains("identity_pkey"), "{rotate}");
    let examine = plan(&client, include_str!("../../src/identity_session/examine.sql"), "'{}'").await;
    assert!(examine.contains("identity_session_pkey") && examine.contains("identity_pkey"), "{examine}");
    let of_identity =
        plan(&client, include_str!("../../src/identity_session/of_identity.sql"), "NULL,0,200").await;
    assert!(of_identity.contains("identity_session_identity"), "{of_identity}");
    let twelve = [&["'{}'"; 11][..], &["199"]].concat().join(",");
    let begin = plan(&client, include_str!("../../src/identity_session/begin.sql"), &twelve).await;
    assert!(begin.contains("identity_session_identity"), "{begin}");
    let end_oldest =
        plan(&client, include_str!("../../src/identity_session/end_oldest.sql"), "'{}',0,0,NULL").await;
    assert!(end_oldest.contains("Cond: (session_id = ANY ("), "{end_oldest}");
    let mails = plan(&client, include_str!("../../src/mail/lease.sql"), "0,0,10").await;
    assert!(mails.contains("mail_due") && mails.contains("mail_pkey"), "{mails}");
    let depth = plan(&client, include_str!("../../src/mail/depth.sql"), "0,10").await;
    assert_eq!(depth.matches("Index Only Scan using mail_due").count(), 2, "{depth}");
    let take =
        plan(&client, include_str!("../../src/mail_code/take.sql"), "NULL,0,'{}',0,NULL,NULL,false,false")
            .await;
    assert!(take.contains("mail_code_pkey"), "{take}");
}

#[tokio::test]
async fn a_rotation_of_a_session_is_one_statement() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let session = given::begun(&*store, alice.id, 1).await;
    let before = store.statistics().others.statements;
    store.rotate(&given::session_rotation(session.id, 0, 30)).await.unwrap();
    assert_eq!(store.statistics().others.statements - before, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_begin_and_are_rotated_together_share_statements() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let people = (0..1000).map(|number| given::identity(&format!("user-{number}")));
    let people = join_all(people.map(|person| given::registered(&*store, person))).await;
    let sessions = join_all(people.iter().map(|person| given::begun(&*store, person.id, 1))).await;
    let begun = store.statistics().others;
    assert_eq!(begun.rows, 1000);
    assert!(begun.statements < 100 && begun.statements == begun.commits, "{begun:?}");
    let rotations: Vec<_> =
        sessions.iter().map(|session| given::session_rotation(session.id, 0, 30)).collect();
    let outcomes = join_all(rotations.iter().map(|rotation| store.rotate(rotation))).await;
    for ((session, rotation), outcome) in sessions.into_iter().zip(&rotations).zip(outcomes) {
        let rotated = IdentitySession {
            generation: 1,
            rotated_at: rotation.now,
            last_seen_at: rotation.now,
            expires_at: rotation.expires_at,
            attempt: rotation.attempt,
            ..session
        };
        assert_eq!(outcome.unwrap(), Rotation::Rotated(rotated));
    }
    let rotated = store.statistics().others;
    assert_eq!(rotated.rows - begun.rows, 1000);
    assert!(rotated.statements - begun.statements < 100, "{rotated:?}");
}

#[tokio::test]
async fn a_change_takes_the_same_statements_however_many_sessions_it_ends() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    for begun in 0..50 {
        given::begun(&*store, alice.id, begun).await;
    }
    let before = store.statistics().others;
    let change =
        IdentityChange { ends_sessions: EndsSessions::All, revokes: true, ..given::change(&alice, 39) };
    assert_eq!(given::changed(&*store, &change).await.revision, 2);
    let after = store.statistics().others;
    assert_eq!(after.commits - before.commits, 1);
    assert_eq!(after.statements - before.statements, 4, "lock, counter, change, outcome");
    assert_eq!(
        given::markers(&*store).await.len(),
        1 + 10,
        "of the person, and of each that it does not cover"
    );
}
