//! Userinfo: where its token may be, and what is said when it is not good (RFC 6750 §2, §3).
//!
//! [`statements`]: what it costs the database.

mod statements;

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Clock;
use sluice_testkit::{Authorize, Backend, ISSUER, TestClient, TestSluice, accept_consent, accept_login};

use crate::answer::{Answer, http};
use crate::both_stores::on_both_stores;
use crate::legs::token;

on_both_stores! {
    a_grant_that_was_revoked_is_refused_at_once,
}

/// The tokens of a login of Alice's of whom the consent page said this.
async fn tokens_with(sluice: &TestSluice, client: &TestClient, said: &Value) -> Value {
    let mut browser = sluice.browser();
    let challenge = browser.begin(client, &Authorize::default()).await;
    let verifier = accept_login(sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(sluice, &challenge, &json!({"session": {"id_token": said}})).await;
    client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok()
}

async fn a_grant_that_was_revoked_is_refused_at_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for said in [json!({}), json!({"name": "Alice"}), json!({"name": "Alice".repeat(400)})] {
        let tokens = tokens_with(&sluice, &client, &said).await;
        let access_token = token(&tokens, "access_token");
        assert_eq!(client.userinfo(access_token).await.0, 200);
        client.revoke(token(&tokens, "refresh_token")).await;
        let url = sluice.public.join("/userinfo").unwrap();
        refused(&Answer::to(http().get(url).bearer_auth(access_token)).await, 401, "invalid_token");
    }
    sluice.node.stop().await;
}

/// A node, and an access token with this scope.
async fn given(scope: &str) -> (TestSluice, String) {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let with = Authorize { scope, ..Authorize::default() };
    let code = sluice
        .browser()
        .log_in_with(&sluice, &client, &with, &json!({"subject": "alice"}))
        .await
        .expect("code");
    let token = client.redeem(&code).await.ok()["access_token"].as_str().unwrap().to_owned();
    (sluice, token)
}

#[track_caller]
fn refused(answer: &Answer, status: u16, error: &str) {
    assert_eq!((answer.status, answer.json()["error"].as_str()), (status, Some(error)), "{}", answer.body);
    assert_eq!(answer.header("cache-control"), "no-store");
    let challenge = answer.header("www-authenticate");
    assert!(challenge.starts_with("Bearer realm="), "{challenge}");
    assert!(challenge.contains(&format!("error=\"{error}\"")), "{challenge}");
}

/// Hydra's error, which the challenge does not name (RFC 6750 §3.1).
#[track_caller]
fn is_told_how(answer: &Answer, what: &str) {
    let said = answer.json();
    assert_eq!(
        (answer.status, said["error"].as_str()),
        (401, Some("request_unauthorized")),
        "{}",
        answer.body
    );
    assert!(said["error_description"].as_str().unwrap().contains(what), "{said}");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"sluice\"");
}

/// What userinfo says of a user, without what it says of the login.
pub(crate) fn about_user(mut userinfo: Value) -> Value {
    let said = userinfo.as_object_mut().unwrap();
    for name in ["iss", "aud", "auth_time"] {
        assert!(said.remove(name).is_some(), "no {name} in {said:?}");
    }
    said.retain(|name, _| name != "acr" && name != "amr");
    userinfo
}

