//! What somebody with a stolen access token, or without any, cannot keep others from.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "clippy sees no test in helpers of tests")]

use std::net::IpAddr;

use sluice_identity::account::{Denied, Outcome, PasswordChange};
use sluice_identity::factor::{FactorRepository, RenameOutcome};
use sluice_identity::session::Caller;
use sluice_identity::{Attempt, Identity, LoginOutcome, Network};
use sluice_primitives::{Lifetime, Secret};
use sluice_store_contract::given;

use super::services::{ALICE, PASSWORD, Services, confirmation, link, network, secret};

const NEW: &str = "battery staple";

fn elsewhere(n: u8) -> Network {
    IpAddr::from([198, 51, 100, n]).into()
}

/// All that an access token can do to the record.
async fn meddle(services: &Services, alice: &Identity) {
    services.sign_in(ALICE, PASSWORD).await;
    let own = services.sessions.list(alice.id).await.unwrap()[0].id;
    services.sessions.end_others(alice.id, own).await.unwrap();
    let renamed = services.account.set_username(alice.id, "The thief").await.unwrap();
    assert_eq!(renamed, Outcome::Done(()));
}

async fn ticket(services: &Services) -> Secret<String> {
    services.account.begin_recovery(ALICE, network()).await.unwrap();
    let mails = services.new_mails().await;
    let outcome = services.account.check_recovery(&link(&mails[0]), network()).await.unwrap();
    let Outcome::Done(ticket) = outcome else { panic!("{outcome:?}") };
    ticket
}

async fn log_in_from(services: &Services, network: Network, password: &str) -> LoginOutcome {
    let (email, password) = (ALICE.to_owned(), secret(password));
    services.login.log_in(Attempt { email, password, network, known_as: None }).await.unwrap()
}

#[tokio::test]
async fn whoever_changes_a_record_all_the_time_keeps_its_owner_from_nothing() {
    let (services, alice, _) = Services::with_alice().await;
    let LoginOutcome::LoggedIn(proved) = services.log_in(ALICE, PASSWORD).await else { panic!() };
    meddle(&services, &alice).await;
    let begun = services.sessions.begin(&proved, vec!["pwd".to_owned()], "browser", network()).await;
    assert!(begun.is_ok(), "{begun:?}");
    services.account.begin_recovery(ALICE, network()).await.unwrap();
    let mails = services.new_mails().await;
    meddle(&services, &alice).await;
    let outcome = services.account.check_recovery(&link(&mails[0]), network()).await.unwrap();
    let Outcome::Done(ticket) = outcome else { panic!("{outcome:?}") };
    meddle(&services, &alice).await;
    let done = services.account.finish_recovery(ticket.expose(), &secret(NEW), network()).await.unwrap();
    assert_eq!(done, Outcome::Done(alice.id));
    assert!(services.sessions.list(alice.id).await.unwrap().is_empty(), "the thief is out");
}

#[tokio::test]
async fn an_access_token_sets_a_name_so_often_and_no_more() {
    let (services, alice, _) = Services::with_alice().await;
    let mut set = 0;
    let refused = loop {
        match services.account.set_username(alice.id, &format!("Alice {set}")).await.unwrap() {
            Outcome::Done(()) => set += 1,
            Outcome::Denied(denied) => break denied,
        }
    };
    assert_eq!(set, 60);
    assert!(matches!(refused, Denied::TooMany(_)), "{refused:?}");
    assert_eq!(services.stored(ALICE).await.username, "Alice 59");
}

#[tokio::test]
async fn an_access_token_renames_a_factor_so_often_and_no_more() {
    let (services, alice, _) = Services::with_alice().await;
    let factor = given::factor(alice.id, 0);
    services.store.add(&factor, alice.revision, None, None).await.unwrap();
    let mut renamed = 0;
    let refused = loop {
        match services.factors.rename(alice.id, factor.id, &format!("Phone {renamed}")).await.unwrap() {
            RenameOutcome::Renamed => renamed += 1,
            refused => break refused,
        }
    };
    assert_eq!(renamed, 60);
    assert!(matches!(refused, RenameOutcome::TooMany(_)), "{refused:?}");
    let named = services.account.set_username(alice.id, "Alice").await.unwrap();
    assert!(matches!(named, Outcome::Denied(Denied::TooMany(_))), "all changes are counted together");
}

