//! FAPI 2.0 Security Profile at the token endpoint and at userinfo, test by test as the OpenID Foundation's suite names them:
//! `private_key_jwt` and DPoP. What concerns the authorization endpoint is with pushed requests, what concerns certificates
//! with RFC 8705.
//!
//! [`given_later`]: a client that had codes and tokens before it was given the profile.

mod given_later;

use serde_json::{Value, json};
use sluice_crypto::jwk::{Jwk, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::SigningKey;
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Backend, ISSUER, TestSluice, VERIFIER};

use crate::answer::Answer;
use crate::both_stores::on_both_stores;
use crate::keyed::{
    Key, KeyedClient, changed, code_from, proof_claims, redemption, userinfo, userinfo_claims,
};
use crate::legs::{delete, token};

on_both_stores! {
    attempt_reuse_authorization_code_after_one_second,
    refresh_token,
    a_refresh_token_that_was_revoked_stays_so,
    an_id_token_of_a_refresh_stands_for_its_grant,
}

const TOKEN: &str = "/oauth2/token";

pub(crate) async fn fapi_client(sluice: &TestSluice) -> KeyedClient {
    fapi_client_with(sluice, &json!({})).await
}

async fn fapi_client_with(sluice: &TestSluice, changes: &Value) -> KeyedClient {
    let metadata = json!({"security_profile": "fapi2", "dpop_bound_access_tokens": true,
                          "grant_types": ["authorization_code", "refresh_token"]});
    KeyedClient::on(sluice, &changed(metadata, changes)).await
}

