//! A flow that took too long, and one that is over: both have a way out.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::parameter;

on_both_stores! {
    an_expired_flow_is_gone_and_has_a_way_out,
    a_completed_flow_is_gone_and_has_a_way_out,
    a_completed_flow_leads_a_person_back_to_the_application,
    an_expired_flow_leads_to_where_its_client_begins_logins,
    a_code_expires,
    what_was_not_sealed_here_is_unknown,
}

/// Where a client begins logins.
const BEGINS: &str = "https://app.test/login?from=there";

/// Where an answer leads: back to the beginning of the same request.
fn assert_way_out(redirect_to: &Value, client: &str) {
    let url = redirect_to.as_str().unwrap();
    let with = Authorize::default();
    assert!(url.starts_with("http://sluice.test/oauth2/auth?"), "{url}");
    assert_eq!(
        (parameter(url, "client_id").as_str(), parameter(url, "state").as_str()),
        (client, with.state)
    );
    assert_eq!((parameter(url, "scope").as_str(), parameter(url, "code_challenge").len()), (with.scope, 43));
}

async fn an_expired_flow_is_gone_and_has_a_way_out(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let login = browser.begin(&client, &Authorize::default()).await;
    let login_verifier = accept_login(&sluice, &login, &json!({"subject": "alice"})).await;
    let consent = browser.visit(&login_verifier).await.expect("consent_challenge");
    let consent_verifier = accept_consent(&sluice, &consent, &json!({})).await;
    sluice.advance(Lifetime::minutes(30));
    let before = sluice.written();
    let requests = "/admin/oauth2/auth/requests";
    for (method, path) in [
        (Method::GET, format!("{requests}/login?login_challenge={login}")),
        (Method::PUT, format!("{requests}/login/accept?login_challenge={login}")),
        (Method::PUT, format!("{requests}/login/reject?login_challenge={login}")),
        (Method::GET, format!("{requests}/consent?consent_challenge={consent}")),
        (Method::PUT, format!("{requests}/consent/accept?consent_challenge={consent}")),
        (Method::PUT, format!("{requests}/consent/reject?consent_challenge={consent}")),
    ] {
        let said = (method == Method::PUT).then(|| json!({"subject": "alice"}));
        let status = if said.is_some() { 200 } else { 410 };
        let gone = sluice.ask_json(method, &path, said.as_ref(), status).await;
        assert_way_out(&gone["redirect_to"], &client.id);
    }
    for verifier in [login_verifier, consent_verifier] {
        let page = browser.visit(&verifier).await;
        assert_eq!((page.status.as_u16(), page.location), (410, None));
        assert!(page.body.contains("http://sluice.test/oauth2/auth?client_id="), "{}", page.body);
    }
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

async fn a_completed_flow_is_gone_and_has_a_way_out(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let login = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &login, &json!({"subject": "alice"})).await;
    let consent = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &consent, &json!({})).await;
    browser.visit(&verifier).await.expect("code");
    for path in [format!("login?login_challenge={login}"), format!("consent?consent_challenge={consent}")] {
        let path = format!("/admin/oauth2/auth/requests/{path}");
        let gone = sluice.ask_json(Method::GET, &path, None, 410).await;
        assert_way_out(&gone["redirect_to"], &client.id);
    }
    sluice.node.stop().await;
}

/// The application has taken the answer to the `state` of that request, and takes no other.
async fn a_completed_flow_leads_a_person_back_to_the_application(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for (metadata, expected) in [
        (json!({}), "https://app.test/\""),
        (json!({"client_uri": "https://app.test/start"}), "https://app.test/start\""),
        (json!({"initiate_login_uri": BEGINS}), BEGINS),
    ] {
        let client = sluice.client(&metadata).await;
        let mut browser = sluice.browser();
        let login = browser.begin(&client, &Authorize::default()).await;
        let verifier = accept_login(&sluice, &login, &json!({"subject": "alice"})).await;
        let consent = browser.visit(&verifier).await.expect("consent_challenge");
        let verifier = accept_consent(&sluice, &consent, &json!({})).await;
        browser.visit(&verifier).await.expect("code");
        let page = browser.visit(&verifier).await;
        assert_eq!((page.status.as_u16(), page.location), (410, None));
        assert!(page.body.contains(&format!("href=\"{expected}")), "{expected}: {}", page.body);
        assert!(!page.body.contains("/oauth2/auth?"), "{}", page.body);
    }
    sluice.node.stop().await;
}

async fn an_expired_flow_leads_to_where_its_client_begins_logins(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"initiate_login_uri": BEGINS})).await;
    let mut browser = sluice.browser();
    let login = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &login, &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::minutes(30));
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={login}");
    let gone = sluice.ask_json(Method::GET, &path, None, 410).await;
    assert!(gone["redirect_to"].as_str().unwrap().starts_with(BEGINS), "{gone}");
    let page = browser.visit(&verifier).await;
    assert_eq!((page.status.as_u16(), page.location), (410, None));
    assert!(page.body.contains(&format!("href=\"{BEGINS}")), "{}", page.body);
    sluice.node.stop().await;
}

async fn a_code_expires(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let in_time = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let late = sluice.browser().log_in(&sluice, &client, "bob").await.expect("code");
    sluice.advance(Lifetime::millis(59_999));
    client.redeem(&in_time).await.ok();
    sluice.advance(Lifetime::millis(1));
    client.redeem(&late).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

async fn what_was_not_sealed_here_is_unknown(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let stranger = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let login = browser.begin(&client, &Authorize::default()).await;
    let other = if login[40..].starts_with('A') { 'B' } else { 'A' };
    let damaged = format!("{}{other}{}", &login[..40], &login[41..]);
    let verifier =
        parameter(&accept_login(&sluice, &login, &json!({"subject": "alice"})).await, "login_verifier");
    // Purposes do not mix, and another installation with the same secret has another network id.
    for challenge in [damaged.as_str(), verifier.as_str(), &login[..login.len() - 1], "x", ""] {
        let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
        let status = sluice.ask(Method::GET, &path, None).await.status().as_u16();
        assert_eq!(status, if challenge.is_empty() { 400 } else { 404 }, "{challenge}");
    }
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={login}");
    stranger.ask_json(Method::GET, &path, None, 404).await;
    for verifier in [login.as_str(), damaged.as_str()] {
        let page = browser.visit(&format!("/oauth2/auth?login_verifier={verifier}")).await;
        assert_eq!((page.status.as_u16(), page.location), (400, None));
    }
    let page = browser.visit(&format!("/oauth2/auth?consent_verifier={verifier}")).await;
    assert_eq!(page.status, 400);
    stranger.node.stop().await;
    sluice.node.stop().await;
}
