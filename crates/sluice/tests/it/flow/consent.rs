//! Consent: remembered or asked for, given in part, or refused.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{
    Authorize, Backend, Browser, ISSUER, TestClient, TestSluice, accept_consent, accept_login, redirect_to,
};

use crate::both_stores::on_both_stores;
use crate::legs::{consent_challenge, consent_request, delete, token};
use crate::userinfo::about_user;

on_both_stores! {
    a_remembered_consent_is_skipped_as_far_as_it_goes,
    a_remembered_consent_covers_an_audience_that_was_asked_for_where_none_was_granted,
    a_remembered_consent_does_not_cover_an_audience_that_was_refused_beside_another,
    a_remembered_consent_ends_with_its_time_and_when_it_is_revoked,
    a_page_that_is_skipped_remembers_for_no_longer,
    a_public_client_at_an_address_that_anyone_may_claim_is_asked_about_each_time,
    only_what_was_granted_is_in_the_tokens,
    more_may_be_granted_than_was_asked_for,
    a_page_whose_user_ticked_nothing_may_say_so_with_null,
    a_refused_login_reaches_the_client,
    a_refused_consent_reaches_the_client_and_leaves_nothing,
    a_refusal_whose_body_is_null_reaches_the_client,
}

async fn remember(sluice: &TestSluice, client: &TestClient, with: &Authorize<'_>, remember_for: i64) {
    let mut browser = sluice.browser();
    let challenge = challenge(sluice, client, &mut browser, with).await;
    let changes = json!({"remember": true, "remember_for": remember_for});
    let verifier = accept_consent(sluice, &challenge, &changes).await;
    browser.visit(&verifier).await.expect("code");
}

async fn challenge(
    sluice: &TestSluice,
    client: &TestClient,
    browser: &mut Browser,
    with: &Authorize<'_>,
) -> String {
    let challenge = browser.begin(client, with).await;
    let verifier = accept_login(sluice, &challenge, &json!({"subject": "alice"})).await;
    browser.visit(&verifier).await.expect("consent_challenge")
}

async fn is_skipped(sluice: &TestSluice, client: &TestClient, with: &Authorize<'_>) -> bool {
    let challenge = challenge(sluice, client, &mut sluice.browser(), with).await;
    consent_request(sluice, &challenge).await["skip"] == json!(true)
}

async fn a_remembered_consent_is_skipped_as_far_as_it_goes(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, other) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let asked = Authorize { scope: "openid email", ..Authorize::default() };
    assert!(!is_skipped(&sluice, &client, &asked).await);
    remember(&sluice, &client, &asked, 0).await;
    assert!(is_skipped(&sluice, &client, &asked).await);
    assert!(is_skipped(&sluice, &client, &Authorize { scope: "openid", ..asked.clone() }).await);
    assert!(
        !is_skipped(&sluice, &client, &Authorize { scope: "openid email profile", ..asked.clone() }).await
    );
    let audience = [("audience", "https://api.test")];
    assert!(!is_skipped(&sluice, &client, &Authorize { more: &audience, ..asked.clone() }).await);
    let again = [("prompt", "consent")];
    assert!(!is_skipped(&sluice, &client, &Authorize { more: &again, ..asked.clone() }).await);
    assert!(!is_skipped(&sluice, &other, &asked).await);
    sluice.advance(Lifetime::hours(24 * 365));
    assert!(is_skipped(&sluice, &client, &asked).await, "without end");
    sluice.node.stop().await;
}

async fn a_remembered_consent_covers_an_audience_that_was_asked_for_where_none_was_granted(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"scope": "openid photos.*"})).await;
    let audience = [("audience", "https://api.test")];
    let asked = Authorize { scope: "openid photos.*", more: &audience, ..Authorize::default() };
    for skip in [false, true] {
        let mut browser = sluice.browser();
        let challenge = challenge(&sluice, &client, &mut browser, &asked).await;
        assert_eq!(consent_request(&sluice, &challenge).await["skip"], skip);
        let changes = json!({"remember": true, "grant_access_token_audience": []});
        let verifier = accept_consent(&sluice, &challenge, &changes).await;
        let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
        let said = sluice.introspect(token(&tokens, "access_token")).await;
        assert_eq!((&said["active"], &said["aud"]), (&json!(true), &json!([])), "{skip}");
    }
    let narrower = Authorize { scope: "openid photos.read", ..asked.clone() };
    assert!(is_skipped(&sluice, &client, &narrower).await, "a wildcard was granted");
    let another = [("audience", "https://api.test/orders")];
    assert!(!is_skipped(&sluice, &client, &Authorize { more: &another, ..asked }).await);
    sluice.node.stop().await;
}

