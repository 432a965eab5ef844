//! What an authentication request may say (OpenID Connect Core §3.1.2.1, §5.5), and what a client registered for those
//! that say nothing.

use serde_json::{Value, json};
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, accept_login};

use crate::authorization_errors::Change::{Twice, With};
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::legs::login_request;
use crate::requests::{is_refused, is_shown};

on_both_stores! {
    a_claims_request_names_the_user_who_must_log_in,
    a_client_has_defaults_for_what_a_request_leaves_out,
}

async fn told(sluice: &TestSluice, client: &TestClient, more: &[(&str, &str)]) -> Value {
    let with = Authorize { more, ..Authorize::default() };
    login_request(sluice, client, &mut sluice.browser(), &with).await
}

/// §5.5.
#[tokio::test(flavor = "multi_thread")]
async fn a_claims_request_that_is_none_is_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(8 * 1024));
    for wrong in [
        "claims",
        "[]",
        "null",
        r#"{"id_token":[]}"#,
        r#"{"id_token":{"acr":"gold"}}"#,
        r#"{"id_token":{"acr":{"essential":"yes"}}}"#,
        r#"{"userinfo":{"email":{"values":"x"}}}"#,
        r#"{"id_token":{"sub":{"value":7}}}"#,
        r#"{"id_token":{"sub":{"value":"a"}},"userinfo":{"sub":{"value":"b"}}}"#,
        &long,
    ] {
        is_refused(&mut sluice.browser(), &asked(&client, &[With("claims", wrong)]), "invalid_request").await;
    }
    for right in [
        "{}",
        r#"{"x":1}"#,
        r#"{"userinfo":{"given_name":{"essential":true},"nickname":null},"id_token":{"auth_time":{"essential":true}}}"#,
        r#"{"id_token":{"acr":{"values":["urn:mace:incommon:iap:silver"]}}}"#,
    ] {
        sluice.browser().visit(&asked(&client, &[With("claims", right)])).await.expect("login_challenge");
    }
    let discovery = sluice.browser().visit("/.well-known/openid-configuration").await.body;
    let discovery: Value = serde_json::from_str(&discovery).unwrap();
    assert_eq!(discovery["claims_parameter_supported"], true);
    sluice.node.stop().await;
}

/// §5.5.1: with a `value` for `sub`, nobody else may be told of.
async fn a_claims_request_names_the_user_who_must_log_in(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let claims = r#"{"id_token":{"sub":{"value":"alice"}}}"#;
    let with = Authorize { more: &[("claims", claims)], ..Authorize::default() };
    let mut browser = sluice.browser();
    browser
        .log_in_with(&sluice, &client, &Authorize::default(), &json!({"subject": "bob", "remember": true}))
        .await;
    // Bob is known here, and asked to log in anyway; as Bob he does not get on.
    let asked = login_request(&sluice, &client, &mut browser, &with).await;
    assert_eq!(asked["skip"], false, "{asked}");
    for (subject, comes_on) in [("bob", false), ("alice", true)] {
        let challenge = browser.begin(&client, &with).await;
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": subject})).await;
        let page = browser.visit(&verifier).await;
        assert_eq!(page.parameter("consent_challenge").is_some(), comes_on, "{subject}: {:?}", page.location);
        if !comes_on {
            assert_eq!(page.expect("error"), "login_required");
        }
    }
    let silent = [("claims", claims), ("prompt", "none")];
    let url = client.authorize_url(&Authorize { more: &silent, ..Authorize::default() });
    is_refused(&mut sluice.browser(), &url, "login_required").await;
    sluice.node.stop().await;
}

/// §5.5.1.1: classes that are asked for as a claim are asked for.
#[tokio::test(flavor = "multi_thread")]
async fn the_login_page_is_told_which_classes_are_asked_for() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let claims = r#"{"id_token":{"acr":{"essential":true,"values":["gold","silver"]}}}"#;
    let asked = told(&sluice, &client, &[("claims", claims)]).await;
    assert_eq!(asked["oidc_context"]["acr_values"], json!(["gold", "silver"]));
    let asked = told(&sluice, &client, &[("claims", claims), ("acr_values", "bronze")]).await;
    assert_eq!(asked["oidc_context"]["acr_values"], json!(["bronze"]));
    sluice.node.stop().await;
}

/// OpenID Connect Registration §2: `default_max_age`, `default_acr_values`.
async fn a_client_has_defaults_for_what_a_request_leaves_out(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let defaults = json!({"default_max_age": 60, "default_acr_values": ["gold", "silver"]});
    let client = sluice.client(&defaults).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await;
    let asked = login_request(&sluice, &client, &mut browser, &Authorize::default()).await;
    assert_eq!(
        (&asked["skip"], &asked["oidc_context"]["acr_values"]),
        (&json!(true), &json!(["gold", "silver"]))
    );
    sluice.advance(sluice_primitives::Lifetime::secs(60));
    let asked = login_request(&sluice, &client, &mut browser, &Authorize::default()).await;
    assert_eq!(asked["skip"], false, "a minute is over");
    let more = [("max_age", "3600"), ("acr_values", "bronze")];
    let with = Authorize { more: &more, ..Authorize::default() };
    let asked = login_request(&sluice, &client, &mut browser, &with).await;
    assert_eq!((&asked["skip"], &asked["oidc_context"]["acr_values"]), (&json!(true), &json!(["bronze"])));
    sluice.node.stop().await;
}

/// RFC 6749 §3.1: what is not known is ignored, what is repeated is refused; OpenID Connect Core §7.2.1.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_parameters_are_ignored_and_repeated_ones_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let strange = [With("nobody_knows", "x"), With("claims_locales", "de"), With("vtr", "[]")];
    sluice.browser().visit(&asked(&client, &strange)).await.expect("login_challenge");
    // Which of two requests says where the answer goes is not known.
    let twice = [With("request", "{}"), Twice("request", "{}")];
    is_shown(&sluice.browser().visit(&asked(&client, &twice)).await, "invalid_request");
    for name in ["claims", "authorization_details", "dpop_jkt", "nobody_knows"] {
        let twice = [With(name, "{}"), Twice(name, "{}")];
        is_refused(&mut sluice.browser(), &asked(&client, &twice), "invalid_request").await;
    }
    let url = asked(&client, &[With("registration", "{}")]);
    is_refused(&mut sluice.browser(), &url, "registration_not_supported").await;
    sluice.node.stop().await;
}
