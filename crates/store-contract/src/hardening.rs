//! The queue of the hardening workers: the rows themselves, each given to one worker at a time, none lost.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::hardening::{Backlog, HardenedCredential, HardeningRepository, LeasedCredential};
use sluice_identity::identity::{Identity, IdentityRepository};
use sluice_primitives::{IdentityId, Lifetime};

use crate::{Fixture, given};

const LEASE: Lifetime = Lifetime::secs(30);

/// Registers somebody with a provisional credential at second `created`.
async fn provisional(store: &impl IdentityRepository, name: &str, created: i64) -> Identity {
    let identity = Identity {
        credential: format!("$provisional${name}"),
        hardening: true,
        created_at: given::at(created),
        updated_at: given::at(created),
        ..given::identity(name)
    };
    given::registered(store, identity).await
}

/// Registers so many, one each second from 0 on.
async fn crowd(store: &impl IdentityRepository, count: i64) -> Vec<Identity> {
    let mut crowd = Vec::new();
    for number in 0..count {
        crowd.push(provisional(store, &format!("person-{number}"), number).await);
    }
    crowd
}

async fn lease(store: &impl HardeningRepository, now: i64, limit: u32) -> Vec<LeasedCredential> {
    store.lease(given::at(now), LEASE, limit).await.unwrap()
}

fn ids(leased: &[LeasedCredential]) -> Vec<IdentityId> {
    let mut ids: Vec<_> = leased.iter().map(|leased| leased.id).collect();
    ids.sort_unstable();
    ids
}

fn sorted(identities: &[Identity]) -> Vec<IdentityId> {
    let mut ids: Vec<_> = identities.iter().map(|identity| identity.id).collect();
    ids.sort_unstable();
    ids
}

fn hardened(identity: &Identity, old: &str) -> HardenedCredential {
    HardenedCredential { id: identity.id, old: old.to_owned(), new: format!("$argon2id${}", identity.email) }
}

/// What was registered provisional waits, as it is stored; what was not does not.
pub async fn a_provisional_credential_waits_to_be_hardened(fixture: &impl Fixture) {
    let store = fixture.store();
    given::registered(&*store, given::identity("hard")).await;
    assert_eq!(lease(&*store, 100, 10).await, []);
    let alice = provisional(&*store, "alice", 0).await;
    assert_eq!(given::person(&*store, alice.id).await, alice);
    let leased = lease(&*fixture.second_node().await, 0, 10).await;
    assert_eq!(leased, [LeasedCredential { id: alice.id, stored: alice.credential }]);
}

/// Every credential is given to one worker, until the lease has passed.
pub async fn a_leased_credential_is_given_to_nobody_else(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let crowd = crowd(&*store, 3).await;
    let mut leased = lease(&*store, 10, 2).await;
    assert_eq!(leased.len(), 2);
    leased.extend(lease(&*other, 11, 10).await);
    assert_eq!(ids(&leased), sorted(&crowd));
    assert_eq!(lease(&*other, 39, 10).await, []);
    assert_eq!(lease(&*other, 40, 10).await.len(), 2);
    assert_eq!(lease(&*store, 41, 10).await.len(), 1);
}

/// Concurrent leases of two nodes share nothing.
pub async fn concurrent_leases_of_credentials_never_overlap(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let crowd = crowd(&*nodes[0], 20).await;
    let mut leased = join_all((0..8).map(|place| lease(&*nodes[place % 2], 100, 4))).await.concat();
    leased.extend(lease(&*nodes[0], 100, 20).await);
    assert_eq!(ids(&leased), sorted(&crowd));
}

/// Who waits longest comes first.
pub async fn the_longest_waiting_credentials_are_leased_first(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut crowd = Vec::new();
    for created in [4, 1, 3, 0, 2] {
        crowd.push(provisional(&*store, &format!("person-{created}"), created).await);
    }
    crowd.sort_unstable_by_key(|identity| identity.created_at);
    for some in crowd.chunks(2) {
        assert_eq!(ids(&lease(&*store, 100, 2).await), sorted(some));
    }
}

/// What was hardened has left the queue; the record did not change otherwise.
pub async fn a_hardened_credential_is_stored_and_waits_no_more(fixture: &impl Fixture) {
    let store = fixture.store();
    let crowd = crowd(&*store, 3).await;
    let leased = lease(&*store, 10, 2).await;
    let done: Vec<_> = crowd.iter().map(|identity| hardened(identity, &identity.credential)).collect();
    assert_eq!(leased.len(), 2);
    assert_eq!(store.harden(&done).await.unwrap(), 3, "whether it was leased or not");
    for identity in &crowd {
        let credential = format!("$argon2id${}", identity.email);
        let expected = Identity { credential, hardening: false, ..identity.clone() };
        assert_eq!(given::person(&*fixture.second_node().await, identity.id).await, expected);
    }
    assert_eq!(lease(&*store, 1000, 10).await, []);
    assert_eq!(store.harden(&[]).await.unwrap(), 0);
}