/// Redeems a new code with this assertion.
async fn redeems(sluice: &TestSluice, client: &KeyedClient, assertion: &str) -> Answer {
    let code = client.code(sluice).await;
    let form = redemption(&client.client, &code);
    let proof = client.bound.proof(sluice, TOKEN);
    client.asserting(sluice, (TOKEN, &form), assertion, Some(&proof)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn happy_flow() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let tokens = client.tokens(&sluice).await;
    assert_eq!(tokens["token_type"], "DPoP");
    let access_token = token(&tokens, "access_token");
    let said = sluice.introspect(access_token).await;
    assert_eq!(said["cnf"]["jkt"], client.bound.thumbprint());
    let proof = client.bound.userinfo_proof(&sluice, access_token);
    assert_eq!(userinfo(&sluice, &format!("DPoP {access_token}"), &[&proof]).await.ok()["sub"], "alice");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn access_token_type_header_case_sensitivity() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let tokens = client.tokens(&sluice).await;
    let access_token = token(&tokens, "access_token");
    for scheme in ["dpop", "DPOP", "dPoP"] {
        let proof = client.bound.userinfo_proof(&sluice, access_token);
        userinfo(&sluice, &format!("{scheme} {access_token}"), &[&proof]).await.ok();
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn check_dpop_proof_nbf_exp_and_ensure_dpopproof_with_iat_10_seconds_before_and_after_succeeds() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let now = sluice.clock.now().as_secs();
    for changes in [json!({"nbf": now, "exp": now + 300}), json!({"iat": now - 10}), json!({"iat": now + 10})]
    {
        let code = client.code(&sluice).await;
        let proof = client.bound.proof_of(&changed(proof_claims(&sluice, "POST", TOKEN), &changes));
        let form = redemption(&client.client, &code);
        let tokens = client.token_with(&sluice, &form, Some(&proof)).await.ok();
        let access_token = token(&tokens, "access_token");
        let proof = client.bound.proof_of(&changed(userinfo_claims(&sluice, access_token), &changes));
        userinfo(&sluice, &format!("DPoP {access_token}"), &[&proof]).await.ok();
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_token_endpoint_fails_with_mismatched_dpop_jkt() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let other = Key::new().thumbprint();
    let code = code_from(&sluice, &client.pushed(&sluice, &[("dpop_jkt", &other)]).await).await;
    let form = redemption(&client.client, &code);
    client.token(&sluice, &form).await.refused_with(400, "invalid_grant");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_dpop_auth_code_binding_success() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let own = client.bound.thumbprint();
    let code = code_from(&sluice, &client.pushed(&sluice, &[("dpop_jkt", &own)]).await).await;
    client.token(&sluice, &redemption(&client.client, &code)).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_dpopproof_at_par_endpoint_binding_success_and_a_mismatched_proof_jkt_fails() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let proof = client.bound.proof(&sluice, "/oauth2/par");
    let pushed = client.push(&sluice, &[], Some(&proof)).await;
    let code = code_from(&sluice, &client.begins(&sluice, &pushed)).await;
    let form = redemption(&client.client, &code);
    // ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt.
    let other = Key::new().proof(&sluice, TOKEN);
    client.token_with(&sluice, &form, Some(&other)).await.refused_with(400, "invalid_grant");
    client.token(&sluice, &form).await.ok();
    // A proof is for one endpoint, and works there once.
    client.push(&sluice, &[], Some(&proof)).await.refused_with(400, "invalid_dpop_proof");
    let elsewhere = client.bound.proof(&sluice, TOKEN);
    client.push(&sluice, &[], Some(&elsewhere)).await.refused_with(400, "invalid_dpop_proof");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_mismatched_dpop_jkt_fails() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let (own, other) = (client.bound.thumbprint(), Key::new().thumbprint());
    let proof = client.bound.proof(&sluice, "/oauth2/par");
    let refused = client.push(&sluice, &[("dpop_jkt", &other)], Some(&proof)).await;
    refused.refused_with(400, "invalid_dpop_proof");
    let proof = client.bound.proof(&sluice, "/oauth2/par");
    assert_eq!(client.push(&sluice, &[("dpop_jkt", &own)], Some(&proof)).await.status, 201);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn par_ensure_pkce_required_and_par_plain_pkce_rejected() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    for changes in [
        &[("code_challenge", ""), ("code_challenge_method", "")][..],
        &[("code_challenge", VERIFIER), ("code_challenge_method", "plain")],
        &[("code_challenge_method", "")],
    ] {
        client.push(&sluice, changes, None).await.refused_with(400, "invalid_request");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_client_id_in_token_endpoint_and_ensure_authorization_code_is_bound_to_client() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (client, other) = (fapi_client(&sluice).await, fapi_client(&sluice).await);
    let code = client.code(&sluice).await;
    let form = redemption(&client.client, &code);
    // The second client's name, the first one's key.
    let claims = other.claims(&sluice);
    let forged = client.own.sign(&json!({"alg": "ES256", "kid": "one"}), &claims);
    let proof = client.bound.proof(&sluice, TOKEN);
    client
        .asserting(&sluice, (TOKEN, &form), &forged, Some(&proof))
        .await
        .refused_with(401, "invalid_client");
    other.token(&sluice, &form).await.refused_with(400, "invalid_grant");
    client.token(&sluice, &form).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_holder_of_key_required() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let code = client.code(&sluice).await;
    let form = redemption(&client.client, &code);
    client.token_with(&sluice, &form, None).await.refused_with(400, "invalid_request");
    sluice.node.stop().await;
}

async fn attempt_reuse_authorization_code_after_one_second(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = fapi_client(&sluice).await;
    let code = client.code(&sluice).await;
    let form = redemption(&client.client, &code);
    let tokens = client.token(&sluice, &form).await.ok();
    sluice.advance(Lifetime::secs(1));
    client.token(&sluice, &form).await.refused_with(400, "invalid_grant");
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    assert!(!sluice.is_active(token(&tokens, "refresh_token")).await);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_token_endpoint_fails_with_expired_auth_code() {
    let sluice = TestSluice::with(Backend::Sqlite, &[("ttl.auth_code", "10m")]).await;
    let client = fapi_client(&sluice).await;
    let code = client.code(&sluice).await;
    let form = redemption(&client.client, &code);
    sluice.advance(Lifetime::secs(60));
    client.token(&sluice, &form).await.refused_with(400, "invalid_grant");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_signed_client_assertion_with_rs256_fails() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let key = Jwk::generate(SigningAlgorithm::PS256, "rsa".to_owned(), RsaSize::default()).unwrap();
    let public = changed(serde_json::to_value(key.public()).unwrap(), &json!({"alg": null}));
    let changes = json!({"jwks": {"keys": [public]}});
    let client = fapi_client_with(&sluice, &changes).await;
    let ordinary = KeyedClient::on(&sluice, &changes).await;
    let signed = |client: &KeyedClient, algorithm: SigningAlgorithm| {
        let key = Jwk { alg: Some(algorithm.as_str().to_owned()), ..key.clone() };
        let claims = client.claims(&sluice).to_string();
        SigningKey::from_jwk(&key).unwrap().sign(Some("JWT"), claims.as_bytes()).unwrap()
    };
    let form = [("grant_type", "refresh_token"), ("refresh_token", "none")];
    let asked = async |client: &KeyedClient, algorithm: SigningAlgorithm| {
        let proof = client.bound.proof(&sluice, TOKEN);
        client.asserting(&sluice, (TOKEN, &form), &signed(client, algorithm), Some(&proof)).await
    };
    for algorithm in [SigningAlgorithm::RS256, SigningAlgorithm::RS512, SigningAlgorithm::PS384] {
        asked(&client, algorithm).await.refused_with(401, "invalid_client");
        asked(&ordinary, algorithm).await.refused_with(400, "invalid_grant");
    }
    asked(&client, SigningAlgorithm::PS256).await.refused_with(400, "invalid_grant");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_client_assertion_in_token_endpoint() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let code = client.code(&sluice).await;
    let mut form = redemption(&client.client, &code);
    form.push(("client_id", &client.client.id));
    let proof = client.bound.proof(&sluice, TOKEN);
    let answer = crate::keyed::send(&sluice, TOKEN, &[("dpop", proof.as_str())], &form).await;
    answer.refused_with(401, "invalid_client");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_client_assertion_that_is_expired_or_names_another_server_or_nobody_fails() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let now = sluice.clock.now().as_secs();
    for changes in [
        // …with-exp-is-5-minutes-in-past, …with-wrong-aud, …with-no-sub.
        json!({"exp": now - 300}),
        json!({"aud": "https://elsewhere.test/"}),
        json!({"sub": null}),
        // par-test-array-as-audience, …token-endpoint-url-as-audience, …par-endpoint-url-as-audience.
        json!({"aud": [ISSUER]}),
        json!({"aud": [ISSUER, "https://elsewhere.test"]}),
        json!({"aud": format!("{ISSUER}oauth2/token")}),
        json!({"aud": format!("{ISSUER}oauth2/par")}),
        // …jwt-client-assertions-nbf-over-60-seconds-in-the-future.
        json!({"nbf": now + 61}),
        json!({"nbf": now + 3600}),
    ] {
        let answer = redeems(&sluice, &client, &client.assertion(&sluice, &changes)).await;
        assert_eq!(answer.json()["error"], "invalid_client", "{changes}: {}", answer.body);
    }
    // …jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted.
    for changes in [json!({"nbf": now + 8}), json!({"nbf": now + 8, "iat": now + 8}), json!({})] {
        redeems(&sluice, &client, &client.assertion(&sluice, &changes)).await.ok();
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dpop_negative_tests() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let tokens = client.tokens(&sluice).await;
    let access_token = token(&tokens, "access_token");
    let dpop = format!("DPoP {access_token}");
    let (key, now) = (&client.bound, sluice.clock.now().as_secs());
    let with = |changes: Value| key.proof_of(&changed(userinfo_claims(&sluice, access_token), &changes));
    for changes in [
        json!({"htm": "PUT"}),
        json!({"htu": "http://sluice.test/other"}),
        json!({"iat": now - 3600}),
        json!({"iat": now + 3600}),
        json!({"ath": "AAAA"}),
        json!({"ath": null}),
    ] {
        userinfo(&sluice, &dpop, &[&with(changes)]).await.refused_with(401, "invalid_dpop_proof");
    }
    let reused = with(json!({"jti": "fixed"}));
    userinfo(&sluice, &dpop, &[&reused]).await.ok();
    userinfo(&sluice, &dpop, &[&with(json!({"jti": "fixed"}))]).await.refused_with(401, "invalid_dpop_proof");
    for (count, proofs) in [(2, vec![with(json!({})), with(json!({}))]), (0, vec![])] {
        let proofs: Vec<_> = proofs.iter().map(String::as_str).collect();
        assert_eq!(userinfo(&sluice, &dpop, &proofs).await.status, 401, "{count} proofs");
    }
    userinfo(&sluice, &format!("Bearer {access_token}"), &[]).await.refused_with(401, "invalid_token");
    let other = Key::new().userinfo_proof(&sluice, access_token);
    userinfo(&sluice, &dpop, &[&other]).await.refused_with(401, "invalid_token");
    for changes in [
        json!({"htu": "http://sluice.test/userinfo?a=b#c"}),
        json!({"htu": "HTTP://SLUICE.TEST:80/userinfo"}),
        json!({"extra": [1, 2, 3]}),
    ] {
        userinfo(&sluice, &dpop, &[&with(changes)]).await.ok();
    }
    sluice.node.stop().await;
}

/// RFC 8693, where nothing is rotated.
async fn an_id_token_of_a_refresh_stands_for_its_grant(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    let grant_types = json!({"grant_types": ["authorization_code", "refresh_token", exchange]});
    let client = fapi_client_with(&sluice, &grant_types).await;
    let first = client.tokens(&sluice).await;
    sluice.advance(Lifetime::secs(60));
    let form = [("grant_type", "refresh_token"), ("refresh_token", token(&first, "refresh_token"))];
    let fresh = client.token(&sluice, &form).await.ok();
    for tokens in [&first, &fresh] {
        let form = [
            ("grant_type", exchange),
            ("subject_token", token(tokens, "id_token")),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ];
        let exchanged = client.token(&sluice, &form).await.ok();
        assert_eq!(sluice.introspect(token(&exchanged, "access_token")).await["sub"], "alice");
    }
    sluice.node.stop().await;
}

async fn refresh_token(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, other) = (fapi_client(&sluice).await, fapi_client(&sluice).await);
    let first = client.tokens(&sluice).await;
    let presented = token(&first, "refresh_token");
    let form = [("grant_type", "refresh_token"), ("refresh_token", presented)];
    let before = sluice.written().grant_updates;
    let id_of = |tokens: &Value| crate::jwt::claims(token(tokens, "id_token"))["jti"].clone();
    let mut ids = vec![sluice.introspect(token(&first, "access_token")).await["jti"].clone(), id_of(&first)];
    // The last one within the same second.
    for wait in [3_600, 3_600, 0] {
        sluice.advance(Lifetime::secs(wait));
        let fresh = client.token(&sluice, &form).await.ok();
        assert_eq!(fresh["refresh_token"], presented, "there is no rotation");
        let said = sluice.introspect(token(&fresh, "access_token")).await;
        assert_eq!((&said["active"], &said["cnf"]["jkt"]), (&json!(true), &json!(client.bound.thumbprint())));
        for id in [said["jti"].clone(), id_of(&fresh)] {
            assert!(!ids.contains(&id), "each token has an id of its own");
            ids.push(id);
        }
    }
    assert_eq!(sluice.written().grant_updates, before);
    // Without proof of possession; by another client.
    client.token_with(&sluice, &form, None).await.refused_with(400, "invalid_request");
    other.token(&sluice, &form).await.refused_with(400, "invalid_grant");
    let more = [form.as_slice(), &[("scope", "openid email")]].concat();
    client.token(&sluice, &more).await.refused_with(400, "invalid_scope");
    sluice.advance(Lifetime::hours(720));
    client.token(&sluice, &form).await.refused_with(400, "invalid_grant");
    sluice.node.stop().await;
}

async fn a_refresh_token_that_was_revoked_stays_so(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let node = sluice.second_node().await;
    let client = fapi_client(&sluice).await;
    let admin = "/admin/oauth2/auth/sessions";
    for way in ["itself", "session", "subject", "consent"] {
        sluice.advance(Lifetime::secs(1));
        let tokens = client.tokens(&sluice).await;
        let refresh_token = token(&tokens, "refresh_token");
        let sid = sluice.introspect(token(&tokens, "access_token")).await["sid"].as_str().unwrap().to_owned();
        sluice.advance(Lifetime::secs(1));
        match way {
            "itself" => {
                let assertion = client.assertion(&sluice, &json!({}));
                let form = [("token", refresh_token)];
                let answer = client.asserting(&sluice, ("/oauth2/revoke", &form), &assertion, None).await;
                assert_eq!(answer.status, 200, "{}", answer.body);
            }
            "session" => delete(&sluice, &format!("{admin}/login?sid={sid}")).await,
            "subject" => delete(&sluice, &format!("{admin}/login?subject=alice")).await,
            _ => delete(&sluice, &format!("{admin}/consent?subject=alice&all=true")).await,
        }
        node.node.catch_up().await.unwrap();
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
        for node in [&sluice, &node] {
            client.token(node, &form).await.refused_with(400, "invalid_grant");
        }
    }
    node.node.stop().await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_pkce_code_verifier_required_and_incorrect_pkce_code_verifier_rejected() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let code = client.code(&sluice).await;
    let form = redemption(&client.client, &code);
    let without: Vec<_> = form.iter().filter(|(name, _)| *name != "code_verifier").copied().collect();
    client.token(&sluice, &without).await.refused_with(400, "invalid_grant");
    let wrong = VERIFIER.to_uppercase();
    let wrong = [without.as_slice(), &[("code_verifier", wrong.as_str())]].concat();
    client.token(&sluice, &wrong).await.refused_with(400, "invalid_grant");
    client.token(&sluice, &form).await.ok();
    sluice.node.stop().await;
}
