//! The implicit flow (OpenID Connect Core §3.2, RFC 6749 §4.2).

use reqwest::Method;
use serde_json::json;
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Backend, ISSUER, TestSluice, accept_consent, accept_login};

use crate::authorization_errors::Change::{With, Without};
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::jwt::verified;
use crate::legs::delete;
use crate::response::{NONCE, Response, answer, client_for, half_hash, last_page, refusal};

on_both_stores! {
    an_id_token_alone_tells_of_the_login,
    an_access_token_comes_with_an_id_token_that_vouches_for_it,
    an_access_token_alone_is_oauth,
    a_flow_without_a_code_answers_once,
    tokens_of_the_fragment_are_revoked_like_any_others,
}

const ID_TOKEN: &[crate::authorization_errors::Change<'_>] = &[With("response_type", "id_token")];
const BOTH: &[crate::authorization_errors::Change<'_>] = &[With("response_type", "id_token token")];

async fn an_id_token_alone_tells_of_the_login(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &["id_token"], json!({"grant_types": ["implicit"]})).await;
    let answer = answer(&sluice, &client, ID_TOKEN).await;
    let said = verified(&sluice, answer.get("id_token"), "RS256").await;
    let now = sluice.clock.now().as_secs();
    let expected = [
        ("iss", json!(ISSUER)),
        ("sub", json!("alice")),
        ("aud", json!([client.id])),
        ("nonce", json!(NONCE)),
        ("iat", json!(now)),
        ("exp", json!(now + 3600)),
        ("auth_time", json!(now)),
    ];
    for (name, value) in expected {
        assert_eq!(said[name], value, "{name}");
    }
    assert!(said["sid"].is_string(), "{said}");
    for absent in ["at_hash", "c_hash", "s_hash"] {
        assert!(said.get(absent).is_none(), "{absent}: there is nothing to hash");
    }
    sluice.node.stop().await;
}

async fn an_access_token_comes_with_an_id_token_that_vouches_for_it(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &["id_token token"], json!({"audience": ["https://api.test"]})).await;
    let changes = [BOTH[0].clone(), With("audience", "https://api.test")];
    let answer = answer(&sluice, &client, &changes).await;
    let access_token = answer.get("access_token");
    let said = verified(&sluice, answer.get("id_token"), "RS256").await;
    assert_eq!(said["at_hash"], half_hash(access_token), "OpenID Connect Core §3.2.2.10");
    assert!(said.get("c_hash").is_none() && said.get("s_hash").is_none());
    let introspected = sluice.introspect(access_token).await;
    assert_eq!(
        (&introspected["active"], &introspected["sub"], &introspected["client_id"], &introspected["aud"]),
        (&json!(true), &json!("alice"), &json!(client.id), &json!(["https://api.test"]))
    );
    assert_ne!(introspected["jti"], said["jti"]);
    let (status, userinfo) = client.userinfo(access_token).await;
    assert_eq!((status, &userinfo["sub"]), (200, &json!("alice")));
    sluice.node.stop().await;
}

async fn an_access_token_alone_is_oauth(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let implicit = json!({"implicit_grant_access_token_lifespan": "10m"});
    let client = client_for(&sluice, &["token"], implicit).await;
    let changes = [
        With("response_type", "token"),
        With("scope", "email offline_access"),
        Without("nonce"),
        Without("code_challenge"),
        Without("code_challenge_method"),
    ];
    let answer = answer(&sluice, &client, &changes).await;
    assert_eq!(answer.names(), ["access_token", "expires_in", "iss", "scope", "state", "token_type"]);
    assert_eq!(answer.get("token_type").to_ascii_lowercase(), "bearer");
    assert_eq!((answer.get("expires_in"), answer.get("scope")), ("600", "email offline_access"));
    let introspected = sluice.introspect(answer.get("access_token")).await;
    let lives = introspected["exp"].as_i64().unwrap() - introspected["iat"].as_i64().unwrap();
    assert_eq!((lives, introspected["scope"].as_str()), (600, Some("email offline_access")));
    sluice.advance(Lifetime::minutes(10));
    assert!(!sluice.is_active(answer.get("access_token")).await);
    sluice.node.stop().await;
}

