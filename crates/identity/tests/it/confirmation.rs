//! Who it is, once more, before something is changed that matters.

#![expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]

use sluice_identity::Identity;
use sluice_identity::account::{Confirmation, Denied, Outcome, PasswordChange};
use sluice_identity::factor::{Enrolled, EnrolmentOutcome, FactorProof};
use sluice_identity::identity::{IdentityChange, IdentityDirectory, IdentityRepository, NewCredential};
use sluice_identity::session::Caller;
use sluice_primitives::{AttemptId, Clock, Lifetime, Secret};
use sluice_store_contract::given;

use super::factor::world::App;
use super::services::{ALICE, PASSWORD, Services, confirmation, network, secret};

const NEW: &str = "alice@example.org";
const PASSKEY: &[&str] = &["hwk", "user", "mfa"];

/// Alice enrols an authenticator app.
pub(crate) async fn enrol(services: &Services, alice: &Identity) -> (App, EnrolmentOutcome) {
    let begun = services.factors.begin_totp(alice);
    let app = App::scan(&begun.secret_base32);
    let code = app.code(&services.clock);
    let outcome =
        services.factors.confirm_totp(given::enroller(alice), &begun.ticket, &code, "Phone").await.unwrap();
    services.clock.advance(Lifetime::secs(60));
    (app, outcome)
}

/// What comes of each thing that asks who it is.
async fn each(services: &Services, confirmation: &Confirmation<'_>) -> [Option<Denied>; 4] {
    let account = &services.account;
    let new = secret("battery staple");
    let change = PasswordChange { confirmation: *confirmation, new: &new, keep: None };
    [
        denied(&account.confirm(confirmation).await.unwrap()),
        denied(&account.begin_email_change(confirmation, NEW).await.unwrap()),
        denied(&account.change_password(&change).await.unwrap()),
        denied(&account.delete_account(confirmation).await.unwrap()),
    ]
}

fn denied<T>(outcome: &Outcome<T>) -> Option<Denied> {
    match outcome {
        Outcome::Done(_) => None,
        Outcome::Denied(denied) => Some(*denied),
    }
}

async fn confirm(services: &Services, caller: &Caller, password: Option<&Secret<String>>) -> Option<Denied> {
    denied(&services.account.confirm(&confirmation(caller, password)).await.unwrap())
}

