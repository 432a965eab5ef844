//! JSON Web Token Profile for OAuth 2.0 Access Tokens (RFC 9068).

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{
    Authorize, Backend, Browser, ISSUER, TestClient, TestSluice, accept_consent, accept_login,
};

use crate::both_stores::on_both_stores;
use crate::jwt::{header, verified};
use crate::legs::{token, tokens_of};

on_both_stores! {
    section_2_a_token_says_who_may_do_what_for_whom_and_since_when,
    section_3_a_token_for_no_resource_is_for_the_issuer,
    section_6_what_a_client_may_know_of_a_user_is_not_in_its_access_token,
}

const JWT: &str = r#"{"access_token_strategy": "jwt"}"#;

async fn client(sluice: &TestSluice, changes: Value) -> TestClient {
    let mut metadata: Value = serde_json::from_str(JWT).unwrap();
    metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    sluice.client(&metadata).await
}

/// Logs in up to the consent page.
async fn at_consent(sluice: &TestSluice, client: &TestClient, login: &Value) -> (Browser, String) {
    let with = Authorize { more: &[("audience", "https://api.test")], ..Authorize::default() };
    let mut browser = sluice.browser();
    let challenge = browser.begin(client, &with).await;
    let verifier = accept_login(sluice, &challenge, login).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    (browser, challenge)
}

async fn section_2_a_token_says_who_may_do_what_for_whom_and_since_when(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice, json!({})).await;
    let login = json!({"subject": "alice", "acr": "urn:level:2", "amr": ["pwd", "otp"]});
    let (mut browser, challenge) = at_consent(&sluice, &client, &login).await;
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    let began = sluice.clock.now().as_secs();
    sluice.advance(Lifetime::secs(10));
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    for (tokens, issued) in [(&tokens, began), (&refreshed, began + 10)] {
        let access_token = token(tokens, "access_token");
        assert_eq!(header(access_token)["typ"], "at+jwt", "§2.1");
        let said = verified(&sluice, access_token, "RS256").await;
        let told = sluice.introspect(access_token).await;
        let expected = json!({
            "iss": ISSUER, "exp": issued + 3600, "aud": ["https://api.test"], "sub": "alice",
            "client_id": client.id, "iat": issued, "nbf": issued, "jti": told["jti"],
            "auth_time": began, "acr": "urn:level:2", "amr": ["pwd", "otp"], "scope": "openid offline_access",
            "scp": ["openid", "offline_access"], "ext": {}, "slc": said["slc"],
        });
        assert_eq!(said, expected, "§2.2: these, Hydra's `scp` and `ext`, and no others");
    }
    sluice.node.stop().await;
}

/// §2.2.3; `scp` is Hydra's.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_tells_its_scope_as_configured() {
    let (text, list) = (json!("email profile"), json!(["email", "profile"]));
    for (configured, expected) in [
        ("string", (text.clone(), Value::Null)),
        ("list", (Value::Null, list.clone())),
        ("both", (text, list)),
    ] {
        let sluice = TestSluice::with(Backend::Sqlite, &[("strategies.jwt.scope_claim", configured)]).await;
        let client = client(&sluice, json!({})).await;
        let form = [("grant_type", "client_credentials"), ("scope", "email profile")];
        let tokens = client.token(&form).await.ok();
        let said = verified(&sluice, token(&tokens, "access_token"), "RS256").await;
        assert_eq!((said["scope"].clone(), said["scp"].clone()), expected, "{configured}");
        sluice.node.stop().await;
    }
}

async fn section_3_a_token_for_no_resource_is_for_the_issuer(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice, json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let of_user = token(&tokens, "access_token").to_owned();
    let of_itself = client.token(&[("grant_type", "client_credentials"), ("scope", "email")]).await.ok();
    for access_token in [&*of_user, token(&of_itself, "access_token")] {
        assert_eq!(verified(&sluice, access_token, "RS256").await["aud"], json!([ISSUER]));
        assert_eq!(sluice.introspect(access_token).await["aud"], json!([]), "as Hydra has it");
    }
    let said = verified(&sluice, token(&of_itself, "access_token"), "RS256").await;
    assert_eq!((&said["sub"], &said["client_id"]), (&json!(client.id), &json!(client.id)), "§2.2");
    for absent in ["auth_time", "acr", "amr"] {
        assert!(said.get(absent).is_none(), "§2.2.1: nobody authenticated: {absent}");
    }
    sluice.node.stop().await;
}

async fn section_6_what_a_client_may_know_of_a_user_is_not_in_its_access_token(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice, json!({})).await;
    let (mut browser, challenge) = at_consent(&sluice, &client, &json!({"subject": "alice"})).await;
    let session = json!({"id_token": {"email": "alice@example.org", "name": "Alice"}});
    let verifier = accept_consent(&sluice, &challenge, &json!({"session": session})).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    let said = verified(&sluice, token(&tokens, "access_token"), "RS256").await;
    assert!(!said.to_string().contains("lice@") && said.get("name").is_none(), "{said}");
    assert_eq!(client.userinfo(token(&tokens, "access_token")).await.1["email"], "alice@example.org");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn section_2_1_each_algorithm_can_be_registered_and_none_cannot() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for algorithm in ["RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA"] {
        let client = client(&sluice, json!({"access_token_signed_response_alg": algorithm})).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        let access_token = token(&tokens, "access_token");
        verified(&sluice, access_token, algorithm).await;
        assert!(sluice.is_active(access_token).await, "{algorithm}");
    }
    for algorithm in ["none", "HS256"] {
        let asked = json!({"access_token_signed_response_alg": algorithm});
        sluice.ask_json(Method::POST, "/admin/clients", Some(&asked), 400).await;
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consent_whose_claims_no_token_could_hold_is_refused_at_once() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let accept = async |client: &TestClient, length: usize, status: u16| {
        let (browser, challenge) = at_consent(&sluice, client, &json!({"subject": "alice"})).await;
        let path = format!("/admin/oauth2/auth/requests/consent/accept?consent_challenge={challenge}");
        let session = json!({"access_token": {"much": "x".repeat(length)}});
        let body = json!({"grant_scope": ["openid"], "session": session});
        (browser, sluice.ask_json(Method::PUT, &path, Some(&body), status).await)
    };
    let jwt = client(&sluice, json!({})).await;
    let (_, refused) = accept(&jwt, 9_000, 400).await;
    assert!(refused["error_description"].as_str().unwrap().contains("session.access_token"), "{refused}");
    let (mut browser, accepted) = accept(&jwt, 8_000, 200).await;
    let code = browser.visit(accepted["redirect_to"].as_str().unwrap()).await.expect("code");
    let tokens = jwt.redeem(&code).await.ok();
    assert!(sluice.is_active(token(&tokens, "access_token")).await, "what is issued is taken back");
    let opaque = sluice.client(&json!({})).await;
    accept(&opaque, 9_000, 200).await;
    sluice.node.stop().await;
}
