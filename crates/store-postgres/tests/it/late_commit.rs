//! Transactions that commit late, or are lost after they were answered, seen by a reader of the feed, by who revokes, and by a
//! registration that is sent again.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::identity::{Identity, IdentityRepository, Registration};
use sluice_identity::session::IdentitySession;
use sluice_oauth::client::ClientRepository;
use sluice_oauth::consent::{ConsentRepository, Forget};
use sluice_oauth::grant::{Grant, GrantRepository, Insertion, Redemption, Rotation};
use sluice_oauth::keys::KeyRepository;
use sluice_oauth::login_session::{EndSessions, LoginSessionRepository};
use sluice_primitives::{GrantId, Lifetime, ManualClock, NodeId, OsRng, Timestamp};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_token::{Feed, FeedPosition, Target};
use tokio_postgres::Client;

use crate::fixture::{PostgresFixture, connection, options};

/// Appends a marker of this origin in a transaction that is not committed yet.
async fn begin_append(dsn: &str, node: NodeId, grant: GrantId) -> Client {
    let client = connection(dsn).await;
    client.batch_execute("BEGIN").await.unwrap();
    let raise = "INSERT INTO node AS n VALUES ($1, 1, 0, 0) ON CONFLICT (node_id)
        DO UPDATE SET revocation_counter = n.revocation_counter + 1";
    client.execute(raise, &[&node.as_uuid()]).await.unwrap();
    let append = "INSERT INTO revocation SELECT node_id, revocation_counter, 20, 9000, 1, TRUE, $2
        FROM node WHERE node_id = $1";
    client.execute(append, &[&node.as_uuid(), &grant.to_string()]).await.unwrap();
    client
}

async fn revoke(store: &PostgresStore, grant: GrantId) {
    store.revoke(grant, given::at(20), given::at(9000)).await.unwrap();
}

async fn read_on(store: &PostgresStore, position: &mut FeedPosition) -> Vec<Target> {
    let batch = store.read(position).await.unwrap();
    *position = batch.position;
    batch.markers.into_iter().map(|marker| marker.target).collect()
}

#[tokio::test]
async fn a_marker_of_another_node_that_commits_late_is_not_skipped() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let (late, prompt) = (given::grant_id(), given::grant_id());
    let other = NodeId::generate(Timestamp::default(), &OsRng);
    let transaction = begin_append(fixture.dsn(), other, late).await;
    revoke(&store, prompt).await;
    let mut position = FeedPosition::default();
    assert_eq!(read_on(&store, &mut position).await, [Target::Grant(prompt)]);
    transaction.batch_execute("COMMIT").await.unwrap();
    assert_eq!(read_on(&store, &mut position).await, [Target::Grant(late)]);
    assert_eq!(read_on(&store, &mut position).await, []);
}

#[tokio::test]
async fn the_counters_of_one_origin_are_given_in_the_order_of_commits() {
    let fixture = PostgresFixture::start().await;
    let own = options();
    let node = own.node;
    let store = Arc::new(PostgresStore::connect(fixture.dsn(), own).await.unwrap());
    let (first, second) = (given::grant_id(), given::grant_id());
    let transaction = begin_append(fixture.dsn(), node, first).await;
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { revoke(&store, second).await }
    });
    let mut position = FeedPosition::default();
    assert_eq!(read_on(&store, &mut position).await, []);
    transaction.batch_execute("COMMIT").await.unwrap();
    waiting.await.unwrap();
    assert_eq!(read_on(&store, &mut position).await, [Target::Grant(first), Target::Grant(second)]);
}

/// What appends to the feed, each with a statement of its own.
#[derive(Debug, Clone, Copy)]
enum Append {
    Grant,
    Consents,
    Client,
    Keys,
}

async fn append(store: &PostgresStore, what: Append) {
    match what {
        Append::Grant => revoke(store, given::grant_id()).await,
        Append::Consents => {
            let (subject, now, marker_expires_at) = (given::subject("alice"), given::at(20), given::at(9000));
            store.forget(Forget { subject, client: None, now, marker_expires_at }).await.unwrap();
        }
        Append::Client => {
            let client = given::client(&given::grant_id().to_string(), "ops");
            ClientRepository::insert(store, &client).await.unwrap();
        }
        Append::Keys => assert!(store.replace_set("a set", &[], Vec::new()).await.unwrap()),
    }
}

