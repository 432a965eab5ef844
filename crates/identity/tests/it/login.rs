//! Attempts to log in.

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::task::Poll;
use std::time::{Duration, Instant};

use sluice_crypto::hash_pool::{PoolBusy, Priority, unheard};
use sluice_crypto::password_hash::{self, HashMemory};
use sluice_identity::config::{HardeningConfig, LimitsConfig, Rate, RegistrationConfig};
use sluice_identity::hardening::HardeningRepository;
use sluice_identity::{Attempt, IdentityError, IdentityStatus, KnownAs, LoginOutcome, Network, Refusal};
use sluice_primitives::{Clock, IdentityId, Lifetime, Secret, SessionId};

use super::fake::{Setup, World, attempt, home};

const ALICE: &str = "alice@example.com";
const PASSWORD: &str = "correct horse";
/// Of the same password, by crypt(3).
const BCRYPT: &str = "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e";

async fn world_with_alice() -> World {
    let world = World::new();
    world.register(ALICE, PASSWORD).await;
    world
}

async fn harden(world: &World) {
    let round = world.worker(HardeningConfig::default()).round().await.unwrap();
    assert_eq!(round.hashed, 1);
}

#[track_caller]
fn assert_hardened(world: &World) {
    let credential = world.credential();
    assert!(credential.starts_with("h1$"), "{credential}");
    assert!(!world.store.people.lock()[0].hardening);
}

fn is_in(outcome: &LoginOutcome) -> bool {
    matches!(outcome, LoginOutcome::LoggedIn(_))
}

#[tokio::test]
async fn a_person_logs_in_with_the_right_password_only() {
    let world = world_with_alice().await;
    let outcome = world.log_in("Alice@EXAMPLE.com", PASSWORD).await;
    let LoginOutcome::LoggedIn(identity) = outcome else { panic!("{outcome:?}") };
    assert_eq!(identity.email, ALICE);
    assert_eq!(world.log_in(ALICE, "correct horse ").await, LoginOutcome::Refused(Refusal::WrongPassword));
    assert_eq!(world.log_in("alice", PASSWORD).await, LoginOutcome::Refused(Refusal::Malformed));
    assert_eq!(world.log_in(ALICE, "").await, LoginOutcome::Refused(Refusal::Malformed));
}

#[tokio::test]
async fn a_provisional_password_logs_in_and_is_hardened_by_it() {
    let world = world_with_alice().await;
    assert_eq!(world.log_in(ALICE, "wrong horse").await, LoginOutcome::Refused(Refusal::WrongPassword));
    assert!(world.credential().starts_with("p1$"));
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_hardened(&world);
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
}

#[tokio::test]
async fn a_password_that_a_worker_has_taken_logs_in() {
    let world = world_with_alice().await;
    let (now, lease) = (world.clock.now(), Lifetime::secs(60));
    let leased = world.store.lease(now, lease, 1).await.unwrap();
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_hardened(&world);
    let by_login = world.credential();
    assert_ne!(leased[0].stored, by_login);
    world.worker(HardeningConfig::default()).round().await.unwrap();
    assert_eq!(world.credential(), by_login, "what the worker took is not there any more");
}

