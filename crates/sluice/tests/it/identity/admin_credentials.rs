//! `/admin/identities/{id}/…`: what an administrator takes from somebody: sessions, factors, all credentials.

use serde_json::{Value, json};
use sluice_crypto::totp::TotpSecret;
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Backend, SmtpServer, TestSluice};

use super::admin::ask;
use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, Tokens, node};
use super::postbox::{self, code};
use crate::both_stores::on_both_stores;

on_both_stores! {
    sessions_are_seen_and_ended,
    factors_are_seen_and_taken_away,
    a_reset_takes_everything_away_and_sends_a_way_back,
    without_mail_no_way_back_is_sent_and_nothing_is_taken_away,
}

async fn sessions_are_seen_and_ended(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let sessions = format!("/admin/identities/{}/sessions", api.register(ALICE).await);
    let of_bob = format!("/admin/identities/{}/sessions", api.register(BOB).await);
    let first = api.tokens(ALICE).await;
    sluice.advance(Lifetime::secs(1));
    let (second, third, bob) = (api.tokens(ALICE).await, api.tokens(ALICE).await, api.tokens(BOB).await);
    let (status, listed) = ask(&sluice, "GET", &sessions, Value::Null).await;
    assert_eq!((status, listed.as_array().unwrap().len()), (200, 3));
    for session in listed.as_array().unwrap() {
        assert_eq!((&session["amr"], &session["acr"]), (&json!(["pwd"]), &json!("aal1")));
        assert_eq!(session.as_object().unwrap().len(), 9, "nobody's present one, nothing secret: {session}");
    }
    let oldest = listed[2]["id"].as_str().unwrap();
    assert_eq!(ask(&sluice, "DELETE", &format!("{of_bob}/{oldest}"), Value::Null).await.0, 404, "not of Bob");
    assert_eq!(ask(&sluice, "DELETE", &format!("{sessions}/{oldest}"), Value::Null).await.0, 204);
    assert_eq!(ask(&sluice, "DELETE", &format!("{sessions}/{oldest}"), Value::Null).await.0, 404);
    assert_eq!((api.me(&first).await, api.me(&second).await), (401, 200));
    assert_eq!(ask(&sluice, "DELETE", &sessions, Value::Null).await.0, 204);
    for ended in [&second, &third] {
        api.get("/auth/me", ended).await.is_problem(401, "invalid_token");
        api.refresh(ended).await.is_problem(401, "invalid_refresh_token");
    }
    assert_eq!(ask(&sluice, "GET", &sessions, Value::Null).await, (200, json!([])));
    assert_eq!(api.me(&bob).await, 200);
    let nobody = "/admin/identities/018f0000-0000-7000-8000-000000000000/sessions";
    for method in ["GET", "DELETE"] {
        let (status, refused) = ask(&sluice, method, nobody, Value::Null).await;
        assert_eq!((status, refused["error"].is_string()), (404, true));
    }
    sluice.node.stop().await;
}

/// What an authenticator app with this secret shows now (RFC 6238).
pub(super) fn shown(sluice: &TestSluice, secret: &TotpSecret) -> String {
    sluice_testkit::app_code(secret.expose(), sluice.clock.now().as_secs())
}

/// Somebody adds an authenticator app.
pub(super) async fn enrol(sluice: &TestSluice, tokens: &Tokens) -> TotpSecret {
    let api = Api::of(sluice);
    let begun = api.post_as(tokens, "/auth/factors/totp", json!({"password": PASSWORD})).await.ok();
    let secret = TotpSecret::from_base32(begun["secret"].as_str().unwrap()).unwrap();
    let confirm = json!({"ticket": begun["ticket"], "code": shown(sluice, &secret), "name": "Phone"});
    let added = api.post_as(tokens, "/auth/factors/totp/confirm", confirm).await;
    assert!(added.status < 300, "{}", added.body);
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "second_factor_required");
    secret
}

