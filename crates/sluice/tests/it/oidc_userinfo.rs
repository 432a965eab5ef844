//! What userinfo says and how (OpenID Connect Core §5.3). Where its token may be: `userinfo`; encrypted: `oidc_encryption`.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Clock;
use sluice_testkit::{Authorize, Backend, ISSUER, TestSluice, accept_consent, accept_login};

use crate::answer::{Answer, http};
use crate::both_stores::on_both_stores;
use crate::jwt::{claims, header, verified};
use crate::legs::{delete, token, tokens_of};
use crate::userinfo::about_user;

on_both_stores! {
    userinfo_is_signed_with_each_algorithm_that_is_announced,
    what_the_consent_page_knows_is_told_there_and_in_the_id_token,
}

/// Asks for userinfo.
async fn userinfo(sluice: &TestSluice, access_token: &str) -> Answer {
    Answer::to(http().get(sluice.public.join("/userinfo").unwrap()).bearer_auth(access_token)).await
}

async fn userinfo_is_signed_with_each_algorithm_that_is_announced(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let page = sluice.browser().visit("/.well-known/openid-configuration").await;
    let said: Value = serde_json::from_str(&page.body).unwrap();
    for algorithm in said["userinfo_signing_alg_values_supported"].as_array().unwrap() {
        let client = sluice.client(&json!({"userinfo_signed_response_alg": algorithm})).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        let answer = userinfo(&sluice, token(&tokens, "access_token")).await;
        if algorithm == "none" {
            assert_eq!(answer.header("content-type"), "application/json");
            assert_eq!(about_user(answer.ok()), json!({"sub": "alice"}));
            continue;
        }
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, "application/jwt"),
            "{}",
            answer.body
        );
        assert_eq!(header(&answer.body)["alg"], *algorithm);
        let mut said = verified(&sluice, &answer.body, algorithm.as_str().unwrap()).await;
        let id = said.as_object_mut().unwrap().remove("jti").expect("jti");
        let again = userinfo(&sluice, token(&tokens, "access_token")).await.body;
        assert_ne!(claims(&again)["jti"], id, "one answer is not the other");
        let (now, audience) = (sluice.clock.now().as_secs(), [client.id.as_str()]);
        let expected = json!({"sub": "alice", "iss": ISSUER, "aud": audience, "iat": now, "auth_time": now});
        assert_eq!(said, expected, "§5.3.2");
        let shown = sluice.ask_json(Method::GET, &format!("/admin/clients/{}", client.id), None, 200).await;
        assert_eq!(shown["userinfo_signed_response_alg"], *algorithm);
    }
    sluice.node.stop().await;
}

async fn what_the_consent_page_knows_is_told_there_and_in_the_id_token(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let session = json!({"id_token": {"name": "Alice", "address": {"country": "NZ"}, "sub": "mallory",
                                      "iss": "https://elsewhere.test", "aud": ["other"], "exp": 1,
                                      "azp": client.id}});
    let verifier = accept_consent(&sluice, &challenge, &json!({"session": session})).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    let told = userinfo(&sluice, token(&tokens, "access_token")).await.ok();
    assert_eq!((&told["iss"], &told["aud"]), (&json!(ISSUER), &json!([client.id])));
    assert_eq!(about_user(told), json!({"sub": "alice", "name": "Alice", "address": {"country": "NZ"}}));
    let said = verified(&sluice, token(&tokens, "id_token"), "RS256").await;
    assert_eq!(
        (&said["name"], &said["sub"], &said["iss"], &said["azp"]),
        (&json!("Alice"), &json!("alice"), &json!(ISSUER), &json!(client.id))
    );
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_userinfo_is_no_id_token() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({"userinfo_signed_response_alg": "RS256"})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let answer = userinfo(&sluice, token(&tokens, "access_token")).await;
    let hint = [("id_token_hint", &*answer.body)];
    let url = client.authorize_url(&Authorize { more: &hint, ..Authorize::default() });
    assert_eq!(sluice.browser().visit(&url).await.expect("error"), "invalid_request");
    assert!(!sluice.is_active(&answer.body).await);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_of_a_client_that_is_gone() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(sluice_primitives::Lifetime::secs(1));
    delete(&sluice, &format!("/admin/clients/{}", client.id)).await;
    assert_eq!(userinfo(&sluice, token(&tokens, "access_token")).await.status, 401);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn userinfo_cannot_be_registered_to_be_signed_with_a_secret() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for algorithm in ["HS256", "ES256K", "rs256"] {
        let asked = json!({"userinfo_signed_response_alg": algorithm});
        let refused = sluice.ask_json(Method::POST, "/admin/clients", Some(&asked), 400).await;
        assert_eq!(refused["error"], "invalid_client_metadata");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_registered_no_algorithm_gets_id_tokens_signed_with_the_configured_one() {
    for algorithm in ["PS256", "EdDSA"] {
        let settings = [("oidc.default_id_token_signing_alg", algorithm)];
        let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
        let client = sluice.client(&json!({})).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        verified(&sluice, token(&tokens, "id_token"), algorithm).await;
        sluice.node.stop().await;
    }
}
