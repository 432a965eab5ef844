//! `POST /auth/register`

use axum::body::Body;
use http::Request;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Value, json};
use sluice_identity::config::Rate;

use super::world::{ALICE, PASSWORD, World};

fn sign_up(member: &str, value: &Value) -> Value {
    let mut body = json!({"email": ALICE, "username": "Alice", "password": PASSWORD});
    body[member] = value.clone();
    body
}

#[tokio::test]
async fn whoever_registers_is_told_the_new_record_and_nothing_of_the_password() {
    let world = World::new().await;
    let made = world.register(" Alice@Example.com").await;
    assert_eq!((made.status, made.header(CACHE_CONTROL)), (201, "no-store"));
    let expected = json!({
        "id": made.json["id"],
        "email": ALICE,
        "email_verified": false,
        "username": "Alice",
        "status": "active",
        "created_at": "2025-06-15T15:06:40Z",
        "updated_at": "2025-06-15T15:06:40Z",
    });
    assert_eq!(made.json, expected);
    assert_eq!(made.json["id"].as_str().unwrap().len(), 36);
}

#[tokio::test]
async fn a_field_that_is_not_as_it_must_be_is_named() {
    let world = World::new().await;
    let table = [
        ("email", json!(null), "email_missing"),
        ("email", json!("alice"), "email_malformed"),
        ("email", json!(format!("{}@example.com", "a".repeat(250))), "email_too_long"),
        ("email", json!(["alice@example.com"]), "email_malformed"),
        ("username", json!("a".repeat(65)), "username_too_long"),
        ("username", json!("a\u{0}b"), "username_malformed"),
        ("username", json!(7), "username_malformed"),
        ("password", json!(""), "password_missing"),
        ("password", json!("1234567"), "password_too_short"),
        ("password", json!("a".repeat(1025)), "password_too_long"),
        ("password", json!(ALICE), "password_is_email"),
        ("password", json!({"a": 1}), "password_malformed"),
    ];
    for (member, value, code) in table {
        let refused = world.post("/auth/register", sign_up(member, &value)).await;
        assert_eq!(refused.problem(), (400, code), "{member}: {value}");
        assert_eq!(refused.json["field"], member, "{value}");
    }
    assert_eq!(world.register(ALICE).await.status, 201);
}

