//! Device codes: one living one to a user code, decided once, and slowed down if its device is impatient.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_oauth::device::{DeviceCode, DeviceCodeRepository, DevicePoll};
use sluice_oauth::grant::{Grant, GrantRepository};
use sluice_primitives::{GrantId, Lifetime};

use crate::{Fixture, given};

const INTERVAL: Lifetime = Lifetime::secs(5);

async fn insert(store: &impl DeviceCodeRepository, code: &DeviceCode, now: i64) -> bool {
    store.insert(code.clone(), given::at(now)).await.unwrap()
}

async fn find(store: &impl DeviceCodeRepository, code: &DeviceCode, now: i64) -> Option<DeviceCode> {
    store.find_by_user_code(code.user_code, given::at(now)).await.unwrap()
}

async fn poll(store: &impl DeviceCodeRepository, id: GrantId, now: i64) -> DevicePoll {
    store.poll(id, given::at(now), INTERVAL).await.unwrap()
}

/// The user agrees: a grant under the id of the code.
async fn grant(store: &impl GrantRepository, id: GrantId) -> Grant {
    given::inserted(store, Grant { id, ..given::grant() }).await
}

/// A code is found as it was inserted, by the hash of its user code, on any node, until it expires.
pub async fn a_device_code_is_found_by_its_user_code_until_it_expires(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let code = given::device_code();
    assert!(insert(&*store, &code, 0).await);
    assert_eq!(find(&*other, &code, 599).await, Some(code.clone()));
    assert_eq!(find(&*other, &code, 600).await, None);
    assert_eq!(find(&*other, &given::device_code(), 0).await, None);
}

/// Of two living codes no two have the same user code: the second is refused and the first is left as it is.
pub async fn a_user_code_belongs_to_one_living_code(fixture: &impl Fixture) {
    let store = fixture.store();
    let first = given::device_code();
    let second = DeviceCode { user_code: first.user_code, ..given::device_code() };
    assert!(insert(&*store, &first, 0).await);
    assert!(!insert(&*store, &second, 599).await);
    assert_eq!(find(&*store, &first, 599).await, Some(first.clone()));
    assert_eq!(poll(&*store, second.id, 599).await, DevicePoll::Unknown);
    assert!(store.deny(first.id, given::at(599)).await.unwrap());
    assert!(!insert(&*store, &second, 599).await, "the device of the first is still to hear of it");
}

/// A code that has expired gives way to a new one, of which nothing was decided and nobody has asked.
pub async fn an_expired_code_gives_its_user_code_free(fixture: &impl Fixture) {
    let store = fixture.store();
    let first = given::device_code();
    assert!(insert(&*store, &first, 0).await);
    assert_eq!(poll(&*store, first.id, 598).await, DevicePoll::Pending);
    assert_eq!(poll(&*store, first.id, 599).await, DevicePoll::TooFast);
    assert!(store.deny(first.id, given::at(599)).await.unwrap());
    let second =
        DeviceCode { user_code: first.user_code, expires_at: given::at(1200), ..given::device_code() };
    assert!(insert(&*store, &second, 600).await);
    assert_eq!(find(&*store, &second, 601).await, Some(second.clone()));
    assert_eq!(poll(&*store, second.id, 601).await, DevicePoll::Pending);
    assert_eq!(poll(&*store, second.id, 606).await, DevicePoll::Pending, "as fast as the first was not");
    assert_eq!(poll(&*store, first.id, 601).await, DevicePoll::Unknown);
}

/// Of 64 concurrent inserts of one user code on two nodes exactly one is told that it is its own.
pub async fn concurrent_inserts_of_one_user_code_have_one_winner(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let user_code = given::random_hash();
    let codes: Vec<_> = (0..64).map(|_| DeviceCode { user_code, ..given::device_code() }).collect();
    let inserts = codes.iter().enumerate().map(|(place, code)| insert(&*nodes[place % 2], code, 0));
    let won = join_all(inserts).await;
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    let winner = won.iter().position(|won| *won).unwrap();
    assert_eq!(find(&*nodes[0], &codes[winner], 1).await.as_ref(), Some(&codes[winner]));
}

/// The device waits until there is a grant under the id of its code; then nothing is left to decide.
pub async fn a_device_waits_until_its_grant_is_there(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let code = given::device_code();
    insert(&*store, &code, 0).await;
    assert_eq!(poll(&*store, code.id, 5).await, DevicePoll::Pending);
    assert_eq!(poll(&*store, code.id, 10).await, DevicePoll::Pending);
    grant(&*other, code.id).await;
    assert_eq!(poll(&*store, code.id, 15).await, DevicePoll::Granted);
    assert_eq!(find(&*store, &code, 15).await, None);
    assert!(!store.deny(code.id, given::at(15)).await.unwrap());
    assert_eq!(poll(&*store, code.id, 20).await, DevicePoll::Granted);
}

/// That a grant was given is said although it was revoked since: to redeem it is refused.
pub async fn a_grant_that_was_revoked_is_still_given(fixture: &impl Fixture) {
    let store = fixture.store();
    let code = given::device_code();
    insert(&*store, &code, 0).await;
    grant(&*store, code.id).await;
    store.revoke(code.id, given::at(20), given::at(9000)).await.unwrap();
    assert_eq!(poll(&*store, code.id, 25).await, DevicePoll::Granted);
}

