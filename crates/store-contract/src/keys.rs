//! Stored keys: made once however many nodes start, and every change told to all of them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_oauth::keys::{KeyRepository, KeyState, StoredKey};
use sluice_token::{Change, Feed, FeedPosition};

use crate::{Fixture, given};

const SET: &str = "hydra.openid.id-token";

fn key(kid: &str, algorithm: &str, created_at: i64) -> StoredKey {
    StoredKey {
        set: SET.to_owned(),
        kid: kid.to_owned(),
        algorithm: algorithm.to_owned(),
        sealed: format!("sealed {kid}"),
        state: KeyState::Active,
        created_at: given::at(created_at),
    }
}

async fn kids(store: &impl KeyRepository) -> Vec<String> {
    store.set(SET).await.unwrap().into_iter().map(|key| key.kid).collect()
}

/// Ten nodes that start at once end with one key per algorithm, and tell of at most one making.
pub async fn ten_nodes_that_start_at_once_end_with_one_key_per_algorithm(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let starts = (0..10).map(|node| {
        let keys = vec![key(&format!("rs-{node}"), "RS256", 0), key(&format!("es-{node}"), "ES256", 0)];
        nodes[node % 2].create_missing(keys)
    });
    assert!(join_all(starts).await.iter().all(Result::is_ok));
    let mut algorithms: Vec<_> =
        nodes[0].set(SET).await.unwrap().into_iter().map(|key| key.algorithm).collect();
    algorithms.sort();
    assert_eq!(algorithms, ["ES256", "RS256"]);
    let batch = nodes[1].read(&FeedPosition::default()).await.unwrap();
    assert!(!batch.changes.is_empty());
    nodes[0].create_missing(vec![key("late", "RS256", 1)]).await.unwrap();
    assert_eq!(nodes[1].read(&batch.position).await.unwrap().changes, []);
}

/// Only the algorithm that a set lacks is added.
pub async fn only_missing_algorithms_are_created(fixture: &impl Fixture) {
    let store = fixture.store();
    store.create_missing(vec![key("rs", "RS256", 0)]).await.unwrap();
    store.create_missing(vec![key("rs-2", "RS256", 1), key("es", "ES256", 1)]).await.unwrap();
    assert_eq!(kids(&*store).await, ["es", "rs"]);
}

/// Keys are found as they were stored, newest first, then by kid.
pub async fn a_set_is_read_newest_first(fixture: &impl Fixture) {
    let store = fixture.store();
    let states = [KeyState::Announced, KeyState::Active, KeyState::Retiring];
    let ages = [("c", 5), ("b", 9), ("a", 5)];
    let keys: Vec<_> = ages
        .iter()
        .zip(states)
        .map(|((kid, created_at), state)| StoredKey { state, ..key(kid, "RS256", *created_at) })
        .collect();
    store.add(keys.clone()).await.unwrap();
    let read = fixture.second_node().await.set(SET).await.unwrap();
    assert_eq!(read, [keys[1].clone(), keys[2].clone(), keys[0].clone()]);
    assert_eq!(store.set("no such set").await.unwrap(), []);
}

/// A key that is added under a kid that is there replaces it.
pub async fn an_added_key_replaces_one_with_the_same_kid(fixture: &impl Fixture) {
    let store = fixture.store();
    store.add(vec![key("a", "RS256", 0), key("b", "RS256", 0)]).await.unwrap();
    let replaced = StoredKey { sealed: "resealed".into(), state: KeyState::Retiring, ..key("a", "ES256", 7) };
    store.add(vec![replaced.clone()]).await.unwrap();
    assert_eq!(store.set(SET).await.unwrap(), [replaced, key("b", "RS256", 0)]);
}

/// Nothing of the old set is left.
pub async fn a_replaced_set_holds_the_new_keys_only(fixture: &impl Fixture) {
    let store = fixture.store();
    store.add(vec![key("a", "RS256", 0), key("b", "RS256", 0)]).await.unwrap();
    let other = StoredKey { set: "other".into(), ..key("a", "RS256", 0) };
    store.add(vec![other.clone()]).await.unwrap();
    store.replace_set(SET, vec![key("b", "ES256", 1), key("c", "RS256", 2)]).await.unwrap();
    assert_eq!(kids(&*store).await, ["c", "b"]);
    assert_eq!(store.set("other").await.unwrap(), [other]);
}

/// Deleting a key or a set says whether it was there.
pub async fn keys_and_sets_are_deleted_once(fixture: &impl Fixture) {
    let store = fixture.store();
    store.add(vec![key("a", "RS256", 0), key("b", "RS256", 0)]).await.unwrap();
    assert!(KeyRepository::delete(&*store, SET, "a").await.unwrap());
    assert!(!KeyRepository::delete(&*store, SET, "a").await.unwrap());
    assert_eq!(kids(&*store).await, ["b"]);
    assert!(store.delete_set(SET).await.unwrap());
    assert!(!store.delete_set(SET).await.unwrap());
    assert_eq!(kids(&*store).await, Vec::<String>::new());
}

/// Caches on every node learn of each write.
pub async fn every_write_of_a_key_is_in_the_feed(fixture: &impl Fixture) {
    let (store, reader) = (fixture.store(), fixture.second_node().await);
    let mut position = FeedPosition::default();
    for step in 0..5 {
        match step {
            0 => store.create_missing(vec![key("a", "RS256", 0)]).await.unwrap(),
            1 => store.add(vec![key("b", "RS256", 0)]).await.unwrap(),
            2 => store.replace_set(SET, vec![key("c", "RS256", 0), key("d", "RS256", 0)]).await.unwrap(),
            3 => assert!(KeyRepository::delete(&*store, SET, "c").await.unwrap()),
            _ => assert!(store.delete_set(SET).await.unwrap()),
        }
        let batch = reader.read(&position).await.unwrap();
        assert!(!batch.changes.is_empty(), "step {step}");
        assert!(batch.changes.iter().all(|change| *change == Change::Keys(SET.to_owned())), "step {step}");
        position = batch.position;
    }
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_key_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    let refused = store.add(vec![key("good", "RS256", 0), key("with \0 inside", "RS256", 0)]).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(kids(&*store).await, Vec::<String>::new());
}
