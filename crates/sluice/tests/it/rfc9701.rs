//! Introspection by resource servers (RFC 7662), and JWT responses (RFC 9701).

use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwe::KeyManagement;
use sluice_primitives::Clock;
use sluice_testkit::{Authorize, Backend, ISSUER, TestClient, TestSluice};

use crate::answer::{Answer, basic, http};
use crate::both_stores::on_both_stores;
use crate::jwt::{header, verified};
use crate::keyed::{JWT_BEARER, KeyedClient, send};
use crate::legs::{token, tokens_of};
use crate::oidc_encryption::OwnKey;

on_both_stores! {
    rfc_7662_section_2_a_resource_server_is_told_of_tokens_that_are_meant_for_it,
    rfc_9470_section_6_2_a_resource_server_is_told_of_the_login,
    section_5_an_answer_is_a_token_of_a_type_of_its_own,
    section_6_an_answer_is_signed_and_encrypted_as_registered,
}

const JWT: &str = "application/token-introspection+jwt";

/// Asks about a token, authenticated as this client, accepting these media types.
async fn ask(sluice: &TestSluice, client: &TestClient, token: &str, accept: &str) -> Answer {
    let credentials = basic(&client.id, client.secret.as_deref().unwrap());
    let request = http().post(sluice.public.join("/oauth2/introspect").unwrap());
    let request = request.header("authorization", credentials).header("accept", accept);
    Answer::to(request.form(&[("token", token), ("token_type_hint", "access_token")])).await
}

/// What is said about a token, as JSON.
async fn told(sluice: &TestSluice, client: &TestClient, token: &str) -> Value {
    let answer = ask(sluice, client, token, "application/json").await;
    assert_eq!(
        (answer.header("cache-control"), answer.header("content-type")),
        ("no-store", "application/json")
    );
    answer.ok()
}

/// A client, a resource server, and an access token of the client that is meant for the server.
async fn given(sluice: &TestSluice, server: &Value) -> (TestClient, TestClient, Value) {
    let server = sluice.client(server).await;
    let client = sluice.client(&json!({"audience": [server.id]})).await;
    let with = Authorize { more: &[("audience", &server.id)], ..Authorize::default() };
    let page = sluice.browser().log_in_with(sluice, &client, &with, &json!({"subject": "alice"})).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    (client, server, tokens)
}

async fn rfc_7662_section_2_a_resource_server_is_told_of_tokens_that_are_meant_for_it(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, server, tokens) = given(&sluice, &json!({})).await;
    let other = sluice.client(&json!({})).await;
    let (access, refresh) = (token(&tokens, "access_token"), token(&tokens, "refresh_token"));
    let inactive = json!({"active": false});
    let said = told(&sluice, &server, access).await;
    assert_eq!(said, sluice.introspect(access).await);
    assert_eq!(
        (&said["active"], &said["sub"], &said["aud"]),
        (&json!(true), &json!("alice"), &json!([server.id]))
    );
    assert_eq!(told(&sluice, &other, access).await, inactive, "it is not meant for this one");
    assert_eq!(told(&sluice, &client, access).await["active"], true, "its own");
    assert_eq!(told(&sluice, &client, refresh).await["token_use"], "refresh_token");
    assert_eq!(told(&sluice, &server, refresh).await, inactive, "nobody presents a refresh token to it");
    let for_anybody = tokens_of(&sluice, &client, "bob").await;
    assert_eq!(told(&sluice, &other, token(&for_anybody, "access_token")).await["sub"], "bob");
    for nothing in ["x", "ory_at_x", "a.b.c"] {
        assert_eq!(told(&sluice, &server, nothing).await, inactive);
    }
    client.revoke(access).await.ok();
    assert_eq!(told(&sluice, &server, access).await, inactive);
    sluice.node.stop().await;
}

/// So that it can ask for another one.
async fn rfc_9470_section_6_2_a_resource_server_is_told_of_the_login(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let server = sluice.client(&json!({})).await;
    let began = sluice.clock.now().as_secs();
    for strategy in ["opaque", "jwt"] {
        let grant_types = json!(["authorization_code", "refresh_token", "client_credentials"]);
        let asked = json!({"access_token_strategy": strategy, "grant_types": grant_types});
        let client = sluice.client(&asked).await;
        let mut logins = Vec::new();
        for login in [
            json!({"subject": "alice", "acr": "urn:level:2", "amr": ["pwd", "otp"]}),
            json!({"subject": "alice"}),
        ] {
            let page = sluice.browser().log_in_with(&sluice, &client, &Authorize::default(), &login).await;
            logins.push((login, client.redeem(&page.expect("code")).await.ok()));
        }
        for (login, tokens) in logins {
            let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
            for tokens in [&tokens, &refreshed] {
                let said = told(&sluice, &server, token(tokens, "access_token")).await;
                assert_eq!(said["auth_time"], began, "{strategy}");
                assert_eq!((&said["acr"], &said["amr"]), (&login["acr"], &login["amr"]), "{strategy}");
            }
        }
        let own = client.token(&[("grant_type", "client_credentials")]).await.ok();
        let said = told(&sluice, &server, token(&own, "access_token")).await;
        assert_eq!((&said["active"], said.get("auth_time")), (&json!(true), None), "nobody logged in");
    }
    sluice.node.stop().await;
}

