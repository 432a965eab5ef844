//! `POST /auth/login` and what follows it.

use http::header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::{Value, json};
use sluice_primitives::Lifetime;

use super::world::{ALICE, PASSWORD, World};

#[tokio::test]
async fn whoever_logs_in_gets_tokens_that_open_the_account() {
    let world = World::new().await;
    world.register(ALICE).await;
    let logged_in = world.log_in(PASSWORD).await;
    assert_eq!((&logged_in.json["expires_in"], logged_in.header(CACHE_CONTROL)), (&json!(900), "no-store"));
    let me = world.ask("GET", "/auth/me", &logged_in.tokens().access, Value::Null).await;
    assert_eq!((me.status, &me.json["email"], &me.json["username"]), (200, &json!(ALICE), &json!("Alice")));
}

#[tokio::test]
async fn unknown_and_known_accounts_are_refused_in_the_same_words() {
    let world = World::new().await;
    world.register(ALICE).await;
    let known = world.log_in("another password").await;
    let unknown = json!({"email": "bob@example.com", "password": PASSWORD});
    let unknown = world.post("/auth/login", unknown).await;
    let malformed = world.post("/auth/login", json!({"email": "x", "password": PASSWORD})).await;
    assert_eq!(known.problem(), (401, "invalid_credentials"));
    for other in [unknown, malformed] {
        assert_eq!((&other.json, &other.headers), (&known.json, &known.headers));
    }
    let missing = world.post("/auth/login", json!({"email": ALICE})).await;
    assert_eq!(missing.problem(), (400, "password_missing"));
}

#[tokio::test]
async fn whoever_guesses_is_told_to_wait() {
    let world = World::new().await;
    world.register(ALICE).await;
    for _ in 0..6 {
        assert_eq!(world.log_in("another password").await.status, 401);
    }
    let refused = world.log_in(PASSWORD).await;
    assert_eq!((refused.problem(), refused.header(RETRY_AFTER)), ((429, "too_many_requests"), "1"));
    world.clock.advance(Lifetime::secs(1));
    assert_eq!(world.log_in(PASSWORD).await.status, 200);
}

#[tokio::test]
async fn a_server_with_too_many_logins_is_asked_again_later_and_still_registers() {
    let world = World::new().await;
    world.pool.shutdown();
    assert_eq!(world.register(ALICE).await.status, 201);
    let refused = world.log_in(PASSWORD).await;
    assert_eq!((refused.problem(), refused.header(RETRY_AFTER)), ((503, "temporarily_unavailable"), "1"));
}

#[tokio::test]
async fn a_second_factor_is_asked_for_with_a_ticket() {
    let (world, tokens) = World::with_alice().await;
    let (secret, enrolled) = world.enrol_app(&tokens).await;
    world.clock.advance(Lifetime::secs(60));
    let asked = world.log_in(PASSWORD).await;
    assert_eq!(asked.problem(), (401, "second_factor_required"));
    assert_eq!(asked.json["factors"], json!(["totp", "recovery_code"]));
    assert!(!asked.headers.contains_key(WWW_AUTHENTICATE));
    let ticket = &asked.json["login_ticket"];
    let show = async |body: Value| world.post("/auth/login/factor", body).await;
    let wrong = show(json!({"login_ticket": ticket, "totp": "000000"})).await;
    assert_eq!(wrong.problem(), (401, "wrong_factor"));
    let done = show(json!({"login_ticket": ticket, "totp": world.shown(&secret)})).await;
    let sessions = world.ask("GET", "/auth/sessions", &done.tokens().access, Value::Null).await;
    let present = sessions.json["sessions"].as_array().unwrap().iter().find(|one| one["current"] == true);
    assert_eq!(present.unwrap()["amr"], json!(["pwd", "otp", "mfa"]));
    assert_eq!(present.unwrap()["acr"], "aal2");
    let replayed = show(json!({"login_ticket": ticket, "totp": world.shown(&secret)})).await;
    assert_eq!(replayed.problem(), (401, "wrong_factor"));
    assert_eq!(replayed.json["detail"], "The code was used already. Wait until the app shows the next one.");
    let code = &enrolled.json["recovery_codes"][0];
    show(json!({"login_ticket": ticket, "recovery_code": code})).await.tokens();
}

#[tokio::test]
async fn a_ticket_is_good_for_one_of_the_factors_and_for_ten_minutes() {
    let (world, tokens) = World::with_alice().await;
    let (secret, _) = world.enrol_app(&tokens).await;
    let ticket = world.log_in(PASSWORD).await.json["login_ticket"].clone();
    for body in
        [json!({"login_ticket": ticket}), json!({"login_ticket": ticket, "totp": "1", "recovery_code": "2"})]
    {
        assert_eq!(world.post("/auth/login/factor", body).await.problem(), (400, "factor_missing"));
    }
    let ask = async || world.post("/auth/login/passkey", json!({"login_ticket": ticket})).await;
    assert_eq!(ask().await.problem(), (404, "not_offered"), "there is none");
    world.clock.advance(Lifetime::minutes(10));
    assert_eq!(ask().await.problem(), (401, "login_ticket_expired"));
    let late = json!({"login_ticket": ticket, "totp": world.shown(&secret)});
    assert_eq!(world.post("/auth/login/factor", late).await.problem(), (401, "login_ticket_expired"));
    let none = json!({"login_ticket": "x", "totp": world.shown(&secret)});
    assert_eq!(world.post("/auth/login/factor", none).await.problem(), (401, "login_ticket_expired"));
}

#[tokio::test]
async fn whoever_asks_for_more_than_the_account_can_show_is_told_so() {
    let world = World::new().await;
    world.register(ALICE).await;
    let body = json!({"email": ALICE, "password": PASSWORD, "acr_values": "aal2"});
    assert_eq!(world.post("/auth/login", body).await.problem(), (403, "second_factor_missing"));
    let body = json!({"email": ALICE, "password": PASSWORD, "acr_values": "aal2 aal1"});
    assert_eq!(world.post("/auth/login", body).await.status, 200);
}

#[tokio::test]
async fn a_passkey_is_asked_for_without_saying_whose() {
    let world = World::new().await;
    let begun = world.post("/auth/login/passkey", Value::Null).await;
    assert_eq!((begun.status, &begun.json["options"]["publicKey"]["rpId"]), (200, &json!("id.example.org")));
    let state = &begun.json["state"];
    let missing = world.post("/auth/login/passkey/finish", json!({"state": state})).await;
    assert_eq!(missing.problem(), (400, "response_missing"));
    let made_up = json!({"state": state, "response": {"id": "x"}});
    let refused = world.post("/auth/login/passkey/finish", made_up).await;
    assert_eq!(refused.problem(), (401, "wrong_factor"));
    for member in ["title", "detail"] {
        assert!(!refused.json[member].as_str().unwrap().contains("second factor"), "it is the only one");
    }
    let made_up = world.post("/auth/login/passkey", json!({"login_ticket": "x"})).await;
    assert_eq!(made_up.problem(), (401, "login_ticket_expired"));
}
