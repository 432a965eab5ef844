//! Tokens that others can read: id tokens, and access tokens of clients that have them so.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::digest::sha256;
use sluice_crypto::jwk::{Jwk, JwkSet, RsaSize};
use sluice_crypto::jws::{VerifyingKey, verify};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Authorize, Backend, ISSUER, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::{delete, token, tokens_of};

on_both_stores! {
    an_id_token_is_signed_with_rs256_unless_its_client_registered_es256,
    an_id_token_tells_of_the_login,
    a_jwt_access_token_says_what_rfc_9068_asks_for,
    a_jwt_access_token_is_introspected_and_revoked_like_any_other,
    an_id_token_is_no_access_token,
    an_access_token_of_the_type_of_an_id_token_is_told_from_one,
    a_client_may_have_access_tokens_of_another_type_than_the_configured_one,
}

fn part(token: &str, place: usize) -> Value {
    let part = token.split('.').nth(place).unwrap_or_else(|| panic!("not a JWT: {token}"));
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// What a JWT says; its signature is not looked at.
pub(crate) fn claims(token: &str) -> Value {
    part(token, 1)
}

/// The header of a JWT.
pub(crate) fn header(token: &str) -> Value {
    part(token, 0)
}

/// What a JWT says that was signed with a published key by this algorithm.
pub(crate) async fn verified(sluice: &TestSluice, token: &str, algorithm: &str) -> Value {
    let page = sluice.browser().visit("/.well-known/jwks.json").await;
    let keys: JwkSet = serde_json::from_str(&page.body).unwrap();
    assert!(keys.keys.iter().all(|key| !key.is_private()), "{}", page.body);
    let allowed = [algorithm.parse().unwrap()];
    verify(token, &VerifyingKey::usable_of(&keys), &allowed).unwrap();
    claims(token)
}

async fn an_id_token_is_signed_with_rs256_unless_its_client_registered_es256(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for (registered, expected) in [(None, "RS256"), (Some("RS256"), "RS256"), (Some("ES256"), "ES256")] {
        let client =
            sluice.client(&json!({"id_token_signed_response_alg": registered.unwrap_or_default()})).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        let said = verified(&sluice, token(&tokens, "id_token"), expected).await;
        assert_eq!(said["aud"], json!([client.id]));
    }
    sluice.node.stop().await;
}

async fn an_id_token_tells_of_the_login(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let login = json!({"subject": "alice", "acr": "urn:level:2", "amr": ["pwd", "otp"]});
    let page = sluice.browser().log_in_with(&sluice, &client, &Authorize::default(), &login).await;
    sluice.advance(Lifetime::secs(30));
    let tokens = client.redeem(&page.expect("code")).await.ok();
    let said = verified(&sluice, token(&tokens, "id_token"), "RS256").await;
    let now = sluice.clock.now().as_secs();
    assert_eq!((&said["iss"], &said["sub"]), (&json!(ISSUER), &json!("alice")));
    assert_eq!(said["nonce"], "a-nonce-of-some-length");
    assert_eq!((&said["acr"], &said["amr"]), (&json!("urn:level:2"), &json!(["pwd", "otp"])));
    assert_eq!(
        (&said["iat"], &said["exp"], &said["auth_time"]),
        (&json!(now), &json!(now + 3600), &json!(now - 30))
    );
    let access_token = token(&tokens, "access_token");
    assert_eq!(said["at_hash"], URL_SAFE_NO_PAD.encode(&sha256(access_token.as_bytes())[..16]));
    assert_eq!(said["sid"], sluice.introspect(access_token).await["sid"]);
    sluice.advance(Lifetime::secs(30));
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    let again = verified(&sluice, token(&refreshed, "id_token"), "RS256").await;
    for same in ["iss", "sub", "aud", "auth_time", "sid"] {
        assert_eq!(again[same], said[same], "OpenID Connect Core §12.2: {same}");
    }
    assert_ne!(again["jti"], said["jti"]);
    sluice.node.stop().await;
}

async fn a_jwt_access_token_says_what_rfc_9068_asks_for(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let with = Authorize { more: &[("audience", "https://api.test")], ..Authorize::default() };
    let page = sluice.browser().log_in_with(&sluice, &client, &with, &json!({"subject": "alice"})).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    let access_token = token(&tokens, "access_token");
    assert_eq!(header(access_token)["typ"], "at+jwt");
    let said = verified(&sluice, access_token, "RS256").await;
    let now = sluice.clock.now().as_secs();
    let expected = [
        ("iss", json!(ISSUER)),
        ("sub", json!("alice")),
        ("aud", json!(["https://api.test"])),
        ("client_id", json!(client.id)),
        ("iat", json!(now)),
        ("exp", json!(now + 3600)),
        ("auth_time", json!(now)),
    ];
    for (name, value) in expected {
        assert_eq!(said[name], value, "{name}");
    }
    assert_eq!(said["jti"], sluice.introspect(access_token).await["jti"]);
    let of_client = client.token(&[("grant_type", "client_credentials"), ("scope", "email")]).await.ok();
    let said = verified(&sluice, token(&of_client, "access_token"), "RS256").await;
    assert_eq!((&said["sub"], &said["client_id"]), (&json!(client.id), &json!(client.id)));
    sluice.node.stop().await;
}

async fn a_jwt_access_token_is_introspected_and_revoked_like_any_other(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let access_token = token(&tokens, "access_token");
    let introspected = sluice.introspect(access_token).await;
    assert_eq!((&introspected["active"], &introspected["sub"]), (&json!(true), &json!("alice")));
    assert_eq!(client.userinfo(access_token).await.0, 200);
    let signature = access_token.rfind('.').unwrap() + 20;
    let mut tampered = access_token.to_owned();
    tampered.replace_range(
        signature..=signature,
        if &tampered[signature..=signature] == "A" { "B" } else { "A" },
    );
    assert!(!sluice.is_active(&tampered).await);
    client.revoke(access_token).await;
    assert!(!sluice.is_active(access_token).await);
    assert_eq!(client.userinfo(access_token).await.0, 401);
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    let tokens = tokens_of(&sluice, &client, "bob").await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=bob").await;
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    let tokens = tokens_of(&sluice, &client, "carol").await;
    sluice.advance(Lifetime::hours(1));
    assert!(!sluice.is_active(token(&tokens, "access_token")).await, "expired");
    sluice.node.stop().await;
}

async fn an_id_token_is_no_access_token(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let id_token = token(&tokens, "id_token");
    assert!(!sluice.is_active(id_token).await);
    assert_eq!(client.userinfo(id_token).await.0, 401);
    let with = [("id_token_hint", token(&tokens, "access_token"))];
    let page = sluice
        .browser()
        .visit(&client.authorize_url(&Authorize { more: &with, ..Authorize::default() }))
        .await;
    assert_eq!(page.expect("error"), "invalid_request", "nor is an access token an id token");
    assert_eq!(client.userinfo(token(&tokens, "refresh_token")).await.0, 401);
    sluice.node.stop().await;
}

async fn an_access_token_of_the_type_of_an_id_token_is_told_from_one(backend: Backend) {
    let sluice = TestSluice::with(backend, &[("strategies.jwt.typ", "JWT")]).await;
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let access_token = token(&tokens, "access_token");
    assert_eq!(header(access_token)["typ"], "JWT");
    assert_eq!(sluice.introspect(access_token).await["sub"], "alice");
    assert_eq!(client.userinfo(access_token).await.0, 200);
    let hinted = Authorize { more: &[("id_token_hint", access_token)], ..Authorize::default() };
    let page = sluice.browser().visit(&client.authorize_url(&hinted)).await;
    assert_eq!(page.expect("error"), "invalid_request");
    // Nor is an id token an access token, though a consent page repeats the claim that those are known by.
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let session = json!({"id_token": {"slc": claims(access_token)["slc"], "name": "Alice"}});
    let verifier = accept_consent(&sluice, &challenge, &json!({"session": session})).await;
    let said = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    let id_token = token(&said, "id_token");
    assert_eq!((&claims(id_token)["name"], &claims(id_token)["slc"]), (&json!("Alice"), &Value::Null));
    assert!(!sluice.is_active(id_token).await);
    assert_eq!(client.userinfo(id_token).await.0, 401);
    // A node that calls them otherwise knows them as well.
    let other = sluice.second_node().await;
    assert!(other.is_active(access_token).await);
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn a_client_may_have_access_tokens_of_another_type_than_the_configured_one(backend: Backend) {
    for (configured, other) in [("at+jwt", "JWT"), ("JWT", "at+jwt")] {
        let settings = [("strategies.access_token", "jwt"), ("strategies.jwt.typ", configured)];
        let sluice = TestSluice::with(backend, &settings).await;
        let unnamed = sluice.client(&json!({})).await;
        let own = sluice.client(&json!({"access_token_jwt_typ": other})).await;
        for (client, typ) in [(&unnamed, configured), (&own, other), (&unnamed, configured)] {
            let tokens = tokens_of(&sluice, client, "alice").await;
            let access_token = token(&tokens, "access_token");
            assert_eq!(header(access_token)["typ"], typ);
            assert!(sluice.is_active(access_token).await);
            assert_eq!(client.userinfo(access_token).await.0, 200);
            let tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
            assert_eq!(header(token(&tokens, "access_token"))["typ"], typ);
        }
        sluice.node.stop().await;
    }
}

/// As who comes from a Hydra that signs with another algorithm has it: its keys go on to sign.
#[tokio::test(flavor = "multi_thread")]
async fn who_registered_no_algorithm_gets_access_tokens_signed_with_the_configured_one() {
    for algorithm in ["ES256", "EdDSA"] {
        let settings =
            [("strategies.access_token", "jwt"), ("strategies.jwt.access_token_signing_alg", algorithm)];
        let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
        let client = sluice.client(&json!({})).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        let access_token = token(&tokens, "access_token");
        verified(&sluice, access_token, algorithm).await;
        assert!(sluice.is_active(access_token).await);
        verified(&sluice, token(&tokens, "id_token"), "RS256").await;
        let key = Jwk::generate(algorithm.parse().unwrap(), "hydras".to_owned(), RsaSize::Bits2048).unwrap();
        let set = json!({"keys": [key]});
        sluice.ask_json(Method::PUT, "/admin/keys/hydra.jwt.access-token", Some(&set), 200).await;
        let later = tokens_of(&sluice, &client, "alice").await;
        assert_eq!(header(token(&later, "access_token"))["kid"], "hydras");
        // What a client registered goes before.
        let own = sluice.client(&json!({"access_token_signed_response_alg": "PS256"})).await;
        let tokens = tokens_of(&sluice, &own, "alice").await;
        verified(&sluice, token(&tokens, "access_token"), "PS256").await;
        sluice.node.stop().await;
    }
}
