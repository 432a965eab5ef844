//! Id tokens and userinfo that are encrypted to their client (OpenID Connect Core §10.2, §5.3.2; Registration §2).

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwe::{ContentEncryption, DecryptedJwe, DecryptionKey, KeyManagement, decrypt};
use sluice_crypto::jwk::{Jwk, RsaSize};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, accept_consent, accept_login};
use tokio::net::TcpListener;

use crate::answer::{Answer, http};
use crate::authorization_errors::Change::With;
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::jwt::verified;
use crate::keyed::Key;
use crate::legs::{token, tokens_of};
use crate::response::{Response, answer, client_for};
use crate::rfc8628::{DEVICE_CODE, connect, poll};
use crate::userinfo::about_user;

on_both_stores! {
    an_id_token_is_signed_first_and_then_encrypted_to_its_client,
    userinfo_is_signed_or_encrypted_or_both_as_registered,
    what_comes_again_revokes_the_grant_also_where_nothing_can_be_encrypted,
}

/// A key of a client that it is sent things with.
pub(crate) struct OwnKey(Jwk);

impl OwnKey {
    pub(crate) fn new(algorithm: KeyManagement, kid: &str) -> Self {
        Self(Jwk::generate_encryption(algorithm, kid.to_owned(), RsaSize::Bits2048).unwrap())
    }

    /// A set of the public part.
    pub(crate) fn set(&self) -> Value {
        json!({"keys": [self.0.public()]})
    }

    /// What was encrypted with this key.
    pub(crate) fn open(&self, token: &str) -> DecryptedJwe {
        decrypt(token, &[DecryptionKey::from_jwk(&self.0).unwrap()]).unwrap()
    }

    /// The signed token that was encrypted with this key.
    pub(crate) fn nested(&self, token: &str) -> String {
        let opened = self.open(token);
        assert_eq!(opened.header.cty.as_deref(), Some("JWT"), "RFC 7519 §5.2");
        assert_eq!(opened.header.kid, self.0.kid);
        String::from_utf8(opened.payload.to_vec()).unwrap()
    }
}

async fn an_id_token_is_signed_first_and_then_encrypted_to_its_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let key = OwnKey::new(KeyManagement::RsaOaep256, "mine");
    let client = sluice
        .client(&json!({"jwks": key.set(), "id_token_encrypted_response_alg": "RSA-OAEP-256",
                        "id_token_signed_response_alg": "ES256"}))
        .await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let id_token = token(&tokens, "id_token");
    let enc = key.open(id_token).header.encryption;
    assert_eq!(enc, ContentEncryption::A128CbcHs256, "the default of OpenID Connect Registration §2");
    let said = verified(&sluice, &key.nested(id_token), "ES256").await;
    assert_eq!((&said["sub"], &said["aud"]), (&json!("alice"), &json!([client.id])));
    sluice.advance(Lifetime::secs(1));
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    let again = verified(&sluice, &key.nested(token(&refreshed, "id_token")), "ES256").await;
    assert_eq!(again["sid"], said["sid"]);
    let hint = [("id_token_hint", id_token)];
    let url = client.authorize_url(&Authorize { more: &hint, ..Authorize::default() });
    assert_eq!(
        sluice.browser().visit(&url).await.expect("error"),
        "invalid_request",
        "it opens for its client"
    );
    let hint = [("id_token_hint", &*key.nested(id_token))];
    let url = client.authorize_url(&Authorize { more: &hint, ..Authorize::default() });
    sluice.browser().visit(&url).await.expect("login_challenge");
    sluice.node.stop().await;
}

/// Asks for userinfo; the answer has to be a token.
async fn userinfo_token(sluice: &TestSluice, client: &TestClient) -> String {
    let tokens = tokens_of(sluice, client, "alice").await;
    let url = sluice.public.join("/userinfo").unwrap();
    let answer = Answer::to(http().get(url).bearer_auth(token(&tokens, "access_token"))).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/jwt"), "{}", answer.body);
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.body
}