async fn section_5_an_answer_is_a_token_of_a_type_of_its_own(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (_, server, tokens) = given(&sluice, &json!({})).await;
    let access = token(&tokens, "access_token");
    for (asked, active) in [(access, true), ("x", false)] {
        let answer = ask(&sluice, &server, asked, &format!("application/json;q=0.5, {JWT}")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, JWT), "{}", answer.body);
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(header(&answer.body)["typ"], "token-introspection+jwt");
        let said = verified(&sluice, &answer.body, "RS256").await;
        let expected = json!({
            "iss": ISSUER, "aud": server.id, "iat": sluice.clock.now().as_secs(),
            "token_introspection": if active { sluice.introspect(access).await } else { json!({"active": false}) },
        });
        assert_eq!(said, expected, "neither `sub` nor `exp` beside");
        assert!(!sluice.is_active(&answer.body).await, "it is no access token");
        assert_eq!(server.userinfo(&answer.body).await.0, 401);
    }
    sluice.node.stop().await;
}

async fn section_6_an_answer_is_signed_and_encrypted_as_registered(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let key = OwnKey::new(KeyManagement::RsaOaep, "mine");
    let registered = json!({"jwks": key.set(), "introspection_signed_response_alg": "PS256",
                            "introspection_encrypted_response_alg": "RSA-OAEP",
                            "introspection_encrypted_response_enc": "A128GCM"});
    let (_, server, tokens) = given(&sluice, &registered).await;
    let access = token(&tokens, "access_token");
    let answer = ask(&sluice, &server, access, JWT).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, JWT), "{}", answer.body);
    let said = verified(&sluice, &key.nested(&answer.body), "PS256").await;
    assert_eq!(said["token_introspection"]["sub"], "alice");
    assert_eq!(told(&sluice, &server, access).await["sub"], "alice", "§4: who asks for JSON gets it");
    let shown = sluice.ask_json(Method::GET, &format!("/admin/clients/{}", server.id), None, 200).await;
    assert_eq!(shown["introspection_signed_response_alg"], "PS256");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rfc_7662_section_2_1_who_asks_proves_who_it_is() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (_, server, tokens) = given(&sluice, &json!({})).await;
    let access = token(&tokens, "access_token");
    let url = sluice.public.join("/oauth2/introspect").unwrap();
    let ask = |authorization: String, form: Vec<(&str, &str)>| {
        let request = http().post(url.clone()).header("accept", JWT);
        let request =
            if authorization.is_empty() { request } else { request.header("authorization", authorization) };
        Answer::to(request.form(&form))
    };
    let known = basic(&server.id, server.secret.as_deref().unwrap());
    ask(basic(&server.id, "wrong"), vec![("token", access)]).await.refused_with(401, "invalid_client");
    ask(String::new(), vec![("token", access), ("client_id", &server.id)])
        .await
        .refused_with(401, "invalid_client");
    ask(String::new(), vec![("token", access)]).await.refused_with(400, "invalid_request");
    ask(known.clone(), vec![]).await.refused_with(400, "invalid_request");
    ask(known, vec![("token", access), ("token", access)]).await.refused_with(400, "invalid_request");
    ask(format!("Bearer {access}"), vec![("token", access)]).await.refused_with(401, "invalid_client");
    let public = sluice.client(&json!({"token_endpoint_auth_method": "none"})).await;
    ask(String::new(), vec![("token", access), ("client_id", &public.id)])
        .await
        .refused_with(401, "invalid_client");
    let keyed = KeyedClient::on(&sluice, &json!({})).await;
    let assertion = keyed.assertion(&sluice, &json!({}));
    let form =
        [("token", "x"), ("client_assertion_type", JWT_BEARER), ("client_assertion", assertion.as_str())];
    assert_eq!(send(&sluice, "/oauth2/introspect", &[], &form).await.ok(), json!({"active": false}));
    let get = Answer::to(http().get(url.clone()).query(&[("token", access)])).await;
    assert_eq!(get.status, 405, "a token in an address would be logged");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn section_7_what_the_server_can_do_is_announced() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let page = sluice.browser().visit("/.well-known/oauth-authorization-server").await;
    let said: Value = serde_json::from_str(&page.body).unwrap();
    assert_eq!(said["introspection_endpoint"], format!("{ISSUER}oauth2/introspect"));
    let methods = said["introspection_endpoint_auth_methods_supported"].as_array().unwrap();
    assert!(methods.contains(&json!("client_secret_basic")) && !methods.contains(&json!("none")));
    for algorithm in said["introspection_signing_alg_values_supported"].as_array().unwrap() {
        let server = sluice.client(&json!({"introspection_signed_response_alg": algorithm})).await;
        let answer = ask(&sluice, &server, "x", JWT).await;
        verified(&sluice, &answer.body, algorithm.as_str().unwrap()).await;
    }
    let refused = json!({"introspection_signed_response_alg": "none"});
    sluice.ask_json(Method::POST, "/admin/clients", Some(&refused), 400).await;
    sluice.node.stop().await;
}
