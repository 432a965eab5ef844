//! Trusted issuers: one trust to an issuer, subject and key, while it holds.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_crypto::jwk::Jwk;
use sluice_oauth::trust::{TrustedIssuer, TrustedIssuerRepository};

use crate::{Fixture, given};

const ISSUER: &str = "https://issuer.example";

async fn insert(store: &impl TrustedIssuerRepository, trusted: &TrustedIssuer) -> bool {
    store.insert(trusted).await.unwrap()
}

/// A trust in a key of [`ISSUER`] for one subject.
fn trusted(key_id: &str, subject: &str) -> TrustedIssuer {
    TrustedIssuer {
        key_id: key_id.to_owned(),
        subject: Some(subject.to_owned()),
        ..given::trusted_issuer(ISSUER)
    }
}

/// Ordered by name, any subject first.
fn subjects(trusted: &[TrustedIssuer]) -> Vec<Option<&str>> {
    let mut subjects: Vec<_> = trusted.iter().map(|trusted| trusted.subject.as_deref()).collect();
    subjects.sort_unstable();
    subjects
}

/// Every field of a trust is kept, of its key the public part.
pub async fn a_trusted_issuer_is_found_as_it_was_inserted(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (any, one) = (given::trusted_issuer(ISSUER), trusted("key", "alice"));
    for trusted in [&any, &one] {
        assert!(insert(&*store, trusted).await);
        let found = TrustedIssuerRepository::find(&*other, trusted.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(trusted));
    }
    let private = TrustedIssuer { jwk: given::private_jwk(), ..trusted("private", "alice") };
    assert!(private.jwk.is_private() && insert(&*store, &private).await);
    let found = TrustedIssuerRepository::find(&*other, private.id).await.unwrap().unwrap();
    assert_eq!(found.jwk, private.jwk.public());
    assert_eq!(TrustedIssuerRepository::find(&*other, given::trust_id()).await.unwrap(), None);
}

/// An issuer is trusted once with the same key for the same subject; any subject is one of its own.
pub async fn an_issuer_is_trusted_once_for_a_subject_and_key(fixture: &impl Fixture) {
    let store = fixture.store();
    let first = trusted("key", "alice");
    assert!(insert(&*store, &first).await);
    assert!(!insert(&*store, &TrustedIssuer { id: given::trust_id(), ..first.clone() }).await);
    assert!(insert(&*store, &trusted("key", "bob")).await);
    assert!(insert(&*store, &trusted("other key", "alice")).await);
    let any = TrustedIssuer { subject: None, ..trusted("key", "") };
    assert!(insert(&*store, &any).await);
    assert!(!insert(&*store, &TrustedIssuer { id: given::trust_id(), ..any.clone() }).await);
    let elsewhere = given::trusted_issuer("https://elsewhere.example");
    assert!(insert(&*store, &TrustedIssuer { subject: first.subject.clone(), ..elsewhere }).await);
    let all = TrustedIssuerRepository::list(&*store, Some(ISSUER), None, 9).await.unwrap();
    assert_eq!(subjects(&all), [None, Some("alice"), Some("alice"), Some("bob")]);
}

/// Of 64 concurrent inserts on two nodes one is stored.
pub async fn concurrent_inserts_of_one_trust_have_one_winner(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let all: Vec<_> = (0..64).map(|_| trusted("key", "alice")).collect();
    let inserts = all.iter().enumerate().map(|(place, trusted)| insert(&*nodes[place % 2], trusted));
    assert_eq!(join_all(inserts).await.into_iter().filter(|won| *won).count(), 1);
}

/// A trust that has ended does not stand in the way of a new one, whether or not it was purged.
pub async fn an_expired_trust_gives_way_to_a_new_one(fixture: &impl Fixture) {
    let store = fixture.store();
    let old = TrustedIssuer { expires_at: given::at(60), ..trusted("key", "alice") };
    let new = |created_at| TrustedIssuer { created_at: given::at(created_at), ..trusted("key", "alice") };
    assert!(insert(&*store, &old).await);
    assert!(!insert(&*store, &new(59)).await);
    let renewed = new(60);
    assert!(insert(&*store, &renewed).await);
    assert_eq!(TrustedIssuerRepository::find(&*store, old.id).await.unwrap(), None);
    assert_eq!(store.find_for(ISSUER, "alice", None, given::at(61)).await.unwrap(), [renewed]);
}

