//! What is asked beside the password.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::Authenticator;

use super::world::{PASSWORD, Tokens, World};

#[tokio::test]
async fn an_authenticator_app_is_enrolled_listed_renamed_and_removed() {
    let (world, tokens) = World::with_alice().await;
    let (secret, enrolled) = world.enrol_app(&tokens).await;
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
    world.clock.advance(Lifetime::secs(60));
    let stronger = world.log_in_with(&secret).await;
    let ask = async |method: &str, path: &str| {
        world.ask(method, path, &stronger.access, json!({"password": PASSWORD})).await
    };
    let made = ask("POST", "/auth/factors/recovery-codes").await;
    assert_eq!((made.status, made.json["recovery_codes"].as_array().unwrap().len()), (201, 10));
    assert_ne!(made.json["recovery_codes"], enrolled.json["recovery_codes"]);
    assert_eq!(ask("DELETE", &path).await.status, 204);
    assert_eq!(ask("DELETE", &path).await.problem(), (404, "not_found"));
    assert_eq!(list().await, json!({"factors": [], "recovery_codes_left": 0}));
    let none = ask("POST", "/auth/factors/recovery-codes").await;
    assert_eq!(none.problem(), (403, "second_factor_missing"));
}

#[tokio::test]
async fn a_session_without_the_second_factor_takes_it_from_nobody() {
    let (world, tokens) = World::with_alice().await;
    let (secret, enrolled) = world.enrol_app(&tokens).await;
    world.clock.advance(Lifetime::secs(60));
    let path = format!("/auth/factors/{}", enrolled.json["id"].as_str().unwrap());
    let table = [
        ("DELETE", path.as_str(), json!({"password": PASSWORD})),
        ("POST", "/auth/factors/totp", json!({"password": PASSWORD})),
        ("POST", "/auth/factors/recovery-codes", json!({"password": PASSWORD})),
        ("POST", "/auth/email", json!({"password": PASSWORD, "email": "thief@example.com"})),
        ("POST", "/auth/password", json!({"current_password": PASSWORD, "new_password": "battery staple"})),
        ("DELETE", "/auth/me", json!({"password": PASSWORD})),
    ];
    for (method, path, body) in table {
        let refused = world.ask(method, path, &tokens.access, body).await;
        assert_eq!(refused.problem(), (403, "factor_confirmation_required"), "{method} {path}");
    }
    let both = json!({"password": PASSWORD, "totp": "1", "recovery_code": "2"});
    let refused = world.ask("DELETE", &path, &tokens.access, both).await;
    assert_eq!(refused.problem(), (400, "factor_missing"));
    let wrong = json!({"password": PASSWORD, "totp": "000000"});
    assert_eq!(world.ask("DELETE", &path, &tokens.access, wrong).await.problem(), (400, "wrong_code"));
    let shown = json!({"password": PASSWORD, "totp": world.shown(&secret)});
    assert_eq!(world.ask("DELETE", &path, &tokens.access, shown).await.status, 204);
}

#[tokio::test]
async fn a_session_that_shows_the_second_factor_for_another_password_goes_on_as_one_that_did() {
    let (world, tokens) = World::with_alice().await;
    let (secret, _) = world.enrol_app(&tokens).await;
    world.clock.advance(Lifetime::secs(60));
    let body = json!({
        "current_password": PASSWORD, "new_password": "battery staple", "totp": world.shown(&secret),
    });
    let changed = world.ask("POST", "/auth/password", &tokens.access, body).await;
    assert_eq!(changed.status, 200, "{:?}", changed.json);
    let kept = changed.tokens();
    // Without another code: it is taken as shown.
    let made = world
        .ask("POST", "/auth/factors/recovery-codes", &kept.access, json!({"password": "battery staple"}))
        .await;
    assert_eq!(made.status, 201, "{:?}", made.json);
}

#[tokio::test]
async fn the_first_factor_signs_out_those_who_showed_none() {
    let (world, tokens) = World::with_alice().await;
    let other = world.log_in(PASSWORD).await.tokens();
    let me = async |tokens: &Tokens| world.ask("GET", "/auth/me", &tokens.access, Value::Null).await.status;
    assert_eq!((me(&tokens).await, me(&other).await), (200, 200));
    assert_eq!(world.enrol_app(&tokens).await.1.status, 201);
    assert_eq!((me(&tokens).await, me(&other).await), (200, 401));
}

#[tokio::test]
async fn nobody_adds_a_factor_before_the_address_is_verified() {
    let (world, tokens) = World::with_alice().await;
    for path in ["/auth/factors/totp", "/auth/factors/passkeys"] {
        let refused = world.ask("POST", path, &tokens.access, json!({"password": PASSWORD})).await;
        assert_eq!(refused.problem(), (403, "email_unverified"), "{path}");
    }
}

#[tokio::test]
async fn the_password_is_asked_for_once_more() {
    let (world, tokens) = World::with_alice().await;
    world.verify_alice().await;
    let ask = async |path: &str, body: Value| world.ask("POST", path, &tokens.access, body).await;
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
    world.verify_alice().await;
    let begun =
        world.ask("POST", "/auth/factors/totp", &tokens.access, json!({"password": PASSWORD})).await.json;
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
    world.verify_alice().await;
    let begun =
        world.ask("POST", "/auth/factors/passkeys", &tokens.access, json!({"password": PASSWORD})).await;
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

#[tokio::test]
async fn a_passkey_of_ones_own_is_no_wrong_one() {
    let (world, tokens) = World::with_alice().await;
    world.verify_alice().await;
    let begin = async || {
        let body = json!({"password": PASSWORD});
        world.ask("POST", "/auth/factors/passkeys", &tokens.access, body).await.json
    };
    // Both before it is there: browsers make no passkey that the options exclude.
    let (first, meanwhile) = (begin().await, begin().await);
    let mut key = Authenticator::in_hardware(1, "https://id.example.org");
    let mut confirm = async |begun: &Value| {
        let response: Value = serde_json::from_str(&key.create(&begun["options"])).unwrap();
        let body = json!({"state": begun["state"], "response": response});
        world.ask("POST", "/auth/factors/passkeys/confirm", &tokens.access, body).await
    };
    assert_eq!(confirm(&first).await.status, 201);
    assert_eq!(confirm(&meanwhile).await.problem(), (409, "factor_exists"));
    let listed = world.ask("GET", "/auth/factors", &tokens.access, Value::Null).await;
    assert_eq!(listed.json["factors"].as_array().unwrap().len(), 1);
}
