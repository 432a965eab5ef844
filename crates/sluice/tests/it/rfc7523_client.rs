//! RFC 7523 §2.2 and §3: clients that sign who they are, with a key or with their secret.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Json;
use axum::Router;
use axum::routing::get;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Backend, ISSUER, TestClient, TestSluice};

use crate::answer::Answer;
use crate::both_stores::on_both_stores;
use crate::keyed::{JWT_BEARER, Key, KeyedClient, MACHINE, changed, jti, send};

on_both_stores!(a_secret_signs_assertions);

async fn asserts(sluice: &TestSluice, assertion: &str) -> Answer {
    let credentials = [("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)];
    send(sluice, "/oauth2/token", &[], &[MACHINE, &credentials].concat()).await
}

fn claims(sluice: &TestSluice, client: &TestClient) -> Value {
    let now = sluice.clock.now().as_secs();
    json!({"iss": client.id, "sub": client.id, "aud": ISSUER, "exp": now + 60, "iat": now, "jti": jti()})
}

fn signed(secret: &str, algorithm: Algorithm, claims: &Value) -> String {
    encode(&Header::new(algorithm), claims, &EncodingKey::from_secret(secret.as_bytes())).unwrap()
}

async fn a_secret_signs_assertions(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let node = sluice.second_node().await;
    let client = sluice.client(&json!({"token_endpoint_auth_method": "client_secret_jwt"})).await;
    let secret = client.secret.clone().unwrap();
    for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
        let assertion = signed(&secret, algorithm, &claims(&sluice, &client));
        asserts(&sluice, &assertion).await.ok();
        // §3, point 7: once, at whichever node.
        asserts(&node, &assertion).await.refused_with(401, "invalid_client");
    }
    let now = sluice.clock.now().as_secs();
    for changes in [
        json!({"aud": "https://elsewhere.test"}),
        json!({"exp": now}),
        json!({"sub": null}),
        json!({"iss": "another"}),
        json!({"jti": null}),
    ] {
        let assertion = signed(&secret, Algorithm::HS256, &changed(claims(&sluice, &client), &changes));
        asserts(&sluice, &assertion).await.refused_with(401, "invalid_client");
    }
    for wrong in ["another-secret-of-some-length-for-hs256", ""] {
        let assertion = signed(wrong, Algorithm::HS256, &claims(&sluice, &client));
        asserts(&sluice, &assertion).await.refused_with(401, "invalid_client");
    }
    // The secret itself is not what the client registered to send.
    let form = [MACHINE, &[("client_id", client.id.as_str()), ("client_secret", &secret)]].concat();
    send(&sluice, "/oauth2/token", &[], &form).await.refused_with(401, "invalid_client");
    node.node.stop().await;
    sluice.node.stop().await;
}

/// RFC 7518 §3.2: a key is as long as the hash. There are libraries that sign with no shorter one.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_a_key_for_the_algorithm_that_it_signs_by() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for (name, algorithm, least) in
        [("HS256", Algorithm::HS256, 32), ("HS384", Algorithm::HS384, 48), ("HS512", Algorithm::HS512, 64)]
    {
        let metadata = json!({"token_endpoint_auth_method": "client_secret_jwt",
                              "token_endpoint_auth_signing_alg": name});
        let client = sluice.client(&metadata).await;
        let made = client.secret.clone().unwrap();
        let rotate = format!("/admin/clients/{}/secrets/rotate", client.id);
        let rotated = sluice.ask_json(Method::POST, &rotate, None, 200).await;
        let newest = rotated["client_secret"].as_str().unwrap();
        assert!(made.len() >= least && newest.len() >= least, "{name}: {} and {}", made.len(), newest.len());
        asserts(&sluice, &signed(newest, algorithm, &claims(&sluice, &client))).await.ok();
        let chosen = |length: usize| changed(metadata.clone(), &json!({"client_secret": "x".repeat(length)}));
        let refused = sluice.ask_json(Method::POST, "/admin/clients", Some(&chosen(least - 1)), 400).await;
        assert_eq!(refused["error"], "invalid_client_metadata", "{refused}");
        let long = sluice.client(&chosen(least)).await;
        asserts(&sluice, &signed(&"x".repeat(least), algorithm, &claims(&sluice, &long))).await.ok();
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_way_of_signing_is_not_taken_for_the_other() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let by_key = KeyedClient::on(&sluice, &json!({})).await;
    let by_secret = sluice.client(&json!({"token_endpoint_auth_method": "client_secret_jwt"})).await;
    let secret = by_secret.secret.clone().unwrap();
    // What is public is no secret, and a key is none either.
    for known in [by_key.own.pair.public_key_pem(), by_key.own.jwk.to_string()] {
        let assertion = signed(&known, Algorithm::HS256, &by_key.claims(&sluice));
        asserts(&sluice, &assertion).await.refused_with(401, "invalid_client");
    }
    let assertion = Key::new().sign(&json!({"alg": "ES256"}), &claims(&sluice, &by_secret));
    asserts(&sluice, &assertion).await.refused_with(401, "invalid_client");
    let one = json!({"token_endpoint_auth_method": "client_secret_jwt",
                     "token_endpoint_auth_signing_alg": "HS512"});
    let one = sluice.client(&one).await;
    let own = one.secret.clone().unwrap();
    asserts(&sluice, &signed(&own, Algorithm::HS256, &claims(&sluice, &one)))
        .await
        .refused_with(401, "invalid_client");
    asserts(&sluice, &signed(&own, Algorithm::HS512, &claims(&sluice, &one))).await.ok();
    asserts(&sluice, &signed(&secret, Algorithm::HS256, &claims(&sluice, &by_secret))).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_names_this_server_by_its_issuer_or_an_endpoint() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = KeyedClient::on(&sluice, &json!({})).await;
    let own = ["", "oauth2/token", "oauth2/par", "oauth2/introspect", "oauth2/revoke", "oauth2/device/auth"];
    for path in own {
        let audience = format!("{ISSUER}{path}");
        for aud in [json!(audience), json!(["https://elsewhere.test", audience])] {
            asserts(&sluice, &client.assertion(&sluice, &json!({"aud": aud}))).await.ok();
        }
    }
    for aud in ["http://sluice.test", "http://sluice.test/oauth2/auth", "http://sluice.test/oauth2/token/"] {
        let assertion = client.assertion(&sluice, &json!({"aud": aud}));
        asserts(&sluice, &assertion).await.refused_with(401, "invalid_client");
    }
    // With an assertion at the revocation endpoint, as at the token endpoint.
    let assertion = client.assertion(&sluice, &json!({"aud": format!("{ISSUER}oauth2/revoke")}));
    let answer = client.asserting(&sluice, ("/oauth2/revoke", &[("token", "none")]), &assertion, None).await;
    assert_eq!(answer.status, 200);
    let answer = client.asserting(&sluice, ("/oauth2/revoke", &[("token", "none")]), &assertion, None).await;
    answer.refused_with(401, "invalid_client");
    sluice.node.stop().await;
}

/// A key set that changes, on a port of its own.
pub(crate) struct KeySet {
    pub(crate) keys: Arc<Mutex<Value>>,
    fetches: Arc<AtomicU32>,
    pub(crate) uri: String,
}

impl KeySet {
    pub(crate) async fn of(keys: Value) -> Self {
        let (keys, fetches) = (Arc::new(Mutex::new(keys)), Arc::new(AtomicU32::new(0)));
        let (served, counted) = (Arc::clone(&keys), Arc::clone(&fetches));
        let answer = move || async move {
            counted.fetch_add(1, Ordering::SeqCst);
            Json(served.lock().clone())
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let router = Router::new().route("/jwks.json", get(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { keys, fetches, uri }
    }

    fn fetches(&self) -> u32 {
        self.fetches.load(Ordering::SeqCst)
    }
}

/// A key set need not name its keys (RFC 7517 §4.5).
#[tokio::test(flavor = "multi_thread")]
async fn keys_at_a_uri_may_change_that_have_no_names() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (old, new) = (Key::new(), Key::new());
    let set = KeySet::of(json!({"keys": [old.jwk]})).await;
    let client = KeyedClient::on(&sluice, &json!({"jwks": null, "jwks_uri": set.uri})).await;
    let header = json!({"alg": "ES256"});
    asserts(&sluice, &old.sign(&header, &client.claims(&sluice))).await.ok();
    *set.keys.lock() = json!({"keys": [new.jwk]});
    sluice.advance(Lifetime::secs(31));
    asserts(&sluice, &new.sign(&header, &client.claims(&sluice))).await.ok();
    assert_eq!(set.fetches(), 2);
    // Nobody makes this server ask again and again.
    for key in [&old, &Key::new()] {
        let unknown = key.sign(&header, &client.claims(&sluice));
        asserts(&sluice, &unknown).await.refused_with(401, "invalid_client");
    }
    assert_eq!(set.fetches(), 2);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_at_a_uri_may_change() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (old, new) = (Key::new(), Key::new());
    let set = KeySet::of(json!({"keys": [old.registered("one")]})).await;
    let changes = json!({"jwks": null, "jwks_uri": set.uri});
    let client = KeyedClient { own: old, ..KeyedClient::on(&sluice, &changes).await };
    for _ in 0..5 {
        asserts(&sluice, &client.assertion(&sluice, &json!({}))).await.ok();
    }
    assert_eq!(set.fetches(), 1, "the set is kept");
    *set.keys.lock() = json!({"keys": [new.registered("two"), client.own.registered("one")]});
    let header = json!({"alg": "ES256", "kid": "two"});
    sluice.advance(Lifetime::secs(31));
    asserts(&sluice, &new.sign(&header, &client.claims(&sluice))).await.ok();
    assert_eq!(set.fetches(), 2, "an unknown key is looked for");
    asserts(&sluice, &client.assertion(&sluice, &json!({}))).await.ok();
    // Nobody makes this server ask again and again.
    for _ in 0..5 {
        let unknown = Key::new().sign(&json!({"alg": "ES256", "kid": "three"}), &client.claims(&sluice));
        asserts(&sluice, &unknown).await.refused_with(401, "invalid_client");
    }
    assert_eq!(set.fetches(), 2);
    *set.keys.lock() = json!({"keys": [new.registered("two")]});
    sluice.advance(Lifetime::minutes(61));
    asserts(&sluice, &client.assertion(&sluice, &json!({}))).await.refused_with(401, "invalid_client");
    asserts(&sluice, &new.sign(&header, &client.claims(&sluice))).await.ok();
    sluice.node.stop().await;
}
