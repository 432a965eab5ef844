//! The outbox: a notice is leased by one node at a time, tried again, and never lost silently.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_oauth::login_session::{EndSessions, LoginSessionRepository};
use sluice_oauth::logout::{LeaseRoom, LeasedNotice, LogoutNotice, OutboxRepository};
use sluice_primitives::Lifetime;

use crate::{Fixture, given};

const LEASE: Lifetime = Lifetime::secs(30);

/// Puts `count` notices into the outbox at second 0.
async fn notify(store: &impl LoginSessionRepository, count: usize) -> Vec<LogoutNotice> {
    notify_at(store, 0, count).await
}

async fn notify_at(store: &impl LoginSessionRepository, second: i64, count: usize) -> Vec<LogoutNotice> {
    let session = given::session_id();
    let notices: Vec<_> = (0..count)
        .map(|number| LogoutNotice {
            uri: format!("https://shop.example/logout/{number}").parse().unwrap(),
            client: given::client_id(&format!("client-{number}")),
            subject: given::subject("alice"),
            session,
        })
        .collect();
    store.end(EndSessions::One(session), given::at(second), given::at(9000), notices.clone()).await.unwrap();
    notices
}

async fn lease(store: &impl OutboxRepository, now: i64, limit: u32) -> Vec<LeasedNotice> {
    let room = LeaseRoom { notices: limit, of_a_client: limit, under_way: Vec::new() };
    store.lease(given::at(now), LEASE, room).await.unwrap()
}

/// Every notice is given to one node, until its lease has passed.
pub async fn a_leased_notice_is_given_to_nobody_else(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let mut notices = notify(&*store, 3).await;
    let mut leased: Vec<_> = lease(&*store, 1, 2).await;
    assert_eq!(leased.len(), 2);
    leased.extend(lease(&*other, 2, 10).await);
    assert!(leased.iter().all(|leased| leased.attempts == 0));
    let mut given: Vec<_> = leased.into_iter().map(|leased| leased.notice).collect();
    given.sort_by_key(|notice| notice.client.clone());
    notices.sort_by_key(|notice| notice.client.clone());
    assert_eq!(given, notices);
    assert_eq!(lease(&*other, 3, 10).await, []);
    assert_eq!(lease(&*other, 31, 10).await.len(), 2);
}

/// Puts so many notices of each of these clients into the outbox at these seconds.
async fn notify_each(store: &impl LoginSessionRepository, clients: &[(&str, u32, i64)]) {
    for (client, count, due_at) in clients {
        let notice = |number| LogoutNotice {
            uri: format!("https://{client}.example/logout/{number}").parse().unwrap(),
            client: given::client_id(client),
            subject: given::subject("alice"),
            session: given::session_id(),
        };
        let notices = (0..*count).map(notice).collect();
        let session = EndSessions::One(given::session_id());
        store.end(session, given::at(*due_at), given::at(9000), notices).await.unwrap();
    }
}

/// Whose notices are leased at second 10, of each client two at most, beside those that are under way.
async fn lease_shares(store: &impl OutboxRepository, notices: u32, under_way: &[&str]) -> Vec<String> {
    let under_way = under_way.iter().map(|client| given::client_id(client)).collect();
    let room = LeaseRoom { notices, of_a_client: 2, under_way };
    let leased = store.lease(given::at(10), LEASE, room).await.unwrap();
    let mut clients: Vec<_> = leased.iter().map(|leased| leased.notice.client.to_string()).collect();
    clients.sort_unstable();
    clients
}

/// However many notices wait for one client, and however long: they leave room for those of others.
pub async fn a_client_takes_no_more_than_its_share_of_a_lease(fixture: &impl Fixture) {
    let store = fixture.store();
    notify_each(&*store, &[("shop", 5, 0), ("bank", 1, 1), ("wiki", 2, 2)]).await;
    assert_eq!(lease_shares(&*store, 2, &[]).await, ["bank", "shop"], "those that are due longest");
    assert_eq!(lease_shares(&*store, 10, &[]).await, ["shop", "shop", "wiki", "wiki"]);
    assert_eq!(lease_shares(&*store, 10, &[]).await, ["shop", "shop"]);
    assert_eq!(lease_shares(&*store, 10, &[]).await, [""; 0]);
}

/// Clients that never answer, and for whom notices have waited for long, do not take all places together.
pub async fn the_first_notice_of_every_client_goes_before_the_second_of_any(fixture: &impl Fixture) {
    let store = fixture.store();
    notify_each(&*store, &[("bank", 4, 0), ("shop", 4, 0), ("wiki", 2, 5)]).await;
    assert_eq!(lease_shares(&*store, 3, &[]).await, ["bank", "shop", "wiki"]);
    assert_eq!(lease_shares(&*store, 1, &["bank", "shop"]).await, ["wiki"]);
}

