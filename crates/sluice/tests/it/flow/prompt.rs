//! What a request says about the user: `prompt`, `max_age`, `id_token_hint`.

use reqwest::Method;
use reqwest::header::SET_COOKIE;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, TestClient, TestSluice, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::{login_request, token};

on_both_stores! {
    prompt_none_without_a_session_is_refused_to_the_client,
    prompt_none_with_a_session_leads_to_a_code,
    prompt_none_without_consent_is_refused_to_the_client,
    prompt_login_asks_a_user_who_has_a_session,
    a_session_older_than_max_age_is_not_skipped,
    the_hint_of_another_user_is_not_skipped_and_its_login_is_refused,
}

const NONE: &[(&str, &str)] = &[("prompt", "none")];

fn asking<'a>(more: &'a [(&'a str, &'a str)]) -> Authorize<'a> {
    Authorize { more, ..Authorize::default() }
}

async fn remembered(sluice: &TestSluice, client: &TestClient, subject: &str) -> (Browser, Value) {
    let mut browser = sluice.browser();
    let login = json!({"subject": subject, "remember": true, "remember_for": 3600});
    let page = browser.log_in_with(sluice, client, &Authorize::default(), &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    (browser, tokens)
}

async fn prompt_none_without_a_session_is_refused_to_the_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let page = sluice.browser().visit(&client.authorize_url(&asking(NONE))).await;
    assert_eq!(page.expect("error"), "login_required");
    assert_eq!(page.expect("state"), Authorize::default().state);
    assert_eq!(page.expect("iss"), sluice_testkit::ISSUER);
    assert!(!page.headers.contains_key(SET_COOKIE));
    // A session that is not remembered lets nobody in.
    let mut browser = sluice.browser();
    browser.log_in(&sluice, &client, "alice").await.expect("code");
    assert_eq!(browser.visit(&client.authorize_url(&asking(NONE))).await.expect("error"), "login_required");
    let both = [("prompt", "none login")];
    assert_eq!(browser.visit(&client.authorize_url(&asking(&both))).await.expect("error"), "invalid_request");
    sluice.node.stop().await;
}

async fn prompt_none_with_a_session_leads_to_a_code(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let (mut browser, first) = remembered(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::minutes(5));
    let with_both_cookies = browser.clone();
    browser.cookies.retain(|name, _| !name.contains("binding"));
    for mut browser in [with_both_cookies, browser] {
        let before = browser.cookies.clone();
        let page = browser.log_in_with(&sluice, &client, &asking(NONE), &json!({"subject": "alice"})).await;
        let tokens = client.redeem(&page.expect("code")).await.ok();
        assert_eq!(browser.cookies, before, "no cookie is set");
        let of = |tokens: &Value| crate::jwt::claims(token(tokens, "id_token"));
        let (then, now) = (of(&first), of(&tokens));
        assert_eq!((&now["sid"], &now["auth_time"]), (&then["sid"], &then["auth_time"]));
        assert!(now["iat"].as_i64() > then["iat"].as_i64());
    }
    sluice.node.stop().await;
}

async fn prompt_none_without_consent_is_refused_to_the_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, _) = remembered(&sluice, &client, "alice").await;
    let challenge = browser.begin(&client, &asking(NONE)).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let page = browser.visit(&verifier).await;
    assert_eq!(
        (page.expect("error").as_str(), page.location().host_str()),
        ("consent_required", Some("app.test"))
    );
    sluice.node.stop().await;
}

async fn prompt_login_asks_a_user_who_has_a_session(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, first) = remembered(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(10));
    for prompt in ["login", "select_account", "login consent"] {
        let asked = login_request(&sluice, &client, &mut browser, &asking(&[("prompt", prompt)])).await;
        assert_eq!((&asked["skip"], &asked["subject"]), (&json!(false), &json!("")), "{prompt}");
    }
    let more = [("prompt", "login")];
    let page = browser.log_in_with(&sluice, &client, &asking(&more), &json!({"subject": "bob"})).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    let (then, now) =
        (crate::jwt::claims(token(&first, "id_token")), crate::jwt::claims(token(&tokens, "id_token")));
    assert_ne!((&now["sub"], &now["sid"]), (&then["sub"], &then["sid"]));
    assert_eq!(now["auth_time"].as_i64().unwrap() - then["auth_time"].as_i64().unwrap(), 10);
    sluice.node.stop().await;
}

async fn a_session_older_than_max_age_is_not_skipped(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, _) = remembered(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(60));
    for (max_age, skip) in [("61", true), ("60", false), ("0", false)] {
        let asked = login_request(&sluice, &client, &mut browser, &asking(&[("max_age", max_age)])).await;
        assert_eq!(asked["skip"], skip, "{max_age}");
    }
    let more = [("prompt", "none"), ("max_age", "30")];
    let page = browser.visit(&client.authorize_url(&asking(&more))).await;
    assert_eq!(page.expect("error"), "login_required");
    let page = browser.visit(&client.authorize_url(&asking(&[("max_age", "soon")]))).await;
    assert_eq!(page.expect("error"), "invalid_request");
    sluice.node.stop().await;
}

async fn the_hint_of_another_user_is_not_skipped_and_its_login_is_refused(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let (mut browser, of_alice) = remembered(&sluice, &client, "alice").await;
    let (_, of_bob) = remembered(&sluice, &client, "bob").await;
    let hints = |tokens: &Value| token(tokens, "id_token").to_owned();
    let (alice, bob) = (hints(&of_alice), hints(&of_bob));
    let own = [("id_token_hint", alice.as_str()), ("prompt", "none")];
    browser.visit(&client.authorize_url(&asking(&own))).await.expect("login_challenge");
    let other = [("id_token_hint", bob.as_str()), ("prompt", "none")];
    let page = browser.visit(&client.authorize_url(&asking(&other))).await;
    assert_eq!(page.expect("error"), "login_required");
    let other = [("id_token_hint", bob.as_str())];
    let asked = login_request(&sluice, &client, &mut browser, &asking(&other)).await;
    assert_eq!(asked["skip"], false);
    assert_eq!(asked["oidc_context"]["id_token_hint_claims"]["sub"], "bob");
    let challenge = asked["challenge"].as_str().unwrap();
    let verifier = accept_login(&sluice, challenge, &json!({"subject": "alice"})).await;
    let page = browser.visit(&verifier).await;
    assert_eq!(page.expect("error"), "login_required");
    assert_eq!(page.expect("error_description"), "Another user logged in than the request names.");
    let verifier = accept_login(&sluice, challenge, &json!({"subject": "bob"})).await;
    browser.visit(&verifier).await.expect("consent_challenge");
    for foreign in ["not-a-token", token(&of_bob, "access_token"), &format!("{bob}x")] {
        let page = browser.visit(&client.authorize_url(&asking(&[("id_token_hint", foreign)]))).await;
        assert_eq!(page.expect("error"), "invalid_request");
    }
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await;
    sluice.node.stop().await;
}