async fn a_remembered_consent_does_not_cover_an_audience_that_was_refused_beside_another(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let both = [("audience", "https://api.test https://api.test/orders")];
    let asked = Authorize { more: &both, ..Authorize::default() };
    let mut browser = sluice.browser();
    let challenge = challenge(&sluice, &client, &mut browser, &asked).await;
    let changes = json!({"remember": true, "grant_access_token_audience": ["https://api.test"]});
    let verifier = accept_consent(&sluice, &challenge, &changes).await;
    browser.visit(&verifier).await.expect("code");
    assert!(!is_skipped(&sluice, &client, &asked).await, "one of them was refused");
    let granted = [("audience", "https://api.test")];
    assert!(is_skipped(&sluice, &client, &Authorize { more: &granted, ..asked }).await);
    sluice.node.stop().await;
}

async fn a_remembered_consent_ends_with_its_time_and_when_it_is_revoked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let asked = Authorize::default();
    remember(&sluice, &client, &asked, 60).await;
    sluice.advance(Lifetime::secs(59));
    assert!(is_skipped(&sluice, &client, &asked).await);
    sluice.advance(Lifetime::secs(1));
    assert!(!is_skipped(&sluice, &client, &asked).await);
    for revoked in [format!("client={}", client.id), "all=true".to_owned()] {
        sluice.advance(Lifetime::secs(1));
        remember(&sluice, &client, &asked, 60).await;
        assert!(is_skipped(&sluice, &client, &asked).await);
        sluice.advance(Lifetime::secs(1));
        delete(&sluice, &format!("/admin/oauth2/auth/sessions/consent?subject=alice&{revoked}")).await;
        assert!(!is_skipped(&sluice, &client, &asked).await, "{revoked}");
    }
    // JavaScript's `Number.MAX_SAFE_INTEGER`: as long as can be said.
    sluice.advance(Lifetime::secs(1));
    remember(&sluice, &client, &asked, 9_007_199_254_740_991).await;
    sluice.advance(Lifetime::hours(100 * 24));
    assert!(is_skipped(&sluice, &client, &asked).await);
    sluice.node.stop().await;
}

async fn a_page_that_is_skipped_remembers_for_no_longer(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let asked = Authorize::default();
    remember(&sluice, &client, &asked, 60).await;
    sluice.advance(Lifetime::secs(30));
    let mut browser = sluice.browser();
    let challenge = challenge(&sluice, &client, &mut browser, &asked).await;
    assert_eq!(consent_request(&sluice, &challenge).await["skip"], true);
    let changes = json!({"remember": true, "remember_for": 60});
    let verifier = accept_consent(&sluice, &challenge, &changes).await;
    browser.visit(&verifier).await.expect("code");
    sluice.advance(Lifetime::secs(30));
    assert!(!is_skipped(&sluice, &client, &asked).await);
    sluice.node.stop().await;
}

async fn a_public_client_at_an_address_that_anyone_may_claim_is_asked_about_each_time(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let redirect_uris = [
        ("http://127.0.0.1/callback", false),
        ("com.example.app:/callback", false),
        ("https://app.test/callback", true),
    ];
    for (redirect_uri, skipped) in redirect_uris {
        let metadata = json!({
            "redirect_uris": [redirect_uri],
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
        });
        let client = sluice.client(&metadata).await;
        remember(&sluice, &client, &Authorize::default(), 0).await;
        assert_eq!(is_skipped(&sluice, &client, &Authorize::default()).await, skipped, "{redirect_uri}");
    }
    sluice.node.stop().await;
}

async fn only_what_was_granted_is_in_the_tokens(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let more = [("audience", "https://api.test")];
    let with =
        Authorize { scope: "openid offline_access email profile", more: &more, ..Authorize::default() };
    let challenge = challenge(&sluice, &client, &mut browser, &with).await;
    let path = format!("/admin/oauth2/auth/requests/consent/accept?consent_challenge={challenge}");
    for beyond in [
        json!({"grant_scope": ["openid", "admin"]}),
        json!({"grant_scope": ["openid"], "grant_access_token_audience": ["https://other.test"]}),
    ] {
        sluice.ask_json(Method::PUT, &path, Some(&beyond), 400).await;
    }
    let changes = json!({
        "grant_scope": ["openid", "email"],
        "grant_access_token_audience": [],
        "session": {"id_token": {"email": "alice@example.com", "sub": "mallory"}, "access_token": {"tier": "gold"}},
    });
    let verifier = accept_consent(&sluice, &challenge, &changes).await;
    let page = browser.visit(&verifier).await;
    assert_eq!(page.expect("scope"), "openid email");
    let tokens = client.redeem(&page.expect("code")).await.ok();
    assert_eq!((&tokens["scope"], tokens.get("refresh_token")), (&json!("openid email"), None));
    let introspected = sluice.introspect(token(&tokens, "access_token")).await;
    assert_eq!((&introspected["scope"], &introspected["aud"]), (&json!("openid email"), &json!([])));
    assert_eq!((&introspected["sub"], &introspected["ext"]), (&json!("alice"), &json!({"tier": "gold"})));
    let (_, userinfo) = client.userinfo(token(&tokens, "access_token")).await;
    assert_eq!(about_user(userinfo), json!({"sub": "alice", "email": "alice@example.com"}));
    sluice.node.stop().await;
}

