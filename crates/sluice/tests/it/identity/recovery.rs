//! The way back in: by code and by link, for those who read mail at the address, and at the cost of all that was open.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, ReceivedMail, SmtpServer, TestSluice};

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, Tokens, shows};
use super::postbox::{code, link, node, to, token};
use crate::both_stores::on_both_stores;
use crate::legs;

on_both_stores! {
    a_code_sets_another_password_and_ends_what_was_open,
    a_link_does_the_same_and_to_look_at_it_changes_nothing,
    an_unknown_address_gets_the_same_answer_and_no_mail,
    who_guesses_codes_does_not_find_one,
    only_the_last_mail_is_good_and_only_for_a_while,
}

async fn with_alice(backend: Backend) -> (SmtpServer, TestSluice, Api) {
    let smtp = SmtpServer::start().await;
    let sluice = node(backend, &smtp, &[("identity.registration.verify_email", "false")]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    (smtp, sluice, api)
}

/// Asks for a mail, of which it is the `count`th, and gets it.
async fn asked(api: &Api, smtp: &SmtpServer, count: usize) -> ReceivedMail {
    api.post("/auth/recovery", json!({"email": ALICE})).await.is_done(202);
    to(&smtp.wait_for(count).await, ALICE)[count - 1].clone()
}

fn with(proof: Value, new_password: &str) -> Value {
    let mut body = proof;
    body["new_password"] = json!(new_password);
    body
}

async fn a_code_sets_another_password_and_ends_what_was_open(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let (one, other) = (api.tokens(ALICE).await, api.tokens(ALICE).await);
    let id = api.get("/auth/me", &one).await.ok()["id"].as_str().unwrap().to_owned();
    let client = sluice.client(&json!({})).await;
    let granted = legs::tokens_of(&sluice, &client, &id).await;
    let mail = asked(&api, &smtp, 1).await;
    assert_eq!(mail.subject, "Set a new password for Sluice");
    sluice.advance(Lifetime::secs(1));
    let proof = json!({"email": ALICE, "code": code(&mail)});
    api.post("/auth/recovery/confirm", with(proof.clone(), ANOTHER)).await.is_done(204);
    for ended in [&one, &other] {
        api.get("/auth/me", ended).await.is_problem(401, "invalid_token");
        api.refresh(ended).await.is_problem(401, "invalid_refresh_token");
    }
    assert!(!sluice.is_active(legs::token(&granted, "access_token")).await);
    client.refresh(legs::token(&granted, "refresh_token")).await.refused_with("invalid_grant");
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    sluice.advance(Lifetime::secs(1));
    let back = Tokens::of(&api.log_in(ALICE, ANOTHER).await);
    assert_eq!(
        api.get("/auth/me", &back).await.ok()["email_verified"],
        true,
        "who reads mail there proved it"
    );
    for proof in [proof, json!({"token": token(&mail)})] {
        api.post("/auth/recovery/confirm", with(proof, PASSWORD)).await.is_problem(400, "wrong_code");
    }
    let notice = smtp.wait_for(2).await[1].clone();
    assert_eq!(notice.subject, "Your password at Sluice was changed");
    assert!(!notice.text.contains("token="), "{}", notice.text);
    sluice.node.stop().await;
}

async fn a_link_does_the_same_and_to_look_at_it_changes_nothing(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let tokens = api.tokens(ALICE).await;
    let mail = asked(&api, &smtp, 1).await;
    for _ in 0..2 {
        sluice.browser().visit(link(&mail).as_str()).await;
    }
    assert_eq!(api.me(&tokens).await, 200);
    let proof = json!({"token": token(&mail)});
    // A password that may not be chosen spends the link, but not the way back.
    let weak = api.post("/auth/recovery/confirm", with(proof.clone(), "1234567")).await;
    weak.is_about("new_password", "password_too_short");
    api.post("/auth/recovery/confirm", with(proof, ANOTHER)).await.is_problem(400, "wrong_code");
    let ticket = json!({"ticket": weak.json()["ticket"]});
    api.post("/auth/recovery/confirm", with(ticket.clone(), ANOTHER)).await.is_done(204);
    api.post("/auth/recovery/confirm", with(ticket, PASSWORD)).await.is_problem(400, "wrong_code");
    api.get("/auth/me", &tokens).await.is_problem(401, "invalid_token");
    sluice.advance(Lifetime::secs(1));
    assert_eq!(api.log_in(ALICE, ANOTHER).await.status, 200);
    sluice.node.stop().await;
}

async fn an_unknown_address_gets_the_same_answer_and_no_mail(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let ask = async |email: &str| api.post("/auth/recovery", json!({"email": email})).await.essence();
    let known = ask(ALICE).await;
    assert_eq!(known.0, 202);
    assert_eq!(ask(BOB).await, known);
    let confirm = async |email: &str| {
        let body = json!({"email": email, "code": "ABCD-EFGH", "new_password": ANOTHER});
        api.post("/auth/recovery/confirm", body).await.essence()
    };
    assert_eq!(confirm(BOB).await, confirm(ALICE).await);
    shows(&sluice, r#"sluice_mail_outbox{state="waiting"}"#, 0).await;
    // What comes after it comes behind it.
    api.post("/auth/recovery", json!({"email": ALICE})).await;
    let mails = smtp.wait_for(2).await;
    assert!(mails.iter().all(|mail| mail.to == [ALICE]), "nobody writes to strangers");
    sluice.node.stop().await;
}

async fn who_guesses_codes_does_not_find_one(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let mail = asked(&api, &smtp, 1).await;
    let check =
        async |code: &str| api.post("/auth/recovery/check", json!({"email": ALICE, "code": code})).await;
    // Ten tries are all there are.
    for wrong in "ABCDEFGHJK".chars() {
        check(&format!("ABCD-EFG{wrong}")).await.is_problem(400, "wrong_code");
    }
    check(&code(&mail)).await.is_problem(400, "wrong_code");
    let fresh = asked(&api, &smtp, 2).await;
    let checked = check(&code(&fresh)).await.ok();
    assert!(checked["ticket"].is_string(), "a new mail is a new chance");
    sluice.node.stop().await;
}

async fn only_the_last_mail_is_good_and_only_for_a_while(backend: Backend) {
    let (smtp, sluice, api) = with_alice(backend).await;
    let first = asked(&api, &smtp, 1).await;
    let second = asked(&api, &smtp, 2).await;
    api.post("/auth/recovery/check", json!({"token": token(&first)})).await.is_problem(400, "wrong_code");
    let ticket = api.post("/auth/recovery/check", json!({"token": token(&second)})).await.ok();
    let third = asked(&api, &smtp, 3).await;
    sluice.advance(Lifetime::minutes(15));
    api.post("/auth/recovery/check", json!({"token": token(&third)})).await.is_problem(400, "wrong_code");
    let late = with(json!({"ticket": ticket["ticket"]}), ANOTHER);
    api.post("/auth/recovery/confirm", late).await.is_problem(400, "wrong_code");
    assert_eq!(api.log_in(ALICE, PASSWORD).await.status, 200, "nothing was changed");
    // Whoever changes the password is rid of what was asked for before.
    let fourth = asked(&api, &smtp, 4).await;
    let tokens = api.tokens(ALICE).await;
    let change = json!({"current_password": PASSWORD, "new_password": ANOTHER});
    assert_eq!(api.post_as(&tokens, "/auth/password", change).await.status, 200);
    let late = with(json!({"token": token(&fourth)}), PASSWORD);
    api.post("/auth/recovery/confirm", late).await.is_problem(400, "wrong_code");
    sluice.node.stop().await;
}