/// As Hydra does: what an id token says of the login stands beside what it says of the user.
#[tokio::test(flavor = "multi_thread")]
async fn userinfo_says_who_speaks_to_whom_and_of_which_login() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let logged_in_at = sluice.clock.now().as_secs();
    for strategy in ["opaque", "jwt"] {
        let client = sluice.client(&json!({"access_token_strategy": strategy})).await;
        let login = json!({"subject": "alice", "acr": "urn:level:2", "amr": ["pwd", "otp"]});
        let page = sluice.browser().log_in_with(&sluice, &client, &Authorize::default(), &login).await;
        let tokens = client.redeem(&page.expect("code")).await.ok();
        let (status, said) = client.userinfo(token(&tokens, "access_token")).await;
        assert_eq!((status, &said["iss"], &said["aud"]), (200, &json!(ISSUER), &json!([client.id])));
        assert_eq!(said["auth_time"], logged_in_at);
        let (class, methods) = (json!("urn:level:2"), json!(["pwd", "otp"]));
        assert_eq!((&said["acr"], &said["amr"]), (&class, &methods), "{strategy}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_in_the_header_or_in_the_form() {
    let (sluice, token) = given("openid").await;
    let url = sluice.public.join("/userinfo").unwrap();
    for request in [
        http().get(url.clone()).bearer_auth(&token),
        http().post(url.clone()).bearer_auth(&token),
        http().get(url.clone()).header("authorization", format!("bearer {token}")),
        http().get(url.clone()).header("authorization", format!("BEARER   {token}")),
        http().post(url.clone()).form(&[("access_token", &token)]),
        http().post(url.clone()).bearer_auth(&token).form(&[("something", "else")]),
        http().post(url.clone()).bearer_auth(&token).json(&json!({"access_token": token})),
    ] {
        let answer = Answer::to(request).await;
        assert_eq!(about_user(answer.ok()), json!({"sub": "alice"}));
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_brings_no_token_is_told_how_and_who_brings_two_is_refused() {
    let (sluice, token) = given("openid").await;
    let url = sluice.public.join("/userinfo").unwrap();
    let mut in_query = url.clone();
    in_query.query_pairs_mut().append_pair("access_token", &token);
    for request in [
        http().get(url.clone()),
        http().post(url.clone()),
        http().get(url.clone()).header("authorization", "Bearer"),
        http().get(url.clone()).header("authorization", format!("Basic {token}")),
        http().get(url.clone()).header("authorization", token.clone()),
        http().post(url.clone()).form(&[("access_token", "")]),
        http().post(url.clone()).json(&json!({"access_token": token})),
        http().get(url.clone()).form(&[("access_token", &token)]),
    ] {
        is_told_how(&Answer::to(request).await, "has no access token");
    }
    for request in [http().get(in_query.clone()), http().post(in_query)] {
        is_told_how(&Answer::to(request).await, "must be in the `Authorization` header");
    }
    let both = http().post(url.clone()).bearer_auth(&token).form(&[("access_token", &token)]);
    refused(&Answer::to(both).await, 400, "invalid_request");
    let twice = http().post(url.clone()).form(&[("access_token", &token), ("access_token", &token)]);
    refused(&Answer::to(twice).await, 400, "invalid_request");
    let headers = http().get(url.clone()).bearer_auth(&token).bearer_auth("another");
    refused(&Answer::to(headers).await, 400, "invalid_request");
    let long = http().post(url.clone()).form(&[("access_token", &token), ("x", &"x".repeat(70_000))]);
    refused(&Answer::to(long).await, 400, "invalid_request");
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let answer = Answer::to(http().request(method, url.clone()).bearer_auth(&token)).await;
        assert_eq!(answer.status, 405);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_does_not_hold_or_reach_is_refused() {
    let (sluice, token) = given("email").await;
    let url = sluice.public.join("/userinfo").unwrap();
    refused(&Answer::to(http().get(url.clone()).bearer_auth(&token)).await, 403, "insufficient_scope");
    let long = "x".repeat(20_000);
    for bad in
        ["x", "ory_at_", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.", long.as_str(), "a b", "\"><script>"]
    {
        refused(&Answer::to(http().get(url.clone()).bearer_auth(bad)).await, 401, "invalid_token");
    }
    // A token of a client for itself speaks for no user.
    let machine = sluice.client(&json!({})).await;
    let form = [("grant_type", "client_credentials"), ("scope", "openid")];
    let own = machine.token(&form).await.ok()["access_token"].as_str().unwrap().to_owned();
    refused(&Answer::to(http().get(url.clone()).bearer_auth(&own)).await, 401, "invalid_token");
    sluice.node.stop().await;
}
