//! The way back in without the password.

#![expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]

use sluice_identity::account::{Denied, MailProof, Outcome};
use sluice_identity::factor::{EnrolmentOutcome, FactorKind, FactorRepository, NewPasskey};
use sluice_identity::identity::{IdentityChange, IdentityDirectory, NewEmail};
use sluice_identity::mail::MailRepository;
use sluice_identity::{
    Attempt, Email, Identity, IdentityStatus, InvalidField, LoginOutcome, Network, Refusal, WeakPassword,
};
use sluice_primitives::{AttemptId, Clock, Lifetime, Secret};
use sluice_store_contract::given;
use sluice_testkit::Authenticator;

use super::confirmation::enrol;
use super::factor::world::ORIGIN;
use super::services::{ALICE, PASSWORD, Services, code, link, network, secret, typed};

const NEW: &str = "battery staple";

async fn ticket(services: &Services, proof: &MailProof) -> Option<Secret<String>> {
    match services.account.check_recovery(proof, network()).await.unwrap() {
        Outcome::Done(ticket) => Some(ticket),
        Outcome::Denied(denied) => {
            assert_eq!(denied, Denied::WrongCode);
            None
        }
    }
}

async fn begin(services: &Services, email: &str) -> Outcome<()> {
    services.account.begin_recovery(email, network()).await.unwrap()
}

#[tokio::test]
async fn whoever_reads_the_mail_sets_another_password_and_everything_else_ends() {
    let (services, alice, pair) = Services::with_alice().await;
    assert_eq!(begin(&services, "Alice@example.com").await, Outcome::Done(()));
    let mail = services.mail().await;
    let ticket = ticket(&services, &typed(ALICE, &code(&mail))).await.unwrap();
    assert!(services.holds(&pair), "not before the password is another");
    let done = services.account.finish_recovery(ticket.expose(), &secret(NEW), network()).await.unwrap();
    assert_eq!(done, Outcome::Done(alice.id));
    assert!(!services.holds(&pair) && services.refreshed(&pair).await.is_none());
    assert!(services.stored(ALICE).await.email_verified_at.is_some());
    assert_eq!(services.log_in(ALICE, PASSWORD).await, LoginOutcome::Refused(Refusal::WrongPassword));
    assert!(matches!(services.log_in(ALICE, NEW).await, LoginOutcome::LoggedIn(_)));
    assert_eq!(services.mail().await.subject, "Your password at Example was changed");
}

#[tokio::test]
async fn a_ticket_is_good_once_and_a_weak_password_does_not_spend_it() {
    let (services, _, _) = Services::with_alice().await;
    begin(&services, ALICE).await;
    let mail = services.mail().await;
    let ticket = ticket(&services, &link(&mail)).await.unwrap();
    let finish = async |password: &str| {
        services.account.finish_recovery(ticket.expose(), &secret(password), network()).await.unwrap()
    };
    let too_short = Denied::Invalid(InvalidField::Password(WeakPassword::TooShort));
    assert_eq!(finish("short").await, Outcome::Denied(too_short));
    assert!(matches!(finish(NEW).await, Outcome::Done(_)));
    assert_eq!(finish("another battery").await, Outcome::Denied(Denied::WrongCode));
    assert!(super::recovery::ticket(&services, &link(&mail)).await.is_none(), "nor is the code");
}

#[tokio::test]
async fn an_address_without_an_account_costs_the_same_and_gets_no_mail() {
    let (services, alice, _) = Services::with_alice().await;
    assert_eq!(begin(&services, "nobody@example.com").await, begin(&services, ALICE).await);
    assert_eq!(services.store.sealed_mails(None, 10).await.unwrap().len(), 2, "both are queued");
    assert_eq!(services.store.depth().await.unwrap(), (1, 0), "one is due");
    assert_eq!(services.mail().await.to, alice.email);
    assert_eq!(services.store.depth().await.unwrap(), (0, 0));
    assert!(ticket(&services, &typed("nobody@example.com", "ABCD-EFGH")).await.is_none());
}

#[tokio::test]
async fn who_may_not_log_in_cannot_recover_either() {
    let (services, alice, _) = Services::with_alice().await;
    begin(&services, ALICE).await;
    let before = services.mail().await;
    let now = alice.created_at;
    let change = IdentityChange {
        status: Some(IdentityStatus::Disabled),
        ..IdentityChange::of(&alice, now, AttemptId::from_bytes([7; 16]))
    };
    services.store.change(&change).await.unwrap();
    assert!(ticket(&services, &link(&before)).await.is_none());
    assert_eq!(begin(&services, ALICE).await, Outcome::Done(()));
    assert!(services.new_mails().await.is_empty());
}