/// A refusal is told to the device, and stays.
pub async fn a_refused_device_is_told_so(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let code = given::device_code();
    insert(&*store, &code, 0).await;
    assert!(store.deny(code.id, given::at(10)).await.unwrap());
    assert_eq!(find(&*other, &code, 11).await, None);
    assert!(!other.deny(code.id, given::at(11)).await.unwrap());
    for _ in 0..2 {
        assert_eq!(poll(&*other, code.id, 12).await, DevicePoll::Denied, "however fast it asks");
    }
}

/// Whether the user refused is known on any node, and a grant that comes all the same changes nothing of it. To agree is not to refuse.
pub async fn a_refusal_is_known_to_every_node_and_stays_whatever_is_granted_after_it(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (refused, agreed) = (given::device_code(), given::device_code());
    for code in [&refused, &agreed] {
        insert(&*store, code, 0).await;
        assert!(!other.is_denied(code.id).await.unwrap());
    }
    assert!(store.deny(refused.id, given::at(10)).await.unwrap());
    for id in [refused.id, agreed.id] {
        grant(&*other, id).await;
    }
    assert!(!store.deny(agreed.id, given::at(11)).await.unwrap());
    for node in [&store, &other] {
        assert!(node.is_denied(refused.id).await.unwrap());
        assert!(!node.is_denied(agreed.id).await.unwrap());
        assert!(!node.is_denied(given::grant_id()).await.unwrap());
    }
    assert_eq!(poll(&*other, refused.id, 12).await, DevicePoll::Denied);
    assert_eq!(poll(&*other, agreed.id, 12).await, DevicePoll::Granted);
}

/// After its end a code cannot be decided about, and its device hears of the end; of a code that never was it hears too.
pub async fn an_expired_or_unknown_code_is_not_decided_about(fixture: &impl Fixture) {
    let store = fixture.store();
    let code = given::device_code();
    insert(&*store, &code, 0).await;
    assert!(!store.deny(code.id, given::at(600)).await.unwrap());
    for _ in 0..2 {
        assert_eq!(poll(&*store, code.id, 600).await, DevicePoll::Expired);
    }
    assert!(!store.deny(given::grant_id(), given::at(10)).await.unwrap());
    assert_eq!(poll(&*store, given::grant_id(), 10).await, DevicePoll::Unknown);
}

/// Whoever asks before the interval has passed is told to slow down, and the interval grows by five seconds each time.
pub async fn an_impatient_device_is_slowed_down(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let code = given::device_code();
    insert(&*store, &code, 0).await;
    assert_eq!(poll(&*store, code.id, 0).await, DevicePoll::Pending, "the first comes when it likes");
    assert_eq!(poll(&*other, code.id, 5).await, DevicePoll::Pending);
    assert_eq!(poll(&*store, code.id, 9).await, DevicePoll::TooFast);
    assert_eq!(poll(&*other, code.id, 18).await, DevicePoll::TooFast, "ten seconds are to pass by now");
    assert_eq!(poll(&*store, code.id, 33).await, DevicePoll::Pending, "fifteen seconds have passed");
    assert_eq!(poll(&*store, code.id, 48).await, DevicePoll::Pending);
    assert_eq!(poll(&*store, code.id, 62).await, DevicePoll::TooFast);
}

/// However fast the device asks: what was granted is given.
pub async fn a_granted_code_is_answered_however_fast_its_device_asks(fixture: &impl Fixture) {
    let store = fixture.store();
    let code = given::device_code();
    insert(&*store, &code, 0).await;
    assert_eq!(poll(&*store, code.id, 10).await, DevicePoll::Pending);
    assert_eq!(poll(&*store, code.id, 11).await, DevicePoll::TooFast);
    grant(&*store, code.id).await;
    for _ in 0..2 {
        assert_eq!(poll(&*store, code.id, 12).await, DevicePoll::Granted);
    }
}

/// Of 64 polls that come together on two nodes one is in time.
pub async fn of_concurrent_polls_one_is_in_time(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let code = given::device_code();
    insert(&*nodes[0], &code, 0).await;
    let polls = join_all((0..64).map(|place| poll(&*nodes[place % 2], code.id, 10))).await;
    let told = |answer| polls.iter().filter(|poll| **poll == answer).count();
    assert_eq!((told(DevicePoll::Pending), told(DevicePoll::TooFast)), (1, 63));
    assert_eq!(poll(&*nodes[0], code.id, 10 + 5 + 63 * 5).await, DevicePoll::Pending);
}

/// Expired codes go, a bounded number at a time.
pub async fn expired_codes_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let living = DeviceCode { expires_at: given::at(9000), ..given::device_code() };
    let dead: Vec<_> = (0..3).map(|_| given::device_code()).collect();
    for code in dead.iter().chain([&living]) {
        assert!(insert(&*store, code, 0).await);
    }
    let purge =
        async |limit| DeviceCodeRepository::purge_expired(&*store, given::at(700), limit).await.unwrap();
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    assert_eq!(poll(&*store, dead[0].id, 700).await, DevicePoll::Unknown);
    assert_eq!(poll(&*store, living.id, 700).await, DevicePoll::Pending);
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_code_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let code = DeviceCode { sealed: "with \0 inside".into(), ..given::device_code() };
    let refused = DeviceCodeRepository::insert(&*fixture.store(), code, given::at(0)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
}