/// Appends twice; grants so often that a counter of milliseconds would be ahead of the clock for seconds.
async fn append_more(store: &PostgresStore, what: Append) {
    append(store, what).await;
    append(store, what).await;
    if matches!(what, Append::Grant) {
        for _ in 0..30 {
            join_all((0..100).map(|_| append(store, what))).await;
        }
    }
}

/// Another server has taken over, which the last appends never reached: who has heard of them hears of what follows, too.
#[tokio::test]
async fn what_follows_a_tail_that_was_lost_is_not_skipped() {
    let fixture = PostgresFixture::start().await;
    let clock = Arc::new(ManualClock::at(given::at(0)));
    let options = StoreOptions { clock: clock.clone(), ..options() };
    let store = PostgresStore::connect(fixture.dsn(), options).await.unwrap();
    let client = connection(fixture.dsn()).await;
    for what in [Append::Grant, Append::Consents, Append::Client, Append::Keys] {
        append(&store, what).await;
        let counters = "SELECT revocation_counter, change_counter FROM node";
        let kept = client.query_one(counters, &[]).await.unwrap();
        let (markers, changes): (i64, i64) = (kept.get(0), kept.get(1));
        append_more(&store, what).await;
        let heard = store.read(&FeedPosition::default()).await.unwrap().position;
        client.execute("DELETE FROM revocation WHERE counter > $1", &[&markers]).await.unwrap();
        client.execute("DELETE FROM change WHERE counter > $1", &[&changes]).await.unwrap();
        let back = "UPDATE node SET revocation_counter = $1, change_counter = $2";
        client.execute(back, &[&markers, &changes]).await.unwrap();
        clock.advance(Lifetime::secs(1));
        append(&store, what).await;
        let new = store.read(&heard).await.unwrap();
        assert_eq!(new.markers.len() + new.changes.len(), 1, "{what:?}");
    }
}

/// Ends the connection that waits for a lock in this database, and returns when it has ended.
async fn end_who_waits(watching: &Client) {
    let end = "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let pid: i32 = watching.query_one(end, &[]).await.unwrap().get(0);
    let left = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";
    while watching.query_one(left, &[&pid]).await.unwrap().get::<_, i64>(0) > 0 {}
}

/// The first attempt was lost with the server, which lost others as well that came after it and were heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_tried_again_is_not_skipped_by_who_heard_of_something_since() {
    let fixture = PostgresFixture::start().await;
    let clock = Arc::new(ManualClock::at(given::at(0)));
    let options = StoreOptions { clock: clock.clone(), ..options() };
    let store = Arc::new(PostgresStore::connect(fixture.dsn(), options).await.unwrap());
    append(&store, Append::Consents).await;
    let mut heard = store.read(&FeedPosition::default()).await.unwrap().position;
    let (lock, watching) = (connection(fixture.dsn()).await, connection(fixture.dsn()).await);
    lock.batch_execute("BEGIN; SELECT 1 FROM node FOR UPDATE").await.unwrap();
    let trying = tokio::spawn({
        let store = store.clone();
        async move { append(&store, Append::Consents).await }
    });
    somebody_waits(&watching).await;
    // What the node appended half a second later by another connection.
    for counter in heard.revocations.values_mut() {
        *counter += 500_000;
    }
    clock.advance(Lifetime::secs(1));
    end_who_waits(&watching).await;
    lock.batch_execute("COMMIT").await.unwrap();
    trying.await.unwrap();
    assert_eq!(store.read(&heard).await.unwrap().markers.len(), 1);
}

#[tokio::test]
async fn a_wait_is_ended_by_another_node_long_before_the_poll() {
    let fixture = PostgresFixture::start().await;
    let never = StoreOptions { feed_poll: Duration::from_hours(1), ..options() };
    let reader = PostgresStore::connect(fixture.dsn(), never).await.unwrap();
    reader.wait().await; // the listener is there, and says so
    let writer = fixture.store();
    tokio::join!(reader.wait(), revoke(&writer, given::grant_id()));
}

/// Inserts a row like another under a key of its own, in a transaction that is not committed yet.
async fn begin_insert<I: Display>(dsn: &str, (table, key): (&str, &str), (like, own): (I, I)) -> Client {
    let client = connection(dsn).await;
    let insert = format!(
        "BEGIN;
        CREATE TEMPORARY TABLE made AS SELECT * FROM {table} WHERE {key} = '{like}';
        UPDATE made SET {key} = '{own}';
        INSERT INTO {table} SELECT * FROM made"
    );
    client.batch_execute(&insert).await.unwrap();
    client
}

