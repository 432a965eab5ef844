//! What pages are shown of the request that began a flow: all that a login application may want to look at.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestSluice, accept_login};

use crate::authorization_errors::{Change, asked};
use crate::both_stores::on_both_stores;
use crate::legs::{consent_request, login_request, parameter, token, tokens_of};

on_both_stores! {
    pages_are_shown_all_parameters_of_the_request,
    a_login_page_finds_the_identity_schema_in_its_address,
    a_flow_that_starts_again_has_all_parameters_but_the_id_token,
    what_is_beyond_the_bounds_is_not_shown_and_does_no_harm,
    an_unknown_parameter_that_stands_twice_is_refused,
    a_consent_request_says_which_login_it_follows,
}

fn names(url: &str) -> Vec<String> {
    let url: url::Url = url.parse().unwrap();
    url.query_pairs().map(|(name, _)| name.into_owned()).collect()
}

fn request_url(asked: &Value) -> &str {
    asked["request_url"].as_str().unwrap()
}

async fn pages_are_shown_all_parameters_of_the_request(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"id_token_signed_response_alg": "ES256"})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let more = [
        ("tenant", "acme & sons"),
        ("id_token_hint", token(&tokens, "id_token")),
        ("screen hint", "sign up"),
        ("empty", ""),
        ("client_secret", "hunter2"),
    ];
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize { more: &more, ..Authorize::default() }).await;
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    let login = sluice.ask_json(Method::GET, &path, None, 200).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let consent = consent_request(&sluice, &challenge).await;
    for shown in [&login, &consent] {
        let url = request_url(shown);
        assert_eq!(parameter(url, "tenant"), "acme & sons");
        assert_eq!(parameter(url, "screen hint"), "sign up");
        assert_eq!(parameter(url, "state"), Authorize::default().state);
        assert!(names(url).ends_with(&["tenant", "screen hint", "empty"].map(str::to_owned)), "{url}");
        assert!(!url.contains("hunter2"), "{url}");
    }
    assert_eq!(parameter(request_url(&login), "id_token_hint"), token(&tokens, "id_token"));
    sluice.node.stop().await;
}

/// As with Hydra.
async fn a_login_page_finds_the_identity_schema_in_its_address(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for (schema, expected) in [("customers & guests", true), (&*"x".repeat(256), false)] {
        let with = Authorize { more: &[("identity_schema", schema)], ..Authorize::default() };
        let mut browser = sluice.browser();
        let page = browser.visit(&client.authorize_url(&with)).await;
        assert_eq!(page.parameter("identity_schema").as_deref(), expected.then_some(schema));
        let path =
            format!("/admin/oauth2/auth/requests/login?login_challenge={}", page.expect("login_challenge"));
        let login = sluice.ask_json(Method::GET, &path, None, 200).await;
        assert_eq!(parameter(request_url(&login), "identity_schema"), schema);
    }
    sluice.node.stop().await;
}

async fn a_flow_that_starts_again_has_all_parameters_but_the_id_token(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"id_token_signed_response_alg": "ES256"})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let more = [("tenant", "acme"), ("id_token_hint", token(&tokens, "id_token"))];
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize { more: &more, ..Authorize::default() }).await;
    sluice.advance(Lifetime::minutes(30));
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    let gone = sluice.ask_json(Method::GET, &path, None, 410).await;
    let again = gone["redirect_to"].as_str().unwrap();
    assert_eq!(parameter(again, "tenant"), "acme");
    assert!(!again.contains("id_token_hint"), "{again}");
    let challenge = browser.visit(again).await.expect("login_challenge");
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    let login = sluice.ask_json(Method::GET, &path, None, 200).await;
    assert_eq!(parameter(request_url(&login), "tenant"), "acme");
    assert_eq!(login["oidc_context"]["id_token_hint_claims"]["sub"], "alice", "it is for the same user");
    sluice.node.stop().await;
}

async fn what_is_beyond_the_bounds_is_not_shown_and_does_no_harm(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (long, longer) = ("x".repeat(1_900), "y".repeat(2_100));
    let more = [("tenant", "acme"), ("longer", longer.as_str()), ("long", long.as_str()), ("last", "one")];
    let with = Authorize { more: &more, ..Authorize::default() };
    let (mut browser, before) = (sluice.browser(), sluice.written());
    let login = login_request(&sluice, &client, &mut browser, &with).await;
    assert_eq!(sluice.written(), before, "no flow is kept because of what is only shown");
    let url = request_url(&login);
    assert_eq!(parameter(url, "tenant"), "acme");
    assert!(!names(url).iter().any(|name| name.starts_with("long")), "{url}");
    browser.log_in_with(&sluice, &client, &with, &json!({"subject": "alice"})).await.expect("code");
    let many: Vec<String> = (0..40).map(|number| format!("unknown{number}")).collect();
    let more: Vec<_> = many.iter().map(|name| (name.as_str(), "1")).collect();
    let with = Authorize { more: &more, ..Authorize::default() };
    let login = login_request(&sluice, &client, &mut browser, &with).await;
    let shown = names(request_url(&login));
    assert!(shown.contains(&"unknown31".to_owned()) && !shown.contains(&"unknown32".to_owned()), "{shown:?}");
    sluice.node.stop().await;
}

async fn an_unknown_parameter_that_stands_twice_is_refused(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let twice = [Change::With("tenant", "acme"), Change::Twice("tenant", "other")];
    let page = sluice.browser().visit(&asked(&client, &twice)).await;
    assert_eq!(page.expect("error"), "invalid_request");
    sluice.node.stop().await;
}

async fn a_consent_request_says_which_login_it_follows(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, mut seen) = (sluice.browser(), Vec::new());
    for subject in ["alice", "bob"] {
        let challenge = browser.begin(&client, &Authorize::default()).await;
        let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
        let login = sluice.ask_json(Method::GET, &path, None, 200).await;
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": subject})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        let consent = consent_request(&sluice, &challenge).await;
        assert_eq!(consent["login_challenge"], consent["consent_request_id"]);
        assert_eq!(consent["login_session_id"], login["session_id"]);
        seen.push(consent["login_challenge"].as_str().unwrap().to_owned());
    }
    assert!(seen[0].len() == 36 && seen[0] != seen[1], "{seen:?}");
    sluice.node.stop().await;
}
