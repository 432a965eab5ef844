//! E-mail addresses: their proof, and another one.

#![expect(clippy::unwrap_used, reason = "clippy sees no test in helpers of tests")]

use sluice_identity::account::{Claimant, Denied, MailProof, Outcome};
use sluice_identity::{Email, Identity, InvalidEmail, InvalidField, LoginOutcome, RegistrationOutcome};
use sluice_primitives::Lifetime;
use sluice_store_contract::given;

use super::services::{ALICE, BOB, PASSWORD, Services, code, confirmation, link, network, secret, typed};

const NEW: &str = "alice@example.org";
/// An address whose mail some servers send to somebody else.
const ROUTED: &str = "stranger%example.net@example.com";

async fn begin_change(services: &Services, alice: &Identity, new_email: &str) -> Outcome<()> {
    let (caller, password) = (services.caller(alice, &["pwd"]).await, secret(PASSWORD));
    let confirmation = confirmation(&caller, Some(&password));
    services.account.begin_email_change(&confirmation, new_email).await.unwrap()
}

async fn confirm_change(services: &Services, alice: &Identity, proof: &MailProof) -> Outcome<()> {
    let session = services.caller(alice, &["pwd"]).await.session;
    services.account.confirm_email_change((alice.id, session), proof, network()).await.unwrap()
}

async fn verify(services: &Services, proof: &MailProof) -> Outcome<sluice_primitives::IdentityId> {
    services.account.verify_email(proof, network()).await.unwrap()
}

#[tokio::test]
async fn whoever_registers_verifies_the_address_with_the_link() {
    let services = Services::new().await;
    let alice = services.register(ALICE).await;
    let mail = services.mail().await;
    assert_eq!((mail.to.as_str(), mail.subject.as_str()), (ALICE, "Confirm your email address for Example"));
    assert_eq!(verify(&services, &link(&mail)).await, Outcome::Done(alice.id));
    assert_eq!(services.stored(ALICE).await.email_verified_at, Some(alice.created_at));
}

#[tokio::test]
async fn link_and_code_are_one_thing_that_is_good_once() {
    let services = Services::new().await;
    services.register(ALICE).await;
    let mail = services.mail().await;
    let code = code(&mail).to_lowercase().replace('-', " ");
    assert!(matches!(verify(&services, &typed(ALICE, &code)).await, Outcome::Done(_)));
    for proof in [link(&mail), typed(ALICE, &code)] {
        assert_eq!(verify(&services, &proof).await, Outcome::Denied(Denied::WrongCode));
    }
}

#[tokio::test]
async fn a_code_is_good_for_its_account_its_purpose_and_its_time_only() {
    let services = Services::new().await;
    let alice = services.register(ALICE).await;
    let mail = services.mail().await;
    services.register(BOB).await;
    let wrong = Outcome::Denied(Denied::WrongCode);
    for account in [BOB, "nobody@example.com", "no address"] {
        assert_eq!(verify(&services, &typed(account, &code(&mail))).await, wrong, "{account}");
    }
    assert_eq!(confirm_change(&services, &alice, &link(&mail)).await, Outcome::Denied(Denied::WrongCode));
    let outcome = services.account.check_recovery(&link(&mail), network()).await.unwrap();
    assert!(matches!(outcome, Outcome::Denied(Denied::WrongCode)), "{outcome:?}");
    services.clock.advance(Lifetime::hours(24));
    for proof in [link(&mail), typed(ALICE, &code(&mail))] {
        assert_eq!(verify(&services, &proof).await, wrong);
    }
    assert_eq!(services.stored(ALICE).await.email_verified_at, None);
    let again = services.account.send_verification(alice.id, network()).await.unwrap();
    assert_eq!(again, Outcome::Done(()));
}

