//! Identities: one per login name, found by name and by id.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::identity::{
    Identity, IdentityDirectory, IdentityRepository, IdentityStatus, Registration,
};
use sluice_primitives::{IdentityId, OsRng};

use crate::{Fixture, given};

/// An identity is found by its name and by its id, as it was registered.
pub async fn an_identity_is_found_as_it_was_registered(fixture: &impl Fixture) {
    let identity = Identity {
        username: "Älice, the first".to_owned(),
        hardening: true,
        status: IdentityStatus::Disabled,
        email_verified_at: Some(given::at(3)),
        ..given::identity("alice@example.org")
    };
    assert_eq!(fixture.store().register(identity.clone().into()).await.unwrap(), Registration::Registered);
    let reader = fixture.second_node().await;
    let by_name = reader.find_by_login_name(&identity.login_name).await.unwrap();
    assert_eq!(by_name.as_ref(), Some(&identity));
    assert_eq!(IdentityRepository::find(&*reader, identity.id).await.unwrap(), Some(identity));
    assert_eq!(reader.find_by_login_name(&given::login_name("bob")).await.unwrap(), None);
}

/// The first identity keeps the name.
pub async fn a_login_name_is_given_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let (first, second) = (given::identity("alice"), given::identity("alice"));
    assert_eq!(store.register(first.clone().into()).await.unwrap(), Registration::Registered);
    assert_eq!(
        fixture.second_node().await.register(second.clone().into()).await.unwrap(),
        Registration::Taken
    );
    assert_eq!(store.find_by_login_name(&first.login_name).await.unwrap().unwrap().id, first.id);
    assert_eq!(IdentityRepository::find(&*store, second.id).await.unwrap(), None);
}

/// Who would have the id of somebody else is not registered, and the name stays free.
pub async fn an_id_is_given_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let bob = Identity { id: alice.id, ..given::identity("bob") };
    let refused = fixture.second_node().await.register(bob.clone().into()).await;
    assert!(matches!(refused, Err(StoreError::Fault(_))), "{refused:?}");
    assert_eq!(store.find_by_login_name(&bob.login_name).await.unwrap(), None);
    assert_eq!(given::person(&*store, alice.id).await, alice);
    given::registered(&*store, Identity { id: given::identity_id(), ..bob }).await;
}

/// A retry after a lost answer is not a conflict with oneself.
pub async fn a_registration_retried_by_its_own_attempt_is_a_success(fixture: &impl Fixture) {
    let identity = given::identity("alice");
    assert_eq!(fixture.store().register(identity.clone().into()).await.unwrap(), Registration::Registered);
    assert_eq!(
        fixture.second_node().await.register(identity.into()).await.unwrap(),
        Registration::Registered
    );
}

/// Of 64 registrations of one name on two nodes exactly one wins.
pub async fn concurrent_registrations_of_one_name_have_one_winner(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let outcomes =
        join_all((0..64).map(|place| nodes[place % 2].register(given::identity("alice").into()))).await;
    let won = outcomes.into_iter().filter(|outcome| matches!(outcome, Ok(Registration::Registered)));
    assert_eq!(won.count(), 1);
}

/// Duplicates in the load fail alone, and writers that meet them in opposite order do not block each other.
pub async fn duplicates_in_opposite_order_from_two_nodes_each_get_an_outcome(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let names: Vec<String> = (0..50).map(|number| format!("user-{number}")).collect();
    let forwards = names.iter().map(|name| nodes[0].register(given::identity(name).into()));
    let backwards = names.iter().rev().map(|name| nodes[1].register(given::identity(name).into()));
    let (first, mut second) = tokio::join!(join_all(forwards), join_all(backwards));
    second.reverse();
    for (one, other) in first.into_iter().zip(second) {
        assert_ne!(one.unwrap(), other.unwrap());
    }
}