async fn userinfo_is_signed_or_encrypted_or_both_as_registered(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let key = OwnKey::new(KeyManagement::EcdhEs, "mine");
    let encrypted = json!({"jwks": key.set(), "userinfo_encrypted_response_alg": "ECDH-ES",
                           "userinfo_encrypted_response_enc": "A256GCM"});
    let client = sluice.client(&encrypted).await;
    let opened = key.open(&userinfo_token(&sluice, &client).await);
    assert_eq!((opened.header.encryption, opened.header.cty), (ContentEncryption::A256Gcm, None));
    assert_eq!(about_user(serde_json::from_slice(&opened.payload).unwrap()), json!({"sub": "alice"}));
    let mut both = encrypted;
    both["userinfo_signed_response_alg"] = json!("ES256");
    let client = sluice.client(&both).await;
    let said = verified(&sluice, &key.nested(&userinfo_token(&sluice, &client).await), "ES256").await;
    assert_eq!((&said["sub"], &said["aud"]), (&json!("alice"), &json!([client.id])));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_algorithm_that_is_announced_encrypts() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let page = sluice.browser().visit("/.well-known/openid-configuration").await;
    let said: Value = serde_json::from_str(&page.body).unwrap();
    let names = |list: &str| -> Vec<String> { serde_json::from_value(said[list].clone()).unwrap() };
    let encs = names("id_token_encryption_enc_values_supported");
    assert_eq!(encs.len(), ContentEncryption::ALL.len());
    for (alg, enc) in names("id_token_encryption_alg_values_supported").iter().zip(encs.iter().cycle()) {
        let key = OwnKey::new(alg.parse().unwrap(), "mine");
        let asked = json!({"jwks": key.set(), "id_token_encrypted_response_alg": alg,
                           "id_token_encrypted_response_enc": enc});
        let client = sluice.client(&asked).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        let header = key.open(token(&tokens, "id_token")).header;
        assert_eq!((header.algorithm.as_str(), header.encryption.as_str()), (&**alg, &**enc));
        let shown = sluice.ask_json(Method::GET, &format!("/admin/clients/{}", client.id), None, 200).await;
        assert_eq!(shown["id_token_encrypted_response_alg"], **alg);
        assert_eq!(shown["id_token_encrypted_response_enc"], **enc);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_of_the_authorization_endpoint_is_encrypted_as_well() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let key = OwnKey::new(KeyManagement::EcdhEsA256Kw, "mine");
    let asked = json!({"jwks": key.set(), "id_token_encrypted_response_alg": "ECDH-ES+A256KW",
                       "id_token_encrypted_response_enc": "A256CBC-HS512"});
    let client = client_for(&sluice, &["code id_token"], asked).await;
    let answer = answer(&sluice, &client, &[With("response_type", "code id_token")]).await;
    let in_front = verified(&sluice, &key.nested(answer.get("id_token")), "RS256").await;
    let tokens = client.redeem(answer.get("code")).await.ok();
    let behind = verified(&sluice, &key.nested(token(&tokens, "id_token")), "RS256").await;
    assert_eq!((&in_front["iss"], &in_front["sub"]), (&behind["iss"], &behind["sub"]));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_encrypted_is_not_sent() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (signing, _) = served(signs()).await;
    let (unreadable, _) = served("no keys".to_owned()).await;
    for (uri, why) in [(&signing, "has no key for the algorithm"), (&unreadable, "from its `jwks_uri`")] {
        for alg in ["RSA-OAEP-256", "ECDH-ES"] {
            let wanted = json!({"jwks_uri": uri, "id_token_encrypted_response_alg": alg});
            let client = sluice.client(&wanted).await;
            let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
            let refused = client.redeem(&code).await;
            assert_eq!((refused.status, &refused.body["error"]), (400, &json!("invalid_request")));
            assert!(refused.body["error_description"].as_str().unwrap().contains(why), "{}", refused.body);
            assert!(refused.body.get("id_token").is_none() && refused.body.get("access_token").is_none());
            let wanted = json!({"jwks_uri": uri, "userinfo_encrypted_response_alg": alg});
            let client = sluice.client(&wanted).await;
            let tokens = tokens_of(&sluice, &client, "alice").await;
            let (status, body) = client.userinfo(token(&tokens, "access_token")).await;
            assert_eq!((status, &body["error"], body.get("sub")), (400, &json!("invalid_request"), None));
            assert!(body["error_description"].as_str().unwrap().contains(why), "{body}");
        }
    }
    sluice.node.stop().await;
}

async fn what_comes_again_revokes_the_grant_also_where_nothing_can_be_encrypted(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let key = OwnKey::new(KeyManagement::RsaOaep256, "mine");
    let asked = json!({"jwks": key.set(), "id_token_encrypted_response_alg": "RSA-OAEP-256"});
    let client = sluice.client(&asked).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let of_code = client.redeem(&code).await.ok();
    let first = tokens_of(&sluice, &client, "bob").await;
    let second = client.refresh(token(&first, "refresh_token")).await.ok();
    let (uri, _) = served(signs()).await;
    let moves = json!([{"op": "remove", "path": "/jwks"}, {"op": "add", "path": "/jwks_uri", "value": uri}]);
    sluice.ask_json(Method::PATCH, &format!("/admin/clients/{}", client.id), Some(&moves), 200).await;
    client.refresh(token(&second, "refresh_token")).await.refused_with("invalid_request");
    assert!(sluice.is_active(token(&second, "refresh_token")).await, "it is not used up");
    client.redeem(&code).await.refused_with("invalid_grant");
    sluice.advance(Lifetime::secs(30));
    client.refresh(token(&first, "refresh_token")).await.refused_with("invalid_grant");
    for tokens in [&of_code, &second] {
        for name in ["access_token", "refresh_token"] {
            assert!(!sluice.is_active(token(tokens, name)).await, "{name}");
        }
    }
    sluice.node.stop().await;
}

/// A set whose only key signs.
fn signs() -> String {
    json!({"keys": [Key::new().registered("signs")]}).to_string()
}

/// Anybody can register for answers that no browser needs a login for: they must not look like failures of this server.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_encrypted_is_no_fault_of_this_server() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for keys in [signs(), "no keys".to_owned()] {
        let (uri, _) = served(keys).await;
        let wanted = json!({"jwks_uri": uri, "authorization_encrypted_response_alg": "RSA-OAEP"});
        let client = sluice.client(&wanted).await;
        let url = asked(&client, &[With("response_mode", "jwt"), With("prompt", "none")]);
        let page = sluice.browser().visit(&url).await;
        assert_eq!((page.status.as_u16(), &page.location), (400, &None), "{}", page.body);
        assert!(page.body.contains("in the way that it is registered for"), "{}", page.body);
    }
    sluice.node.stop().await;
}