async fn factors_are_seen_and_taken_away(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let factors = format!("/admin/identities/{}/factors", api.register(ALICE).await);
    assert_eq!(
        ask(&sluice, "GET", &factors, Value::Null).await,
        (200, json!({"factors": [], "recovery_codes_left": 0, "required": false}))
    );
    let tokens = api.tokens(ALICE).await;
    let secret = enrol(&sluice, &tokens).await;
    let (status, listed) = ask(&sluice, "GET", &factors, Value::Null).await;
    assert_eq!((status, &listed["recovery_codes_left"]), (200, &json!(10)));
    let phone = &listed["factors"][0];
    assert_eq!((&phone["kind"], &phone["name"]), (&json!("totp"), &json!("Phone")));
    assert!(!listed.to_string().contains(&secret.base32()), "{listed}");
    // The step of the enrolment is spent.
    sluice.advance(Lifetime::secs(30));
    let asked = api.log_in(ALICE, PASSWORD).await.json();
    let step = json!({"login_ticket": asked["login_ticket"], "totp": shown(&sluice, &secret)});
    let proven = Tokens::of(&api.post("/auth/login/factor", step.clone()).await);
    assert_eq!(api.me(&proven).await, 200);
    api.post("/auth/login/factor", step).await.is_problem(401, "wrong_factor");
    let phone = format!("{factors}/{}", phone["id"].as_str().unwrap());
    assert_eq!(ask(&sluice, "DELETE", &phone, Value::Null).await.0, 204);
    assert_eq!(ask(&sluice, "DELETE", &phone, Value::Null).await.0, 404);
    assert_eq!(ask(&sluice, "DELETE", &format!("{factors}/x"), Value::Null).await.0, 404);
    assert_eq!(api.log_in(ALICE, PASSWORD).await.status, 200, "a password is enough again");
    sluice.node.stop().await;
}

async fn a_reset_takes_everything_away_and_sends_a_way_back(backend: Backend) {
    let smtp = SmtpServer::start().await;
    let quiet = ("identity.registration.verify_email", "false");
    let sluice = postbox::node(backend, &smtp, &[quiet]).await;
    let api = Api::of(&sluice);
    let new = json!({"email": ALICE, "password": PASSWORD, "email_verified": true});
    let made = ask(&sluice, "POST", "/admin/identities", new).await.1;
    let path = format!("/admin/identities/{}", made["id"].as_str().unwrap());
    let tokens = api.tokens(ALICE).await;
    enrol(&sluice, &tokens).await;
    assert!(smtp.wait_for(1).await[0].subject.starts_with("A sign-in method was added"));
    let reset = format!("{path}/credentials/reset");
    assert_eq!(ask(&sluice, "POST", &reset, json!({"send_mail": true})).await, (204, Value::Null));
    api.get("/auth/me", &tokens).await.is_problem(401, "invalid_token");
    api.refresh(&tokens).await.is_problem(401, "invalid_refresh_token");
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    assert_eq!(ask(&sluice, "GET", &path, Value::Null).await.1["has_password"], false);
    let factors = ask(&sluice, "GET", &format!("{path}/factors"), Value::Null).await.1;
    assert_eq!(factors, json!({"factors": [], "recovery_codes_left": 0, "required": false}));
    let mail = smtp.wait_for(2).await.remove(1);
    let confirm = json!({"email": ALICE, "code": code(&mail), "new_password": ANOTHER});
    api.post("/auth/recovery/confirm", confirm).await.is_done(204);
    sluice.advance(Lifetime::secs(1));
    let back = Tokens::of(&api.log_in(ALICE, ANOTHER).await);
    assert_eq!(api.me(&back).await, 200);
    assert_eq!(ask(&sluice, "POST", &reset, Value::Null).await.0, 204);
    api.log_in(ALICE, ANOTHER).await.is_problem(401, "invalid_credentials");
    let nobody = "/admin/identities/018f0000-0000-7000-8000-000000000000/credentials/reset";
    assert_eq!(ask(&sluice, "POST", nobody, Value::Null).await.0, 404);
    sluice.node.stop().await;
}

async fn without_mail_no_way_back_is_sent_and_nothing_is_taken_away(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let reset = format!("/admin/identities/{}/credentials/reset", api.register(ALICE).await);
    let (status, refused) = ask(&sluice, "POST", &reset, json!({"send_mail": true})).await;
    assert_eq!((status, refused["error"].is_string()), (400, true), "{refused}");
    assert_eq!(ask(&sluice, "POST", &reset, json!({"send_mail": "yes"})).await.0, 400);
    assert_eq!(api.log_in(ALICE, PASSWORD).await.status, 200);
    api.post("/auth/recovery", json!({"email": ALICE})).await.is_problem(404, "not_offered");
    sluice.node.stop().await;
}