/// The keys of an issuer are found by issuer and key id, or all of them, for as long as they hold.
pub async fn the_keys_of_an_issuer_are_found_while_they_hold(fixture: &impl Fixture) {
    let store = fixture.store();
    let short = TrustedIssuer { expires_at: given::at(60), ..trusted("one", "alice") };
    let any = TrustedIssuer { subject: None, ..trusted("one", "") };
    for trusted in [&any, &short, &trusted("one", "bob"), &trusted("two", "alice")] {
        assert!(insert(&*store, trusted).await);
    }
    assert!(insert(&*store, &given::trusted_issuer("https://elsewhere.example")).await);
    let find = async |subject, key_id, now| {
        let found = store.find_for(ISSUER, subject, key_id, given::at(now)).await.unwrap();
        let told = |trusted: &TrustedIssuer| {
            format!("{} {}", trusted.key_id, trusted.subject.as_deref().unwrap_or("any"))
        };
        found.iter().map(told).collect::<Vec<_>>()
    };
    assert_eq!(find("alice", Some("one"), 59).await, ["one alice", "one any"], "this very subject first");
    assert_eq!(find("alice", Some("one"), 60).await, ["one any"]);
    assert_eq!(find("alice", None, 60).await, ["two alice", "one any"]);
    assert_eq!(find("carol", None, 1).await, ["one any"]);
    assert_eq!(find("alice", Some("three"), 1).await, [""; 0]);
    assert_eq!(store.find_for("https://nobody.example", "alice", None, given::at(1)).await.unwrap(), []);
}

/// What PostgreSQL cannot hold is not there: to ask for it is no failure. A subject that nobody can be is one of any.
pub async fn no_trust_is_found_by_text_that_cannot_be_stored(fixture: &impl Fixture) {
    let store = fixture.store();
    let (nul, any) = ("with \0 inside", TrustedIssuer { subject: None, ..trusted("key", "") });
    for trusted in [&any, &trusted("key", "alice")] {
        assert!(insert(&*store, trusted).await);
    }
    for (issuer, key_id) in [(nul, None), (ISSUER, Some(nul))] {
        assert_eq!(store.find_for(issuer, "alice", key_id, given::at(1)).await.unwrap(), []);
    }
    assert_eq!(store.find_for(ISSUER, nul, None, given::at(1)).await.unwrap(), [any]);
    assert_eq!(TrustedIssuerRepository::list(&*store, Some(nul), None, 9).await.unwrap(), []);
}

/// However many keys an issuer has, no more are found than can be tried; those of the very subject before others.
pub async fn no_more_trusts_are_found_than_can_be_tried(fixture: &impl Fixture) {
    let store = fixture.store();
    for number in 0..10 {
        let any = TrustedIssuer { subject: None, ..trusted(&format!("key {number}"), "") };
        assert!(insert(&*store, &any).await);
    }
    assert!(insert(&*store, &trusted("last", "alice")).await);
    let found = store.find_for(ISSUER, "alice", None, given::at(1)).await.unwrap();
    assert_eq!((found.len(), found[0].key_id.as_str()), (8, "last"));
    assert!(found.windows(2).skip(1).all(|pair| pair[0].id < pair[1].id), "in order");
}

/// Lists are in pages, ordered by id, of one issuer or of all.
pub async fn trusted_issuers_are_listed_in_pages(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut all: Vec<_> = (0..5).map(|number| trusted("key", &format!("subject {number}"))).collect();
    all.push(given::trusted_issuer("https://elsewhere.example"));
    for trusted in &all {
        assert!(insert(&*store, trusted).await);
    }
    all.sort_by_key(|trusted| trusted.id);
    let list = async |issuer: Option<&str>, after, limit| {
        TrustedIssuerRepository::list(&*store, issuer, after, limit).await.unwrap()
    };
    assert_eq!(list(None, None, 4).await, all[..4]);
    assert_eq!(list(None, Some(all[3].id), 4).await, all[4..]);
    assert_eq!(list(None, Some(all[5].id), 4).await, []);
    let own: Vec<_> = all.iter().filter(|trusted| trusted.issuer == ISSUER).cloned().collect();
    assert_eq!(list(Some(ISSUER), None, 3).await, own[..3]);
    assert_eq!(list(Some(ISSUER), Some(own[2].id), 3).await, own[3..]);
    assert_eq!(list(Some("https://nobody.example"), None, 3).await, []);
}

/// A deleted trust is gone, and makes room for another.
pub async fn a_trusted_issuer_is_deleted_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let first = trusted("key", "alice");
    assert!(insert(&*store, &first).await);
    let delete = async |id| TrustedIssuerRepository::delete(&*store, id).await.unwrap();
    assert!(!delete(given::trust_id()).await);
    assert!(delete(first.id).await);
    assert!(!delete(first.id).await);
    assert_eq!(store.find_for(ISSUER, "alice", None, given::at(1)).await.unwrap(), []);
    assert!(insert(&*store, &trusted("key", "alice")).await);
}