/// Each change begins a new session, of which nothing is counted yet.
#[tokio::test]
async fn a_password_goes_back_and_forth_so_often_and_no_more() {
    let (services, alice, _) = Services::with_alice().await;
    let mut caller = services.caller(&alice, &["pwd"]).await;
    let mut passwords = [secret(PASSWORD), secret(NEW)];
    let mut changed = 0;
    let refused = loop {
        let confirmation = confirmation(&caller, Some(&passwords[0]));
        let change = PasswordChange { confirmation, new: &passwords[1], keep: Some(caller.session) };
        let pair = match services.account.change_password(&change).await.unwrap() {
            Outcome::Done(pair) => pair.unwrap(),
            Outcome::Denied(denied) => break denied,
        };
        caller = services.sessions.authenticate(pair.access_token.expose()).unwrap();
        passwords.swap(0, 1);
        services.clock.advance(Lifetime::millis(1));
        changed += 1;
    };
    assert_eq!((changed, services.stored(ALICE).await.revision), (60, alice.revision + 60));
    assert!(matches!(refused, Denied::TooMany(_)), "{refused:?}");
}

/// As by a passkey.
#[tokio::test]
async fn who_is_not_asked_for_the_password_sets_another_so_often_and_no_more() {
    let (services, alice, _) = Services::with_alice().await;
    let mut caller = services.caller(&alice, &["hwk", "user", "mfa"]).await;
    let set = async |caller: &Caller, new: &str| {
        let (confirmation, new) = (confirmation(caller, None), secret(new));
        let change = PasswordChange { confirmation, new: &new, keep: Some(caller.session) };
        services.account.change_password(&change).await.unwrap()
    };
    for n in 0..60 {
        // Whoever has a stolen token, and wants what may not be chosen, uses nothing up.
        assert!(matches!(set(&caller, "short").await, Outcome::Denied(Denied::Invalid(_))));
        let done = set(&caller, &format!("battery staple {n}")).await;
        let Outcome::Done(Some(pair)) = done else { panic!("{done:?}") };
        caller = services.sessions.authenticate(pair.access_token.expose()).unwrap();
        services.clock.advance(Lifetime::millis(1));
    }
    let refused = set(&caller, "battery staple").await;
    assert!(matches!(refused, Outcome::Denied(Denied::TooMany(_))), "{refused:?}");
}

#[tokio::test]
async fn to_end_other_sessions_writes_nothing_if_there_is_none() {
    let (services, alice, pair) = Services::with_alice().await;
    let before = services.stored(ALICE).await;
    services.sessions.end_others(alice.id, pair.session).await.unwrap();
    assert_eq!(services.stored(ALICE).await, before);
    services.sign_in(ALICE, PASSWORD).await;
    services.sessions.end_others(alice.id, pair.session).await.unwrap();
    assert_ne!(services.stored(ALICE).await.attempt, before.attempt);
}

#[tokio::test]
async fn whoever_recovered_an_account_does_not_wait_for_strangers_who_guess_at_it() {
    let (services, _, _) = Services::with_alice().await;
    let ticket = ticket(&services).await;
    for n in 1..=60 {
        log_in_from(&services, elsewhere(n), "guess guess").await;
    }
    assert!(matches!(log_in_from(&services, elsewhere(100), PASSWORD).await, LoginOutcome::TooMany(_)));
    let done = services.account.finish_recovery(ticket.expose(), &secret(NEW), elsewhere(100)).await.unwrap();
    assert!(matches!(done, Outcome::Done(_)), "{done:?}");
    assert!(matches!(log_in_from(&services, elsewhere(100), NEW).await, LoginOutcome::LoggedIn(_)));
}

#[tokio::test]
async fn a_ticket_is_tried_so_often_and_no_more() {
    let (services, _, _) = Services::with_alice().await;
    let ticket = ticket(&services).await;
    let mut tried = 0;
    let refused = loop {
        match services.account.finish_recovery(ticket.expose(), &secret("short"), network()).await.unwrap() {
            Outcome::Denied(Denied::Invalid(_)) => tried += 1,
            Outcome::Denied(denied) => break denied,
            done @ Outcome::Done(_) => panic!("{done:?}"),
        }
    };
    assert!((29..=30).contains(&tried), "{tried}");
    assert!(matches!(refused, Denied::TooMany(_)), "{refused:?}");
}
