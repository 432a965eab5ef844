//! A second factor that is required: who is signed in without one, and what becomes of them.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::totp::TotpSecret;
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, Page, TestClient, TestSluice};

use super::admin_credentials::shown;
use super::people::{ALICE, Api, BOB, PASSWORD, node, node_after};
use super::subject::{PAGES, typed};
use crate::answer::Answer;
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::jwt::claims;
use crate::legs::token;

on_both_stores! {
    a_login_of_before_is_none_to_go_on_with_and_the_next_one_sets_the_factor_up,
    of_two_who_know_the_password_one_sets_the_factor_up,
}

const CHOSEN: (&str, &str) = ("identity.factors.required", "chosen");
const ALWAYS: (&str, &str) = ("identity.factors.required", "always");
const LOGIN: Authorize<'_> = Authorize { scope: "openid", state: "a-state-of-some-length", more: &[] };

/// What a client learns that must not show a page.
async fn silently(browser: &mut Browser, client: &TestClient) -> Page {
    let with = Authorize { more: &[("prompt", "none")], ..LOGIN };
    let mut page = browser.visit(&client.authorize_url(&with)).await;
    while page.location().host_str() != Some("app.test") {
        page = browser.visit(page.location().clone().as_str()).await;
    }
    page
}

/// Sets up the app that a page asks for, and goes on behind the codes: the app, and where that leads.
async fn set_up(sluice: &TestSluice, witness: &mut Witness, asked: &Page) -> (TotpSecret, Page) {
    assert!(asked.body.contains("<h1>Set up a second factor</h1>"), "{}", asked.body);
    let text = asked.body.split_once("exhibit-secret\">").unwrap().1.split('<').next().unwrap();
    let secret = TotpSecret::from_base32(&text.replace(' ', "")).unwrap();
    let codes = witness.submit(asked, &[("code", &shown(sluice, &secret))]).await;
    assert_eq!(codes.body.matches("<li><code>").count(), 10, "{}", codes.body);
    let link = codes.body.split_once("<a class=\"button button-primary\" href=\"").unwrap().1;
    let next = witness.browser.visit(link.split('"').next().unwrap()).await;
    (secret, witness.land(next).await)
}

fn said(tokens: &Value) -> Value {
    claims(token(tokens, "id_token"))
}

async fn a_login_of_before_is_none_to_go_on_with_and_the_next_one_sets_the_factor_up(backend: Backend) {
    let sluice = node(backend, &[&PAGES[..], &[CHOSEN]].concat()).await;
    let api = Api::of(&sluice);
    let id = api.register(ALICE).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let mut witness = Witness::of(sluice.browser());
    let back = typed(&mut witness, &client, &LOGIN, PASSWORD).await;
    let first = client.redeem(&back.expect("code")).await.ok();
    let session = api.tokens(ALICE).await;
    silently(&mut witness.browser, &client).await.expect("code");

    let path = format!("/admin/identities/{id}/factors");
    let answer = sluice.ask(Method::PATCH, &path, Some(&json!({"required": true}))).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(silently(&mut witness.browser, &client).await.expect("error"), "login_required");
    assert!(sluice.is_active(token(&first, "access_token")).await, "what was granted goes on");
    assert_eq!(api.get("/auth/me", &session).await.status, 200, "and so does a session");

    // A session goes on as of a later login.
    sluice.advance(Lifetime::secs(1));
    let asked = typed(&mut witness, &client, &LOGIN, PASSWORD).await;
    let (secret, back) = set_up(&sluice, &mut witness, &asked).await;
    let second = client.redeem(&back.expect("code")).await.ok();
    let (former, present) = (said(&first), said(&second));
    assert_eq!((&former["acr"], &present["acr"]), (&json!("aal1"), &json!("aal2")));
    assert_eq!((&present["amr"], &present["sub"]), (&json!(["pwd", "otp", "mfa"]), &json!(id)));
    assert_eq!(present["sid"], former["sid"], "the login goes on, and has shown more");
    assert_eq!(api.get("/auth/me", &session).await.status, 401, "that one showed none");
    silently(&mut witness.browser, &client).await.expect("code");

    for more in [&[("prompt", "login")][..], &[("max_age", "0")]] {
        sluice.advance(Lifetime::secs(30));
        let asked = typed(&mut witness, &client, &Authorize { more, ..LOGIN }, PASSWORD).await;
        assert!(asked.body.contains("<h1>Confirm that it is you</h1>"), "{more:?}: {}", asked.body);
        let back = witness.submit(&asked, &[("code", &shown(&sluice, &secret))]).await;
        let third = client.redeem(&back.expect("code")).await.ok();
        assert_eq!(said(&third)["acr"], "aal2", "{more:?}");
    }
    sluice.node.stop().await;
}

async fn of_two_who_know_the_password_one_sets_the_factor_up(backend: Backend) {
    let sluice = node(backend, &[]).await;
    Api::of(&sluice).register(ALICE).await;
    let sluice = node_after(sluice, &[ALWAYS]).await;
    let api = Api::of(&sluice);
    let mut begun = Vec::new();
    for _ in 0..2 {
        let led = api.log_in(ALICE, PASSWORD).await;
        led.is_problem(401, "factor_enrolment_required");
        let ticket = led.json()["enrolment_ticket"].clone();
        let app = api.post("/auth/login/enrolment/totp", json!({"enrolment_ticket": ticket})).await.ok();
        let secret = TotpSecret::from_base32(app["secret"].as_str().unwrap()).unwrap();
        let code = shown(&sluice, &secret);
        begun.push(json!({"enrolment_ticket": ticket, "ticket": app["ticket"], "code": code}));
    }
    let confirm = "/auth/login/enrolment/totp/confirm";
    let (one, other) = tokio::join!(api.post(confirm, begun.remove(0)), api.post(confirm, begun.remove(0)),);
    let mut told = [one.status, other.status];
    told.sort_unstable();
    // The other finds the factor when it looks, or when it writes.
    assert!(matches!(told, [201, 400 | 401]), "{} {}", one.body, other.body);
    let won = if one.status == 201 { one } else { other };
    let access = won.json()["access_token"].as_str().unwrap().to_owned();
    let listed = Answer::to(api.request(Method::GET, "/auth/factors").bearer_auth(&access)).await.ok();
    assert_eq!(listed["factors"].as_array().unwrap().len(), 1);
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "second_factor_required");
    api.register(BOB).await;
    api.log_in(BOB, PASSWORD).await.is_problem(401, "factor_enrolment_required");
    sluice.node.stop().await;
}
