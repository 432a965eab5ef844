//! What people do with their own record.

use http::header::RETRY_AFTER;
use serde_json::{Value, json};
use sluice_identity::config::Rate;
use sluice_primitives::Lifetime;

use super::world::{ALICE, PASSWORD, World, code, token};

const NEW: &str = "battery staple";

#[tokio::test]
async fn another_password_ends_all_sessions_but_the_one_that_set_it() {
    let (world, present) = World::with_alice().await;
    let other = world.log_in(PASSWORD).await.tokens();
    let set = async |current: &str, new: &str| {
        let body = json!({"current_password": current, "new_password": new});
        world.ask("POST", "/auth/password", &present.access, body).await
    };
    assert_eq!(set("wrong horse", NEW).await.problem(), (403, "wrong_password"));
    let weak = set(PASSWORD, "1234567").await;
    assert_eq!((weak.problem(), &weak.json["field"]), ((400, "password_too_short"), &json!("new_password")));
    let missing = set("", NEW).await;
    assert_eq!(
        (missing.problem(), &missing.json["field"]),
        ((403, "confirmation_required"), &json!("current_password"))
    );
    let resumed = set(PASSWORD, NEW).await.tokens();
    for (tokens, status) in [(&present, 401), (&other, 401), (&resumed, 200)] {
        assert_eq!(world.ask("GET", "/auth/me", &tokens.access, Value::Null).await.status, status);
    }
    assert_eq!(world.log_in(PASSWORD).await.status, 401);
    world.clock.advance(Lifetime::millis(1));
    assert_eq!(world.log_in(NEW).await.status, 200);
}

#[tokio::test]
async fn a_password_that_is_changed_all_the_time_waits_in_whatever_session() {
    let (world, mut tokens) = World::with_alice().await;
    let (mut current, mut new) = (PASSWORD, NEW);
    let set = async |access: &str, current: &str, new: &str| {
        let body = json!({"current_password": current, "new_password": new});
        world.ask("POST", "/auth/password", access, body).await
    };
    for _ in 0..60 {
        tokens = set(&tokens.access, current, new).await.tokens();
        std::mem::swap(&mut current, &mut new);
    }
    let refused = set(&tokens.access, current, new).await;
    assert_eq!((refused.problem(), refused.header(RETRY_AFTER)), ((429, "too_many_requests"), "60"));
}

#[tokio::test]
async fn people_change_what_they_are_called() {
    let (world, tokens) = World::with_alice().await;
    let edit = async |body: Value| world.ask("PATCH", "/auth/me", &tokens.access, body).await;
    let changed = edit(json!({"username": " Alice L. ", "email": "ignored@example.com"})).await;
    assert_eq!((changed.status, &changed.json["username"]), (200, &json!("Alice L.")));
    assert_eq!(changed.json["email"], ALICE);
    assert_eq!(edit(json!({})).await.json["username"], "Alice L.");
    assert_eq!(edit(json!({"username": "a".repeat(65)})).await.problem(), (400, "username_too_long"));
}

#[tokio::test]
async fn an_address_is_verified_by_the_code_or_the_link_of_the_mail() {
    let world = World::new().await;
    world.register(ALICE).await;
    let mail = world.mails().await.remove(0);
    let confirm = async |body: Value| world.post("/auth/verification/confirm", body).await;
    assert_eq!(confirm(json!({"email": ALICE, "code": "ABCDEFGH"})).await.problem(), (400, "wrong_code"));
    assert_eq!(confirm(json!({"code": code(&mail)})).await.problem(), (400, "email_missing"));
    assert_eq!(confirm(json!({"email": ALICE})).await.problem(), (400, "code_missing"));
    assert_eq!(confirm(json!({"token": token(&mail)})).await.status, 204);
    let tokens = world.log_in(PASSWORD).await.tokens();
    let me = world.ask("GET", "/auth/me", &tokens.access, Value::Null).await;
    assert_eq!(me.json["email_verified"], true);
    let again = world.ask("POST", "/auth/verification", &tokens.access, Value::Null).await;
    assert_eq!(again.problem(), (409, "unchanged"));
}