/// As while a synchronous standby is away. What follows waits for commits as well, and has its own time for that.
#[tokio::test]
async fn a_login_waits_only_a_moment_until_its_password_is_hardened_and_that_goes_on() {
    let world = world_with_alice().await;
    let hanging = world.store.replacing.write().await;
    let began = Instant::now();
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(world.credential().starts_with("p1$"));
    drop(hanging);
    while world.credential().starts_with("p1$") {
        assert!(began.elapsed() < Duration::from_mins(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_hardened(&world);
}

#[tokio::test]
async fn a_hardened_password_logs_in_and_stays_as_it_is() {
    let world = world_with_alice().await;
    harden(&world).await;
    assert_hardened(&world);
    let hardened = world.credential();
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_eq!(world.log_in(ALICE, "wrong horse").await, LoginOutcome::Refused(Refusal::WrongPassword));
    assert_eq!(world.credential(), hardened);
}

#[tokio::test]
async fn an_imported_password_logs_in_and_is_hardened_by_it() {
    let world = world_with_alice().await;
    world.import(BCRYPT);
    assert_eq!(world.log_in(ALICE, "wrong horse").await, LoginOutcome::Refused(Refusal::WrongPassword));
    assert!(world.credential().starts_with("f1$") && !world.credential().contains(BCRYPT));
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_hardened(&world);
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
}

#[tokio::test]
async fn a_hash_of_a_bare_password_logs_in_and_is_hardened_by_it() {
    let world = world_with_alice().await;
    let memory = &mut HashMemory::new();
    let bare = password_hash::hash(world.params, PASSWORD.as_bytes(), &[3; 16], memory).unwrap();
    world.store.people.lock()[0].credential = bare;
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_hardened(&world);
}

#[tokio::test]
async fn a_hash_of_old_parameters_or_an_old_pepper_is_replaced_at_login() {
    let old = world_with_alice().await;
    harden(&old).await;
    let world = World::on(Arc::clone(&old.store), &Setup { passes: 2, ..Setup::default() });
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert!(world.credential().contains("$argon2id$v=19$m=64,t=2,p=1$"));
    let by_params = world.credential();
    let both = Setup { passes: 2, peppers: vec![9, 8], ..Setup::default() };
    let world = World::on(Arc::clone(&old.store), &both);
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_ne!(world.credential()[..11], by_params[..11], "another pepper");
    let new_only = Setup { passes: 2, peppers: vec![9], ..Setup::default() };
    let world = World::on(Arc::clone(&old.store), &new_only);
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
}

#[tokio::test]
async fn a_login_that_loses_the_race_for_the_credential_is_still_one() {
    let world = world_with_alice().await;
    let (one, other) = tokio::join!(world.log_in(ALICE, PASSWORD), world.log_in(ALICE, PASSWORD));
    assert!(is_in(&one) && is_in(&other));
    assert_hardened(&world);
}

#[tokio::test]
async fn every_account_and_every_state_costs_one_hash() {
    let world = world_with_alice().await;
    let refused = |refusal| LoginOutcome::Refused(refusal);
    let cost = async |email: &str, password: &str, expected: LoginOutcome| {
        let (hashes, reads) = (world.hashes(), world.store.reads.load(Ordering::Relaxed));
        let outcome = world.log_in(email, password).await;
        assert!(outcome == expected || (is_in(&outcome) && is_in(&expected)), "{outcome:?}");
        assert_eq!(world.hashes() - hashes, 1, "{outcome:?}");
        assert_eq!(world.store.reads.load(Ordering::Relaxed) - reads, 1, "{outcome:?}");
    };
    let logged_in = LoginOutcome::LoggedIn(Box::new(world.store.people.lock()[0].clone()));
    cost("bob@example.com", PASSWORD, refused(Refusal::UnknownAccount)).await;
    cost(ALICE, "wrong horse", refused(Refusal::WrongPassword)).await;
    cost(ALICE, PASSWORD, logged_in.clone()).await;
    assert_hardened(&world);
    cost(ALICE, "wrong horse", refused(Refusal::WrongPassword)).await;
    cost(ALICE, PASSWORD, logged_in).await;
    world.store.people.lock()[0].status = IdentityStatus::Disabled;
    cost(ALICE, PASSWORD, refused(Refusal::Disabled)).await;
    cost(ALICE, "wrong horse", refused(Refusal::WrongPassword)).await;
    world.store.people.lock()[0].credential.clear();
    cost(ALICE, PASSWORD, refused(Refusal::WrongPassword)).await;
}

#[tokio::test]
async fn a_credential_that_cannot_be_read_is_refused_like_a_wrong_password_after_the_same_work() {
    let world = world_with_alice().await;
    for broken in [
        "nonsense",
        "p1$AAAA",
        "h1$00000000$argon2id$v=19$m=64,t=1,p=1$AwMDAwMDAwMDAwMDAwMDAw$AwMDAwMDAwMDAwMDAwMDAw",
    ] {
        broken.clone_into(&mut world.store.people.lock()[0].credential);
        let hashes = world.hashes();
        let refused = world.log_in(ALICE, PASSWORD).await;
        assert_eq!(refused, LoginOutcome::Refused(Refusal::WrongPassword), "{broken}");
        assert_eq!(world.hashes() - hashes, 1, "{broken}");
    }
    assert_eq!(world.hasher.unreadable_total(), 3);
}

#[tokio::test]
async fn where_taken_addresses_are_concealed_nobody_logs_in_before_the_address_is_verified() {
    let registration = RegistrationConfig { conceal_taken: true, ..RegistrationConfig::default() };
    let world = World::with(&Setup { registration, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    let hashes = world.hashes();
    assert_eq!(world.log_in(ALICE, PASSWORD).await, LoginOutcome::Refused(Refusal::Unverified));
    assert_eq!(world.hashes() - hashes, 1, "as much work as for a wrong password");
    world.store.people.lock()[0].email_verified_at = Some(world.clock.now());
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
}

#[tokio::test]
async fn an_imported_password_logs_in_as_it_was_typed_there_and_in_its_other_form_afterwards() {
    let world = world_with_alice().await;
    let (typed, composed) = ("pa\u{308}sswo\u{308}rd", "p\u{e4}ssw\u{f6}rd");
    let bare = password_hash::hash(world.params, typed.as_bytes(), &[3; 16], &mut HashMemory::new()).unwrap();
    world.import(&bare);
    assert!(is_in(&world.log_in(ALICE, typed).await));
    assert_hardened(&world);
    assert!(is_in(&world.log_in(ALICE, composed).await) && is_in(&world.log_in(ALICE, typed).await));
}

#[tokio::test]
async fn guesses_are_slowed_down_and_the_owner_still_gets_in() {
    let world = world_with_alice().await;
    for _ in 0..6 {
        assert_eq!(world.log_in(ALICE, "guess guess").await, LoginOutcome::Refused(Refusal::WrongPassword));
    }
    assert_eq!(world.log_in(ALICE, PASSWORD).await, LoginOutcome::TooMany(Lifetime::secs(1)));
    world.clock.advance(Lifetime::secs(1));
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_eq!(world.log_in(ALICE, "guess guess").await, LoginOutcome::Refused(Refusal::WrongPassword));
}

/// As whom the first person is known now.
fn known_as(world: &World) -> KnownAs {
    KnownAs::of(&world.store.people.lock()[0])
}

/// Somebody else guesses at Alice's password until the next attempt has to wait.
async fn guess(world: &World) {
    for _ in 0..7 {
        world.log_in(ALICE, "guess guess").await;
    }
    assert!(matches!(world.log_in(ALICE, PASSWORD).await, LoginOutcome::TooMany(_)));
}

#[tokio::test]
async fn a_browser_that_is_known_does_not_wait_for_a_neighbour_who_guesses() {
    let world = world_with_alice().await;
    guess(&world).await;
    let from_home = Attempt { known_as: Some(known_as(&world)), ..attempt(ALICE, PASSWORD) };
    assert!(is_in(&world.login.log_in(from_home).await.unwrap()));
}

#[tokio::test]
async fn a_browser_is_known_to_a_person_and_until_their_password_is_another_one() {
    let world = world_with_alice().await;
    guess(&world).await;
    let now = known_as(&world);
    let formerly = KnownAs { revision: now.revision - 1, ..now };
    let another = KnownAs { identity: IdentityId::from_bytes([9; 16]), ..now };
    for known_as in [formerly, another] {
        let attempt = Attempt { known_as: Some(known_as), ..attempt(ALICE, PASSWORD) };
        assert!(matches!(world.login.log_in(attempt).await.unwrap(), LoginOutcome::TooMany(_)));
    }
}

#[tokio::test]
async fn who_shows_that_they_are_known_is_read_once_and_hashed_once_like_everybody() {
    let world = world_with_alice().await;
    let known = Some(known_as(&world));
    for (email, known_as) in [(ALICE, None), (ALICE, known), ("nobody@example.com", known)] {
        let (reads, hashes) = (world.store.reads.swap(0, Ordering::Relaxed), world.hashes());
        assert!(reads <= 1, "{reads} reads before");
        let attempt = Attempt { known_as, ..attempt(email, "guess guess") };
        assert!(matches!(world.login.log_in(attempt).await.unwrap(), LoginOutcome::Refused(_)));
        assert_eq!((world.store.reads.load(Ordering::Relaxed), world.hashes() - hashes), (1, 1), "{email}");
    }
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
async fn a_network_logs_in_so_often_and_no_more() {
    let limits = LimitsConfig { logins_per_network: Some(Rate::per_hour(2)), ..LimitsConfig::default() };
    let world = World::with(&Setup { limits, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await) && is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_eq!(world.log_in(ALICE, PASSWORD).await, LoginOutcome::TooMany(Lifetime::minutes(30)));
    let elsewhere = Network::from(std::net::IpAddr::from([192, 0, 2, 2]));
    let elsewhere = Attempt { network: elsewhere, ..attempt(ALICE, PASSWORD) };
    assert!(is_in(&world.login.log_in(elsewhere).await.unwrap()));
}

#[tokio::test]
async fn where_logins_are_not_limited_guesses_are_slowed_down_all_the_same() {
    let limits = LimitsConfig { logins_per_network: None, ..LimitsConfig::default() };
    let world = World::with(&Setup { limits, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    guess(&world).await;
}

/// A world with Alice, from each network of which so many log in.
async fn world_that_counts(logins: Rate) -> World {
    let limits = LimitsConfig { logins_per_network: Some(logins), ..LimitsConfig::default() };
    let world = World::with(&Setup { limits, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    world
}

async fn log_in_with_known_browser(world: &World) -> LoginOutcome {
    let attempt = Attempt { known_as: Some(known_as(world)), ..attempt(ALICE, PASSWORD) };
    world.login.log_in(attempt).await.unwrap()
}

#[tokio::test]
async fn strangers_do_not_use_up_the_logins_of_who_is_known_in_their_network() {
    let world = world_that_counts(Rate::per_hour(5)).await;
    for n in 0..6 {
        world.log_in(&format!("{n}@example.com"), "guess guess").await;
    }
    assert!(matches!(world.log_in(ALICE, PASSWORD).await, LoginOutcome::TooMany(_)));
    assert!(is_in(&log_in_with_known_browser(&world).await));
    let alice = world.store.people.lock()[0].id;
    let (session, password) = (SessionId::from_bytes([5; 16]), Secret::new(PASSWORD.to_owned()));
    let shown = world.login.verify_password((alice, session), &password, home()).await.unwrap();
    assert!(is_in(&shown));
}

#[tokio::test]
async fn while_a_network_waits_nobody_there_is_told_who_has_an_account() {
    let registration = RegistrationConfig { conceal_taken: true, ..RegistrationConfig::default() };
    let world = World::with(&Setup { registration, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    world.store.people.lock()[0].email_verified_at = Some(world.clock.now());
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    for n in 0..51 {
        let refused = world.log_in(&format!("{n}@example.com"), "guess guess").await;
        assert_eq!(refused, LoginOutcome::Refused(Refusal::UnknownAccount));
    }
    for email in ["nobody@example.com", ALICE] {
        let waits = world.log_in(email, "guess guess").await;
        assert_eq!(waits, LoginOutcome::TooMany(Lifetime::secs(1)), "{email}");
    }
    assert!(is_in(&log_in_with_known_browser(&world).await));
}

#[tokio::test]
async fn who_is_known_does_not_ask_for_hashes_without_end() {
    let world = world_that_counts(Rate::per_hour(1)).await;
    world.log_in("bob@example.com", "guess guess").await;
    let mut times = 0;
    while times < 100 && is_in(&log_in_with_known_browser(&world).await) {
        times += 1;
    }
    assert_eq!(times, 60);
    world.clock.advance(Lifetime::minutes(1));
    assert!(is_in(&log_in_with_known_browser(&world).await));
}

#[tokio::test]
async fn an_attempt_that_comes_too_early_for_its_network_is_no_guess() {
    let world = world_that_counts(Rate { burst: NonZeroU32::MIN, per: Lifetime::secs(1) }).await;
    world.log_in("bob@example.com", "guess guess").await;
    for _ in 0..6 {
        assert!(matches!(world.log_in(ALICE, "guess guess").await, LoginOutcome::TooMany(_)));
    }
    world.clock.advance(Lifetime::secs(1));
    assert_eq!(world.log_in(ALICE, "guess guess").await, LoginOutcome::Refused(Refusal::WrongPassword));
    world.clock.advance(Lifetime::secs(1));
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
}

#[tokio::test]
async fn an_attempt_that_was_never_looked_at_does_not_count() {
    let world = world_with_alice().await;
    *world.store.down.lock() = true;
    for _ in 0..100 {
        let lost = world.login.log_in(attempt(ALICE, PASSWORD)).await;
        assert!(matches!(lost, Err(IdentityError::Store(_))), "{lost:?}");
    }
    *world.store.down.lock() = false;
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
}

#[tokio::test]
async fn who_finds_no_place_for_their_hash_costs_the_store_nothing_and_has_not_guessed() {
    let world = World::with(&Setup { waiting: 0, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    let known = known_as(&world);
    // Whatever is read fails.
    *world.store.down.lock() = true;
    let is_busy = |error: &IdentityError| matches!(error, IdentityError::Busy(PoolBusy::QueueFull { .. }));
    for (email, known_as) in [(ALICE, None), (ALICE, Some(known)), ("nobody@example.com", None)] {
        for _ in 0..20 {
            let refused = world.login.log_in(Attempt { known_as, ..attempt(email, "guess guess") }).await;
            assert!(refused.as_ref().is_err_and(is_busy), "{email}: {refused:?}");
        }
    }
    let (session, password) = (SessionId::from_bytes([5; 16]), Secret::new(PASSWORD.to_owned()));
    let refused = world.login.verify_password((known.identity, session), &password, home()).await;
    assert!(refused.as_ref().is_err_and(is_busy), "{refused:?}");
    assert_eq!(world.pool.metrics().rejected_total(Priority::Login), 61);
}

#[tokio::test]
async fn whose_network_has_its_share_of_the_places_costs_the_store_and_the_pool_nothing() {
    let world = World::with(&Setup { waiting: 4, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    let known = known_as(&world);
    // The only thread is busy until it is told.
    let (told, busy) = mpsc::channel::<()>();
    let blocker = world.pool.run(Priority::Login, move |_| busy.recv().is_err());
    let mut first = Box::pin(world.login.log_in(attempt(ALICE, PASSWORD)));
    assert!(look(&mut first).await.is_pending());
    // Whatever is read fails.
    *world.store.down.lock() = true;
    let waits = LoginOutcome::TooMany(Lifetime::secs(1));
    for known_as in [None, Some(known)] {
        let refused = world.login.log_in(Attempt { known_as, ..attempt(ALICE, PASSWORD) }).await;
        assert_eq!(refused.unwrap(), waits);
    }
    let (session, password) = (SessionId::from_bytes([5; 16]), Secret::new(PASSWORD.to_owned()));
    let refused = world.login.verify_password((known.identity, session), &password, home()).await;
    assert_eq!(refused.unwrap(), waits);
    assert_eq!(world.pool.metrics().rejected_total(Priority::Login), 0);
    *world.store.down.lock() = false;
    drop(told);
    assert_eq!(blocker.await, Ok(true));
    assert!(is_in(&first.await.unwrap()));
}

#[tokio::test]
async fn who_has_to_wait_gives_their_place_in_the_pool_back() {
    let world = World::with(&Setup { waiting: 1, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    guess(&world).await;
    for _ in 0..3 {
        assert!(matches!(world.log_in(ALICE, PASSWORD).await, LoginOutcome::TooMany(_)));
    }
    world.clock.advance(Lifetime::minutes(1));
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
}

/// Looks once what has become of a login.
async fn look<F: Future>(login: &mut Pin<Box<F>>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(login.as_mut().poll(context))).await
}

/// What comes of a login whose client has left.
async fn left<F: Future>(mut login: Pin<Box<F>>) -> F::Output {
    poll_fn(|context| unheard(|| login.as_mut().poll(context))).await
}

const fn is_unheard(outcome: &Result<LoginOutcome, IdentityError>) -> bool {
    matches!(outcome, Err(IdentityError::Busy(PoolBusy::Unheard)))
}

#[tokio::test]
async fn who_leaves_while_they_wait_is_not_looked_at_and_has_not_guessed() {
    let world = world_with_alice().await;
    // The only thread is busy until it is told.
    let (told, busy) = mpsc::channel::<()>();
    let blocker = world.pool.run(Priority::Login, move |_| busy.recv().is_err());
    for _ in 0..20 {
        let mut login = Box::pin(world.login.log_in(attempt(ALICE, "guess guess")));
        assert!(look(&mut login).await.is_pending());
        let outcome = left(login).await;
        assert!(is_unheard(&outcome), "{outcome:?}");
    }
    drop(told);
    assert_eq!(blocker.await, Ok(true));
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
    assert_eq!(world.hashes(), 2);
}

/// Attempts to log in and leaves when the hash is computed.
async fn attempt_and_leave(world: &World, password: &str) -> Result<LoginOutcome, IdentityError> {
    let (told, busy) = mpsc::channel::<()>();
    let hashes = world.hashes();
    let blocker = world.pool.run(Priority::Login, move |_| busy.recv().is_err());
    let mut login = Box::pin(world.login.log_in(attempt(ALICE, password)));
    assert!(look(&mut login).await.is_pending());
    drop(told);
    assert_eq!(blocker.await, Ok(true));
    while world.hashes() < hashes + 2 {
        tokio::task::yield_now().await;
    }
    left(login).await
}

#[tokio::test]
async fn who_leaves_too_late_has_guessed() {
    let world = world_with_alice().await;
    for _ in 0..6 {
        let outcome = attempt_and_leave(&world, "guess guess").await.unwrap();
        assert_eq!(outcome, LoginOutcome::Refused(Refusal::WrongPassword));
    }
    assert!(matches!(world.log_in(ALICE, PASSWORD).await, LoginOutcome::TooMany(_)));
}

#[tokio::test]
async fn who_leaves_is_not_logged_in_even_if_the_password_was_right() {
    let world = world_with_alice().await;
    let outcome = attempt_and_leave(&world, PASSWORD).await;
    assert!(is_unheard(&outcome), "{outcome:?}");
    assert_hardened(&world);
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await));
}

#[tokio::test]
async fn whoever_is_logged_in_proves_the_password_again_and_is_slowed_down_likewise() {
    let world = world_with_alice().await;
    let alice = world.store.people.lock()[0].id;
    let session = SessionId::from_bytes([5; 16]);
    let verify_in = async |session: SessionId, id: IdentityId, password: &str| {
        let password = Secret::new(password.to_owned());
        world.login.verify_password((id, session), &password, home()).await.unwrap()
    };
    let verify = async |id, password: &str| verify_in(session, id, password).await;
    assert!(is_in(&verify(alice, PASSWORD).await));
    assert_eq!(verify(alice, "").await, LoginOutcome::Refused(Refusal::Malformed));
    let nobody = IdentityId::from_bytes([9; 16]);
    assert_eq!(verify(nobody, PASSWORD).await, LoginOutcome::Refused(Refusal::UnknownAccount));
    for _ in 0..6 {
        assert_eq!(verify(alice, "guess guess").await, LoginOutcome::Refused(Refusal::WrongPassword));
    }
    assert_eq!(verify(alice, PASSWORD).await, LoginOutcome::TooMany(Lifetime::secs(1)));
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await), "guesses there are not guesses here");
    let another = SessionId::from_bytes([6; 16]);
    assert!(is_in(&verify_in(another, alice, PASSWORD).await), "nor are they those of another session");
}

#[tokio::test]
async fn one_network_does_not_take_the_places_of_all_who_log_in() {
    let world = World::with(&Setup { waiting: 64, ..Setup::default() });
    world.register(ALICE, PASSWORD).await;
    // The only thread is busy until it is told.
    let (told, busy) = std::sync::mpsc::channel::<()>();
    let blocker = world.pool.run(Priority::Login, move |_| {
        let _ = busy.recv();
    });
    let mut flood = Vec::new();
    for n in 0..40 {
        let mut login = Box::pin(world.login.log_in(attempt(&format!("{n}@example.com"), PASSWORD)));
        // Polled once: it waits for its hash, or was turned away.
        let polled =
            std::future::poll_fn(|context| std::task::Poll::Ready(login.as_mut().poll(context))).await;
        if polled.is_pending() {
            flood.push(login);
        } else {
            let turned_away = matches!(polled, std::task::Poll::Ready(Ok(LoginOutcome::TooMany(_))));
            assert!(turned_away, "{polled:?}");
        }
    }
    assert_eq!(flood.len(), 5, "a quarter of the 21 who may wait while it is not known how long hashes take");
    drop(told);
    assert_eq!(blocker.await, Ok(()));
    let elsewhere = Network::from(std::net::IpAddr::from([192, 0, 2, 2]));
    let elsewhere = Attempt { network: elsewhere, ..attempt(ALICE, PASSWORD) };
    assert!(is_in(&world.login.log_in(elsewhere).await.unwrap()));
    for login in flood {
        assert_eq!(login.await.unwrap(), LoginOutcome::Refused(Refusal::UnknownAccount));
    }
    assert!(is_in(&world.log_in(ALICE, PASSWORD).await), "the places are given back");
}