#[tokio::test]
async fn code_and_ticket_are_good_for_fifteen_minutes_each() {
    let (services, _, _) = Services::with_alice().await;
    begin(&services, ALICE).await;
    let mail = services.mail().await;
    services.clock.advance(Lifetime::minutes(15));
    assert!(ticket(&services, &link(&mail)).await.is_none());
    begin(&services, ALICE).await;
    let mail = services.mail().await;
    let ticket = ticket(&services, &link(&mail)).await.unwrap();
    services.clock.advance(Lifetime::minutes(15));
    let late = services.account.finish_recovery(ticket.expose(), &secret(NEW), network()).await.unwrap();
    assert_eq!(late, Outcome::Denied(Denied::WrongCode));
}

#[tokio::test]
async fn a_code_is_void_when_a_newer_one_was_asked_for_or_the_password_was_changed() {
    let (services, alice, _) = Services::with_alice().await;
    begin(&services, ALICE).await;
    let first = services.mail().await;
    begin(&services, ALICE).await;
    let second = services.mail().await;
    assert!(ticket(&services, &link(&first)).await.is_none());
    services.change_password(&alice, (PASSWORD, NEW), None).await;
    assert!(ticket(&services, &link(&second)).await.is_none());
}

#[tokio::test]
async fn an_account_that_was_never_verified_is_recovered_without_what_its_maker_left() {
    let services = Services::new().await;
    let made = services.register(ALICE).await;
    services.account.set_username(made.id, "The thief").await.unwrap();
    services
        .store
        .add(&given::factor(made.id, 0), made.revision, Some(given::with_first(&[[1; 32]])), None)
        .await
        .unwrap();
    services.new_mails().await;
    begin(&services, ALICE).await;
    let ticket = ticket(&services, &link(&services.mail().await)).await.unwrap();
    let done = services.account.finish_recovery(ticket.expose(), &secret(NEW), network()).await.unwrap();
    assert_eq!(done, Outcome::Done(made.id));
    assert!(services.factors.list(made.id).await.unwrap().is_empty());
    assert_eq!(services.factors.recovery_codes_left(made.id).await.unwrap(), 0);
    assert_eq!(services.stored(ALICE).await.username, "");
    let told = services.new_mails().await;
    let mut subjects: Vec<_> = told.iter().map(|mail| mail.subject.as_str()).collect();
    subjects.sort_unstable();
    let [removed, changed] =
        ["A sign-in method was removed from your account at Example", "Your password at Example was changed"];
    assert_eq!(subjects, [removed, changed]);
    assert!(told.iter().all(|mail| !mail.text.contains("Telephone")), "a stranger may have called it so");
}

/// Whoever registers sets a password: it was no stranger who made an account without one.
#[tokio::test]
async fn what_somebody_without_a_password_is_called_stays_when_the_account_is_recovered() {
    let services = Services::new().await;
    let login_name = ALICE.parse::<Email>().unwrap().login_name();
    let made = Identity { login_name, credential: String::new(), ..given::identity(ALICE) };
    given::registered(&*services.store, made).await;
    begin(&services, ALICE).await;
    let ticket = ticket(&services, &link(&services.mail().await)).await.unwrap();
    services.account.finish_recovery(ticket.expose(), &secret(NEW), network()).await.unwrap();
    let recovered = services.stored(ALICE).await;
    assert_eq!((recovered.username.as_str(), recovered.email_verified_at.is_some()), ("Alice", true));
    assert!(matches!(services.log_in(ALICE, NEW).await, LoginOutcome::LoggedIn(_)));
}

#[tokio::test]
async fn second_factors_of_a_verified_account_stay_when_it_is_recovered() {
    let (services, alice, _) = Services::with_alice().await;
    services.account.set_username(alice.id, "Alice").await.unwrap();
    services.store.add(&given::factor(alice.id, 0), alice.revision, None, None).await.unwrap();
    begin(&services, ALICE).await;
    let ticket = ticket(&services, &link(&services.mail().await)).await.unwrap();
    services.account.finish_recovery(ticket.expose(), &secret(NEW), network()).await.unwrap();
    assert_eq!(services.factors.list(alice.id).await.unwrap().len(), 1);
    assert_eq!(services.stored(ALICE).await.username, "Alice");
}