#[tokio::test]
async fn whoever_is_signed_in_asks_for_another_code_and_types_it() {
    let (world, tokens) = World::with_alice().await;
    let asked = world.ask("POST", "/auth/verification", &tokens.access, Value::Null).await;
    assert_eq!((asked.status, asked.json), (202, Value::Null));
    let typed = json!({"code": code(&world.mails().await.remove(0))});
    assert_eq!(world.ask("POST", "/auth/verification/confirm", &tokens.access, typed).await.status, 204);
}

#[tokio::test]
async fn mails_are_not_sent_without_end() {
    let world = World::with(|config| config.limits.mails_per_address = Some(Rate::per_hour(2))).await;
    world.register(ALICE).await;
    let tokens = world.log_in(PASSWORD).await.tokens();
    let ask = async || world.ask("POST", "/auth/verification", &tokens.access, Value::Null).await;
    assert_eq!(
        (ask().await.status, ask().await.status),
        (202, 202),
        "that of the registration is not counted"
    );
    let refused = ask().await;
    assert_eq!((refused.problem(), refused.header(RETRY_AFTER)), ((429, "too_many_requests"), "1800"));
}

#[tokio::test]
async fn another_address_is_set_by_the_code_that_was_sent_to_it() {
    let (world, tokens) = World::with_alice().await;
    let change = async |body: Value| world.ask("POST", "/auth/email", &tokens.access, body).await;
    let new = "alice@example.org";
    let wrong = change(json!({"email": new, "password": "wrong horse"})).await;
    assert_eq!(wrong.problem(), (403, "wrong_password"));
    assert_eq!(change(json!({"email": "x", "password": PASSWORD})).await.problem(), (400, "email_malformed"));
    assert_eq!(change(json!({"email": ALICE, "password": PASSWORD})).await.problem(), (409, "unchanged"));
    assert_eq!(change(json!({"email": new, "password": PASSWORD})).await.status, 202);
    let mail = world.mails().await.remove(0);
    assert_eq!(mail.to, new);
    let proof = json!({"token": token(&mail)});
    assert_eq!(world.post("/auth/email/confirm", proof.clone()).await.problem(), (401, "token_missing"));
    let bob = json!({"email": "bob@example.com", "password": PASSWORD});
    world.post("/auth/register", bob.clone()).await;
    let bob = world.post("/auth/login", bob).await.tokens();
    let confirm = async |access: &str| world.ask("POST", "/auth/email/confirm", access, proof.clone()).await;
    assert_eq!(confirm(&bob.access).await.problem(), (400, "wrong_code"));
    assert_eq!(confirm(&tokens.access).await.status, 204);
    let me = world.ask("GET", "/auth/me", &tokens.access, Value::Null).await;
    assert_eq!((&me.json["email"], &me.json["email_verified"]), (&json!(new), &json!(true)));
}

#[tokio::test]
async fn the_code_for_another_address_is_taken_with_that_one_the_present_one_or_none() {
    let new = "alice@example.org";
    for beside in [Some(new), Some(ALICE), None] {
        let (world, tokens) = World::with_alice().await;
        let body = json!({"email": new, "password": PASSWORD});
        assert_eq!(world.ask("POST", "/auth/email", &tokens.access, body).await.status, 202);
        let mut typed = json!({"code": code(&world.mails().await.remove(0))});
        if let Some(email) = beside {
            typed["email"] = json!(email);
        }
        let confirmed = world.ask("POST", "/auth/email/confirm", &tokens.access, typed).await;
        assert_eq!(confirmed.status, 204, "{beside:?}: {}", confirmed.json);
        let me = world.ask("GET", "/auth/me", &tokens.access, Value::Null).await;
        assert_eq!(me.json["email"], new);
    }
}

#[tokio::test]
async fn an_account_is_deleted_with_its_password() {
    let (world, tokens) = World::with_alice().await;
    let delete = async |body: Value| world.ask("DELETE", "/auth/me", &tokens.access, body).await;
    assert_eq!(delete(Value::Null).await.problem(), (403, "confirmation_required"));
    assert_eq!(delete(json!({"password": "wrong horse"})).await.problem(), (403, "wrong_password"));
    assert_eq!(delete(json!({"password": PASSWORD})).await.status, 204);
    assert_eq!(
        world.ask("GET", "/auth/me", &tokens.access, Value::Null).await.problem(),
        (401, "invalid_token")
    );
    assert_eq!(world.log_in(PASSWORD).await.problem(), (401, "invalid_credentials"));
    assert_eq!(world.register(ALICE).await.status, 201);
}