/// What is under way to a client takes places of its share, whatever has become of its lease.
pub async fn notices_under_way_count_in_the_share_of_their_client(fixture: &impl Fixture) {
    let store = fixture.store();
    notify_each(&*store, &[("bank", 3, 0), ("shop", 3, 0), ("wiki", 3, 0)]).await;
    let under_way = ["shop", "bank", "bank", "bank", "unknown"];
    assert_eq!(lease_shares(&*store, 10, &under_way).await, ["shop", "wiki", "wiki"]);
    assert_eq!(lease_shares(&*store, 10, &["wiki", "wiki"]).await, ["bank", "bank", "shop", "shop"]);
}

/// Concurrent leases share nothing.
pub async fn concurrent_leases_never_overlap(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    notify(&*nodes[0], 20).await;
    let leases = join_all((0..8).map(|place| lease(&*nodes[place % 2], 1, 3))).await;
    let mut ids: Vec<_> = leases.into_iter().flatten().map(|leased| leased.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    assert_eq!(count, 20);
}

/// What has arrived is not sent again.
pub async fn a_delivered_notice_is_gone(fixture: &impl Fixture) {
    let store = fixture.store();
    notify(&*store, 1).await;
    let leased = lease(&*store, 1, 10).await;
    store.delivered(leased[0].id).await.unwrap();
    assert_eq!(lease(&*store, 1000, 10).await, []);
    assert_eq!(store.depth().await.unwrap(), (0, 0));
}

/// What did not arrive is due again when it was said to be, with one attempt more.
pub async fn a_failed_notice_is_due_again_at_its_time(fixture: &impl Fixture) {
    let store = fixture.store();
    notify(&*store, 1).await;
    let first = lease(&*store, 1, 10).await;
    store.failed(first[0].id, Some(given::at(100))).await.unwrap();
    assert_eq!(lease(&*store, 99, 10).await, []);
    let second = lease(&*store, 100, 10).await;
    assert_eq!(second, [LeasedNotice { attempts: 1, ..first[0].clone() }]);
}

/// What was not tried is due again when it was said to be, with no attempt more; and it tells since when it waits.
pub async fn a_postponed_notice_is_due_again_at_its_time_and_was_not_tried(fixture: &impl Fixture) {
    let store = fixture.store();
    notify(&*store, 1).await;
    let first = lease(&*store, 1, 10).await;
    store.postponed(first[0].id, given::at(100)).await.unwrap();
    assert_eq!(lease(&*store, 99, 10).await, []);
    assert_eq!(lease(&*store, 100, 10).await, first);
    assert_eq!(first[0].made_at(), given::at(0));
}

/// What never arrives is kept as a dead letter, and counted.
pub async fn a_dead_letter_is_kept_and_not_sent(fixture: &impl Fixture) {
    let store = fixture.store();
    notify(&*store, 2).await;
    assert_eq!(store.depth().await.unwrap(), (2, 0));
    let leased = lease(&*store, 1, 1).await;
    store.failed(leased[0].id, None).await.unwrap();
    assert_eq!(fixture.second_node().await.depth().await.unwrap(), (1, 1));
    let others = lease(&*store, 1_000_000, 10).await;
    assert!(others.iter().all(|other| other.id != leased[0].id));
    assert_eq!(others.len(), 1);
}

/// Dead letters that are old enough are deleted, and nothing else, however old.
pub async fn dead_letters_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    notify(&*store, 5).await;
    let leased = lease(&*store, 1, 4).await;
    for one in &leased {
        store.failed(one.id, None).await.unwrap();
    }
    let purge = async |before, limit| other.purge_notices(given::at(before), limit).await.unwrap();
    assert_eq!(purge(31, 10).await, 0, "they were due when the lease was over");
    assert_eq!([purge(32, 3).await, purge(32, 3).await, purge(32, 3).await], [3, 1, 0]);
    assert_eq!(store.depth().await.unwrap(), (1, 0));
}

/// Of the notices that wait the oldest is told, whenever it is due next.
pub async fn the_oldest_notice_tells_when_its_session_ended(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(store.oldest_notice().await.unwrap(), None);
    notify_at(&*store, 20, 1).await;
    notify_at(&*store, 10, 1).await;
    assert_eq!(store.oldest_notice().await.unwrap(), Some(given::at(10)));
    let oldest = lease(&*store, 30, 1).await.remove(0);
    assert_eq!(oldest.made_at(), given::at(10));
    store.failed(oldest.id, None).await.unwrap();
    assert_eq!(store.oldest_notice().await.unwrap(), Some(given::at(20)));
}
