//! Spent things: each once, until it expires.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_oauth::replay::{ReplayKind, ReplayRepository};

use crate::{Fixture, given};

const KIND: ReplayKind = ReplayKind::ClientAssertion;

/// Of 64 concurrent calls on two nodes exactly one spends the thing.
pub async fn a_thing_is_spent_exactly_once_of_64(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let hash = given::random_hash();
    let spend = |place: usize| nodes[place % 2].spend(KIND, hash, given::at(0), given::at(60));
    let outcomes = join_all((0..64).map(spend)).await;
    assert_eq!(outcomes.into_iter().filter(|spent| *spent.as_ref().unwrap()).count(), 1);
}

/// The same hash of another kind, or another hash, is another thing.
pub async fn things_are_told_apart_by_kind_and_hash(fixture: &impl Fixture) {
    let store = fixture.store();
    let hash = given::random_hash();
    assert!(store.spend(KIND, hash, given::at(0), given::at(60)).await.unwrap());
    assert!(store.spend(ReplayKind::LogoutVerifier, hash, given::at(0), given::at(60)).await.unwrap());
    assert!(store.spend(KIND, given::random_hash(), given::at(0), given::at(60)).await.unwrap());
    assert!(!store.spend(KIND, hash, given::at(59), given::at(90)).await.unwrap());
}

/// A thing whose spending has expired may be spent again, once.
pub async fn a_thing_may_be_spent_again_when_its_spending_expired(fixture: &impl Fixture) {
    let store = fixture.store();
    let hash = given::random_hash();
    assert!(store.spend(KIND, hash, given::at(0), given::at(60)).await.unwrap());
    assert!(store.spend(KIND, hash, given::at(60), given::at(120)).await.unwrap());
    assert!(!store.spend(KIND, hash, given::at(61), given::at(180)).await.unwrap());
}

/// By whichever node; and to ask spends nothing.
pub async fn what_is_spent_is_known_to_be_until_its_spending_expires(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let hash = given::random_hash();
    let is_spent = async |kind, hash, now| other.is_spent(kind, hash, given::at(now)).await.unwrap();
    for _ in 0..2 {
        assert!(!is_spent(KIND, hash, 0).await);
    }
    assert!(store.spend(KIND, hash, given::at(0), given::at(60)).await.unwrap());
    assert!(is_spent(KIND, hash, 0).await && is_spent(KIND, hash, 59).await);
    assert!(!is_spent(KIND, hash, 60).await);
    assert!(!is_spent(ReplayKind::LogoutVerifier, hash, 0).await, "of another kind it is another thing");
    assert!(!is_spent(KIND, given::random_hash(), 0).await);
}

/// What others are asked for at the same time makes no difference.
pub async fn things_that_are_spent_together_expire_each_at_its_own_time(fixture: &impl Fixture) {
    let store = fixture.store();
    let hashes: Vec<[u8; 32]> = (0..32).map(|_| given::random_hash()).collect();
    let spend = |place: usize, now| store.spend(KIND, hashes[place], given::at(now), given::at(now + 60));
    let first = join_all((0..32).map(|place| spend(place, 0))).await;
    let again =
        join_all((0..32).map(|place: usize| spend(place, if place.is_multiple_of(2) { 59 } else { 60 })))
            .await;
    for (place, (first, again)) in first.into_iter().zip(again).enumerate() {
        assert_eq!((first.unwrap(), again.unwrap()), (true, place % 2 == 1), "{place}");
    }
}

/// Expired rows go, a bounded number at a time; what is still spent stays spent.
pub async fn expired_things_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let living = given::random_hash();
    store.spend(KIND, living, given::at(0), given::at(9000)).await.unwrap();
    for _ in 0..3 {
        store.spend(KIND, given::random_hash(), given::at(0), given::at(60)).await.unwrap();
    }
    let purge = async |limit| ReplayRepository::purge_expired(&*store, given::at(100), limit).await.unwrap();
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    assert!(!store.spend(KIND, living, given::at(100), given::at(9000)).await.unwrap());
}