async fn a_flow_without_a_code_answers_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &["id_token token"], json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.visit(&asked(&client, BOTH)).await.expect("login_challenge");
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let first = Response::of(&browser.visit(&verifier).await);
    let again = browser.visit(&verifier).await;
    assert_eq!((again.status.as_u16(), &again.location), (410, &None), "{}", again.body);
    assert!(sluice.is_active(first.get("access_token")).await);
    let path = "/admin/oauth2/auth/sessions/consent?subject=alice";
    let consents = sluice.ask_json(Method::GET, path, None, 200).await;
    assert_eq!(consents[0]["consent_request"]["client"]["client_id"], client.id);
    sluice.node.stop().await;
}

async fn tokens_of_the_fragment_are_revoked_like_any_others(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &["id_token token"], json!({})).await;
    let one = answer(&sluice, &client, BOTH).await;
    let other = answer(&sluice, &client, BOTH).await;
    client.revoke(one.get("access_token")).await;
    assert!(!sluice.is_active(one.get("access_token")).await);
    assert!(sluice.is_active(other.get("access_token")).await);
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/consent?subject=alice&all=true").await;
    assert!(!sluice.is_active(other.get("access_token")).await);
    assert_eq!(client.userinfo(other.get("access_token")).await.0, 401);
    sluice.node.stop().await;
}

/// OpenID Connect Core §3.2.2.1: `nonce` is required, and `openid` makes the request what it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_nonce_or_openid_is_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["id_token", "id_token token"], json!({})).await;
    for asked in ["id_token", "id_token token"] {
        for wrong in [Without("nonce"), With("nonce", ""), With("scope", "email")] {
            let refused = refusal(&sluice, &client, &[With("response_type", asked), wrong]).await;
            refused.refused_with("invalid_request");
            assert_eq!(refused.way, "fragment");
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_that_was_not_granted_is_an_error() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["id_token token"], json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.visit(&asked(&client, BOTH)).await.expect("login_challenge");
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &challenge, &json!({"grant_scope": ["offline_access"]})).await;
    Response::of(&browser.visit(&verifier).await).refused_with("access_denied");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    Response::of(&browser.visit(&verifier).await).get("id_token");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_client_needs_no_pkce_where_there_is_no_code() {
    let sluice = TestSluice::with(Backend::Sqlite, &[("oauth2.pkce.enforced", "true")]).await;
    let public = json!({"token_endpoint_auth_method": "none"});
    let client = client_for(&sluice, &["id_token token", "code id_token"], public).await;
    let without = [BOTH[0].clone(), Without("code_challenge"), Without("code_challenge_method")];
    answer(&sluice, &client, &without).await.get("access_token");
    let hybrid = [With("response_type", "code id_token"), without[1].clone(), without[2].clone()];
    refusal(&sluice, &client, &hybrid).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_renews_its_tokens_in_a_frame_without_a_page() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["id_token token"], json!({"skip_consent": true})).await;
    let mut browser = sluice.browser();
    last_page(&sluice, &mut browser, &asked(&client, BOTH)).await;
    sluice.advance(Lifetime::minutes(5));
    let silent = asked(&client, &[BOTH[0].clone(), With("prompt", "none")]);
    let renewed = Response::of(&last_page(&sluice, &mut browser, &silent).await);
    let said = verified(&sluice, renewed.get("id_token"), "RS256").await;
    assert_eq!(said["iat"].as_i64().unwrap() - said["auth_time"].as_i64().unwrap(), 300);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jwt_access_token_travels_in_the_fragment_too() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let formats = json!({
        "access_token_strategy": "jwt",
        "access_token_signed_response_alg": "ES256",
        "id_token_signed_response_alg": "ES256",
    });
    let client = client_for(&sluice, &["id_token token"], formats).await;
    let answer = answer(&sluice, &client, BOTH).await;
    let said = verified(&sluice, answer.get("access_token"), "ES256").await;
    assert_eq!((&said["client_id"], &said["sub"]), (&json!(client.id), &json!("alice")));
    let said = verified(&sluice, answer.get("id_token"), "ES256").await;
    assert_eq!(said["at_hash"], half_hash(answer.get("access_token")));
    assert_eq!(client.userinfo(answer.get("access_token")).await.0, 200);
    sluice.node.stop().await;
}
