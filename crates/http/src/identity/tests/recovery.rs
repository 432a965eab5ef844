//! The way back in.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;

use super::world::{ALICE, PASSWORD, World, code, token};

const NEW: &str = "battery staple";

#[tokio::test]
async fn recovery_is_begun_in_the_same_words_for_everybody() {
    let (world, _) = World::with_alice().await;
    let known = world.post("/auth/recovery", json!({"email": ALICE})).await;
    let unknown = world.post("/auth/recovery", json!({"email": "bob@example.com"})).await;
    assert_eq!((known.status, &known.json), (202, &Value::Null));
    assert_eq!((unknown.status, &unknown.json, &unknown.headers), (202, &Value::Null, &known.headers));
    assert_eq!(world.mails().await.len(), 1);
    assert_eq!(world.post("/auth/recovery", json!({})).await.problem(), (400, "email_missing"));
}

#[tokio::test]
async fn another_password_is_set_by_the_code() {
    let (world, tokens) = World::with_alice().await;
    world.post("/auth/recovery", json!({"email": ALICE})).await;
    let code = code(&world.mails().await.remove(0));
    let confirm = async |body: Value| world.post("/auth/recovery/confirm", body).await;
    let missing = confirm(json!({"email": ALICE, "code": code})).await;
    assert_eq!(missing.problem(), (400, "new_password_missing"));
    let wrong = confirm(json!({"email": ALICE, "code": "ABCDEFGH", "new_password": NEW})).await;
    assert_eq!(wrong.problem(), (400, "wrong_code"));
    let unknown = confirm(json!({"email": "bob@example.com", "code": code, "new_password": NEW})).await;
    assert_eq!((&unknown.json, &unknown.headers), (&wrong.json, &wrong.headers));
    assert_eq!(confirm(json!({"email": ALICE, "code": code, "new_password": NEW})).await.status, 204);
    assert_eq!(
        confirm(json!({"email": ALICE, "code": code, "new_password": NEW})).await.problem(),
        (400, "wrong_code")
    );
    assert_eq!(world.ask("GET", "/auth/me", &tokens.access, Value::Null).await.status, 401);
    world.clock.advance(Lifetime::millis(1));
    assert_eq!((world.log_in(PASSWORD).await.status, world.log_in(NEW).await.status), (401, 200));
}

#[tokio::test]
async fn a_password_that_may_not_be_chosen_does_not_burn_the_code() {
    let (world, _) = World::with_alice().await;
    world.post("/auth/recovery", json!({"email": ALICE})).await;
    let proof = token(&world.mails().await.remove(0));
    let weak = world.post("/auth/recovery/confirm", json!({"token": proof, "new_password": "short"})).await;
    assert_eq!((weak.problem(), &weak.json["field"]), ((400, "password_too_short"), &json!("new_password")));
    let ticket = &weak.json["ticket"];
    let still_weak = json!({"ticket": ticket, "new_password": ALICE});
    let still_weak = world.post("/auth/recovery/confirm", still_weak).await;
    assert_eq!((still_weak.problem(), still_weak.json.get("ticket")), ((400, "password_is_email"), None));
    let strong = json!({"ticket": ticket, "new_password": NEW});
    assert_eq!(world.post("/auth/recovery/confirm", strong.clone()).await.status, 204);
    assert_eq!(world.post("/auth/recovery/confirm", strong).await.problem(), (400, "wrong_code"));
}

#[tokio::test]
async fn a_code_is_exchanged_for_a_ticket_before_a_password_is_chosen() {
    let (world, _) = World::with_alice().await;
    world.post("/auth/recovery", json!({"email": ALICE})).await;
    let proof = json!({"email": ALICE, "code": code(&world.mails().await.remove(0))});
    let checked = world.post("/auth/recovery/check", proof.clone()).await;
    assert_eq!(checked.status, 200);
    assert_eq!(world.post("/auth/recovery/check", proof).await.problem(), (400, "wrong_code"));
    let chosen = json!({"ticket": checked.json["ticket"], "new_password": NEW});
    assert_eq!(world.post("/auth/recovery/confirm", chosen).await.status, 204);
    let early = world.log_in(NEW).await;
    assert_eq!(early.problem(), (503, "temporarily_unavailable"), "what was begun by then has ended");
    world.clock.advance(Lifetime::millis(1));
    assert_eq!(world.log_in(NEW).await.status, 200);
}

#[tokio::test]
async fn a_server_without_mail_offers_no_way_back() {
    let world = World::without_mail().await;
    world.register(ALICE).await;
    assert_eq!(world.post("/auth/recovery", json!({"email": ALICE})).await.problem(), (404, "not_offered"));
}