#[tokio::test]
async fn a_body_that_is_no_json_object_or_too_large_is_refused() {
    let world = World::new().await;
    let twice = format!(r#"{{"email": "{ALICE}", "email": "bob@example.com", "password": "{PASSWORD}"}}"#);
    let large = json!({"email": ALICE, "password": PASSWORD, "more": "a".repeat(16 * 1024)}).to_string();
    let list = json!([ALICE, "Alice", PASSWORD]).to_string();
    let table = [
        ("application/json", "", (400, "malformed_body")),
        ("application/json", list.as_str(), (400, "malformed_body")),
        ("application/json", "{\"email\": \"a", (400, "malformed_body")),
        ("application/json", twice.as_str(), (400, "repeated_member")),
        ("application/json", large.as_str(), (413, "body_too_large")),
        ("application/x-www-form-urlencoded", "email=a", (415, "unsupported_media_type")),
        ("text/plain", "{}", (415, "unsupported_media_type")),
    ];
    for (content_type, body, expected) in table {
        let request = Request::post("/auth/register").header(CONTENT_TYPE, content_type);
        let refused = world.send(request.body(Body::from(body.to_owned())).unwrap()).await;
        assert_eq!(refused.problem(), expected, "{content_type}: {}", body.len());
    }
}

#[tokio::test]
async fn a_taken_address_is_a_conflict() {
    let world = World::new().await;
    assert_eq!(world.register(ALICE).await.status, 201);
    let taken = world.register("ALICE@example.com").await;
    assert_eq!((taken.problem(), &taken.json["field"]), ((409, "email_taken"), &json!("email")));
}

#[tokio::test]
async fn where_taken_addresses_are_concealed_the_answer_is_the_same() {
    let world = World::with(|config| config.registration.conceal_taken = true).await;
    let (first, second) = (world.register(ALICE).await, world.register(ALICE).await);
    assert_eq!((first.status, &first.json), (202, &json!({"status": "accepted"})));
    assert_eq!((second.status, &second.json, &second.headers), (first.status, &first.json, &first.headers));
    let subjects: Vec<_> = world.mails().await.into_iter().map(|mail| mail.subject).collect();
    assert_eq!(subjects.len(), 2);
    assert_ne!(subjects[0], subjects[1]);
    assert_eq!(world.log_in(PASSWORD).await.problem(), (401, "invalid_credentials"), "a login tells nothing");
    world.verify_alice().await;
    assert_eq!(world.log_in(PASSWORD).await.status, 200);
}

#[tokio::test]
async fn whoever_registers_too_often_is_told_when_to_come_again() {
    let world = World::with(|config| {
        config.limits.registrations_per_network = Some(Rate::per_hour(2));
    });
    let world = world.await;
    for name in ["a", "b"] {
        assert_eq!(world.register(&format!("{name}@example.com")).await.status, 201);
    }
    let refused = world.register("c@example.com").await;
    assert_eq!((refused.problem(), refused.header(RETRY_AFTER)), ((429, "too_many_requests"), "1800"));
}

#[tokio::test]
async fn where_nobody_may_register_nobody_does() {
    let world = World::with(|config| config.registration.enabled = false).await;
    assert_eq!(world.register(ALICE).await.problem(), (403, "registration_closed"));
}

#[tokio::test]
async fn a_store_that_is_overloaded_is_asked_again_later() {
    let world = World::new().await;
    let held = world.store.hold().await;
    let refused = world.register(ALICE).await;
    assert_eq!((refused.problem(), refused.header(RETRY_AFTER)), ((503, "temporarily_unavailable"), "1"));
    drop(held);
    assert_eq!(world.register(ALICE).await.status, 201);
}

#[tokio::test]
async fn where_a_proof_of_work_is_asked_for_each_is_good_once() {
    let world = World::with(|config| config.proof_of_work.registration_bits = 8).await;
    let missing = world.register(ALICE).await;
    assert_eq!(
        (missing.problem(), &missing.json["field"]),
        ((400, "proof_of_work_required"), &json!("proof_of_work"))
    );
    let puzzle = world.ask("GET", "/auth/proof-of-work?purpose=registration", "", Value::Null).await;
    assert_eq!((puzzle.status, &puzzle.json["bits"]), (200, &json!(8)));
    let challenge = puzzle.json["challenge"].as_str().unwrap().to_owned();
    let solution = sluice_identity::proof_of_work::Puzzle { challenge: challenge.clone(), bits: 8 }.solve();
    let proof = json!({"challenge": challenge, "solution": solution});
    assert_eq!(world.post("/auth/register", sign_up("proof_of_work", &proof)).await.status, 201);
    let again = world.post("/auth/register", sign_up("proof_of_work", &proof)).await;
    assert_eq!(again.problem(), (400, "proof_of_work_required"));
    let none = world.ask("GET", "/auth/proof-of-work?purpose=login", "", Value::Null).await;
    assert_eq!(none.problem(), (404, "not_offered"));
    for query in ["", "?purpose=x"] {
        let refused = world.ask("GET", &format!("/auth/proof-of-work{query}"), "", Value::Null).await;
        assert_eq!((refused.status, &refused.json["field"]), (400, &json!("purpose")));
    }
}

#[tokio::test]
async fn a_mistake_in_a_field_leaves_the_proof_of_work_good() {
    let world = World::with(|config| config.proof_of_work.registration_bits = 8).await;
    let puzzle = world.ask("GET", "/auth/proof-of-work?purpose=registration", "", Value::Null).await;
    let challenge = puzzle.json["challenge"].as_str().unwrap().to_owned();
    let solution = sluice_identity::proof_of_work::Puzzle { challenge: challenge.clone(), bits: 8 }.solve();
    let solved = sign_up("proof_of_work", &json!({"challenge": challenge, "solution": solution}));
    let mistakes = [
        ("email", "alice@example", "email_malformed"),
        ("username", "a\u{0}b", "username_malformed"),
        ("password", "1234567", "password_too_short"),
        ("password", ALICE, "password_is_email"),
    ];
    for (member, value, code) in mistakes {
        let mut typed = solved.clone();
        typed[member] = json!(value);
        assert_eq!(world.post("/auth/register", typed).await.problem(), (400, code), "{member}: {value}");
    }
    assert_eq!(world.post("/auth/register", solved.clone()).await.status, 201);
    // Whether an address is taken is not told without one.
    assert_eq!(world.post("/auth/register", solved).await.problem(), (400, "proof_of_work_required"));
}
