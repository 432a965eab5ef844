//! Where taken addresses are concealed, nothing but a mail tells a free one from one that is taken.

use serde_json::json;
use sluice_testkit::{Backend, SmtpServer};

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD};
use super::postbox::{node, to, token};
use crate::both_stores::on_both_stores;

on_both_stores! {
    free_and_taken_addresses_get_the_same_bytes_and_other_mails,
}

async fn free_and_taken_addresses_get_the_same_bytes_and_other_mails(backend: Backend) {
    let smtp = SmtpServer::start().await;
    let sluice = node(backend, &smtp, &[("identity.registration.conceal_taken", "true")]).await;
    let api = Api::of(&sluice);
    let first = api.sign_up(ALICE, PASSWORD).await;
    assert_eq!((first.status, first.body.as_str()), (202, r#"{"status":"accepted"}"#));
    for (email, password) in [(ALICE, ANOTHER), (BOB, PASSWORD), (" ALICE@Example.com", PASSWORD)] {
        assert_eq!(api.sign_up(email, password).await.essence(), first.essence(), "{email}");
    }
    let mails = smtp.wait_for(4).await;
    let subjects = |address| to(&mails, address).iter().map(|mail| mail.subject.clone()).collect::<Vec<_>>();
    let (welcome, taken) = ("Confirm your email address for Sluice", "You already have an account at Sluice");
    assert_eq!(subjects(BOB), [welcome]);
    let mut of_alice = subjects(ALICE);
    of_alice.sort();
    assert_eq!(of_alice, [welcome, taken, taken]);
    api.log_in(ALICE, ANOTHER).await.is_problem(401, "invalid_credentials");
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    let mails = to(&mails, ALICE);
    let first = mails.iter().find(|mail| mail.subject == welcome).unwrap();
    api.post("/auth/verification/confirm", json!({"token": token(first)})).await.is_done(204);
    assert_eq!(api.log_in(ALICE, PASSWORD).await.status, 200, "the first one has it");
    let invalid = api.sign_up(ALICE, "1234567").await;
    invalid.is_about("password", "password_too_short");
    sluice.node.stop().await;
}
