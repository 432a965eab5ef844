//! What a log would show of people: neither address, nor name, nor credential, nor ticket.

use std::fmt::Debug;

use sluice_identity::account::Claimant;
use sluice_identity::administration::{IdentityEdit, NewIdentity, NewPassword};
use sluice_identity::factor::{Aal, Factor, FactorChoices, FactorOutcome, FirstFactor, NextStep, TicketData};
use sluice_identity::hardening::{HardenedCredential, LeasedCredential};
use sluice_identity::identity::{IdentityChange, IdentityFilter, IdentityPage, NewCredential, NewEmail};
use sluice_identity::mail::{CodePurpose, TakenCode};
use sluice_identity::{Attempt, Identity, IdentityStatus, LoginOutcome, RegistrationOutcome, SignUp};
use sluice_primitives::{AttemptId, Secret, Timestamp};
use sluice_store_contract::given;

use super::services::network;

const EMAIL: &str = "alice@secret.example";
const NAME: &str = "secret alice";
const STORED: &str = "h1$secret";

fn alice() -> Identity {
    Identity { username: NAME.to_owned(), credential: STORED.to_owned(), ..given::identity(EMAIL) }
}

fn password() -> Secret<String> {
    Secret::new("secret password".to_owned())
}

fn printed(values: &[&dyn Debug]) -> String {
    values.iter().map(|value| format!("{value:?} {value:#?}")).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_discreet(values: &[&dyn Debug]) {
    let printed = printed(values);
    for secret in ["secret", "alice", "h1$"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[test]
fn a_record_prints_neither_names_nor_the_credential() {
    let alice = alice();
    let page = IdentityPage { identities: vec![alice.clone()], next: None };
    let logged_in = LoginOutcome::LoggedIn(Box::new(alice.clone()));
    let registered = RegistrationOutcome::Registered(Box::new(alice.clone()));
    let (amr, acr, data) = (Vec::new(), Aal::Aal1, TicketData::default());
    let done = FactorOutcome::Done { identity: Box::new(alice.clone()), amr, acr, data };
    assert_discreet(&[&alice, &page, &logged_in, &registered, &done]);
    assert!(format!("{alice:?}").contains(&alice.id.to_string()), "{alice:?}");
}

#[test]
fn what_is_to_be_written_prints_no_text() {
    let credential = NewCredential { stored: STORED.to_owned(), hardening: true };
    let email = NewEmail { email: EMAIL.to_owned(), login_name: [0; 32] };
    let now = Timestamp::from_secs(1);
    let change = IdentityChange {
        email: Some(email.clone()),
        username: Some(NAME.to_owned()),
        credential: Some(credential.clone()),
        ..IdentityChange::of(&alice(), now, AttemptId::from_bytes([1; 16]))
    };
    let leased = LeasedCredential { id: alice().id, stored: STORED.to_owned() };
    let hardened = HardenedCredential { id: alice().id, old: STORED.to_owned(), new: STORED.to_owned() };
    let filter = IdentityFilter { text: Some(EMAIL.to_owned()), ..IdentityFilter::default() };
    let code = given::mail_code(alice().id, CodePurpose::Recover);
    let taken = TakenCode::Right { email: EMAIL.to_owned() };
    assert_discreet(&[&credential, &email, &change, &leased, &hardened, &filter, &code, &taken]);
}

#[test]
fn what_somebody_typed_is_not_printed() {
    let (email, username) = (EMAIL.to_owned(), NAME.to_owned());
    let sign_up =
        SignUp { email: email.clone(), username: username.clone(), password: password(), network: network() };
    let attempt = Attempt { email: email.clone(), password: password(), network: network(), known_as: None };
    let new = NewIdentity {
        email: email.clone(),
        username: username.clone(),
        password: Some(NewPassword::Plain(password())),
        status: IdentityStatus::Active,
        email_verified: true,
    };
    let edit =
        IdentityEdit { email: Some(email.clone()), username: Some(username), ..IdentityEdit::default() };
    assert_discreet(&[&sign_up, &attempt, &Claimant::Email(email), &new, &edit]);
}

#[test]
fn a_login_that_waits_prints_no_ticket() {
    let next = NextStep::Factor { ticket: "the secret ticket".to_owned(), kinds: FactorChoices::default() };
    assert_discreet(&[&next]);
    assert!(format!("{next:?}").contains("totp"), "{next:?}");
}

#[test]
fn a_factor_prints_neither_its_name_nor_what_is_sealed() {
    let (name, sealed) = (NAME.to_owned(), "the secret of an app".to_owned());
    let factor = Factor { name, sealed, ..given::factor(alice().id, 0) };
    assert_discreet(&[&factor]);
    assert!(format!("{factor:?}").contains(&factor.id.to_string()), "{factor:?}");
}

#[test]
fn a_first_factor_prints_neither_the_challenge_nor_what_comes_back() {
    let alice = alice();
    let first = FirstFactor {
        identity: &alice,
        amr: &["pwd"],
        wanted: Aal::Aal2,
        context: b"the secret challenge",
        data: TicketData::new(*b"the secret data").unwrap_or_default(),
    };
    assert_discreet(&[&first]);
    let printed = format!("{first:?}");
    let bytes = format!("{:?}", b"the secret".as_slice());
    assert!(printed.contains("pwd") && !printed.contains(bytes.trim_matches(['[', ']'])), "{printed}");
}
