//! Attempts to log in.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sluice_identity::{IdentityError, IdentityStatus, LoginOutcome, Refusal};
use sluice_primitives::Lifetime;

use super::fake::{World, attempt};

const ALICE: &str = "alice@example.com";

async fn world_with_alice() -> World {
    let world = World::new();
    world.register(ALICE, "correct horse").await;
    world
}

#[tokio::test]
async fn a_person_logs_in_with_the_right_password_only() {
    let world = world_with_alice().await;
    let outcome = world.log_in("Alice@EXAMPLE.com", "correct horse").await;
    let LoginOutcome::LoggedIn(identity) = outcome else { panic!("{outcome:?}") };
    assert_eq!(identity.email, ALICE);
    assert_eq!(world.log_in(ALICE, "correct horse ").await, LoginOutcome::Refused(Refusal::WrongPassword));
    assert_eq!(world.log_in("alice", "correct horse").await, LoginOutcome::Refused(Refusal::Malformed));
    assert_eq!(world.log_in(ALICE, "").await, LoginOutcome::Refused(Refusal::Malformed));
}

#[tokio::test]
async fn unknown_and_disabled_accounts_cost_the_work_of_known_ones() {
    let world = world_with_alice().await;
    world.store.people.lock()[0].status = IdentityStatus::Disabled;
    let refused = [
        ("bob@example.com", "correct horse", Refusal::UnknownAccount),
        (ALICE, "another horse", Refusal::WrongPassword),
        (ALICE, "correct horse", Refusal::Disabled),
    ];
    for (email, password, refusal) in refused {
        assert_eq!(world.log_in(email, password).await, LoginOutcome::Refused(refusal));
    }
    world.pool.shutdown();
    assert_eq!(world.pool.metrics().done_total(), 1 + 3);
    assert_eq!(world.store.reads.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_hash_of_old_parameters_is_replaced_at_login() {
    let old = world_with_alice().await;
    let world = World::on(Arc::clone(&old.store), 2, 8);
    assert!(matches!(world.log_in(ALICE, "correct horse").await, LoginOutcome::LoggedIn(_)));
    assert!(world.store.people.lock()[0].credential.starts_with("$argon2id$v=19$m=64,t=2,p=1$"));
    assert!(matches!(world.log_in(ALICE, "correct horse").await, LoginOutcome::LoggedIn(_)));
}

#[tokio::test]
async fn guesses_are_slowed_down_and_the_owner_still_gets_in() {
    let world = world_with_alice().await;
    for _ in 0..6 {
        assert_eq!(world.log_in(ALICE, "guess guess").await, LoginOutcome::Refused(Refusal::WrongPassword));
    }
    assert_eq!(world.log_in(ALICE, "correct horse").await, LoginOutcome::TooMany(Lifetime::secs(1)));
    world.clock.advance(Lifetime::secs(1));
    assert!(matches!(world.log_in(ALICE, "correct horse").await, LoginOutcome::LoggedIn(_)));
    assert_eq!(world.log_in(ALICE, "guess guess").await, LoginOutcome::Refused(Refusal::WrongPassword));
}

#[tokio::test]
async fn an_account_that_does_not_exist_is_slowed_down_like_one_that_does() {
    let world = World::new();
    for _ in 0..6 {
        assert_eq!(world.log_in(ALICE, "guess guess").await, LoginOutcome::Refused(Refusal::UnknownAccount));
    }
    assert_eq!(world.log_in(ALICE, "guess guess").await, LoginOutcome::TooMany(Lifetime::secs(1)));
}

#[tokio::test]
async fn an_attempt_that_was_never_looked_at_does_not_count() {
    let world = world_with_alice().await;
    *world.store.down.lock() = true;
    for _ in 0..100 {
        let lost = world.login.log_in(attempt(ALICE, "correct horse")).await;
        assert!(matches!(lost, Err(IdentityError::Store(_))), "{lost:?}");
    }
    *world.store.down.lock() = false;
    assert!(matches!(world.log_in(ALICE, "correct horse").await, LoginOutcome::LoggedIn(_)));
}
