//! The behaviour that the Basic, Implicit, Hybrid and Form Post plans ask of every response type.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Backend, TestClient, TestSluice};

use crate::answer::{Answer, http};
use crate::authorization_errors::Change::{With, Without};
use crate::authorization_errors::{Change, asked};
use crate::both_stores::on_both_stores;
use crate::jwt::verified;
use crate::response::{Response, answer, client_for, last_page};

on_both_stores! {
    a_login_leads_to_tokens_that_can_be_verified_whatever_the_response_type,
    what_a_request_says_for_the_login_page_reaches_it_and_hinders_nothing,
}

/// The response types of OpenID Connect.
pub(super) const TYPES: [&str; 6] =
    ["code", "id_token", "id_token token", "code id_token", "code token", "code id_token token"];

/// The id token of an answer, or of the code in it.
async fn id_token(client: &TestClient, answer: &Response) -> String {
    if let Some(id_token) = answer.parameters.get("id_token") {
        return id_token.clone();
    }
    let tokens = client.redeem(answer.get("code")).await.ok();
    tokens["id_token"].as_str().unwrap().to_owned()
}

async fn a_login_leads_to_tokens_that_can_be_verified_whatever_the_response_type(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for response_type in TYPES {
        let client = client_for(&sluice, &[response_type], json!({})).await;
        let answer = answer(&sluice, &client, &[With("response_type", response_type)]).await;
        let said = verified(&sluice, &id_token(&client, &answer).await, "RS256").await;
        assert_eq!(said["iss"], sluice_testkit::ISSUER, "{response_type}");
        assert_eq!((&said["sub"], &said["aud"]), (&json!("alice"), &json!([client.id])), "{response_type}");
        assert_eq!(said["nonce"], crate::response::NONCE, "{response_type}");
        assert!(said["exp"].as_i64() > said["iat"].as_i64(), "{response_type}");
        if let Some(access_token) = answer.parameters.get("access_token") {
            let (status, userinfo) = client.userinfo(access_token).await;
            assert_eq!((status, &userinfo["sub"]), (200, &said["sub"]), "{response_type}");
        }
    }
    sluice.node.stop().await;
}

async fn what_a_request_says_for_the_login_page_reaches_it_and_hinders_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for response_type in TYPES {
        let client = client_for(&sluice, &[response_type], json!({})).await;
        let changes = [
            With("response_type", response_type),
            With("display", "popup"),
            With("login_hint", "alice@example.com"),
            With("ui_locales", "se de"),
            With("claims_locales", "se"),
            With("acr_values", "1 2"),
            With("extra", "foobar"),
        ];
        let told = told_to_login(&sluice, &client, &changes).await;
        let context = &told["oidc_context"];
        assert_eq!(context["display"], "popup");
        assert_eq!(context["login_hint"], "alice@example.com");
        assert_eq!(context["ui_locales"], json!(["se", "de"]));
        assert_eq!(context["acr_values"], json!(["1", "2"]));
        let answer = answer(&sluice, &client, &changes).await;
        verified(&sluice, &id_token(&client, &answer).await, "RS256").await;
    }
    sluice.node.stop().await;
}

async fn told_to_login(sluice: &TestSluice, client: &TestClient, changes: &[Change<'_>]) -> Value {
    let challenge = sluice.browser().visit(&asked(client, changes)).await.expect("login_challenge");
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_display_is_accepted() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    for display in ["page", "popup", "touch", "wap"] {
        let told = told_to_login(&sluice, &client, &[With("display", display)]).await;
        assert_eq!(told["oidc_context"]["display"], display);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_needs_no_nonce_and_then_none_is_in_the_id_token() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let answer = answer(&sluice, &client, &[Without("nonce")]).await;
    let said = verified(&sluice, &id_token(&client, &answer).await, "RS256").await;
    assert_eq!(said.get("nonce"), None);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_may_come_by_post() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for response_type in TYPES {
        let client = client_for(&sluice, &[response_type], json!({})).await;
        let url = asked(&client, &[With("response_type", response_type)]);
        let (address, query) = url.split_once('?').unwrap();
        let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let form: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut browser = sluice.browser();
        let page = browser.submit(address, &form).await;
        assert_eq!(page.status.as_u16(), 303);
        let answer = Response::of(&last_page(&sluice, &mut browser, page.location().as_str()).await);
        verified(&sluice, &id_token(&client, &answer).await, "RS256").await;
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_id_token_cannot_be_registered() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for algorithm in ["none", "HS256"] {
        let body = json!({
            "redirect_uris": ["https://app.test/callback"],
            "id_token_signed_response_alg": algorithm,
        });
        let refused = sluice.ask_json(Method::POST, "/admin/clients", Some(&body), 400).await;
        assert_eq!(refused["error"], "invalid_client_metadata", "{algorithm}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_happy_flow_has_another_redirect_uri_and_unusual_texts() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let second = "https://app.test/callback?dummy1=lorem&dummy2=ipsum";
    let changes = json!({"redirect_uris": ["https://app.test/callback", second]});
    let mut client = sluice.client(&changes).await;
    second.clone_into(&mut client.redirect_uri);
    let state = "a state/with?every=kind&of#text+%41 \"'<>ü";
    let page = last_page(&sluice, &mut sluice.browser(), &asked(&client, &[With("state", state)])).await;
    assert_eq!(page.expect("state"), state);
    assert_eq!((page.expect("dummy1"), page.expect("dummy2")), ("lorem".to_owned(), "ipsum".to_owned()));
    client.redeem(&page.expect("code")).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_used_again_later_is_refused_and_its_tokens_hold_no_more() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for wait in [0, 30] {
        let client = sluice.client(&json!({})).await;
        let code = answer(&sluice, &client, &[]).await.get("code").to_owned();
        let tokens = client.redeem(&code).await.ok();
        sluice.advance(sluice_primitives::Lifetime::secs(wait));
        client.redeem(&code).await.refused_with("invalid_grant");
        let (status, _) = client.userinfo(tokens["access_token"].as_str().unwrap()).await;
        assert_eq!(status, 401, "{wait}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn userinfo_speaks_of_the_subject_of_the_id_token() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let tokens = client.redeem(answer(&sluice, &client, &[]).await.get("code")).await.ok();
    let said = verified(&sluice, tokens["id_token"].as_str().unwrap(), "RS256").await;
    let token = tokens["access_token"].as_str().unwrap();
    let url = sluice.public.join("/userinfo").unwrap();
    for request in [
        http().get(url.clone()).bearer_auth(token),
        http().post(url.clone()).bearer_auth(token),
        http().post(url.clone()).form(&[("access_token", token)]),
    ] {
        let answer = Answer::to(request).await;
        assert!(answer.header("content-type").starts_with("application/json"));
        assert_eq!(answer.ok()["sub"], said["sub"]);
    }
    sluice.node.stop().await;
}