/// What a client serves at its `jwks_uri`, and where that is.
async fn served(keys: String) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/jwks", listener.local_addr().unwrap());
    let served = Arc::new(Mutex::new(keys));
    let serve = async |State(set): State<Arc<Mutex<String>>>| set.lock().clone();
    let router = Router::new().route("/jwks", get(serve)).with_state(Arc::clone(&served));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (uri, served)
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_code_nor_refresh_token_is_used_up_while_the_keys_cannot_be_fetched() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let key = OwnKey::new(KeyManagement::RsaOaep256, "mine");
    let (uri, served) = served("no keys".to_owned()).await;
    let asked = json!({"jwks_uri": uri, "id_token_encrypted_response_alg": "RSA-OAEP-256"});
    let client = sluice.client(&asked).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let refused = client.redeem(&code).await;
    assert_eq!((refused.status, &refused.body["error"]), (400, &json!("invalid_request")));
    *served.lock() = key.set().to_string();
    sluice.advance(Lifetime::secs(11));
    let tokens = client.redeem(&code).await.ok();
    verified(&sluice, &key.nested(token(&tokens, "id_token")), "RS256").await;
    *served.lock() = "no keys".to_owned();
    sluice.advance(Lifetime::hours(2));
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_request");
    *served.lock() = key.set().to_string();
    // Longer than the same refresh token may come again.
    sluice.advance(Lifetime::minutes(1));
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    verified(&sluice, &key.nested(token(&refreshed, "id_token")), "RS256").await;
    // Who asks for less than an id token needs no key for it.
    *served.lock() = "no keys".to_owned();
    sluice.advance(Lifetime::hours(2));
    let refresh_token = token(&refreshed, "refresh_token");
    client.refresh(refresh_token).await.refused_with("invalid_request");
    let form =
        [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("scope", "offline_access")];
    assert!(client.token(&form).await.ok()["id_token"].is_null());
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gets_no_id_token_needs_no_key_for_one() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (uri, _) = served("no keys".to_owned()).await;
    let grant_types = json!(["authorization_code", "refresh_token", DEVICE_CODE]);
    let asked = json!({"jwks_uri": uri, "id_token_encrypted_response_alg": "RSA-OAEP-256",
                       "grant_types": grant_types});
    let client = sluice.client(&asked).await;
    let with = Authorize { scope: "offline_access email", ..Authorize::default() };
    let login = json!({"subject": "alice"});
    let page = sluice.browser().log_in_with(&sluice, &client, &with, &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    sluice.advance(Lifetime::secs(1));
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    let given = client.post("/oauth2/device/auth", &[("scope", "offline_access")]).await.ok();
    connect(&sluice, &mut sluice.browser(), &given, &json!({})).await;
    sluice.advance(Lifetime::secs(5));
    let polled = poll(&client, &given).await.ok();
    for tokens in [tokens, refreshed, polled] {
        assert!(tokens["access_token"].is_string() && tokens["id_token"].is_null(), "{tokens}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_is_not_used_up_while_the_keys_cannot_be_fetched() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let key = OwnKey::new(KeyManagement::RsaOaep256, "mine");
    let (uri, served) = served("no keys".to_owned()).await;
    let wanted = json!({"jwks_uri": uri, "id_token_encrypted_response_alg": "RSA-OAEP-256"});
    let client = client_for(&sluice, &["code id_token"], wanted).await;
    let mut browser = sluice.browser();
    let url = asked(&client, &[With("response_type", "code id_token")]);
    let challenge = browser.visit(&url).await.expect("login_challenge");
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let page = browser.visit(&verifier).await;
    assert_eq!((page.status.as_u16(), page.location), (400, None));
    *served.lock() = key.set().to_string();
    sluice.advance(Lifetime::secs(11));
    let answer = Response::of(&browser.visit(&verifier).await);
    verified(&sluice, &key.nested(answer.get("id_token")), "RS256").await;
    client.redeem(answer.get("code")).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_at_a_uri_are_fetched_and_fetched_again_when_they_changed() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (rsa, curve) =
        (OwnKey::new(KeyManagement::RsaOaep256, "rsa"), OwnKey::new(KeyManagement::EcdhEs, "curve"));
    let (uri, served) = served(curve.set().to_string()).await;
    let asked = json!({"jwks_uri": uri, "id_token_encrypted_response_alg": "RSA-OAEP-256"});
    let client = sluice.client(&asked).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    client.redeem(&code).await.refused_with("invalid_request");
    *served.lock() = rsa.set().to_string();
    sluice.advance(Lifetime::secs(31));
    let tokens = tokens_of(&sluice, &client, "alice").await;
    verified(&sluice, &rsa.nested(token(&tokens, "id_token")), "RS256").await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn algorithms_that_are_not_safe_or_have_no_key_cannot_be_registered() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let keys = OwnKey::new(KeyManagement::RsaOaep256, "mine").set();
    for (alg, enc, keys) in [
        ("RSA1_5", "A128GCM", &keys),
        ("dir", "A128GCM", &keys),
        ("A128KW", "A128GCM", &keys),
        ("RSA-OAEP-256", "A192CBC", &keys),
        ("", "A128GCM", &keys),
        ("RSA-OAEP-256", "A128GCM", &Value::Null),
        ("ECDH-ES", "A128GCM", &keys),
    ] {
        let asked = json!({"jwks": keys, "id_token_encrypted_response_alg": alg,
                           "id_token_encrypted_response_enc": enc});
        sluice.ask_json(Method::POST, "/admin/clients", Some(&asked), 400).await;
    }
    sluice.node.stop().await;
}
