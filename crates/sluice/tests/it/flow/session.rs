//! Login sessions: who is remembered, and for how long.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, TestClient, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::login_request;

on_both_stores! {
    only_a_remembered_login_is_skipped,
    remember_for_is_enforced_by_the_server,
    a_session_that_is_not_used_ends,
    a_session_can_be_extended,
    a_skipped_login_is_of_the_session_s_user,
}

const DAY: u32 = 24 * 3600;

async fn log_in(sluice: &TestSluice, client: &TestClient, browser: &mut Browser, login: &Value) {
    browser.log_in_with(sluice, client, &Authorize::default(), login).await.expect("code");
}

async fn is_known(sluice: &TestSluice, client: &TestClient, browser: &mut Browser) -> bool {
    login_request(sluice, client, browser, &Authorize::default()).await["skip"] == json!(true)
}

async fn only_a_remembered_login_is_skipped(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    assert!(!is_known(&sluice, &client, &mut browser).await);
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    assert!(is_known(&sluice, &client, &mut browser).await);
    assert!(!is_known(&sluice, &client, &mut sluice.browser()).await);
    let other = sluice.second_node().await;
    assert!(is_known(&other, &client.at(&other), &mut browser.at(&other)).await, "on every node");
    let mut forged = browser.clone();
    for (name, value) in &mut forged.cookies {
        if !name.contains("binding") {
            value.replace_range(30..31, if &value[30..31] == "A" { "B" } else { "A" });
        }
    }
    assert_ne!(forged.cookies, browser.cookies);
    assert!(!is_known(&sluice, &client, &mut forged).await);
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn remember_for_is_enforced_by_the_server(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    log_in(
        &sluice,
        &client,
        &mut browser,
        &json!({"subject": "alice", "remember": true, "remember_for": 60}),
    )
    .await;
    sluice.advance(Lifetime::secs(59));
    assert!(is_known(&sluice, &client, &mut browser).await);
    sluice.advance(Lifetime::secs(1));
    assert!(browser.cookies.keys().any(|name| !name.contains("binding")), "the browser still has its cookie");
    assert!(!is_known(&sluice, &client, &mut browser).await);
    let with = Authorize { more: &[("prompt", "none")], ..Authorize::default() };
    assert_eq!(browser.visit(&client.authorize_url(&with)).await.expect("error"), "login_required");
    sluice.node.stop().await;
}

async fn a_session_that_is_not_used_ends(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut idle, mut used) = (sluice.browser(), sluice.browser());
    let login = json!({"subject": "alice", "remember": true, "remember_for": 90 * DAY});
    log_in(&sluice, &client, &mut idle, &login).await;
    log_in(&sluice, &client, &mut used, &login).await;
    sluice.advance(Lifetime::secs(20 * DAY));
    log_in(&sluice, &client, &mut used, &json!({"subject": "alice", "remember": true})).await;
    sluice.advance(Lifetime::secs(20 * DAY));
    assert!(is_known(&sluice, &client, &mut used).await);
    assert!(!is_known(&sluice, &client, &mut idle).await);
    sluice.advance(Lifetime::secs(51 * DAY));
    assert!(!is_known(&sluice, &client, &mut used).await, "however often it is used");
    sluice.node.stop().await;
}

async fn a_session_can_be_extended(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true, "remember_for": 100});
    log_in(&sluice, &client, &mut browser, &login).await;
    sluice.advance(Lifetime::secs(90));
    log_in(&sluice, &client, &mut browser, &login).await;
    let extend =
        json!({"subject": "alice", "remember": true, "remember_for": 100, "extend_session_lifespan": true});
    log_in(&sluice, &client, &mut browser, &extend).await;
    sluice.advance(Lifetime::secs(99));
    assert!(is_known(&sluice, &client, &mut browser).await);
    log_in(&sluice, &client, &mut browser, &login).await;
    sluice.advance(Lifetime::secs(1));
    assert!(!is_known(&sluice, &client, &mut browser).await, "only when it is said so");
    sluice.node.stop().await;
}

async fn a_skipped_login_is_of_the_session_s_user(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let path = format!("/admin/oauth2/auth/requests/login/accept?login_challenge={challenge}");
    sluice.ask_json(Method::PUT, &path, Some(&json!({"subject": "mallory"})), 400).await;
    sluice.ask_json(Method::PUT, &path, Some(&json!({})), 400).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    browser.visit(&verifier).await.expect("code");
    sluice.node.stop().await;
}
