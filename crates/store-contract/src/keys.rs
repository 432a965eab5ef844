//! Stored keys: made once however many nodes start, and every change told to all of them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_oauth::keys::{KeyRepository, KeyState, StoredKey};
use sluice_primitives::Lifetime;
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

fn retiring(key: StoredKey) -> StoredKey {
    StoredKey { state: KeyState::Retiring, ..key }
}

/// Makes these keys the set, whatever it is.
async fn put_set(store: &impl KeyRepository, keys: Vec<StoredKey>) {
    let read = store.set(SET).await.unwrap();
    assert!(store.replace_set(SET, &read, keys).await.unwrap());
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

/// What PostgreSQL cannot hold is not there: to ask for it is no failure.
pub async fn a_set_with_a_name_that_cannot_be_stored_is_empty(fixture: &impl Fixture) {
    let store = fixture.store();
    store.add(vec![key("a", "RS256", 0)]).await.unwrap();
    assert_eq!(store.set("with \0 inside").await.unwrap(), []);
}

/// A key that is added under a kid that is there replaces it.
pub async fn an_added_key_replaces_one_with_the_same_kid(fixture: &impl Fixture) {
    let store = fixture.store();
    store.add(vec![key("a", "RS256", 0), key("b", "RS256", 0)]).await.unwrap();
    let replaced = StoredKey { sealed: "resealed".into(), state: KeyState::Retiring, ..key("a", "ES256", 7) };
    store.add(vec![replaced.clone()]).await.unwrap();
    assert_eq!(store.set(SET).await.unwrap(), [replaced, key("b", "RS256", 0)]);
}

/// Of ten that add a key under one kid at once one succeeds. Its key stays, and it alone is told of.
pub async fn a_new_key_is_added_only_where_its_kid_is_free(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    nodes[0].add(vec![key("beside", "RS256", 0)]).await.unwrap();
    let position = nodes[1].read(&FeedPosition::default()).await.unwrap().position;
    let made = |by: usize| StoredKey { sealed: format!("sealed by {by}"), ..key("a", "RS256", 5) };
    let additions = (0..10).map(|by| nodes[by % 2].add_new(made(by)));
    let added: Vec<bool> = join_all(additions).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(added.iter().filter(|is_added| **is_added).count(), 1);
    let first = added.iter().position(|is_added| *is_added).unwrap();
    assert_eq!(nodes[1].set(SET).await.unwrap(), [made(first), key("beside", "RS256", 0)]);
    let batch = nodes[1].read(&position).await.unwrap();
    assert_eq!(batch.changes, [Change::Keys(SET.to_owned())]);
    assert!(!nodes[0].add_new(key("a", "ES256", 9)).await.unwrap(), "whatever else is new about it");
    assert_eq!(nodes[1].read(&batch.position).await.unwrap().changes, []);
    assert!(nodes[0].add_new(StoredKey { set: "other".into(), ..made(first) }).await.unwrap());
}

/// Nothing of the old set is left.
pub async fn a_replaced_set_holds_the_new_keys_only(fixture: &impl Fixture) {
    let store = fixture.store();
    store.add(vec![key("a", "RS256", 0), key("b", "RS256", 0)]).await.unwrap();
    let other = StoredKey { set: "other".into(), ..key("a", "RS256", 0) };
    store.add(vec![other.clone()]).await.unwrap();
    put_set(&*store, vec![key("b", "ES256", 1), key("c", "RS256", 2)]).await;
    assert_eq!(store.set(SET).await.unwrap(), [key("c", "RS256", 2), key("b", "ES256", 1)]);
    assert_eq!(store.set("other").await.unwrap(), [other]);
    put_set(&*store, Vec::new()).await;
    assert_eq!(kids(&*store).await, Vec::<String>::new());
}

/// What others did since it was read is not undone.
pub async fn a_set_is_replaced_only_if_it_is_still_as_it_was_read(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (a, b, new) = (key("a", "RS256", 1), key("b", "RS256", 0), key("new", "RS256", 2));
    store.add(vec![a.clone(), b.clone()]).await.unwrap();
    let position = other.read(&FeedPosition::default()).await.unwrap().position;
    let resealed = StoredKey { sealed: "resealed".to_owned(), ..b.clone() };
    let further = key("further", "RS256", 0);
    let others = [
        vec![a.clone()],
        vec![a.clone(), resealed],
        vec![a.clone(), retiring(b.clone())],
        vec![a.clone(), further.clone()],
        vec![a.clone(), b.clone(), further],
        Vec::new(),
    ];
    for read in others {
        assert!(!store.replace_set(SET, &read, vec![new.clone()]).await.unwrap(), "{read:?}");
    }
    assert_eq!(other.set(SET).await.unwrap(), [a.clone(), b.clone()]);
    assert_eq!(other.read(&position).await.unwrap().changes, [], "nothing has changed");
    assert!(store.replace_set(SET, &[b, a.clone()], vec![new.clone(), a.clone()]).await.unwrap());
    assert_eq!(other.set(SET).await.unwrap(), [new, a]);
    assert_eq!(other.read(&position).await.unwrap().changes, [Change::Keys(SET.to_owned())]);
}

/// Two nodes that replace a set at once leave the keys of one of them.
pub async fn of_two_sets_that_are_put_at_once_one_is_there(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    for round in 0..10 {
        let sets = [0, 1].map(|node| {
            let made = |kid: &str| key(&format!("{kid}-{node}-{round}"), "RS256", 0);
            vec![made("a"), made("b")]
        });
        let [one, other] = sets.clone();
        let read = nodes[0].set(SET).await.unwrap();
        let (first, second) =
            tokio::join!(nodes[0].replace_set(SET, &read, one), nodes[1].replace_set(SET, &read, other));
        assert_ne!(first.unwrap(), second.unwrap(), "of what both have read one is put");
        let left = nodes[0].set(SET).await.unwrap();
        assert!(sets.contains(&left), "{left:?}");
    }
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

/// Ten nodes that rotate at once end with one successor, and tell of it.
pub async fn ten_nodes_that_rotate_at_once_end_with_one_successor(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    nodes[0].add(vec![key("old", "RS256", 0), key("other", "ES256", 9)]).await.unwrap();
    let position = nodes[1].read(&FeedPosition::default()).await.unwrap().position;
    let rotations = (0..10).map(|node| {
        let made = key(&format!("new-{node}"), "RS256", 5);
        nodes[node % 2].add_successor(made, "old")
    });
    let added = join_all(rotations).await.into_iter().filter(|added| *added.as_ref().unwrap()).count();
    assert_eq!(added, 1);
    let keys = nodes[0].set(SET).await.unwrap();
    let rsa: Vec<_> = keys.iter().filter(|key| key.algorithm == "RS256").map(|key| key.created_at).collect();
    assert_eq!(rsa, [given::at(5), given::at(0)]);
    let told = nodes[1].read(&position).await.unwrap().changes;
    assert_eq!(told, [Change::Keys(SET.to_owned())]);
}

/// A key that is not the newest of its algorithm, or not there, is not succeeded.
pub async fn only_the_newest_key_has_a_successor(fixture: &impl Fixture) {
    let store = fixture.store();
    store.add(vec![key("b", "RS256", 5), key("a", "RS256", 5), key("old", "RS256", 0)]).await.unwrap();
    for predecessor in ["old", "b", "no such key"] {
        assert!(!store.add_successor(key("new", "RS256", 9), predecessor).await.unwrap(), "{predecessor}");
    }
    assert!(
        !store.add_successor(StoredKey { set: "other".into(), ..key("new", "RS256", 9) }, "a").await.unwrap()
    );
    assert!(store.add_successor(key("new", "RS256", 9), "a").await.unwrap());
    assert_eq!(kids(&*store).await, ["new", "a", "b", "old"]);
}

/// A node whose clock is behind makes a successor that is the newest all the same.
pub async fn a_successor_is_newer_than_its_predecessor_whatever_the_clock_says(fixture: &impl Fixture) {
    let store = fixture.store();
    store.add(vec![key("old", "RS256", 50)]).await.unwrap();
    assert!(store.add_successor(key("new", "RS256", 9), "old").await.unwrap());
    assert_eq!(kids(&*store).await, ["new", "old"]);
    assert_eq!(store.set(SET).await.unwrap()[0].created_at, given::at(50) + Lifetime::millis(1));
}

/// Of a key that was read, seal and state are replaced, and nothing else.
pub async fn a_key_is_replaced_only_if_it_is_still_as_it_was_read(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (read, beside) = (key("a", "RS256", 5), key("b", "RS256", 5));
    store.add(vec![read.clone(), beside.clone()]).await.unwrap();
    let retired = retiring(StoredKey { created_at: given::at(99), ..read.clone() });
    assert!(store.replace(&read, retired.clone()).await.unwrap());
    assert_eq!(other.set(SET).await.unwrap(), [retiring(read.clone()), beside]);
    assert!(!other.replace(&read, retired).await.unwrap(), "its state has changed");
    let read = retiring(read);
    let resealed = StoredKey { sealed: "resealed".to_owned(), ..read.clone() };
    assert!(other.replace(&read, resealed.clone()).await.unwrap());
    assert!(!store.replace(&read, read.clone()).await.unwrap(), "its seal has changed");
    assert_eq!(store.set(SET).await.unwrap()[0], resealed);
    assert!(KeyRepository::delete(&*store, SET, "a").await.unwrap());
    assert!(!store.replace(&resealed, read).await.unwrap(), "it is gone, and does not come back");
    assert_eq!(kids(&*store).await, ["b"]);
}

/// A key that was put anew, or moved on, since it was read is not the one that was to go.
pub async fn a_key_is_removed_only_if_it_is_still_as_it_was_read(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (read, beside) = (key("a", "RS256", 5), key("b", "RS256", 5));
    store.add(vec![read.clone(), beside.clone()]).await.unwrap();
    let position = other.read(&FeedPosition::default()).await.unwrap().position;
    let resealed = StoredKey { sealed: "resealed".to_owned(), ..read.clone() };
    for changed in [resealed, retiring(read.clone()), key("no such key", "RS256", 5)] {
        assert!(!KeyRepository::remove(&*store, &changed, &[]).await.unwrap(), "{changed:?}");
    }
    assert_eq!(other.set(SET).await.unwrap(), [read.clone(), beside.clone()]);
    assert_eq!(other.read(&position).await.unwrap().changes, [], "nothing has changed");
    assert!(KeyRepository::remove(&*store, &read, &[]).await.unwrap());
    assert_eq!(other.set(SET).await.unwrap(), [beside]);
    assert_eq!(other.read(&position).await.unwrap().changes, [Change::Keys(SET.to_owned())]);
    assert!(!KeyRepository::remove(&*other, &read, &[]).await.unwrap(), "it is gone");
}

/// What signs beside a key has to be there still, and not be retiring.
pub async fn a_key_is_removed_beside_one_that_stays(fixture: &impl Fixture) {
    let store = fixture.store();
    let (a, b, old) = (key("a", "RS256", 5), key("b", "RS256", 5), retiring(key("old", "RS256", 0)));
    let elsewhere = StoredKey { set: "other".to_owned(), ..key("c", "RS256", 5) };
    store.add(vec![a.clone(), b.clone(), old, elsewhere]).await.unwrap();
    let removed = async |key: &StoredKey, beside: &[&str]| {
        let beside: Vec<_> = beside.iter().map(|kid| (*kid).to_owned()).collect();
        KeyRepository::remove(&*store, key, &beside).await.unwrap()
    };
    assert!(!removed(&a, &["old", "no such key", "c"]).await);
    assert!(removed(&a, &["old", "b"]).await);
    assert!(!removed(&b, &["a"]).await, "that one is gone");
    assert_eq!(kids(&*store).await, ["b", "old"]);
}

/// Each sees the others, and one is left to sign.
pub async fn of_keys_that_are_removed_at_once_beside_each_other_one_is_left(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    for round in 0..10 {
        let keys: Vec<_> = (0..4).map(|nth| key(&format!("{nth}-{round}"), "RS256", nth)).collect();
        put_set(&*nodes[0], keys.clone()).await;
        let removals = keys.iter().zip([0, 1, 0, 1]).map(|(key, node)| {
            let beside = keys.iter().map(|other| other.kid.clone()).filter(|kid| *kid != key.kid);
            let (store, beside): (_, Vec<_>) = (&nodes[node], beside.collect());
            async move { KeyRepository::remove(&**store, key, &beside).await.unwrap() }
        });
        let removed = join_all(removals).await.into_iter().filter(|is_removed| *is_removed).count();
        assert_eq!((removed, kids(&*nodes[0]).await.len()), (3, 1));
    }
}

/// It takes the place of that key alone, with all that it brings, and what signs beside it has to be there still.
pub async fn a_key_is_superseded_only_if_it_is_still_as_it_was_read(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (read, beside, old) = (key("a", "RS256", 5), key("b", "RS256", 5), retiring(key("old", "RS256", 0)));
    store.add(vec![read.clone(), beside.clone(), old.clone()]).await.unwrap();
    let position = other.read(&FeedPosition::default()).await.unwrap().position;
    let by = StoredKey { sealed: "another".to_owned(), ..key("a", "ES256", 9) };
    let superseded = async |read: &StoredKey, beside: &[&str]| {
        let beside: Vec<_> = beside.iter().map(|kid| (*kid).to_owned()).collect();
        store.supersede(read, by.clone(), &beside).await.unwrap()
    };
    let resealed = StoredKey { sealed: "resealed".to_owned(), ..read.clone() };
    for changed in [resealed, retiring(read.clone()), key("no such key", "RS256", 5)] {
        assert!(!superseded(&changed, &[]).await, "{changed:?}");
    }
    assert!(!superseded(&read, &["old", "no such key"]).await, "nothing signs beside it");
    assert_eq!(other.read(&position).await.unwrap().changes, [], "nothing has changed");
    assert!(superseded(&read, &["old", "b"]).await);
    assert_eq!(other.set(SET).await.unwrap(), [by.clone(), beside, old]);
    assert_eq!(other.read(&position).await.unwrap().changes, [Change::Keys(SET.to_owned())]);
    assert!(!superseded(&read, &[]).await, "that one is gone");
}

/// Each has read the others, which are superseded too by what does not sign, and one is left to sign.
pub async fn of_keys_that_are_superseded_at_once_beside_each_other_one_is_left(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    for round in 0..10 {
        let keys: Vec<_> = (0..4).map(|nth| key(&format!("{nth}-{round}"), "RS256", nth)).collect();
        put_set(&*nodes[0], keys.clone()).await;
        let at_once = keys.iter().zip([0, 1, 0, 1]).map(|(key, node)| {
            let beside = keys.iter().map(|other| other.kid.clone()).filter(|kid| *kid != key.kid);
            let (store, beside): (_, Vec<_>) = (&nodes[node], beside.collect());
            let by = retiring(key.clone());
            async move { store.supersede(key, by, &beside).await.unwrap() }
        });
        let superseded = join_all(at_once).await.into_iter().filter(|is_superseded| *is_superseded).count();
        assert_eq!(superseded, 3);
    }
}

/// Sets are known by the keys in them.
pub async fn the_names_of_all_sets_are_listed(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(store.sets().await.unwrap(), Vec::<String>::new());
    let other = StoredKey { set: "another".into(), ..key("a", "RS256", 0) };
    store.add(vec![key("a", "RS256", 0), key("b", "RS256", 0), other]).await.unwrap();
    assert_eq!(store.sets().await.unwrap(), ["another", SET]);
    store.delete_set(SET).await.unwrap();
    assert_eq!(store.sets().await.unwrap(), ["another"]);
}

/// Caches on every node learn of each write.
pub async fn every_write_of_a_key_is_in_the_feed(fixture: &impl Fixture) {
    let (store, reader) = (fixture.store(), fixture.second_node().await);
    let mut position = FeedPosition::default();
    for step in 0..10 {
        match step {
            0 => store.create_missing(vec![key("a", "RS256", 0)]).await.unwrap(),
            1 => store.add(vec![key("b", "RS256", 0)]).await.unwrap(),
            2 => put_set(&*store, vec![key("c", "RS256", 0), key("d", "RS256", 0)]).await,
            3 => assert!(store.add_successor(key("e", "RS256", 1), "c").await.unwrap()),
            4 => assert!(store.replace(&key("d", "RS256", 0), retiring(key("d", "RS256", 0))).await.unwrap()),
            5 => assert!(store.add_new(key("f", "RS256", 2)).await.unwrap()),
            6 => assert!(KeyRepository::delete(&*store, SET, "c").await.unwrap()),
            7 => assert!(store.supersede(&key("e", "RS256", 1), key("e", "ES256", 2), &[]).await.unwrap()),
            8 => assert!(KeyRepository::remove(&*store, &key("f", "RS256", 2), &["e".into()]).await.unwrap()),
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
    let refused = store.add_new(key("with \0 inside", "RS256", 0)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(kids(&*store).await, Vec::<String>::new());
}