/// Whoever has a name keeps it, however many register at the same moment, and none of the others is hurt; again and again.
pub async fn a_crowd_beside_names_that_are_taken_is_registered(fixture: &impl Fixture) {
    let store = fixture.store();
    given::registered(&*store, given::identity("taken")).await;
    for round in 0..3 {
        let name =
            |number: usize| if number == 20 { "taken".into() } else { format!("user-{round}-{number}") };
        let crowd: Vec<_> = (0..40).map(|number| given::identity(&name(number))).collect();
        let outcomes = join_all(crowd.iter().map(|one| store.register(one.clone().into()))).await;
        for (number, (one, outcome)) in crowd.iter().zip(outcomes).enumerate() {
            let expected = if number == 20 { Registration::Taken } else { Registration::Registered };
            assert_eq!(outcome.unwrap(), expected, "{number} of round {round}");
            let stored = store.find_by_login_name(&one.login_name).await.unwrap().unwrap();
            assert_eq!(stored.id == one.id, number != 20, "{number} of round {round}");
        }
    }
}

/// What PostgreSQL cannot hold, no store takes, and the rest of the load is not hurt by it.
pub async fn an_identity_with_text_that_cannot_be_stored_fails_alone(fixture: &impl Fixture) {
    let store = fixture.store();
    let bad = ["with \0 inside".to_owned(), "x".repeat(2 << 20)];
    let bad = bad.into_iter().flat_map(|bad| {
        let (email, username, credential) = (bad.clone(), bad.clone(), bad);
        [
            Identity { email, ..given::identity("bad") },
            Identity { username, ..given::identity("bad") },
            Identity { credential, ..given::identity("bad") },
        ]
    });
    let bad = bad.map(|identity| store.register(identity.into()));
    let good = (0..20).map(|number| store.register(given::identity(&format!("good-{number}")).into()));
    let (bad, good) = tokio::join!(join_all(bad), join_all(good));
    assert!(bad.iter().all(|outcome| matches!(outcome, Err(StoreError::Invalid(_)))), "{bad:?}");
    assert!(good.iter().all(|outcome| matches!(outcome, Ok(Registration::Registered))), "{good:?}");
    assert_eq!(store.find_by_login_name(&given::login_name("bad")).await.unwrap(), None);
}

/// A password hash is replaced by compare-and-swap.
pub async fn a_credential_is_replaced_only_if_it_is_still_the_old_one(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::identity("alice");
    store.register(alice.clone().into()).await.unwrap();
    assert!(store.replace_credential(alice.id, "$argon2id$first", "$argon2id$second").await.unwrap());
    assert!(!store.replace_credential(alice.id, "$argon2id$first", "$argon2id$third").await.unwrap());
    let stored = IdentityRepository::find(&*store, alice.id).await.unwrap().unwrap();
    assert_eq!(stored, Identity { credential: "$argon2id$second".into(), ..alice });
    let nobody = IdentityId::generate(given::at(0), &OsRng);
    assert!(!store.replace_credential(nobody, "a", "b").await.unwrap());
}

/// A credential is sealed again if it is still the same, and nothing else of the record changes: it waits to be hardened as
/// before, and what was proved of it holds on.
pub async fn a_credential_is_sealed_again_if_it_is_unchanged(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let waiting = Identity { hardening: true, ..given::identity("alice") };
    let alice = given::registered(&*store, waiting).await;
    assert!(!other.reseal_credential(alice.id, "another", "new").await.unwrap());
    assert!(!other.reseal_credential(given::identity_id(), &alice.credential, "new").await.unwrap());
    assert!(other.reseal_credential(alice.id, &alice.credential, "new").await.unwrap());
    assert!(!other.reseal_credential(alice.id, &alice.credential, "newer").await.unwrap());
    let refused = other.reseal_credential(alice.id, "new", "with \0 inside").await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(given::person(&*store, alice.id).await, Identity { credential: "new".to_owned(), ..alice });
}