/// A passkey of Alice.
async fn enrol_passkey(services: &Services, alice: &Identity) -> EnrolmentOutcome {
    let begun = services.factors.begin_passkey_enrolment(alice, b"enrolment").await.unwrap().unwrap();
    let response = Authenticator::in_software(1, ORIGIN).create(&begun.options);
    let new = NewPasskey { state: &begun.state, response: &response, name: "Key", context: b"enrolment" };
    services.factors.finish_passkey_enrolment(given::enroller(alice), new).await.unwrap()
}

/// An administrator takes the verification of the address away: it is no stranger's account. With another address it may be: somebody
/// may have registered with their own address, and enrolled a factor, before the account was given that of its owner.
#[tokio::test]
async fn second_factors_that_were_enrolled_with_the_same_verified_address_stay_and_those_of_another_go() {
    const CORRECTED: &str = "alice@example.org";
    let corrected: Email = CORRECTED.parse().unwrap();
    let new_email = NewEmail { email: CORRECTED.to_owned(), login_name: corrected.login_name() };
    let cases = [(FactorKind::Totp, None), (FactorKind::Passkey, None)];
    let corrected = cases.clone().map(|(kind, _)| (kind, Some(new_email.clone())));
    for (kind, new_email) in cases.into_iter().chain(corrected) {
        let (services, alice, _) = Services::with_alice().await;
        let enrolled = match kind {
            FactorKind::Totp => enrol(&services, &alice).await.1,
            FactorKind::Passkey => enrol_passkey(&services, &alice).await,
        };
        assert!(matches!(enrolled, EnrolmentOutcome::Enrolled(_)), "{enrolled:?}");
        let (stay, address) = if new_email.is_none() { (true, ALICE) } else { (false, CORRECTED) };
        let change = IdentityChange {
            email: new_email,
            email_verified_at: Some(None),
            ..IdentityChange::of(&alice, services.clock.now(), AttemptId::from_bytes([7; 16]))
        };
        services.store.change(&change).await.unwrap();
        services.new_mails().await;
        begin(&services, address).await;
        let ticket = ticket(&services, &link(&services.mail().await)).await.unwrap();
        let done = services.account.finish_recovery(ticket.expose(), &secret(NEW), network()).await.unwrap();
        assert_eq!(done, Outcome::Done(alice.id));
        let left = services.factors.list(alice.id).await.unwrap();
        assert_eq!(left.len(), usize::from(stay), "{kind:?} {address}");
        let codes = services.factors.recovery_codes_left(alice.id).await.unwrap();
        assert_eq!(codes, if stay { 10 } else { 0 }, "{kind:?} {address}");
        assert_eq!(services.new_mails().await.len(), if stay { 1 } else { 2 }, "{kind:?} {address}");
    }
}

#[tokio::test]
async fn other_mails_to_an_address_do_not_keep_its_owner_from_recovery() {
    let (services, _, _) = Services::with_alice().await;
    for _ in 0..20 {
        services.sign_up(ALICE, true).await;
    }
    assert!(services.new_mails().await.len() < 20);
    assert_eq!(begin(&services, ALICE).await, Outcome::Done(()));
    assert_eq!(services.new_mails().await.len(), 1);
}

#[tokio::test]
async fn recovery_cannot_be_asked_for_without_end() {
    let (services, _, _) = Services::with_alice().await;
    for email in [ALICE, "nobody@example.com"] {
        let mut asked = 0;
        while begin(&services, email).await == Outcome::Done(()) {
            asked += 1;
        }
        assert!((9..=10).contains(&asked), "{email}: {asked}");
        let last = begin(&services, email).await;
        assert!(matches!(last, Outcome::Denied(Denied::TooMany(_))), "{last:?}");
    }
}

#[tokio::test]
async fn who_recovered_an_account_does_not_wait_there_for_those_who_guess_elsewhere() {
    let (services, _, _) = Services::with_alice().await;
    let far = |last: u8| Network::from(std::net::IpAddr::from([198, 51, 100, last]));
    let guess = async |network: Network, password: &str| {
        let (email, password) = (ALICE.to_owned(), secret(password));
        let attempt = Attempt { email, password, network, known_as: None };
        services.login.log_in(attempt).await.unwrap()
    };
    begin(&services, ALICE).await;
    let ticket = ticket(&services, &link(&services.mail().await)).await.unwrap();
    let here = far(200);
    services.account.finish_recovery(ticket.expose(), &secret(NEW), here).await.unwrap();
    for last in 0..52 {
        guess(far(last), "wrong horse").await;
    }
    assert!(matches!(guess(far(100), NEW).await, LoginOutcome::TooMany(_)));
    assert!(matches!(guess(here, NEW).await, LoginOutcome::LoggedIn(_)));
}
