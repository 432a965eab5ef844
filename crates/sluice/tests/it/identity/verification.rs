//! The mail after a registration: code and link verify the address, once.

use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, SmtpServer, TestSluice};

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, Tokens};
use super::postbox::{code, link, node, to, token};
use crate::answer::Answer;
use crate::both_stores::on_both_stores;

on_both_stores! {
    the_code_of_the_first_mail_verifies_the_address_once,
    the_link_does_the_same_and_to_look_at_it_changes_nothing,
    a_code_is_good_for_one_person_one_purpose_and_one_day,
    whoever_is_signed_in_asks_for_another_code,
    another_address_is_set_by_the_code_that_was_sent_to_it,
    an_address_that_belongs_to_somebody_else_is_told_so_by_mail_only,
    a_folder_of_templates_writes_mails_in_other_words,
}

async fn is_verified(api: &Api, tokens: &Tokens) -> bool {
    api.get("/auth/me", tokens).await.ok()["email_verified"] == true
}

async fn confirm(api: &Api, body: serde_json::Value) -> Answer {
    api.post("/auth/verification/confirm", body).await
}

async fn with_alice(backend: Backend) -> (SmtpServer, TestSluice, Api) {
    let smtp = SmtpServer::start().await;
    let sluice = node(backend, &smtp, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    (smtp, sluice, api)
}

async fn the_code_of_the_first_mail_verifies_the_address_once(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let mail = smtp.wait_for_mail_to(ALICE).await;
    assert_eq!(
        (mail.from.as_str(), mail.header("from").unwrap()),
        ("no-reply@sluice.test", super::postbox::FROM)
    );
    assert_eq!(mail.subject, "Confirm your email address for Sluice");
    assert!(mail.html.as_ref().is_some_and(|html| html.contains(&code(&mail))), "in HTML, too");
    assert!(!mail.subject.contains(&code(&mail)), "not on a locked screen");
    let tokens = api.tokens(ALICE).await;
    assert!(!is_verified(&api, &tokens).await);
    confirm(&api, json!({"email": ALICE, "code": "ABCD-EFGH"})).await.is_problem(400, "wrong_code");
    // As people type it.
    let typed = code(&mail).to_lowercase().replace('-', " ");
    confirm(&api, json!({"email": " ALICE@example.com", "code": typed})).await.is_done(204);
    assert!(is_verified(&api, &tokens).await);
    for proof in [json!({"email": ALICE, "code": code(&mail)}), json!({"token": token(&mail)})] {
        confirm(&api, proof).await.is_problem(400, "wrong_code");
    }
    sluice.node.stop().await;
}

async fn the_link_does_the_same_and_to_look_at_it_changes_nothing(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let mail = smtp.wait_for_mail_to(ALICE).await;
    // Mail programs look at links before people do.
    for _ in 0..2 {
        sluice.browser().visit(link(&mail).as_str()).await;
    }
    let tokens = api.tokens(ALICE).await;
    assert!(!is_verified(&api, &tokens).await);
    confirm(&api, json!({"token": token(&mail)})).await.is_done(204);
    assert!(is_verified(&api, &tokens).await);
    confirm(&api, json!({"token": token(&mail)})).await.is_problem(400, "wrong_code");
    sluice.node.stop().await;
}

async fn a_code_is_good_for_one_person_one_purpose_and_one_day(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    api.register(BOB).await;
    let (alice, bob) = (smtp.wait_for_mail_to(ALICE).await, smtp.wait_for_mail_to(BOB).await);
    confirm(&api, json!({"email": BOB, "code": code(&alice)})).await.is_problem(400, "wrong_code");
    for (path, proof) in [
        ("/auth/recovery/check", json!({"email": ALICE, "code": code(&alice)})),
        ("/auth/recovery/check", json!({"token": token(&alice)})),
        ("/auth/verification/confirm", json!({"token": &token(&alice)[1..]})),
    ] {
        api.post(path, proof).await.is_problem(400, "wrong_code");
    }
    let tokens = api.tokens(ALICE).await;
    let not_a_change = json!({"token": token(&alice)});
    api.post_as(&tokens, "/auth/email/confirm", not_a_change).await.is_problem(400, "wrong_code");
    sluice.advance(Lifetime::secs(24 * 3600 - 1));
    confirm(&api, json!({"email": ALICE, "code": code(&alice)})).await.is_done(204);
    sluice.advance(Lifetime::secs(1));
    confirm(&api, json!({"email": BOB, "code": code(&bob)})).await.is_problem(400, "wrong_code");
    confirm(&api, json!({"token": token(&bob)})).await.is_problem(400, "wrong_code");
    sluice.node.stop().await;
}

async fn whoever_is_signed_in_asks_for_another_code(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let tokens = api.tokens(ALICE).await;
    let first = smtp.wait_for_mail_to(ALICE).await;
    api.post_as(&tokens, "/auth/verification", json!(null)).await.is_done(202);
    let mails = smtp.wait_for(2).await;
    let second = to(&mails, ALICE)[1];
    let typed = |mail| json!({"code": code(mail)});
    api.post_as(&tokens, "/auth/verification/confirm", typed(&first)).await.is_problem(400, "wrong_code");
    api.post_as(&tokens, "/auth/verification/confirm", typed(second)).await.is_done(204);
    api.post_as(&tokens, "/auth/verification", json!(null)).await.is_problem(409, "unchanged");
    sluice.node.stop().await;
}

async fn another_address_is_set_by_the_code_that_was_sent_to_it(backend: Backend) {
    const NEW: &str = "alice@example.org";
    let (smtp, sluice, api) = with_alice(backend).await;
    confirm(&api, json!({"token": token(&smtp.wait_for_mail_to(ALICE).await)})).await.is_done(204);
    let tokens = api.tokens(ALICE).await;
    let change = async |email: &str, password: &str| {
        api.post_as(&tokens, "/auth/email", json!({"email": email, "password": password})).await
    };
    change(NEW, ANOTHER).await.is_problem(403, "wrong_password");
    change("x", PASSWORD).await.is_about("email", "email_malformed");
    change(" ALICE@example.com", PASSWORD).await.is_problem(409, "unchanged");
    change(" Alice@Example.ORG", PASSWORD).await.is_done(202);
    let mail = smtp.wait_for_mail_to(NEW).await;
    assert_eq!(api.get("/auth/me", &tokens).await.ok()["email"], ALICE, "not yet");
    sluice.browser().visit(link(&mail).as_str()).await;
    let typed = json!({"code": code(&mail)});
    api.post("/auth/email/confirm", typed.clone()).await.is_problem(401, "token_missing");
    api.post_as(&tokens, "/auth/email/confirm", typed).await.is_done(204);
    let me = api.get("/auth/me", &tokens).await.ok();
    assert_eq!((&me["email"], &me["email_verified"]), (&json!(NEW), &json!(true)));
    let mails = smtp.wait_for(3).await;
    let notice = to(&mails, ALICE)[1];
    assert_eq!(notice.subject, "Your email address at Sluice was changed");
    assert!(!notice.text.contains(NEW) && notice.text.contains("a…@example.org"), "{}", notice.text);
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    assert_eq!(api.log_in(NEW, PASSWORD).await.status, 200);
    let again = json!({"token": token(&mail)});
    api.post_as(&tokens, "/auth/email/confirm", again).await.is_problem(400, "wrong_code");
    assert_eq!(api.sign_up(ALICE, PASSWORD).await.status, 201, "the former address is free");
    sluice.node.stop().await;
}

async fn an_address_that_belongs_to_somebody_else_is_told_so_by_mail_only(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let tokens = api.tokens(ALICE).await;
    api.register(BOB).await;
    smtp.wait_for(2).await;
    let change = async |email: &str| {
        api.post_as(&tokens, "/auth/email", json!({"email": email, "password": PASSWORD})).await
    };
    let (free, taken) = (change("free@example.com").await, change(BOB).await);
    free.is_done(202);
    assert_eq!(taken.essence(), free.essence());
    let mails = smtp.wait_for(4).await;
    assert_eq!(to(&mails, BOB)[1].subject, "You already have an account at Sluice");
    assert!(!to(&mails, BOB)[1].text.contains("token="), "nothing to take the account over with");
    sluice.node.stop().await;
}

async fn a_folder_of_templates_writes_mails_in_other_words(backend: Backend) {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("verify_email.subject.txt"), "Willkommen bei {{ service }}\n").unwrap();
    std::fs::write(folder.path().join("verify_email.txt"), "Ihr Code:\n\n    {{ code }}\n\n{{ link }}\n")
        .unwrap();
    let smtp = SmtpServer::start().await;
    let templates = folder.path().to_str().unwrap();
    let sluice = node(backend, &smtp, &[("identity.mail.templates", templates)]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let mail = smtp.wait_for_mail_to(ALICE).await;
    assert_eq!(mail.subject, "Willkommen bei Sluice");
    assert!(mail.text.starts_with("Ihr Code:"), "{}", mail.text);
    assert!(mail.html.as_ref().is_some_and(|html| html.contains("Confirm address")), "the built-in part");
    confirm(&api, json!({"email": ALICE, "code": code(&mail)})).await.is_done(204);
    sluice.node.stop().await;
}