/// Neither sees the other's work.
#[tokio::test]
async fn a_grant_that_is_revoked_while_it_is_inserted_is_not_redeemed() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let (like, grant) = (given::inserted(&*store, given::grant()).await.id, given::grant_id());
    let transaction = begin_insert(fixture.dsn(), ("oauth_grant", "grant_id"), (like, grant)).await;
    revoke(&store, grant).await;
    transaction.batch_execute("COMMIT").await.unwrap();
    assert_eq!(store.redeem_code(given::redeem(grant, 21)).await.unwrap(), Redemption::Revoked);
}

/// Whoever ends the sessions of a person cannot see one that begins at that moment.
#[tokio::test]
async fn a_session_that_begins_while_those_of_its_person_end_does_not_come_back() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let alice = given::identity_id();
    let (like, later) = (given::begun(&*store, alice, 1).await, given::begun(&*store, alice, 21).await);
    let [late, last] = [(), ()].map(|()| IdentitySession { id: given::session_id(), ..like.clone() });
    let table = ("identity_session", "session_id");
    let transaction = begin_insert(fixture.dsn(), table, (like.id, late.id)).await;
    let longest = begin_insert(fixture.dsn(), table, (like.id, last.id)).await;
    for subject in [alice.to_string(), "bob".to_owned()] {
        let all = EndSessions::Subject(given::subject(&subject));
        LoginSessionRepository::end(&*store, all, given::at(20), given::at(9000), Vec::new()).await.unwrap();
    }
    transaction.batch_execute("COMMIT").await.unwrap();
    store.sweep_revoked(given::at(30), 10).await.unwrap();
    assert_eq!(given::markers(&*store).await.len(), 2);
    assert!(!given::has_session(&*store, &late).await, "long before its marker goes");
    longest.batch_execute("COMMIT").await.unwrap();
    for _ in 0..3 {
        store.sweep_revoked(given::at(9001), 10).await.unwrap();
    }
    assert_eq!(given::markers(&*store).await, []);
    assert!(!given::has_session(&*store, &last).await, "with its marker");
    assert!(given::has_session(&*store, &later).await, "of a later login");
}

async fn participants(client: &Client) -> i64 {
    client.query_one("SELECT count(*) FROM session_client", &[]).await.unwrap().get(0)
}

/// What nobody ends would stay for ever, and who holds tokens of it would not be told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_joins_a_session_that_ends_at_that_moment() {
    let fixture = PostgresFixture::start().await;
    let (store, session) = (fixture.store(), given::session());
    let (ending, watching) = (connection(fixture.dsn()).await, connection(fixture.dsn()).await);
    assert!(LoginSessionRepository::insert(&*store, session.clone()).await.unwrap());
    let end = format!("BEGIN; DELETE FROM login_session WHERE sid = '{}'", session.id);
    ending.batch_execute(&end).await.unwrap();
    let joining = tokio::spawn(async move {
        let grant = Grant { session: Some(session.id), ..given::grant() };
        GrantRepository::insert(&*store, grant, None, true).await
    });
    somebody_waits(&watching).await;
    ending.batch_execute("COMMIT").await.unwrap();
    assert_eq!(joining.await.unwrap().unwrap(), Insertion::Inserted);
    assert_eq!(participants(&watching).await, 0);
}

/// Who ends it waits for them, and answers with them.
async fn joined_before_its_end(fixture: &PostgresFixture, store: Arc<PostgresStore>) {
    let session = given::session();
    let (joining, watching) = (connection(fixture.dsn()).await, connection(fixture.dsn()).await);
    assert!(LoginSessionRepository::insert(&*store, session.clone()).await.unwrap());
    let sid = session.id;
    let join = format!(
        "BEGIN; SELECT 1 FROM login_session WHERE sid = '{sid}' FOR KEY SHARE;
        INSERT INTO session_client (sid, client_id) VALUES ('{sid}', 'shop')"
    );
    joining.batch_execute(&join).await.unwrap();
    let ending = tokio::spawn(async move {
        let one = EndSessions::One(sid);
        LoginSessionRepository::end(&*store, one, given::at(20), given::at(9000), Vec::new()).await
    });
    somebody_waits(&watching).await;
    joining.batch_execute("COMMIT").await.unwrap();
    let told = ending.await.unwrap().unwrap();
    assert_eq!(told.iter().map(|(_, client)| client.client.as_str()).collect::<Vec<_>>(), ["shop"]);
    assert_eq!(participants(&watching).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_joins_a_session_before_it_ends_is_known_at_its_end() {
    let fixture = PostgresFixture::start().await;
    joined_before_its_end(&fixture, fixture.store()).await;
}

/// A transaction would else go on seeing what there was before it waited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_so_too_where_the_database_has_another_isolation_by_default() {
    let fixture = PostgresFixture::start().await;
    let name = fixture.name();
    let other = format!("ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'");
    connection(fixture.dsn()).await.batch_execute(&other).await.unwrap();
    let store = Arc::new(PostgresStore::connect(fixture.dsn(), options()).await.unwrap());
    joined_before_its_end(&fixture, store).await;
}

/// Until somebody waits for a lock in this database.
pub(crate) async fn somebody_waits(watching: &Client) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while watching.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
}

