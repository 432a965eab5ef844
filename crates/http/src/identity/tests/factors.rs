//! What is asked beside the password.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;

use super::world::{PASSWORD, World};

#[tokio::test]
async fn an_authenticator_app_is_enrolled_listed_renamed_and_removed() {
    let (world, tokens) = World::with_alice().await;
    let (_, enrolled) = world.enrol_app(&tokens).await;
    assert_eq!((enrolled.status, enrolled.json["recovery_codes"].as_array().unwrap().len()), (201, 10));
    let list = async || world.ask("GET", "/auth/factors", &tokens.access, Value::Null).await.json;
    let listed = list().await;
    let expected = json!({
        "factors": [{
            "id": enrolled.json["id"],
            "kind": "totp",
            "name": "Phone",
            "created_at": "2025-06-15T15:06:40Z",
            "last_used_at": null,
        }],
        "recovery_codes_left": 10,
    });
    assert_eq!(listed, expected);
    let path = format!("/auth/factors/{}", enrolled.json["id"].as_str().unwrap());
    assert_eq!(world.ask("PATCH", &path, &tokens.access, json!({"name": "Old phone"})).await.status, 204);
    assert_eq!(list().await["factors"][0]["name"], "Old phone");
    let made = world.ask("POST", "/auth/factors/recovery-codes", &tokens.access, Value::Null).await;
    assert_eq!((made.status, made.json["recovery_codes"].as_array().unwrap().len()), (201, 10));
    assert_ne!(made.json["recovery_codes"], enrolled.json["recovery_codes"]);
    assert_eq!(world.ask("DELETE", &path, &tokens.access, Value::Null).await.status, 204);
    assert_eq!(world.ask("DELETE", &path, &tokens.access, Value::Null).await.problem(), (404, "not_found"));
    assert_eq!(list().await, json!({"factors": [], "recovery_codes_left": 0}));
    let none = world.ask("POST", "/auth/factors/recovery-codes", &tokens.access, Value::Null).await;
    assert_eq!(none.problem(), (403, "second_factor_missing"));
}

#[tokio::test]
async fn a_while_after_the_login_the_password_is_asked_for() {
    let (world, tokens) = World::with_alice().await;
    let ask = async |path: &str, body: Value| world.ask("POST", path, &tokens.access, body).await;
    assert_eq!(ask("/auth/factors/totp", Value::Null).await.status, 200);
    world.clock.advance(Lifetime::minutes(10));
    for path in ["/auth/factors/totp", "/auth/factors/passkeys", "/auth/factors/recovery-codes"] {
        let asked = ask(path, Value::Null).await;
        assert_eq!(
            (asked.problem(), &asked.json["field"]),
            ((403, "confirmation_required"), &json!("password"))
        );
        let wrong = ask(path, json!({"password": "wrong horse"})).await;
        assert_eq!(wrong.problem(), (403, "wrong_password"));
    }
    assert_eq!(ask("/auth/factors/totp", json!({"password": PASSWORD})).await.status, 200);
}

#[tokio::test]
async fn nothing_is_enrolled_by_a_wrong_code_or_too_late() {
    let (world, tokens) = World::with_alice().await;
    let begun = world.ask("POST", "/auth/factors/totp", &tokens.access, Value::Null).await.json;
    assert!(begun["otpauth_uri"].as_str().unwrap().starts_with("otpauth://totp/Example:"));
    assert!(begun["qr_svg"].as_str().unwrap().starts_with("<svg"));
    let confirm = async |ticket: &Value, code: &str| {
        let body = json!({"ticket": ticket, "code": code});
        world.ask("POST", "/auth/factors/totp/confirm", &tokens.access, body).await
    };
    assert_eq!(confirm(&begun["ticket"], "000000").await.problem(), (400, "wrong_code"));
    assert_eq!(confirm(&json!("none"), "000000").await.problem(), (400, "enrolment_expired"));
    assert_eq!(confirm(&json!(null), "000000").await.problem(), (400, "ticket_missing"));
}

#[tokio::test]
async fn a_passkey_is_begun_for_the_caller_and_not_enrolled_by_made_up_answers() {
    let (world, tokens) = World::with_alice().await;
    let begun = world.ask("POST", "/auth/factors/passkeys", &tokens.access, Value::Null).await;
    assert_eq!(
        (begun.status, &begun.json["options"]["publicKey"]["rp"]["id"]),
        (200, &json!("id.example.org"))
    );
    let confirm = async |body: Value| {
        world.ask("POST", "/auth/factors/passkeys/confirm", &tokens.access, body).await.problem().1.to_owned()
    };
    let state = &begun.json["state"];
    assert_eq!(confirm(json!({"state": state, "response": {"id": "x"}})).await, "wrong_code");
    assert_eq!(confirm(json!({"state": "x", "response": {}})).await, "enrolment_expired");
    assert_eq!(confirm(json!({"state": state})).await, "response_missing");
}
