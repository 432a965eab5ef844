//! Transactions of several statements that come while a COMMIT is under way share the next one, and nothing else.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::identity::{Changed, IdentityChange, IdentityDirectory};
use sluice_oauth::consent::{ConsentRepository, Forget};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_token::Target;
use tokio_postgres::Client;

use crate::fixture::{PostgresFixture, connection, options};
use crate::late_commit::somebody_waits;
use crate::proxy::Proxy;

/// Appends a marker, in a transaction of three statements.
async fn forget(store: &PostgresStore, name: &str) -> Result<(), StoreError> {
    let (subject, now, marker_expires_at) = (given::subject(name), given::at(20), given::at(9000));
    store.forget(Forget { subject, client: None, now, marker_expires_at }).await
}

/// A database, its node, which has done such a transaction before, and who keeps markers from being appended.
async fn stalled() -> (PostgresFixture, Arc<PostgresStore>, Client) {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    forget(&store, "before").await.unwrap();
    let stall = stall(&fixture).await;
    (fixture, store, stall)
}

async fn stall(fixture: &PostgresFixture) -> Client {
    let stall = connection(fixture.dsn()).await;
    stall.batch_execute("BEGIN; LOCK TABLE revocation IN EXCLUSIVE MODE").await.unwrap();
    stall
}

/// Whether there is a marker about all that was issued for this subject.
async fn is_forgotten(store: &PostgresStore, name: &str) -> bool {
    let about = |target: &Target| target.key().contains(name);
    given::markers(store).await.iter().any(|marker| about(&marker.target))
}

#[tokio::test]
async fn transactions_that_come_while_one_is_under_way_share_a_commit() {
    let (_fixture, store, stall) = stalled().await;
    let before = store.statistics().others;
    let mut first = pin!(forget(&store, "first"));
    assert!(first.as_mut().now_or_never().is_none(), "it is sent, and waits");
    let names: Vec<_> = (0..20).map(|number| format!("later-{number}")).collect();
    let mut later = pin!(join_all(names.iter().map(|name| forget(&store, name))));
    assert!(later.as_mut().now_or_never().is_none());
    stall.batch_execute("COMMIT").await.unwrap();
    first.await.unwrap();
    assert!(later.await.iter().all(Result::is_ok));
    let after = store.statistics().others;
    assert_eq!(after.commits - before.commits, 2, "that of the first, and that of all others");
    assert_eq!(after.statements - before.statements, 21 * 3);
    assert_eq!(given::markers(&*store).await.len(), 22);
}

/// Sixty-four at most, whose rows are locked until the last of them is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_share_a_commit_go_on_with_the_next() {
    let (fixture, store, stall) = stalled().await;
    let before = store.statistics().others;
    let names: Vec<_> = (0..200).map(|number| format!("name-{number}")).collect();
    let watching = connection(fixture.dsn()).await;
    let release = async {
        somebody_waits(&watching).await;
        stall.batch_execute("COMMIT").await.unwrap();
    };
    let (forgotten, ()) = tokio::join!(join_all(names.iter().map(|name| forget(&store, name))), release);
    assert!(forgotten.iter().all(Result::is_ok), "{forgotten:?}");
    let commits = store.statistics().others.commits - before.commits;
    assert!((4..=100).contains(&commits), "{commits} commits of 200 transactions");
    assert_eq!(given::markers(&*store).await.len(), 201);
}

#[tokio::test]
async fn a_transaction_that_fails_takes_no_other_with_it() {
    let (_fixture, store, stall) = stalled().await;
    let refuse = "COMMIT; ALTER TABLE revocation ADD CHECK (key NOT LIKE '%bad%'); BEGIN; LOCK TABLE revocation IN EXCLUSIVE MODE";
    stall.batch_execute(refuse).await.unwrap();
    let mut first = pin!(forget(&store, "first"));
    assert!(first.as_mut().now_or_never().is_none());
    let names = ["good-1", "bad-1", "good-2", "good-3", "bad-2"];
    let mut later = pin!(join_all(names.map(|name| forget(&store, name))));
    assert!(later.as_mut().now_or_never().is_none());
    stall.batch_execute("COMMIT").await.unwrap();
    first.await.unwrap();
    for (name, forgotten) in names.iter().zip(later.await) {
        assert_eq!(forgotten.is_ok(), name.starts_with("good"), "{name}: {forgotten:?}");
        assert_eq!(is_forgotten(&store, name).await, name.starts_with("good"), "{name}");
    }
    assert_eq!(given::markers(&*store).await.len(), 5, "none twice");
}

