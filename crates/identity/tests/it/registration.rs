//! Sign-ups.

use sluice_identity::{IdentityError, InvalidEmail, InvalidField, RegistrationOutcome, WeakPassword};

use super::fake::{World, sign_up};

#[tokio::test]
async fn a_person_registers_under_the_normalised_address() {
    let world = World::new();
    let outcome = world.register(" Alice@Example.com ", "correct horse").await;
    let RegistrationOutcome::Registered(identity) = outcome else { panic!("{outcome:?}") };
    assert_eq!(identity.email, "alice@example.com");
    assert!(identity.credential.starts_with("$argon2id$v=19$m=64,t=1,p=1$"));
    assert_eq!(*world.store.people.lock(), [*identity]);
}

#[tokio::test]
async fn another_spelling_of_a_taken_address_is_taken() {
    let world = World::new();
    world.register("alice@example.com", "correct horse").await;
    let outcome = world.register("ALICE@example.com", "another password").await;
    assert_eq!(outcome, RegistrationOutcome::Taken);
    assert_eq!(world.store.people.lock().len(), 1);
}

#[tokio::test]
async fn what_is_not_valid_is_neither_hashed_nor_stored() {
    let world = World::new();
    let no_address = RegistrationOutcome::Invalid(InvalidField::Email(InvalidEmail::Malformed));
    let too_short = RegistrationOutcome::Invalid(InvalidField::Password(WeakPassword::TooShort));
    assert_eq!(world.register("alice", "correct horse").await, no_address);
    assert_eq!(world.register("alice@example.com", "horse").await, too_short);
    world.pool.shutdown();
    assert_eq!(world.pool.metrics().done_total(), 0);
    assert!(world.store.people.lock().is_empty());
}

#[tokio::test]
async fn a_full_hash_pool_and_a_lost_store_ask_to_come_later() {
    let world = World::new();
    *world.store.down.lock() = true;
    let lost = world.registration.register(sign_up("alice@example.com", "correct horse")).await;
    assert!(matches!(&lost, Err(error @ IdentityError::Store(_)) if error.is_temporary()));
    world.pool.shutdown();
    let busy = world.registration.register(sign_up("alice@example.com", "correct horse")).await;
    assert!(matches!(&busy, Err(error @ IdentityError::Busy(_)) if error.is_temporary()));
}