/// Who revokes waits for the row of its node, and cannot see what is inserted meanwhile; who redeems cannot see the marker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_is_inserted_and_redeemed_while_it_is_revoked_is_not_refreshed() {
    let fixture = PostgresFixture::start().await;
    let own = options();
    let node = own.node;
    let store = Arc::new(PostgresStore::connect(fixture.dsn(), own).await.unwrap());
    revoke(&store, given::grant_id()).await;
    let (lock, watching) = (connection(fixture.dsn()).await, connection(fixture.dsn()).await);
    lock.batch_execute("BEGIN").await.unwrap();
    lock.execute("SELECT 1 FROM node WHERE node_id = $1 FOR UPDATE", &[&node.as_uuid()]).await.unwrap();
    let grant = given::grant();
    let id = grant.id;
    let revoking = tokio::spawn(async move { revoke(&store, id).await });
    somebody_waits(&watching).await;
    let other = fixture.store();
    given::redeemed(&*other, grant).await;
    lock.batch_execute("COMMIT").await.unwrap();
    revoking.await.unwrap();
    assert_eq!(other.rotate_refresh(given::rotate(id, 0, 30)).await.unwrap(), Rotation::Revoked);
}

/// Registers somebody as a node does, in a transaction that is not committed yet: the node's connection was lost.
async fn begin_registration(dsn: &str, identity: &Identity) -> Client {
    let client = connection(dsn).await;
    client.batch_execute("BEGIN").await.unwrap();
    let no_time: Vec<Option<i64>> = vec![None];
    let register = include_str!("../../src/identity/register.sql");
    let found = client
        .query(
            register,
            &[
                &vec![identity.id.as_uuid()],
                &vec![identity.attempt.as_uuid()],
                &vec![identity.created_at.as_millis()],
                &vec![1_i16],
                &vec![identity.login_name.as_slice()],
                &vec![identity.email.as_str()],
                &vec![identity.username.as_str()],
                &vec![identity.credential.as_str()],
                &no_time,
                &no_time,
            ],
        )
        .await
        .unwrap();
    assert!(found.is_empty(), "the name is free");
    client
}

/// Registers `late` while a transaction with `first` is under way, which is committed when somebody waits for it.
async fn register_beside(
    fixture: &PostgresFixture,
    first: &Identity,
    late: Identity,
) -> Result<Registration, StoreError> {
    let (store, watching) = (fixture.store(), connection(fixture.dsn()).await);
    let transaction = begin_registration(fixture.dsn(), first).await;
    let registering = tokio::spawn(async move { store.register(late.into()).await });
    somebody_waits(&watching).await;
    transaction.batch_execute("COMMIT").await.unwrap();
    registering.await.unwrap()
}

/// The answer to the first try was lost, the second finds the name free, and the first is committed after all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_whose_first_try_commits_beside_its_second_is_no_failure() {
    let fixture = PostgresFixture::start().await;
    let alice = given::identity("alice");
    let registered = register_beside(&fixture, &alice, alice.clone()).await;
    assert_eq!(registered.unwrap(), Registration::Registered);
    assert_eq!(given::person(&*fixture.store(), alice.id).await, alice);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_that_becomes_somebody_elses_meanwhile_is_refused_at_once() {
    let fixture = PostgresFixture::start().await;
    let alice = given::identity("alice");
    let bob = Identity { id: alice.id, ..given::identity("bob") };
    let refused = register_beside(&fixture, &alice, bob.clone()).await;
    assert!(refused.as_ref().is_err_and(|error| !error.is_temporary()), "{refused:?}");
    assert_eq!(fixture.store().find_by_login_name(&bob.login_name).await.unwrap(), None);
    assert_eq!(given::person(&*fixture.store(), alice.id).await, alice);
}