/// As Hydra has it, as far as the client may ask for it.
async fn more_may_be_granted_than_was_asked_for(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let with = Authorize { scope: "openid", ..Authorize::default() };
    let challenge = challenge(&sluice, &client, &mut browser, &with).await;
    let audience = json!(["https://api.test", "https://api.test/orders"]);
    let more = json!({"grant_scope": ["openid", "email"], "grant_access_token_audience": audience});
    let verifier = accept_consent(&sluice, &challenge, &more).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    assert_eq!(tokens["scope"], "openid email");
    let said = sluice.introspect(token(&tokens, "access_token")).await;
    assert_eq!((&said["scope"], &said["aud"]), (&json!("openid email"), &audience));
    sluice.node.stop().await;
}

/// As Ory's own consent page does.
async fn a_page_whose_user_ticked_nothing_may_say_so_with_null(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    for (said, granted) in [(json!([null]), ""), (json!([""]), ""), (json!(["openid", ""]), "openid")] {
        let challenge = browser.begin(&client, &Authorize::default()).await;
        let login = json!({"subject": "alice", "amr": [null]});
        let verifier = accept_login(&sluice, &challenge, &login).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        assert_eq!(consent_request(&sluice, &challenge).await["amr"], json!([]));
        let nothing = json!({"grant_scope": said, "grant_access_token_audience": [null]});
        let verifier = accept_consent(&sluice, &challenge, &nothing).await;
        let page = browser.visit(&verifier).await;
        let tokens = client.redeem(&page.expect("code")).await.ok();
        let introspected = sluice.introspect(token(&tokens, "access_token")).await;
        assert_eq!(introspected["scope"].as_str().unwrap_or_default(), granted, "{said}");
        assert_eq!(introspected["aud"], json!([]));
    }
    sluice.node.stop().await;
}

async fn reject(sluice: &TestSluice, kind: &str, challenge: &str, body: &Value) -> String {
    let path = format!("/admin/oauth2/auth/requests/{kind}/reject?{kind}_challenge={challenge}");
    redirect_to(&sluice.ask_json(Method::PUT, &path, Some(body), 200).await)
}

async fn a_refused_login_reaches_the_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let before = sluice.written();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let body = json!({"error": "login_required", "error_description": "The \"account\" is locked.", "error_debug": "secret"});
    let page = browser.visit(&reject(&sluice, "login", &challenge, &body).await).await;
    assert_eq!(
        (page.location().host_str(), page.expect("error").as_str()),
        (Some("app.test"), "login_required")
    );
    assert_eq!(page.expect("error_description"), "The account is locked.");
    assert_eq!(
        (page.expect("state").as_str(), page.expect("iss").as_str()),
        (Authorize::default().state, ISSUER)
    );
    assert_eq!((page.parameter("code"), page.location().as_str().contains("secret")), (None, false));
    for (said, told) in
        [("Доступ закрыт для Österreich\u{7f}", Some("Доступ закрыт для Österreich")), (" \n", None)]
    {
        let (challenge, body) =
            (browser.begin(&client, &Authorize::default()).await, json!({"error_description": said}));
        let page = browser.visit(&reject(&sluice, "login", &challenge, &body).await).await;
        assert_eq!(page.parameter("error_description").as_deref(), told);
    }
    let page = sluice.browser().visit(&reject(&sluice, "login", &challenge, &body).await).await;
    assert_eq!(
        (page.status.as_u16(), page.location),
        (400, None),
        "but only its own browser carries it there"
    );
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

async fn a_refused_consent_reaches_the_client_and_leaves_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let before = sluice.written();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    let page = browser.visit(&reject(&sluice, "consent", &challenge, &json!({})).await).await;
    assert_eq!(
        (page.location().host_str(), page.expect("error").as_str()),
        (Some("app.test"), "access_denied")
    );
    assert_eq!(
        (page.expect("state").as_str(), page.expect("iss").as_str()),
        (Authorize::default().state, ISSUER)
    );
    assert_eq!(page.parameter("code"), None);
    assert_eq!(sluice.written(), before);
    let path = format!("/admin/oauth2/auth/requests/consent?consent_challenge={challenge}");
    let over = sluice.ask_json(Method::GET, &path, None, 410).await;
    assert!(over["redirect_to"].is_string(), "whoever comes back begins anew: {over}");
    sluice.node.stop().await;
}

/// Clients that were made from Hydra's document send `null` where no body was set.
async fn a_refusal_whose_body_is_null_reaches_the_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    for kind in ["login", "consent"] {
        let challenge = match kind {
            "login" => browser.begin(&client, &Authorize::default()).await,
            _ => consent_challenge(&sluice, &client, &mut browser, "alice").await,
        };
        let page = browser.visit(&reject(&sluice, kind, &challenge, &Value::Null).await).await;
        assert_eq!(page.location().host_str(), Some("app.test"), "{kind}");
        assert_eq!(page.expect("error"), "access_denied", "{kind}");
    }
    sluice.node.stop().await;
}