#[tokio::test]
async fn a_code_cannot_be_guessed() {
    let services = Services::new().await;
    let alice = services.register(ALICE).await;
    let mail = services.mail().await;
    let guess = MailProof::Code { who: Claimant::Identity(alice.id), code: secret("ABCD-EFGH") };
    for _ in 0..10 {
        assert_eq!(verify(&services, &guess).await, Outcome::Denied(Denied::WrongCode));
    }
    let right = MailProof::Code { who: Claimant::Identity(alice.id), code: secret(&code(&mail)) };
    assert_eq!(verify(&services, &right).await, Outcome::Denied(Denied::WrongCode));
    let mut outcome = verify(&services, &guess).await;
    while outcome == Outcome::Denied(Denied::WrongCode) {
        outcome = verify(&services, &guess).await;
    }
    assert!(matches!(outcome, Outcome::Denied(Denied::TooMany(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_verified_address_is_not_verified_again_and_mails_are_bounded() {
    let services = Services::new().await;
    let alice = services.register(ALICE).await;
    let mut sent = 0;
    while services.account.send_verification(alice.id, network()).await.unwrap() == Outcome::Done(()) {
        services.clock.advance(Lifetime::secs(1));
        sent += 1;
    }
    assert_eq!(sent, 10, "an hour, beside the first one: whoever registered may have been somebody else");
    let mails = services.new_mails().await;
    assert_eq!(mails.len(), 11);
    assert!(matches!(verify(&services, &link(&mails[10])).await, Outcome::Done(_)), "the last one holds");
    let again = services.account.send_verification(alice.id, network()).await.unwrap();
    assert_eq!(again, Outcome::Denied(Denied::Unchanged));
}

#[tokio::test]
async fn another_address_is_set_when_its_mail_is_read_and_the_former_is_told() {
    let (services, alice, pair) = Services::with_alice().await;
    assert_eq!(begin_change(&services, &alice, "Alice@Example.ORG").await, Outcome::Done(()));
    let mail = services.mail().await;
    assert_eq!(mail.to, NEW);
    assert_eq!(services.stored(ALICE).await.email, ALICE, "not before");
    assert_eq!(confirm_change(&services, &alice, &typed(ALICE, &code(&mail))).await, Outcome::Done(()));
    let stored = services.stored(NEW).await;
    assert!(stored.id == alice.id && stored.email_verified_at.is_some() && services.holds(&pair));
    let notice = services.mail().await;
    assert_eq!(notice.to, ALICE);
    assert!(notice.text.contains("a…@example.org") && !notice.text.contains(NEW), "{}", notice.text);
    assert_eq!(confirm_change(&services, &alice, &link(&mail)).await, Outcome::Denied(Denied::WrongCode));
}

#[tokio::test]
async fn another_address_needs_the_password_and_has_to_be_another_one() {
    let (services, alice, _) = Services::with_alice().await;
    let (caller, password) = (services.caller(&alice, &["pwd"]).await, secret("guess guess"));
    let confirmation = confirmation(&caller, Some(&password));
    let wrong = services.account.begin_email_change(&confirmation, NEW).await.unwrap();
    assert_eq!(wrong, Outcome::Denied(Denied::WrongPassword));
    assert_eq!(begin_change(&services, &alice, ALICE).await, Outcome::Denied(Denied::Unchanged));
    let malformed = begin_change(&services, &alice, "alice").await;
    assert!(matches!(malformed, Outcome::Denied(Denied::Invalid(_))), "{malformed:?}");
    assert!(services.new_mails().await.is_empty());
}

#[tokio::test]
async fn whether_an_address_is_taken_is_told_to_its_owner_only() {
    let (services, alice, _) = Services::with_alice().await;
    services.register(BOB).await;
    services.new_mails().await;
    assert_eq!(begin_change(&services, &alice, BOB).await, Outcome::Done(()));
    let mail = services.mail().await;
    assert_eq!((mail.to.as_str(), mail.subject.as_str()), (BOB, "You already have an account at Example"));
    assert!(!mail.text.contains("token="));
}

#[tokio::test]
async fn those_who_want_somebody_elses_address_do_not_keep_its_owner_from_verifying_it() {
    let services = Services::new().await;
    let (alice, bob) = (services.register(ALICE).await, services.register(BOB).await);
    for _ in 0..10 {
        assert_eq!(begin_change(&services, &bob, ALICE).await, Outcome::Done(()));
    }
    let more = begin_change(&services, &bob, ALICE).await;
    assert!(matches!(more, Outcome::Denied(Denied::TooMany(_))), "{more:?}");
    let asked = services.account.send_verification(alice.id, network()).await.unwrap();
    assert_eq!(asked, Outcome::Done(()));
}

#[tokio::test]
async fn an_address_that_was_taken_meanwhile_stays_with_its_owner() {
    let (services, alice, _) = Services::with_alice().await;
    begin_change(&services, &alice, NEW).await;
    let mail = services.mail().await;
    let other = services.register(NEW).await;
    assert_eq!(confirm_change(&services, &alice, &link(&mail)).await, Outcome::Denied(Denied::Taken));
    assert_eq!(services.stored(NEW).await.id, other.id);
    assert_eq!(services.stored(ALICE).await.id, alice.id);
}

#[tokio::test]
async fn nobody_confirms_the_address_of_somebody_else_and_the_try_spends_nothing() {
    let (services, alice, _) = Services::with_alice().await;
    let victim = services.register(BOB).await;
    services.new_mails().await;
    begin_change(&services, &alice, "bob@example.net").await;
    let mail = services.mail().await;
    for proof in [link(&mail), typed(ALICE, &code(&mail))] {
        assert_eq!(confirm_change(&services, &victim, &proof).await, Outcome::Denied(Denied::WrongCode));
    }
    assert_eq!(services.stored(ALICE).await.email, ALICE);
    assert_eq!(confirm_change(&services, &alice, &link(&mail)).await, Outcome::Done(()));
}

#[tokio::test]
async fn wrong_codes_of_strangers_do_not_take_the_link_away() {
    let services = Services::new().await;
    services.register(ALICE).await;
    let mail = services.mail().await;
    for _ in 0..12 {
        verify(&services, &typed(ALICE, "ABCD-EFGH")).await;
    }
    assert_eq!(verify(&services, &typed(ALICE, &code(&mail))).await, Outcome::Denied(Denied::WrongCode));
    assert!(matches!(verify(&services, &link(&mail)).await, Outcome::Done(_)));
}

#[tokio::test]
async fn another_password_voids_an_address_that_was_asked_for_before() {
    let (services, alice, _) = Services::with_alice().await;
    begin_change(&services, &alice, "thief@example.org").await;
    let mail = services.mail().await;
    services.change_password(&alice, (PASSWORD, "battery staple"), None).await;
    for proof in [link(&mail), typed(ALICE, &code(&mail))] {
        assert_eq!(confirm_change(&services, &alice, &proof).await, Outcome::Denied(Denied::WrongCode));
    }
}

#[tokio::test]
async fn a_concealed_registration_writes_to_whoever_has_the_address() {
    let services = Services::new().await;
    assert_eq!(services.sign_up(ALICE, true).await, RegistrationOutcome::Accepted);
    let first = services.mail().await;
    assert_eq!(services.sign_up(ALICE, true).await, RegistrationOutcome::Accepted);
    assert_eq!(services.mail().await.subject, "You already have an account at Example");
    assert!(matches!(verify(&services, &link(&first)).await, Outcome::Done(_)), "the owner's code holds");
    for _ in 0..20 {
        services.sign_up(ALICE, true).await;
    }
    assert_eq!(services.new_mails().await.len(), 8, "with those before ten an hour");
}

#[tokio::test]
async fn nobody_is_given_an_address_whose_mail_may_go_elsewhere_or_nowhere() {
    let (services, alice, _) = Services::with_alice().await;
    let malformed = InvalidField::Email(InvalidEmail::Malformed);
    let refused = Outcome::Denied(Denied::Invalid(malformed));
    for routed in [ROUTED, "example.net!stranger@example.com", "|stranger@example.com", "stranger@127.0.0.1"]
    {
        let registered = services.sign_up(routed, false).await;
        assert_eq!(registered, RegistrationOutcome::Invalid(malformed), "{routed}");
        assert_eq!(begin_change(&services, &alice, routed).await, refused, "{routed}");
    }
    assert!(services.new_mails().await.is_empty());
}

/// It is there from an import, or an earlier version gave it away.
#[tokio::test]
async fn whoever_has_an_address_whose_mail_may_go_elsewhere_gets_in_and_it_is_not_verified_by_that() {
    let services = Services::new().await;
    let login_name = ROUTED.parse::<Email>().unwrap().login_name();
    let made = Identity { login_name, credential: String::new(), ..given::identity(ROUTED) };
    let somebody = given::registered(&*services.store, made).await.id;
    let refused = Outcome::Denied(Denied::Invalid(InvalidField::Email(InvalidEmail::Malformed)));
    assert_eq!(services.account.send_verification(somebody, network()).await.unwrap(), refused);
    assert_eq!(services.account.send_verification_to(ROUTED, network()).await.unwrap(), refused);
    assert!(services.new_mails().await.is_empty());
    services.account.begin_recovery(ROUTED, network()).await.unwrap();
    let proof = link(&services.mail().await);
    let Outcome::Done(ticket) = services.account.check_recovery(&proof, network()).await.unwrap() else {
        panic!("the code is right")
    };
    let done = services.account.finish_recovery(ticket.expose(), &secret(PASSWORD), network()).await.unwrap();
    assert_eq!(done, Outcome::Done(somebody));
    assert_eq!(services.stored(ROUTED).await.email_verified_at, None);
    assert!(matches!(services.log_in(ROUTED, PASSWORD).await, LoginOutcome::LoggedIn(_)));
}

/// An earlier version gave it away.
#[tokio::test]
async fn whoever_has_an_address_at_a_number_is_sent_a_code_there() {
    let services = Services::new().await;
    let former = "alice@mail.7";
    let login_name = former.parse::<Email>().unwrap().login_name();
    let made = Identity { login_name, ..given::identity(former) };
    let alice = given::registered(&*services.store, made).await.id;
    let sent = services.account.send_verification_to(former, network()).await.unwrap();
    assert_eq!(sent, Outcome::Done(()));
    let proof = link(&services.mail().await);
    assert_eq!(verify(&services, &proof).await, Outcome::Done(alice));
}

/// An earlier version took it.
#[tokio::test]
async fn an_address_that_would_not_be_taken_any_more_is_verified_as_others_are() {
    let services = Services::new().await;
    let former = "alice@localhost";
    assert!(former.parse::<Email>().is_err());
    let alice = given::registered(&*services.store, given::identity(former)).await.id;
    let sent = services.account.send_verification(alice, network()).await.unwrap();
    assert_eq!(sent, Outcome::Done(()));
    let proof = link(&services.mail().await);
    assert_eq!(verify(&services, &proof).await, Outcome::Done(alice));
    assert!(given::person(&*services.store, alice).await.email_verified_at.is_some());
}
