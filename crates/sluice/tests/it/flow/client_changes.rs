//! A client that is changed or deleted while a flow of it is under way.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestSluice, accept_consent, accept_login, redirect_to};

use crate::both_stores::on_both_stores;
use crate::legs::{change_client, consent_challenge, consent_verifier, delete, login_verifier, token};

on_both_stores! {
    a_flow_whose_redirect_uri_was_removed_is_shown_here,
    a_flow_that_its_client_may_not_begin_any_more_is_refused_to_the_client,
    what_was_granted_beyond_the_request_is_refused_to_a_client_that_lost_it,
    a_flow_goes_on_when_its_client_is_renamed,
    a_flow_ends_when_its_client_is_deleted,
    a_rotated_client_secret_works_until_it_is_forgotten,
    a_code_does_not_yield_what_its_client_has_lost_since,
    a_code_whose_client_has_lost_all_of_it_is_not_used_up,
}

const ALL: &str = "openid offline_access email profile";
const KEPT: &str = "https://kept.test";
const LOST: &str = "https://api.test";

async fn a_flow_whose_redirect_uri_was_removed_is_shown_here(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let login = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let consent = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let rejection = {
        let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
        let path = format!("/admin/oauth2/auth/requests/consent/reject?consent_challenge={challenge}");
        redirect_to(&sluice.ask_json(Method::PUT, &path, Some(&json!({})), 200).await)
    };
    change_client(&sluice, &client, "redirect_uris", json!(["https://moved.test/callback"])).await;
    let before = sluice.written();
    for verifier in [login, consent, rejection] {
        let page = browser.visit(&verifier).await;
        assert_eq!((page.status.as_u16(), page.location), (400, None), "nothing goes to the old address");
    }
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

async fn a_flow_that_its_client_may_not_begin_any_more_is_refused_to_the_client(backend: Backend) {
    let changes: [(&str, Value); 5] = [
        ("scope", json!("openid")),
        ("response_types", json!(["token"])),
        ("grant_types", json!(["client_credentials"])),
        ("require_pushed_authorization_requests", json!(true)),
        ("require_signed_request_object", json!(true)),
    ];
    let sluice = TestSluice::start(backend).await;
    let mut browser = sluice.browser();
    for (field, value) in changes {
        let client = sluice.client(&json!({})).await;
        let login = login_verifier(&sluice, &client, &mut browser, "alice").await;
        let consent = consent_verifier(&sluice, &client, &mut browser, "alice").await;
        change_client(&sluice, &client, field, value).await;
        let before = sluice.written();
        for verifier in [login, consent] {
            let page = browser.visit(&verifier).await;
            assert_eq!(page.location().host_str(), Some("app.test"), "{field}");
            assert_eq!(page.expect("error"), "unauthorized_client", "{field}");
            assert_eq!(page.expect("state"), Authorize::default().state);
        }
        assert_eq!(sluice.written(), before, "{field}");
    }
    sluice.node.stop().await;
}

async fn what_was_granted_beyond_the_request_is_refused_to_a_client_that_lost_it(backend: Backend) {
    let more =
        json!({"grant_scope": ["openid", "email"], "grant_access_token_audience": ["https://api.test"]});
    let sluice = TestSluice::start(backend).await;
    let mut browser = sluice.browser();
    for (field, value) in [("scope", json!("openid")), ("audience", json!([]))] {
        let client = sluice.client(&json!({})).await;
        let with = Authorize { scope: "openid", ..Authorize::default() };
        let challenge = browser.begin(&client, &with).await;
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        let verifier = accept_consent(&sluice, &challenge, &more).await;
        change_client(&sluice, &client, field, value).await;
        let before = sluice.written();
        assert_eq!(browser.visit(&verifier).await.expect("error"), "unauthorized_client", "{field}");
        assert_eq!(sluice.written(), before, "{field}");
    }
    sluice.node.stop().await;
}

async fn a_flow_goes_on_when_its_client_is_renamed(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    change_client(&sluice, &client, "client_name", json!("Another name")).await;
    let path = format!("/admin/oauth2/auth/requests/consent?consent_challenge={challenge}");
    let asked = sluice.ask_json(Method::GET, &path, None, 200).await;
    assert_eq!(asked["client"]["client_name"], "Another name", "pages are told of the client as it is now");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    sluice.node.stop().await;
}

async fn a_flow_ends_when_its_client_is_deleted(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let login = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let consent = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let code = browser.log_in(&sluice, &client, "alice").await.expect("code");
    delete(&sluice, &format!("/admin/clients/{}", client.id)).await;
    let before = sluice.written();
    for verifier in [&login, &consent] {
        let page = browser.visit(verifier).await;
        assert!(page.status.is_client_error() && page.location.is_none(), "{page:?}");
    }
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 404).await;
    client.redeem(&code).await.refused_with("invalid_client");
    assert_eq!(sluice.written(), before);
    // Another client that takes the name takes over nothing.
    let heir =
        sluice.client(&json!({"client_id": client.id, "client_secret": "the-secret-of-the-heir"})).await;
    heir.redeem(&code).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

async fn a_rotated_client_secret_works_until_it_is_forgotten(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let old = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let verifier = consent_verifier(&sluice, &old, &mut browser, "alice").await;
    let path = format!("/admin/clients/{}/secrets/rotate", old.id);
    let rotated = sluice.ask_json(Method::POST, &path, None, 200).await;
    let mut new = old.clone();
    new.secret = rotated["client_secret"].as_str().map(str::to_owned);
    assert_ne!(new.secret, old.secret);
    let tokens = old.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    let refresh_token = tokens["refresh_token"].as_str().unwrap();
    let ask = [("grant_type", "client_credentials")];
    new.token(&ask).await.ok();
    sluice.ask_json(Method::DELETE, &path, None, 200).await;
    old.token(&ask).await.refused_with("invalid_client");
    old.refresh(refresh_token).await.refused_with("invalid_client");
    new.refresh(refresh_token).await.ok();
    sluice.node.stop().await;
}

async fn a_code_does_not_yield_what_its_client_has_lost_since(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let metadata = json!({"audience": [LOST, KEPT], "authorization_details_types": ["payment"]});
    let client = sluice.client(&metadata).await;
    let more = [("resource", LOST), ("resource", KEPT), ("authorization_details", r#"[{"type":"payment"}]"#)];
    let with = Authorize { scope: ALL, more: &more, ..Authorize::default() };
    let login = json!({"subject": "alice"});
    let code = sluice.browser().log_in_with(&sluice, &client, &with, &login).await.expect("code");
    sluice.advance(Lifetime::secs(1));
    change_client(&sluice, &client, "scope", json!("openid offline_access")).await;
    change_client(&sluice, &client, "audience", json!([KEPT])).await;
    change_client(&sluice, &client, "authorization_details_types", json!([])).await;
    let tokens = client.redeem(&code).await.ok();
    let said = sluice.introspect(token(&tokens, "access_token")).await;
    for told in [&tokens, &said] {
        let (scope, details) = (&told["scope"], &told["authorization_details"]);
        assert_eq!((scope, details), (&json!("openid offline_access"), &Value::Null));
    }
    assert_eq!(said["aud"], json!([KEPT]));
    sluice.node.stop().await;
}

async fn a_code_whose_client_has_lost_all_of_it_is_not_used_up(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let more = [("resource", LOST)];
    let with = Authorize { scope: "openid email", more: &more, ..Authorize::default() };
    let changes = [
        ("scope", json!("profile"), json!(ALL), "invalid_scope"),
        ("audience", json!([KEPT]), json!([LOST]), "invalid_target"),
    ];
    for (field, lost, back, error) in changes {
        let client = sluice.client(&json!({})).await;
        let login = json!({"subject": "alice"});
        let code = sluice.browser().log_in_with(&sluice, &client, &with, &login).await.expect("code");
        sluice.advance(Lifetime::secs(1));
        change_client(&sluice, &client, field, lost.clone()).await;
        let before = sluice.written();
        client.redeem(&code).await.refused_with(error);
        assert_eq!(sluice.written(), before, "{field}");
        change_client(&sluice, &client, field, back).await;
        let tokens = client.redeem(&code).await.ok();
        assert_eq!(tokens["scope"], "openid email", "{field}");
        // Whoever brings it again is told from a client that lost something.
        change_client(&sluice, &client, field, lost).await;
        client.redeem(&code).await.refused_with("invalid_grant");
        assert!(!sluice.is_active(token(&tokens, "access_token")).await, "{field}");
    }
    sluice.node.stop().await;
}
