//! What is looked for by its id at the same time shares statements, whichever of it is there, and is found by key.

use futures_util::future::join_all;
use sluice_identity::identity::IdentityRepository;
use sluice_identity::session::IdentitySessionRepository;
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::login_session::{LoginSession, LoginSessionRepository};
use sluice_primitives::{IdentityId, SessionId};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::PostgresStore;

use crate::fixture::PostgresFixture;
use crate::identity_plans::{plan, planner};

/// So many are looked for at once.
const MANY: usize = 2000;

/// Each of these was looked for once, and hardly any by a statement of its own.
fn assert_shared(store: &PostgresStore) {
    let metrics = store.lookup_metrics().snapshot();
    assert_eq!(metrics.rows_total, MANY as u64);
    assert!(metrics.batches_total < 200, "{metrics:?}");
}

/// Each of two that are there, and one that is not.
fn turns<T>(there: [T; 2], away: T) -> impl Iterator<Item = (T, bool)>
where
    T: Copy,
{
    let [first, second] = there;
    (0..MANY).map(move |number| match number % 3 {
        0 => (first, true),
        1 => (second, true),
        _ => (away, false),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_are_found_together() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let first = given::inserted(&*store, given::grant()).await;
    let second = given::inserted(&*store, given::grant()).await;
    let asked: Vec<_> = turns([first.id, second.id], given::grant().id).collect();
    let found = join_all(asked.iter().map(|(id, _)| GrantRepository::find(&*store, *id))).await;
    for ((id, is_there), found) in asked.iter().zip(found) {
        assert_eq!(found.unwrap().map(|grant| grant.id), is_there.then_some(*id));
    }
    assert_shared(&store);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_grants_stand_is_found_together() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let good = given::inserted(&*store, given::grant()).await;
    let revoked = given::inserted(&*store, given::grant()).await;
    store.revoke(revoked.id, given::at(20), given::at(9000)).await.unwrap();
    let asked: Vec<_> = turns([good.id, revoked.id], given::grant().id).collect();
    let found = join_all(asked.iter().map(|(id, _)| store.standing(*id))).await;
    for ((id, is_there), found) in asked.iter().zip(found) {
        let found = found.unwrap();
        assert_eq!(
            found.as_ref().map(|found| (found.grant.id, found.is_revoked)),
            is_there.then(|| (*id, *id == revoked.id))
        );
    }
    assert_shared(&store);
}

/// Each as of the time at which it is asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn login_sessions_are_found_together_each_as_of_its_time() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let session = LoginSession { expires_at: given::at(100), remembered: true, ..given::session() };
    assert!(LoginSessionRepository::insert(&*store, session.clone()).await.unwrap());
    let away = given::session_id();
    let asked: Vec<(SessionId, i64)> = (0..MANY)
        .map(|number| match number % 3 {
            0 => (session.id, 20),
            1 => (session.id, 101),
            _ => (away, 20),
        })
        .collect();
    let found =
        join_all(asked.iter().map(|(id, now)| LoginSessionRepository::find(&*store, *id, given::at(*now))))
            .await;
    for (number, found) in found.into_iter().enumerate() {
        assert_eq!(found.unwrap().map(|found| found.id), (number % 3 == 0).then_some(session.id));
    }
    assert_shared(&store);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_and_their_sessions_are_found_together() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let bob = given::registered(&*store, given::identity("bob")).await;
    let away = given::identity("nobody").id;
    let asked: Vec<(IdentityId, bool)> = turns([alice.id, bob.id], away).collect();
    let found = join_all(asked.iter().map(|(id, _)| IdentityRepository::find(&*store, *id))).await;
    for ((id, is_there), found) in asked.iter().zip(found) {
        assert_eq!(found.unwrap().map(|person| person.id), is_there.then_some(*id));
    }
    assert_shared(&store);
    let before = store.lookup_metrics().snapshot().batches_total;
    let names = [alice.login_name, [7; 32], bob.login_name];
    let found = join_all((0..MANY).map(|number| store.find_by_login_name(&names[number % 3]))).await;
    for (number, found) in found.into_iter().enumerate() {
        assert_eq!(found.unwrap().map(|person| person.id), [Some(alice.id), None, Some(bob.id)][number % 3]);
    }
    assert!(store.lookup_metrics().snapshot().batches_total - before < 200);
    let session = given::begun(&*store, alice.id, 1).await;
    let before = store.lookup_metrics().snapshot().batches_total;
    let found = join_all((0..MANY).map(|number| {
        let now = if number % 2 == 0 { given::at(2) } else { session.expires_at };
        IdentitySessionRepository::find(&*store, session.id, now)
    }))
    .await;
    for (number, found) in found.into_iter().enumerate() {
        assert_eq!(found.unwrap().map(|found| found.id), (number % 2 == 0).then_some(session.id));
    }
    assert!(store.lookup_metrics().snapshot().batches_total - before < 200);
}

#[tokio::test]
async fn what_is_looked_for_is_found_by_its_key() {
    let (_fixture, client) = planner().await;
    for (sql, values, key) in [
        (include_str!("../../src/grant/find.sql"), "'{}'", "oauth_grant_pkey"),
        (include_str!("../../src/grant/examine.sql"), "'{}'", "oauth_grant_pkey"),
        (include_str!("../../src/login_session/find.sql"), "'{}','{}'", "login_session_pkey"),
        (include_str!("../../src/identity_session/find.sql"), "'{}','{}'", "identity_session_pkey"),
        (include_str!("../../src/identity/find.sql"), "'{}'", "identity_pkey"),
        (include_str!("../../src/identity/find_by_login_name.sql"), "'{}'", "login_name_pkey"),
    ] {
        let plan = plan(&client, sql, values).await;
        assert!(plan.contains(&format!("Index Scan using {key}")), "{plan}");
        assert!(plan.contains("Nested Loop") && !plan.contains("Hash"), "{plan}");
    }
}