/// What was replaced meanwhile stays as it is, waits as it did, and does not hurt the others.
pub async fn only_what_is_unchanged_is_hardened(fixture: &impl Fixture) {
    let store = fixture.store();
    let crowd = crowd(&*store, 3).await;
    lease(&*store, 10, 10).await;
    let nobody = given::identity("nobody");
    let done = [
        hardened(&crowd[0], "$provisional$another"),
        hardened(&crowd[1], &crowd[1].credential),
        hardened(&nobody, &nobody.credential),
    ];
    assert_eq!(store.harden(&done).await.unwrap(), 1);
    assert_eq!(given::person(&*store, crowd[0].id).await, crowd[0]);
    assert_eq!(given::person(&*store, crowd[2].id).await, crowd[2]);
    assert_eq!(store.harden(&done).await.unwrap(), 0, "it is hardened once");
    assert_eq!(ids(&lease(&*store, 40, 10).await), sorted(&[crowd[0].clone(), crowd[2].clone()]));
}

/// Workers and logins that harden the same credentials at once, in whatever order: each is stored once, by one of them.
pub async fn credentials_hardened_by_many_at_once_are_hardened_once(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let crowd = crowd(&*nodes[0], 40).await;
    let forwards: Vec<_> = crowd.iter().map(|identity| hardened(identity, &identity.credential)).collect();
    let backwards: Vec<_> = forwards.iter().rev().cloned().collect();
    let harden = join_all((0..8).map(|place| {
        let batch = if place % 4 < 2 { &forwards } else { &backwards };
        nodes[place % 2].harden(batch)
    }));
    let log_in = join_all(
        forwards
            .iter()
            .enumerate()
            .map(|(place, one)| nodes[place % 2].replace_credential(one.id, &one.old, &one.new)),
    );
    let (hardened, logged_in) = tokio::join!(harden, log_in);
    let by_workers: u64 = hardened.into_iter().map(Result::unwrap).sum();
    let by_logins = logged_in.into_iter().filter(|replaced| *replaced.as_ref().unwrap()).count();
    assert_eq!(usize::try_from(by_workers).unwrap() + by_logins, crowd.len());
    assert_eq!(nodes[1].backlog().await.unwrap(), Backlog::default());
}

/// A login that hardens a credential takes it off the queue: its worker comes too late, and changes nothing.
pub async fn a_login_takes_a_credential_off_the_queue(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = provisional(&*store, "alice", 0).await;
    lease(&*store, 10, 10).await;
    let by_login = "$argon2id$by login";
    let other = fixture.second_node().await;
    assert!(other.replace_credential(alice.id, &alice.credential, by_login).await.unwrap());
    assert_eq!(store.harden(&[hardened(&alice, &alice.credential)]).await.unwrap(), 0);
    let expected = Identity { credential: by_login.to_owned(), hardening: false, ..alice };
    assert_eq!(given::person(&*store, expected.id).await, expected);
    assert_eq!(lease(&*store, 1000, 10).await, []);
    assert_eq!(store.backlog().await.unwrap(), Backlog::default());
}

/// What was given up is counted and not leased again; a credential that took its place meanwhile is not given up.
pub async fn a_credential_that_was_given_up_is_kept_and_not_leased(fixture: &impl Fixture) {
    let store = fixture.store();
    let crowd = crowd(&*store, 2).await;
    lease(&*store, 10, 10).await;
    store.give_up(crowd[0].id, &crowd[0].credential).await.unwrap();
    store.give_up(crowd[1].id, "$provisional$another").await.unwrap();
    store.give_up(given::identity_id(), "$provisional$another").await.unwrap();
    assert_eq!(ids(&lease(&*store, 1_000_000, 10).await), [crowd[1].id]);
    assert_eq!(given::person(&*store, crowd[0].id).await.credential, crowd[0].credential);
    let backlog = fixture.second_node().await.backlog().await.unwrap();
    assert_eq!((backlog.waiting, backlog.dead), (1, 1));
    assert!(store.replace_credential(crowd[0].id, &crowd[0].credential, "new").await.unwrap());
    assert_eq!(store.backlog().await.unwrap().dead, 0);
}

/// A credential that never waited is not given up either.
pub async fn a_credential_that_does_not_wait_is_not_given_up(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    store.give_up(alice.id, &alice.credential).await.unwrap();
    assert_eq!(store.backlog().await.unwrap(), Backlog::default());
    assert_eq!(given::person(&*store, alice.id).await, alice);
}

/// How many wait, leased or not, and since when.
pub async fn the_backlog_is_counted(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(store.backlog().await.unwrap(), Backlog::default());
    given::registered(&*store, given::identity("hard")).await;
    let crowd = crowd(&*store, 3).await;
    let backlog = |waiting, oldest| Backlog { waiting, oldest: Some(given::at(oldest)), dead: 0 };
    assert_eq!(fixture.second_node().await.backlog().await.unwrap(), backlog(3, 0));
    store.harden(&[hardened(&crowd[0], &crowd[0].credential)]).await.unwrap();
    assert_eq!(store.backlog().await.unwrap(), backlog(2, 1));
    lease(&*store, 10, 10).await;
    let leased = store.backlog().await.unwrap();
    assert_eq!((leased.waiting, leased.dead), (2, 0));
    assert!(
        leased.oldest.is_some_and(|oldest| oldest <= given::at(2)),
        "a lease makes nobody younger: {leased:?}"
    );
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_hardened_credential_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = provisional(&*store, "alice", 0).await;
    let bad = HardenedCredential { new: "with \0 inside".to_owned(), ..hardened(&alice, &alice.credential) };
    let refused = store.harden(&[bad]).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(given::person(&*store, alice.id).await, alice);
}