#[tokio::test]
async fn a_session_that_showed_no_second_factor_changes_nothing_of_somebody_who_has_one() {
    let (services, alice, _) = Services::with_alice().await;
    let (app, enrolled) = enrol(&services, &alice).await;
    assert!(matches!(enrolled, EnrolmentOutcome::Enrolled(_)), "{enrolled:?}");
    let (caller, password) = (services.caller(&alice, &["pwd"]).await, secret(PASSWORD));
    let refused = each(&services, &confirmation(&caller, Some(&password))).await;
    assert_eq!(refused, [Some(Denied::SecondFactorRequired); 4]);
    let code = app.code(&services.clock);
    let with = |code| Confirmation {
        factor: Some(FactorProof::Totp(code)),
        ..confirmation(&caller, Some(&password))
    };
    let wrong = services.account.confirm(&with("000000")).await.unwrap();
    assert_eq!(denied(&wrong), Some(Denied::WrongCode));
    let shown = services.account.confirm(&with(&code)).await.unwrap();
    assert_eq!(denied(&shown), None);
    let stronger = services.caller(&alice, &["pwd", "otp", "mfa"]).await;
    assert_eq!(confirm(&services, &stronger, Some(&password)).await, None);
    assert!(services.store.find(alice.id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_wrong_password_spends_no_recovery_code() {
    let (services, alice, _) = Services::with_alice().await;
    let (_, outcome) = enrol(&services, &alice).await;
    let EnrolmentOutcome::Enrolled(Enrolled { recovery_codes: Some(codes), .. }) = outcome else {
        panic!("{outcome:?}")
    };
    let (caller, code) = (services.caller(&alice, &["pwd"]).await, codes.first().unwrap().grouped());
    for (password, expected) in [("guess guess", Some(Denied::WrongPassword)), (PASSWORD, None)] {
        let password = secret(password);
        let shown = confirmation(&caller, Some(&password));
        let shown = Confirmation { factor: Some(FactorProof::RecoveryCode(&code)), ..shown };
        assert_eq!(denied(&services.account.confirm(&shown).await.unwrap()), expected);
    }
    assert_eq!(services.factors.recovery_codes_left(alice.id).await.unwrap(), 9);
}

#[tokio::test]
async fn who_logged_in_with_a_password_shows_it_again_and_who_did_with_a_passkey_need_not_at_once() {
    let (services, alice, _) = Services::with_alice().await;
    let (by_password, by_passkey) =
        (services.caller(&alice, &["pwd"]).await, services.caller(&alice, PASSKEY).await);
    let asked = each(&services, &confirmation(&by_password, None)).await;
    assert_eq!(asked, [Some(Denied::ConfirmationRequired); 4]);
    assert_eq!(confirm(&services, &by_passkey, None).await, None);
    services.clock.advance(Lifetime::minutes(10));
    let late = each(&services, &confirmation(&by_passkey, None)).await;
    assert_eq!(late, [Some(Denied::ConfirmationRequired); 4]);
}

#[tokio::test]
async fn people_without_a_password_change_their_address_and_leave_with_a_passkey() {
    let (services, alice, _) = Services::with_alice().await;
    let change = IdentityChange {
        credential: Some(NewCredential { stored: String::new(), hardening: false }),
        ..IdentityChange::of(&alice, services.clock.now(), AttemptId::from_bytes([7; 16]))
    };
    services.store.change(&change).await.unwrap();
    let alice = services.stored(ALICE).await;
    let caller = services.caller(&alice, PASSKEY).await;
    let shown = confirmation(&caller, None);
    let begun = services.account.begin_email_change(&shown, NEW).await.unwrap();
    assert_eq!(begun, Outcome::Done(()));
    assert_eq!(services.mail().await.to, NEW);
    assert_eq!(services.account.delete_account(&shown).await.unwrap(), Outcome::Done(()));
    assert!(services.store.find(alice.id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_session_that_has_ended_confirms_nothing_whatever_its_token_says() {
    let (services, alice, _) = Services::with_alice().await;
    let (caller, password) = (services.caller(&alice, PASSKEY).await, secret(PASSWORD));
    assert_eq!(confirm(&services, &caller, None).await, None);
    // As on another node, or in a request whose body came later: nothing in memory knows of it.
    let (now, later) = (services.clock.now(), services.clock.now() + Lifetime::minutes(20));
    services.sessions.sessions.end(caller.session, alice.id, (now, later)).await.unwrap();
    for shown in [None, Some(&password)] {
        let refused = each(&services, &confirmation(&caller, shown)).await;
        assert_eq!(refused, [Some(Denied::Gone); 4]);
    }
    assert_eq!(services.stored(ALICE).await.revision, alice.revision);
}

#[tokio::test]
async fn guesses_with_a_stolen_token_keep_no_other_session_waiting() {
    let (services, alice, _) = Services::with_alice().await;
    let (thief, owner) = (services.caller(&alice, &["pwd"]).await, services.caller(&alice, &["pwd"]).await);
    let (guess, password) = (secret("guess guess"), secret(PASSWORD));
    let mut last = None;
    for _ in 0..20 {
        last = confirm(&services, &thief, Some(&guess)).await;
    }
    assert!(matches!(last, Some(Denied::TooMany(_))), "{last:?}");
    assert_eq!(confirm(&services, &owner, Some(&password)).await, None);
}

#[tokio::test]
async fn a_right_password_is_shown_so_often_in_whatever_session_and_wrong_ones_use_nothing_up() {
    let (services, alice, _) = Services::with_alice().await;
    let (guess, password) = (secret("guess guess"), secret(PASSWORD));
    for _ in 0..60 {
        let caller = services.caller(&alice, &["pwd"]).await;
        assert_eq!(confirm(&services, &caller, Some(&guess)).await, Some(Denied::WrongPassword));
        assert_eq!(confirm(&services, &caller, Some(&password)).await, None);
    }
    let caller = services.caller(&alice, &["pwd"]).await;
    let refused = each(&services, &confirmation(&caller, Some(&password))).await;
    assert!(refused.iter().all(|denied| matches!(denied, Some(Denied::TooMany(_)))), "{refused:?}");
    services.clock.advance(Lifetime::minutes(1));
    assert_eq!(confirm(&services, &caller, Some(&password)).await, None);
}

#[tokio::test]
async fn whoever_has_the_password_alone_uses_up_nothing_of_who_has_the_second_factor_too() {
    let (services, alice, _) = Services::with_alice().await;
    enrol(&services, &alice).await;
    let password = secret(PASSWORD);
    for _ in 0..70 {
        let caller = services.caller(&alice, &["pwd"]).await;
        let factor = Some(FactorProof::RecoveryCode("WRONG-WRONG"));
        let shown = Confirmation { factor, ..confirmation(&caller, Some(&password)) };
        let refused = denied(&services.account.confirm(&shown).await.unwrap());
        assert!(matches!(refused, Some(Denied::WrongCode | Denied::TooMany(_))), "{refused:?}");
    }
    let owner = services.caller(&alice, &["pwd", "otp", "mfa"]).await;
    assert_eq!(confirm(&services, &owner, Some(&password)).await, None);
}

#[tokio::test]
async fn the_first_factor_ends_the_sessions_that_showed_none_but_the_one_it_was_enrolled_in() {
    let (services, alice, present) = Services::with_alice().await;
    let other = services.sign_in(ALICE, PASSWORD).await;
    let stronger = ["hwk", "user", "mfa"].map(str::to_owned).to_vec();
    let stronger = services.sessions.begin(&alice, stronger, "test/1.0", network()).await.unwrap();
    services.account.end_weaker_sessions(alice.id, present.session).await.unwrap();
    assert!(services.holds(&present) && services.holds(&stronger) && !services.holds(&other));
    assert!(services.refreshed(&other).await.is_none());
}

#[tokio::test]
async fn nobody_adds_a_factor_to_an_account_whose_address_is_not_verified() {
    let services = Services::new().await;
    let alice = services.register(ALICE).await;
    assert_eq!(enrol(&services, &alice).await.1, EnrolmentOutcome::Unverified);
    assert!(services.factors.list(alice.id).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_address_that_nobody_verified_is_told_nothing_and_written_to_no_more_than_others() {
    let services = Services::new().await;
    let mut mails = 0;
    for _ in 0..15 {
        let alice = services.register(ALICE).await;
        services.change_password(&alice, (PASSWORD, "battery staple"), None).await;
        let present = services.stored(ALICE).await;
        let (caller, password) = (services.caller(&present, &["pwd"]).await, secret("battery staple"));
        let gone = services.account.delete_account(&confirmation(&caller, Some(&password))).await.unwrap();
        assert_eq!(gone, Outcome::Done(()));
        mails += services.new_mails().await.len();
    }
    assert_eq!(mails, 10, "ten an hour, each asking to verify the address");
}

#[tokio::test]
async fn the_owner_of_a_verified_address_is_told_also_when_strangers_had_mails_sent_to_it() {
    let (services, alice, _) = Services::with_alice().await;
    for _ in 0..20 {
        services.sign_up(ALICE, true).await;
    }
    services.new_mails().await;
    services.change_password(&alice, (PASSWORD, "battery staple"), None).await;
    assert_eq!(services.mail().await.subject, "Your password at Example was changed");
}
