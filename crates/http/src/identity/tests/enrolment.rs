//! A second factor that is required: of whom, and what of an account is reached before there is one.

use serde_json::{Value, json};
use sluice_crypto::totp::TotpSecret;
use sluice_identity::config::Config;
use sluice_identity::factor::FactorsRequired;
use sluice_primitives::Lifetime;
use sluice_testkit::{Authenticator, Captured};

use super::world::{ALICE, Answer, PASSWORD, World, code};

const REQUIRED: (u16, &str) = (401, "factor_enrolment_required");
const EXPIRED: (u16, &str) = (401, "login_ticket_expired");

fn always(config: &mut Config) {
    config.factors_required = FactorsRequired::Always;
}

impl World {
    /// Everybody must have a factor, and Alice, whose address is verified, has none yet.
    async fn that_requires_factors() -> Self {
        let world = Self::with(always).await;
        assert_eq!(world.register(ALICE).await.status, 201);
        world.mails().await;
        world.verify_alice().await;
        world
    }

    /// What a login that waits for a factor is answered with.
    async fn enrolment_ticket(&self) -> Value {
        let led = self.log_in(PASSWORD).await;
        assert_eq!(led.problem(), REQUIRED);
        led.json["enrolment_ticket"].clone()
    }

    async fn begin(&self, ticket: &Value, kind: &str) -> Answer {
        self.post(&format!("/auth/login/enrolment/{kind}"), json!({"enrolment_ticket": ticket})).await
    }

    /// Begins an app: its secret, and what its first code is sent with.
    async fn begun_app(&self, ticket: &Value) -> (TotpSecret, Value) {
        let begun = self.begin(ticket, "totp").await;
        assert_eq!(begun.status, 200, "{}", begun.json);
        let secret = TotpSecret::from_base32(begun.json["secret"].as_str().unwrap()).unwrap();
        let body = json!({
            "enrolment_ticket": ticket, "ticket": begun.json["ticket"], "code": self.shown(&secret), "name": "Phone",
        });
        (secret, body)
    }

    async fn confirm_app(&self, body: &Value) -> Answer {
        self.post("/auth/login/enrolment/totp/confirm", body.clone()).await
    }
}

#[tokio::test]
async fn a_login_without_a_factor_ends_in_one_and_the_tokens_come_with_it() {
    let world = World::that_requires_factors().await;
    let led = world.log_in(PASSWORD).await;
    assert_eq!(led.problem(), REQUIRED);
    assert_eq!(led.json["factors"], json!(["totp", "passkey"]));
    assert!(led.json.get("access_token").is_none() && led.json.get("login_ticket").is_none());
    let (secret, body) = world.begun_app(&led.json["enrolment_ticket"]).await;
    let (log, _capture) = Captured::begin();
    let done = world.confirm_app(&body).await;
    assert_eq!((done.status, done.json["recovery_codes"].as_array().unwrap().len()), (201, 10));
    assert_eq!(log.lines("factor enrolled").len(), 1, "{}", log.text());
    let token = done.json["access_token"].as_str().unwrap();
    let sessions = world.ask("GET", "/auth/sessions", token, Value::Null).await;
    let session = &sessions.json["sessions"][0];
    assert_eq!((&session["amr"], &session["acr"]), (&json!(["pwd", "otp", "mfa"]), &json!("aal2")));
    world.clock.advance(Lifetime::secs(60));
    assert_eq!(world.log_in(PASSWORD).await.problem(), (401, "second_factor_required"));
    world.log_in_with(&secret).await;
}