/// One key of an issuer or all, whomever and however long it is trusted to speak of; none of another issuer.
pub async fn the_keys_of_an_issuer_are_told_each_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let jwk = |key_id: &str| Jwk { kid: Some(key_id.to_owned()), ..given::private_jwk().public() };
    let with = |key_id: &str, subject: &str| TrustedIssuer { jwk: jwk(key_id), ..trusted(key_id, subject) };
    let ended = TrustedIssuer { expires_at: given::at(1), ..with("two", "carol") };
    let elsewhere = TrustedIssuer { issuer: "https://elsewhere.example".to_owned(), ..with("one", "alice") };
    for trusted in [&with("two", "alice"), &with("one", "alice"), &with("one", "bob"), &ended, &elsewhere] {
        assert!(insert(&*store, trusted).await);
    }
    assert_eq!(store.keys_of(ISSUER, None).await.unwrap(), [jwk("one"), jwk("two")]);
    assert_eq!(store.keys_of(ISSUER, Some("two")).await.unwrap(), [jwk("two")]);
    for (issuer, key_id) in [(ISSUER, "three"), ("https://nobody.example", "one"), (ISSUER, "with \0 inside")]
    {
        assert_eq!(store.keys_of(issuer, Some(key_id)).await.unwrap(), []);
    }
}

/// All trusts with a key of an issuer end together, those with other keys and in other issuers hold.
pub async fn an_issuer_is_trusted_no_more_without_its_key(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let any = TrustedIssuer { subject: None, ..trusted("one", "") };
    let elsewhere =
        TrustedIssuer { issuer: "https://elsewhere.example".to_owned(), ..trusted("one", "alice") };
    for trusted in
        [&any, &trusted("one", "alice"), &trusted("two", "alice"), &trusted("three", "bob"), &elsewhere]
    {
        assert!(insert(&*store, trusted).await);
    }
    let left = async || TrustedIssuerRepository::list(&*other, None, None, 9).await.unwrap().len();
    for (issuer, key_id) in
        [(ISSUER, Some("four")), ("https://nobody.example", None), ("with \0 inside", None)]
    {
        assert!(!store.delete_keys_of(issuer, key_id).await.unwrap());
    }
    assert_eq!(left().await, 5);
    assert!(store.delete_keys_of(ISSUER, Some("one")).await.unwrap());
    let found = other.find_for(ISSUER, "alice", None, given::at(1)).await.unwrap();
    assert_eq!((found.len(), found[0].key_id.as_str(), left().await), (1, "two", 3));
    assert!(store.delete_keys_of(ISSUER, None).await.unwrap());
    assert_eq!(TrustedIssuerRepository::list(&*other, None, None, 9).await.unwrap(), [elsewhere]);
    assert!(!store.delete_keys_of(ISSUER, None).await.unwrap());
}

/// However long they are trusted.
pub async fn all_trusted_issuers_are_counted(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(store.count_trusted().await.unwrap(), 0);
    let ended = TrustedIssuer { expires_at: given::at(1), ..trusted("key", "alice") };
    for trusted in [&ended, &trusted("key", "bob"), &given::trusted_issuer("https://elsewhere.example")] {
        assert!(insert(&*store, trusted).await);
    }
    assert_eq!(store.count_trusted().await.unwrap(), 3);
}

/// Expired ones go, a bounded number at a time.
pub async fn expired_trusts_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let living = given::trusted_issuer(ISSUER);
    assert!(insert(&*store, &living).await);
    for number in 0..3 {
        let short =
            TrustedIssuer { expires_at: given::at(60), ..trusted("key", &format!("subject {number}")) };
        assert!(insert(&*store, &short).await);
    }
    let purge =
        async |limit| TrustedIssuerRepository::purge_expired(&*store, given::at(100), limit).await.unwrap();
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    assert_eq!(TrustedIssuerRepository::list(&*store, None, None, 9).await.unwrap(), [living]);
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_trust_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let with_nul = || "with \0 inside".to_owned();
    let refused = [
        TrustedIssuer { issuer: with_nul(), ..given::trusted_issuer(ISSUER) },
        TrustedIssuer { key_id: with_nul(), ..given::trusted_issuer(ISSUER) },
        TrustedIssuer { subject: Some(with_nul()), ..given::trusted_issuer(ISSUER) },
    ];
    for trusted in refused {
        let refused = TrustedIssuerRepository::insert(&*fixture.store(), &trusted).await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    }
}