#[tokio::test]
async fn of_two_changes_that_share_a_commit_one_finds_the_other() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let to = |email: &str| IdentityChange { email: given::new_email(email), ..given::change(&alice, 20) };
    let (one, two) = (to("one"), to("two"));
    // What is prepared at its first use is not waited for later.
    forget(&store, "before").await.unwrap();
    assert_eq!(store.change(&IdentityChange { revision: 77, ..to("none") }).await.unwrap(), Changed::Stale);
    let stall = stall(&fixture).await;
    let mut first = pin!(forget(&store, "first"));
    assert!(first.as_mut().now_or_never().is_none());
    let mut changes = pin!(join_all([store.change(&one), store.change(&two)]));
    assert!(changes.as_mut().now_or_never().is_none());
    stall.batch_execute("COMMIT").await.unwrap();
    first.await.unwrap();
    let changed: Vec<_> = changes.await.into_iter().map(Result::unwrap).collect();
    assert_eq!(changed, [Changed::Done, Changed::Stale]);
    assert_eq!(given::person(&*store, alice.id).await.email, "one");
}

/// What it has to prepare is not prepared in the transaction of others, which fails.
#[tokio::test]
async fn what_is_done_for_the_first_time_fails_with_nobody() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    forget(&store, "before").await.unwrap();
    let refuse = "ALTER TABLE revocation ADD CHECK (key NOT LIKE '%bad%')";
    connection(fixture.dsn()).await.batch_execute(refuse).await.unwrap();
    let stall = stall(&fixture).await;
    let mut first = pin!(forget(&store, "first"));
    assert!(first.as_mut().now_or_never().is_none());
    let mut fails = pin!(forget(&store, "bad"));
    assert!(fails.as_mut().now_or_never().is_none());
    let change = IdentityChange { email: given::new_email("other"), ..given::change(&alice, 20) };
    let mut changes = pin!(store.change(&change));
    assert!(changes.as_mut().now_or_never().is_none());
    let mut follows = pin!(forget(&store, "follows"));
    assert!(follows.as_mut().now_or_never().is_none());
    stall.batch_execute("COMMIT").await.unwrap();
    let (first, fails, changes, follows) = tokio::join!(first, fails, changes, follows);
    assert!(first.is_ok() && follows.is_ok() && fails.is_err(), "{first:?}, {follows:?}, {fails:?}");
    assert_eq!(changes.unwrap(), Changed::Done);
    assert_eq!(given::person(&*store, alice.id).await.email, "other");
}

#[tokio::test]
async fn who_leaves_those_it_shares_a_commit_with_leaves_all_it_has_sent() {
    let (_fixture, store, stall) = stalled().await;
    let mut first = pin!(forget(&store, "first"));
    assert!(first.as_mut().now_or_never().is_none());
    assert!(forget(&store, "leaves").now_or_never().is_none(), "the first that came to the others left");
    let mut stays = pin!(forget(&store, "stays"));
    assert!(stays.as_mut().now_or_never().is_none());
    assert!(forget(&store, "leaves-too").now_or_never().is_none());
    stall.batch_execute("COMMIT").await.unwrap();
    first.await.unwrap();
    stays.await.unwrap();
    for name in ["first", "leaves", "stays", "leaves-too"] {
        assert!(is_forgotten(&store, name).await, "{name}");
    }
}

/// However many come meanwhile: that they are sent is no word of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_falls_silent_is_replaced_although_others_come() {
    let fixture = PostgresFixture::start().await;
    let proxy = Proxy::start(fixture.dsn()).await;
    let patience = Duration::from_secs(2);
    let options = StoreOptions { deadline: patience, ..options() };
    let store = PostgresStore::connect(&proxy.dsn(fixture.dsn()), options).await.unwrap();
    forget(&store, "before").await.unwrap();
    proxy.silence_after("INSERT INTO revocation");
    let names: Vec<_> = (0..12).map(|number| format!("name-{number}")).collect();
    let comes = names.iter().enumerate().map(|(number, name)| {
        let store = &store;
        async move {
            tokio::time::sleep(patience / 4 * u32::try_from(number).unwrap()).await;
            forget(store, name).await
        }
    });
    let forgotten = join_all(comes).await;
    assert!(forgotten[0].is_err() && forgotten[11].is_ok(), "{forgotten:?}");
}

/// Each is tried again, and none is there twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_share_a_commit_outlive_their_connection() {
    let (fixture, store, stall) = stalled().await;
    let names: Vec<_> = (0..20).map(|number| format!("name-{number}")).collect();
    let watching = connection(fixture.dsn()).await;
    let cut = async {
        somebody_waits(&watching).await;
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        watching.query(end, &[]).await.unwrap();
        stall.batch_execute("COMMIT").await.unwrap();
    };
    let (forgotten, ()) = tokio::join!(join_all(names.iter().map(|name| forget(&store, name))), cut);
    assert!(forgotten.iter().all(Result::is_ok), "{forgotten:?}");
    for name in &names {
        assert!(is_forgotten(&store, name).await, "{name}");
    }
}
