//! Identities that many write at once: each gets an outcome, and one of them the name.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use sluice_identity::factor::{AddedFactor, FactorRepository};
use sluice_identity::hardening::{HardenedCredential, HardeningRepository};
use sluice_identity::identity::{
    Changed, EndsSessions, IdentityChange, IdentityDirectory, IdentityRepository, Registration, Removed,
};
use sluice_identity::mail::MailRepository;
use sluice_primitives::IdentityId;
use sluice_token::{Feed, FeedPosition};
use tokio::task::JoinHandle;

use crate::{Fixture, given};

async fn owner(store: &impl IdentityRepository, email: &str) -> Option<IdentityId> {
    store.find_by_login_name(&given::login_name(email)).await.unwrap().map(|identity| identity.id)
}

/// Of changes that looked at one revision, one is made.
pub async fn concurrent_changes_of_one_identity_have_one_winner(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let alice = given::registered(&*nodes[0], given::identity("alice")).await;
    let changes: Vec<_> = (0..16)
        .map(|number| IdentityChange {
            email: given::new_email(&format!("other-{number}")),
            mails: vec![given::mail(0)],
            ..given::change(&alice, 20)
        })
        .collect();
    let outcomes =
        join_all(changes.iter().enumerate().map(|(place, change)| nodes[place % 2].change(change))).await;
    let outcomes: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
    let told = |outcome| outcomes.iter().filter(|told| **told == outcome).count();
    assert_eq!((told(Changed::Done), told(Changed::Stale)), (1, 15));
    let winner = outcomes.iter().position(|outcome| *outcome == Changed::Done).unwrap();
    assert_eq!(given::person(&*nodes[0], alice.id).await.attempt, changes[winner].attempt);
    for number in 0..16 {
        let expected = (number == winner).then_some(alice.id);
        assert_eq!(owner(&*nodes[0], &format!("other-{number}")).await, expected);
    }
    assert_eq!(MailRepository::depth(&*nodes[1]).await.unwrap(), (1, 0));
}

/// Of people who want one address at once, whether by a change or by registration, one gets it.
pub async fn an_address_that_many_want_at_once_is_given_once(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let mut changes = Vec::new();
    for number in 0..8 {
        let person = given::registered(&*nodes[0], given::identity(&format!("person-{number}"))).await;
        changes.push(IdentityChange { email: given::new_email("wanted"), ..given::change(&person, 20) });
    }
    let change = join_all(changes.iter().enumerate().map(|(place, change)| nodes[place % 2].change(change)));
    let register = join_all((0..8).map(|place| nodes[place % 2].register(given::identity("wanted").into())));
    let (changed, registered) = tokio::join!(change, register);
    let changed: Vec<_> = changed.into_iter().map(Result::unwrap).collect();
    assert!(!changed.contains(&Changed::Stale), "{changed:?}");
    let registered: Vec<_> = registered.into_iter().map(Result::unwrap).collect();
    let won = changed.iter().filter(|outcome| **outcome == Changed::Done).count()
        + registered.iter().filter(|outcome| **outcome == Registration::Registered).count();
    assert_eq!(won, 1);
    let holder = owner(&*nodes[0], "wanted").await.unwrap();
    assert_eq!(given::person(&*nodes[1], holder).await.email, "wanted");
}

/// People who want each other's address get an answer: neither does it.
pub async fn people_who_swap_addresses_at_once_each_get_an_outcome(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    for round in 0..8 {
        let names = [format!("one-{round}"), format!("other-{round}")];
        let one = given::registered(&*nodes[0], given::identity(&names[0])).await;
        let other = given::registered(&*nodes[0], given::identity(&names[1])).await;
        let to = |identity, name: &str| IdentityChange {
            email: given::new_email(name),
            ..given::change(identity, 20)
        };
        let (first, second) = (to(&one, &names[1]), to(&other, &names[0]));
        let (first, second) = tokio::join!(nodes[0].change(&first), nodes[1].change(&second));
        assert_eq!((first.unwrap(), second.unwrap()), (Changed::Taken, Changed::Taken));
    }
}

/// However changes of two nodes overlap: a reader that reads all the time reads each of their markers once.
pub async fn markers_of_overlapping_changes_are_each_read_once(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let mut changes = Vec::new();
    for number in 0..24 {
        let person = given::registered(&*nodes[0], given::identity(&format!("person-{number}"))).await;
        for begun in 0..number % 4 {
            // Later than the change, so that each has a marker of its own.
            given::begun(&*nodes[0], person.id, 21 + begun).await;
        }
        let ends_sessions = EndsSessions::All;
        changes.push(IdentityChange { ends_sessions, revokes: true, ..given::change(&person, 20) });
    }
    let making = changes.into_iter().enumerate().map(|(place, change)| {
        let node = Arc::clone(&nodes[place % 2]);
        tokio::spawn(async move { given::changed(&*node, &change).await })
    });
    let making: Vec<_> = making.collect();
    let reader = fixture.second_node().await;
    let (mut position, mut read) = (FeedPosition::default(), Vec::new());
    loop {
        let is_last = making.iter().all(JoinHandle::is_finished);
        let batch = Feed::read(&*reader, &position).await.unwrap();
        position = batch.position;
        read.extend(batch.markers.into_iter().map(|marker| marker.target));
        if is_last {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(join_all(making).await.iter().all(Result::is_ok));
    let distinct: HashSet<_> = read.iter().collect();
    assert_eq!((read.len(), distinct.len()), (24 + 36, 24 + 36));
}

/// Whatever is done to an identity while it is deleted: nothing of it stays, and both its names are free.
pub async fn a_deletion_takes_what_comes_at_the_same_time(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    for round in 0..8 {
        let names = [format!("former-{round}"), format!("new-{round}")];
        let person = given::registered(&*nodes[0], given::identity(&names[0])).await;
        let email = given::new_email(&names[1]);
        let change = IdentityChange { email, ..given::change(&person, 20) };
        let factor = given::factor(person.id, 0);
        let hardened = [HardenedCredential {
            id: person.id,
            old: person.credential.clone(),
            new: "$argon2id$second".to_owned(),
        }];
        let (deleted, changed, added, hardened) = tokio::join!(
            nodes[0].delete(person.id, None, given::at(20), given::at(9000), None),
            nodes[1].change(&change),
            nodes[1].add(&factor, 1, Some(given::with_first(&[[1; 32]])), None),
            nodes[0].harden(&hardened),
        );
        assert_eq!(deleted.unwrap(), Removed::Done);
        assert_ne!(changed.unwrap(), Changed::Taken);
        assert_ne!(added.unwrap(), AddedFactor::TooMany);
        assert!(hardened.unwrap() <= 1);
        assert_eq!(FactorRepository::of_identity(&*nodes[1], person.id).await.unwrap(), []);
        assert_eq!(nodes[0].recovery_codes_left(person.id).await.unwrap(), 0);
        for name in &names {
            given::registered(&*nodes[1], given::identity(name)).await;
        }
    }
}
