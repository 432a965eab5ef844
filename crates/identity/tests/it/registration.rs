//! Sign-ups.

use std::num::NonZeroU32;

use sluice_commit::StoreError;
use sluice_identity::config::{LimitsConfig, Rate, RegistrationConfig};
use sluice_identity::{
    IdentityError, InvalidEmail, InvalidField, InvalidUsername, RegistrationOutcome, SignUp, WeakPassword,
};
use sluice_primitives::Lifetime;
use sluice_testkit::Captured;

use super::fake::{OWNER, Setup, World, sign_up};

const ALICE: &str = "alice@example.com";

#[tokio::test]
async fn a_person_registers_under_the_normalised_address() {
    let world = World::new();
    let sign_up =
        SignUp { username: " Zoe\u{308} ".to_owned(), ..sign_up(" Alice@Example.com ", "correct horse") };
    let outcome = world.registration.register(sign_up).await.unwrap();
    let RegistrationOutcome::Registered(identity) = outcome else { panic!("{outcome:?}") };
    assert_eq!((identity.email.as_str(), identity.username.as_str()), (ALICE, "Zoë"));
    assert!(identity.credential.starts_with("p1$") && identity.hardening);
    assert_eq!(*world.store.people.lock(), [*identity.clone()]);
    assert_eq!(*world.store.letters.lock(), [identity.id]);
}

#[tokio::test]
async fn a_sign_up_waits_for_no_slow_hash() {
    let world = World::new();
    world.pool.shutdown();
    let outcome = world.register(ALICE, "correct horse").await;
    assert!(matches!(outcome, RegistrationOutcome::Registered(_)));
    assert_eq!(world.hashes(), 0);
}

#[tokio::test]
async fn what_is_stored_tells_nothing_about_the_password() {
    let world = World::new();
    world.register(ALICE, "correct horse").await;
    world.register("bob@example.com", "correct horse").await;
    let credentials: Vec<_> =
        world.store.people.lock().iter().map(|person| person.credential.clone()).collect();
    assert_eq!(credentials[0].len(), credentials[1].len());
    let alike = credentials[0].bytes().zip(credentials[1].bytes()).filter(|(a, b)| a == b).count();
    assert!(alike < 20, "equal passwords show: {credentials:?}");
}

#[tokio::test]
async fn another_spelling_of_a_taken_address_is_taken() {
    let world = World::new();
    world.register(ALICE, "correct horse").await;
    let outcome = world.register("ALICE@example.com", "another password").await;
    assert_eq!(outcome, RegistrationOutcome::Taken);
    assert_eq!(world.store.people.lock().len(), 1);
    assert_eq!(world.store.letters.lock().len(), 1, "nobody is written to for a name that is taken");
}

#[tokio::test]
async fn where_taken_addresses_are_concealed_only_a_mail_tells() {
    let registration = RegistrationConfig { conceal_taken: true, ..RegistrationConfig::default() };
    let world = World::with(&Setup { registration, ..Setup::default() });
    for _ in 0..2 {
        assert_eq!(world.register(ALICE, "correct horse").await, RegistrationOutcome::Accepted);
        let reads = world.store.reads.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(reads, 0, "nothing is done beside the registration");
    }
    let alice = world.store.people.lock()[0].id;
    assert_eq!(*world.store.letters.lock(), [alice, OWNER]);
}

#[tokio::test]
async fn what_is_not_valid_is_neither_counted_nor_stored() {
    let registrations_per_network = Some(Rate { burst: NonZeroU32::MIN, per: Lifetime::hours(1) });
    let limits = LimitsConfig { registrations_per_network, ..LimitsConfig::default() };
    let world = World::with(&Setup { limits, ..Setup::default() });
    let control = SignUp { username: "a\0b".to_owned(), ..sign_up(ALICE, "correct horse") };
    let refused = [
        (sign_up("alice", "correct horse"), InvalidField::Email(InvalidEmail::Malformed), "email_malformed"),
        (sign_up(ALICE, "horse"), InvalidField::Password(WeakPassword::TooShort), "password_too_short"),
        (sign_up(ALICE, " ALICE@example.com"), WeakPassword::SameAsEmail.into(), "password_is_email"),
        (control, InvalidField::Username(InvalidUsername::Malformed), "username_malformed"),
    ];
    for (sign_up, field, code) in refused {
        let outcome = world.registration.register(sign_up).await.unwrap();
        assert_eq!(outcome, RegistrationOutcome::Invalid(field));
        assert_eq!(field.code(), code);
    }
    assert!(world.store.people.lock().is_empty());
    assert!(matches!(world.register(ALICE, "correct horse").await, RegistrationOutcome::Registered(_)));
    let wait = RegistrationOutcome::TooMany(Lifetime::hours(1));
    assert_eq!(world.register("bob@example.com", "correct horse").await, wait);
    world.clock.advance(Lifetime::hours(1));
    let bob = world.register("bob@example.com", "correct horse").await;
    assert!(matches!(bob, RegistrationOutcome::Registered(_)));
}

#[tokio::test]
async fn nobody_registers_where_registration_is_closed() {
    let registration = RegistrationConfig { enabled: false, ..RegistrationConfig::default() };
    let world = World::with(&Setup { registration, ..Setup::default() });
    assert_eq!(world.register(ALICE, "correct horse").await, RegistrationOutcome::Closed);
    assert!(world.store.people.lock().is_empty());
}

#[tokio::test]
async fn a_lost_store_asks_to_come_later() {
    let world = World::new();
    *world.store.down.lock() = true;
    let lost = world.registration.register(sign_up(ALICE, "correct horse")).await;
    assert!(matches!(&lost, Err(error @ IdentityError::Store(_)) if error.is_temporary()));
}

#[tokio::test]
async fn whom_nobody_told_that_they_are_registered_is_in_the_audit_trail() {
    let (log, _guard) = Captured::begin();
    let world = World::new();
    *world.store.late.lock() = true;
    let lost = world.registration.register(sign_up(ALICE, "correct horse")).await;
    assert!(matches!(lost, Err(IdentityError::Store(StoreError::Unavailable(_)))), "{lost:?}");
    let fields = format!("identity.id={} client.network=192.0.2.1", world.store.people.lock()[0].id);
    let line = format!("WARN sluice_audit: person registered: nobody was told whether it was done {fields}");
    let told = log.lines("sluice_audit");
    assert!(told.len() == 1 && told[0].ends_with(&line), "{told:?}");
}