#[tokio::test]
async fn a_wrong_code_adds_nothing_and_the_right_one_lets_in_once() {
    let world = World::that_requires_factors().await;
    let (_, body) = world.begun_app(&world.enrolment_ticket().await).await;
    let mut wrong = body.clone();
    wrong["code"] = json!("000000");
    assert_eq!(world.confirm_app(&wrong).await.problem(), (400, "wrong_code"));
    assert_eq!(world.log_in(PASSWORD).await.problem(), REQUIRED);
    let first = world.confirm_app(&body).await;
    assert_eq!(first.status, 201);
    let again = world.confirm_app(&body).await;
    assert_eq!(again.problem(), EXPIRED);
    assert!(again.json.get("recovery_codes").is_none() && again.json.get("access_token").is_none());
    let token = first.json["access_token"].as_str().unwrap();
    let sessions = world.ask("GET", "/auth/sessions", token, Value::Null).await;
    assert_eq!(sessions.json["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_passkey_is_as_good() {
    let world = World::that_requires_factors().await;
    let ticket = world.enrolment_ticket().await;
    let begun = world.begin(&ticket, "passkeys").await.json;
    let mut key = Authenticator::in_hardware(1, "https://id.example.org");
    let response: Value = serde_json::from_str(&key.create(&begun["options"])).unwrap();
    let body = json!({"enrolment_ticket": ticket, "state": begun["state"], "response": response});
    let done = world.post("/auth/login/enrolment/passkeys/confirm", body.clone()).await;
    assert_eq!(done.status, 201, "{}", done.json);
    let again = world.post("/auth/login/enrolment/passkeys/confirm", body).await;
    assert_eq!(again.problem(), EXPIRED);
    let token = done.json["access_token"].as_str().unwrap();
    let sessions = world.ask("GET", "/auth/sessions", token, Value::Null).await;
    assert_eq!(sessions.json["sessions"][0]["amr"], json!(["pwd", "mfa"]));
}

#[tokio::test]
async fn the_ticket_reaches_nothing_else_of_the_account() {
    let world = World::that_requires_factors().await;
    let ticket = world.enrolment_ticket().await;
    let bearer = ticket.as_str().unwrap();
    for (method, path) in [
        ("GET", "/auth/me"),
        ("PATCH", "/auth/me"),
        ("DELETE", "/auth/me"),
        ("GET", "/auth/sessions"),
        ("GET", "/auth/factors"),
        ("POST", "/auth/factors/totp"),
        ("POST", "/auth/password"),
        ("POST", "/auth/email"),
        ("POST", "/auth/verification"),
    ] {
        let refused = world.ask(method, path, bearer, json!({"password": PASSWORD})).await;
        assert_eq!(refused.problem(), (401, "invalid_token"), "{method} {path}");
    }
    let refresh = world.post("/auth/refresh", json!({"refresh_token": ticket})).await;
    assert_eq!(refresh.problem(), (401, "invalid_refresh_token"));
    let shown = world.post("/auth/login/factor", json!({"login_ticket": ticket, "totp": "000000"})).await;
    assert_eq!(shown.problem(), EXPIRED);
    let recovery = json!({"ticket": ticket, "new_password": "battery staple"});
    assert_eq!(world.post("/auth/recovery/confirm", recovery).await.problem(), (400, "wrong_code"));
}

#[tokio::test]
async fn the_ticket_of_a_second_factor_enrols_none() {
    let world = World::that_requires_factors().await;
    let (_, body) = world.begun_app(&world.enrolment_ticket().await).await;
    assert_eq!(world.confirm_app(&body).await.status, 201);
    let ticket = world.log_in(PASSWORD).await.json["login_ticket"].clone();
    for kind in ["totp", "passkeys", "verification"] {
        assert_eq!(world.begin(&ticket, kind).await.problem(), EXPIRED, "{kind}");
        assert_eq!(world.begin(&Value::Null, kind).await.problem(), (400, "enrolment_ticket_missing"));
    }
}

/// Whoever knows the password alone, and came first, is left with nothing once there is a factor.
#[tokio::test]
async fn a_ticket_is_good_for_the_first_factor_alone() {
    let world = World::that_requires_factors().await;
    let stolen = world.enrolment_ticket().await;
    let (_, begun) = world.begun_app(&stolen).await;
    let (_, own) = world.begun_app(&world.enrolment_ticket().await).await;
    assert_eq!(world.confirm_app(&own).await.status, 201);
    for kind in ["totp", "passkeys"] {
        assert_eq!(world.begin(&stolen, kind).await.problem(), EXPIRED, "{kind}");
    }
    assert_eq!(world.confirm_app(&begun).await.problem(), EXPIRED);
    assert_eq!(world.log_in(PASSWORD).await.json["factors"], json!(["totp", "recovery_code"]));
}

#[tokio::test]
async fn a_ticket_holds_for_a_quarter_of_an_hour_and_for_the_password_that_was_shown() {
    let world = World::that_requires_factors().await;
    let (early, late) = (world.enrolment_ticket().await, world.enrolment_ticket().await);
    world.post("/auth/recovery", json!({"email": ALICE})).await;
    let code = code(&world.mails().await.remove(0));
    let set = json!({"email": ALICE, "code": code, "new_password": "battery staple"});
    assert_eq!(world.post("/auth/recovery/confirm", set).await.status, 204);
    assert_eq!(world.begin(&early, "totp").await.problem(), EXPIRED, "another password");
    world.clock.advance(Lifetime::millis(1));
    let led = world.log_in("battery staple").await;
    assert_eq!(led.problem(), REQUIRED, "a recovery is no way around");
    let ticket = &led.json["enrolment_ticket"];
    world.clock.advance(Lifetime::minutes(14));
    assert_eq!(world.begin(ticket, "totp").await.status, 200);
    world.clock.advance(Lifetime::minutes(1));
    assert_eq!(world.begin(ticket, "totp").await.problem(), EXPIRED);
    assert_eq!(world.begin(&late, "totp").await.problem(), EXPIRED);
}

#[tokio::test]
async fn an_address_is_verified_first_where_there_is_mail() {
    let world = World::with(always).await;
    assert_eq!(world.register(ALICE).await.status, 201);
    world.mails().await;
    let ticket = world.enrolment_ticket().await;
    for kind in ["totp", "passkeys"] {
        assert_eq!(world.begin(&ticket, kind).await.problem(), (403, "email_unverified"), "{kind}");
    }
    assert_eq!(world.begin(&ticket, "verification").await.status, 202);
    let code = code(&world.mails().await.remove(0));
    let shown = json!({"email": ALICE, "code": code});
    assert_eq!(world.post("/auth/verification/confirm", shown).await.status, 204);
    let (_, body) = world.begun_app(&ticket).await;
    assert_eq!(world.confirm_app(&body).await.status, 201);
    let again = world.begin(&ticket, "verification").await;
    assert_eq!(again.problem(), EXPIRED, "there is a factor by now");
}

#[tokio::test]
async fn a_session_of_before_goes_on_until_somebody_sets_the_factor_up() {
    let world = World::with(|config| config.factors_required = FactorsRequired::Chosen).await;
    let id = world.register(ALICE).await.json["id"].as_str().unwrap().to_owned();
    world.mails().await;
    world.verify_alice().await;
    let before = world.log_in(PASSWORD).await.tokens();
    let path = format!("/admin/identities/{id}/factors");
    assert_eq!(world.ask("PATCH", &path, "", json!({"required": true})).await.status, 204);
    let refreshed = world.post("/auth/refresh", json!({"refresh_token": before.refresh})).await.tokens();
    let me = async || world.ask("GET", "/auth/me", &refreshed.access, Value::Null).await.status;
    assert_eq!(me().await, 200);
    let (_, body) = world.begun_app(&world.enrolment_ticket().await).await;
    assert_eq!(world.confirm_app(&body).await.status, 201);
    assert_eq!(me().await, 401, "it showed none");
}

#[tokio::test]
async fn of_those_who_must_have_one_an_administrator_says_who() {
    let world = World::with(|config| config.factors_required = FactorsRequired::Chosen).await;
    let path = |answer: &Answer| format!("/admin/identities/{}/factors", answer.json["id"].as_str().unwrap());
    let (alice, bob) = (world.register(ALICE).await, world.register("bob@example.com").await);
    let ask = async |method: &str, path: &str, body: Value| world.ask(method, path, "", body).await;
    assert_eq!(ask("GET", &path(&alice), Value::Null).await.json["required"], json!(false));
    let (log, _capture) = Captured::begin();
    assert_eq!(ask("PATCH", &path(&alice), json!({"required": true})).await.status, 204);
    assert_eq!(log.lines("second factor required by an administrator").len(), 1, "{}", log.text());
    assert_eq!(ask("GET", &path(&alice), Value::Null).await.json["required"], json!(true));
    assert_eq!(ask("GET", &path(&bob), Value::Null).await.json["required"], json!(false));
    assert_eq!(world.log_in(PASSWORD).await.problem(), REQUIRED);
    let bob = json!({"email": "bob@example.com", "password": PASSWORD});
    assert_eq!(world.post("/auth/login", bob).await.status, 200);
    assert_eq!(ask("PATCH", &path(&alice), json!({"required": false})).await.status, 204);
    assert_eq!(world.log_in(PASSWORD).await.status, 200);
    assert_eq!(ask("PATCH", &path(&alice), json!({})).await.status, 400);
    let nobody = "/admin/identities/01234567-89ab-7def-8123-456789abcdef/factors";
    assert_eq!(ask("PATCH", nobody, json!({"required": true})).await.status, 404);
}

#[tokio::test]
async fn where_nobody_must_have_one_what_an_administrator_said_does_not_count() {
    let world = World::new().await;
    let id = world.register(ALICE).await.json["id"].as_str().unwrap().to_owned();
    let path = format!("/admin/identities/{id}/factors");
    assert_eq!(world.ask("PATCH", &path, "", json!({"required": true})).await.status, 204);
    assert_eq!(world.log_in(PASSWORD).await.status, 200);
}

#[tokio::test]
async fn people_whom_an_administrator_makes_are_asked_as_well() {
    let world = World::with(always).await;
    let new = json!({"email": ALICE, "password": PASSWORD, "email_verified": true});
    assert_eq!(world.ask("POST", "/admin/identities", "", new).await.status, 201);
    let (_, body) = world.begun_app(&world.enrolment_ticket().await).await;
    assert_eq!(world.confirm_app(&body).await.status, 201);
}

#[tokio::test]
async fn the_last_factor_stays_while_one_is_required_unless_an_administrator_takes_it() {
    let world = World::that_requires_factors().await;
    let (_, body) = world.begun_app(&world.enrolment_ticket().await).await;
    let tokens = world.confirm_app(&body).await.json;
    let token = tokens["access_token"].as_str().unwrap();
    let ask =
        async |method: &str, path: &str| world.ask(method, path, token, json!({"password": PASSWORD})).await;
    let first = format!("/auth/factors/{}", tokens["id"].as_str().unwrap());
    assert_eq!(ask("DELETE", &first).await.problem(), (409, "factor_required"));
    let begun = ask("POST", "/auth/factors/totp").await.json;
    let secret = TotpSecret::from_base32(begun["secret"].as_str().unwrap()).unwrap();
    let body = json!({"ticket": begun["ticket"], "code": world.shown(&secret)});
    let second = world.ask("POST", "/auth/factors/totp/confirm", token, body).await.json;
    let second = second["id"].as_str().unwrap();
    assert_eq!(ask("DELETE", &first).await.status, 204);
    assert_eq!(ask("DELETE", &first).await.problem(), (404, "not_found"));
    assert_eq!(ask("DELETE", &format!("/auth/factors/{second}")).await.problem(), (409, "factor_required"));
    let me = world.ask("GET", "/auth/me", token, Value::Null).await;
    let path = format!("/admin/identities/{}/factors/{second}", me.json["id"].as_str().unwrap());
    assert_eq!(world.ask("DELETE", &path, "", Value::Null).await.status, 204);
    assert_eq!(world.log_in(PASSWORD).await.problem(), REQUIRED);
}
