//! JWT Secured Authorization Response Mode for OAuth 2.0 (JARM): the answer is one signed parameter.

use serde_json::{Value, json};
use sluice_crypto::jwe::{DecryptionKey, KeyManagement, decrypt};
use sluice_crypto::jwk::{Jwk, RsaSize};
use sluice_primitives::Clock;
use sluice_testkit::{Backend, ISSUER, TestClient, TestSluice};

use crate::authorization_errors::Change::{self, With, Without};
use crate::both_stores::on_both_stores;
use crate::jwt::{header, verified};
use crate::response::{Response, STATE, answer, client_for, refusal};

on_both_stores! {
    an_answer_is_one_signed_parameter,
    an_error_is_signed_as_well,
}

const ALL: [&str; 7] =
    ["code", "token", "id_token", "id_token token", "code id_token", "code token", "code id_token token"];

/// What a signed answer says: it says for whom it is, and for how long, and nothing stands beside it.
async fn opened(sluice: &TestSluice, client: &TestClient, answer: &Response, algorithm: &str) -> Value {
    assert_eq!(answer.names(), ["response"], "RFC 9207 §2.4: `iss` is inside, and only there");
    let mut said = verified(sluice, answer.get("response"), algorithm).await;
    let frame = ["iss", "aud", "exp"].map(|name| said.as_object_mut().unwrap().remove(name).unwrap());
    let until = sluice.clock.now().as_secs() + 600;
    assert_eq!(frame, [json!(ISSUER), json!(client.id), json!(until)], "JARM §2.1");
    said
}

async fn an_answer_is_one_signed_parameter(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &ALL, json!({})).await;
    for (asked, way) in [
        ("jwt", "query"),
        ("query.jwt", "query"),
        ("fragment.jwt", "fragment"),
        ("form_post.jwt", "form_post"),
    ] {
        let answer = answer(&sluice, &client, &[With("response_mode", asked)]).await;
        assert_eq!((answer.way, answer.uri.as_str()), (way, client.redirect_uri.as_str()), "{asked}");
        let said = opened(&sluice, &client, &answer, "RS256").await;
        assert_eq!((&said["state"], &said["scope"]), (&json!(STATE), &json!("openid offline_access")));
        client.redeem(said["code"].as_str().unwrap()).await.ok();
    }
    sluice.node.stop().await;
}

async fn an_error_is_signed_as_well(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &ALL, json!({})).await;
    let wrong = [
        ("login_required", With("prompt", "none")),
        ("invalid_scope", With("scope", "openid admin")),
        ("unsupported_response_type", With("response_type", "none")),
        ("invalid_request", Without("response_type")),
        ("invalid_request", With("id_token_hint", "a.b.c")),
    ];
    for (error, change) in wrong {
        let refused = refusal(&sluice, &client, &[With("response_mode", "jwt"), change]).await;
        assert_eq!(refused.way, "query");
        let said = opened(&sluice, &client, &refused, "RS256").await;
        assert_eq!((&said["error"], &said["state"]), (&json!(error), &json!(STATE)));
        assert!(said["error_description"].as_str().unwrap().ends_with('.'), "{said}");
    }
    let stateless = [With("response_mode", "jwt"), With("prompt", "none"), Without("state")];
    let refused = refusal(&sluice, &client, &stateless).await;
    assert!(opened(&sluice, &client, &refused, "RS256").await.get("state").is_none());
    sluice.node.stop().await;
}

/// JARM §2.3.4: `jwt` goes the way of the response type.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_signed_into_the_fragment() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &ALL, json!({})).await;
    for asked in ALL.into_iter().skip(1) {
        let changes = [With("response_type", asked), With("response_mode", "jwt")];
        let answer = answer(&sluice, &client, &changes).await;
        assert_eq!(answer.way, "fragment", "{asked}");
        let said = opened(&sluice, &client, &answer, "RS256").await;
        let has = |name: &str| said.get(name).is_some();
        let words: Vec<_> = asked.split(' ').collect();
        let expected = ["code", "token", "id_token"].map(|word| words.contains(&word));
        assert_eq!([has("code"), has("access_token"), has("id_token")], expected, "{asked}");
        if has("access_token") {
            assert_eq!((&said["token_type"], &said["expires_in"]), (&json!("bearer"), &json!("3600")));
            assert!(sluice.is_active(said["access_token"].as_str().unwrap()).await);
        }
    }
    sluice.node.stop().await;
}

/// JARM §2.3.1: only if nobody but the client can read them.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_do_not_travel_in_a_query_that_others_can_read() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &ALL, json!({})).await;
    for asked in ALL.into_iter().skip(1) {
        let changes = [With("response_type", asked), With("response_mode", "query.jwt")];
        let refused = refusal(&sluice, &client, &changes).await;
        assert_eq!(refused.way, "fragment", "{asked}");
        assert_eq!(opened(&sluice, &client, &refused, "RS256").await["error"], "invalid_request");
    }
    sluice.node.stop().await;
}

/// JARM §3.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_chooses_how_its_answers_are_signed() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let es256 = json!({"authorization_signed_response_alg": "ES256"});
    let client = client_for(&sluice, &["code"], es256).await;
    let signed = answer(&sluice, &client, &[With("response_mode", "jwt")]).await;
    opened(&sluice, &client, &signed, "ES256").await;
    for unsafe_one in ["none", "HS256", "RS1"] {
        let body = json!({"authorization_signed_response_alg": unsafe_one});
        sluice.ask_json(reqwest::Method::POST, "/admin/clients", Some(&body), 400).await;
    }
    sluice.node.stop().await;
}

/// A new private key for encryption, and the set that a client registers of it.
fn encryption_key(algorithm: KeyManagement) -> (DecryptionKey, Value) {
    let jwk = Jwk::generate_encryption(algorithm, "of-the-client".to_owned(), RsaSize::Bits2048).unwrap();
    (DecryptionKey::from_jwk(&jwk).unwrap(), json!({"keys": [jwk.public()]}))
}

/// JARM §2.2: signed, then encrypted.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_encrypted_for_a_client_that_wants_it() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let chosen = [("RSA-OAEP-256", "A256GCM"), ("ECDH-ES", "A128CBC-HS256")];
    for (alg, enc) in chosen {
        let (key, jwks) = encryption_key(alg.parse().unwrap());
        let formats = json!({
            "jwks": jwks,
            "authorization_signed_response_alg": "ES256",
            "authorization_encrypted_response_alg": alg,
            "authorization_encrypted_response_enc": enc,
        });
        let client = client_for(&sluice, &ALL, formats).await;
        let cases: [&[Change<'_>]; 3] = [
            &[With("response_mode", "jwt")],
            &[With("response_mode", "query.jwt"), With("response_type", "code id_token")],
            &[With("response_mode", "form_post.jwt"), With("response_type", "id_token token")],
        ];
        for changes in cases {
            let mut answer = answer(&sluice, &client, changes).await;
            let token = answer.get("response").to_owned();
            let outer = header(&token);
            assert_eq!(
                (&outer["alg"], &outer["enc"], &outer["cty"]),
                (&json!(alg), &json!(enc), &json!("JWT"))
            );
            let plain = decrypt(&token, std::slice::from_ref(&key)).unwrap();
            let inner = String::from_utf8(plain.payload.to_vec()).unwrap();
            answer.parameters.insert("response".to_owned(), inner);
            let said = opened(&sluice, &client, &answer, "ES256").await;
            assert!(said.get("code").or(said.get("id_token")).is_some(), "{said}");
        }
        let changes = [With("response_mode", "jwt"), With("prompt", "none")];
        let refused = refusal(&sluice, &client, &changes).await;
        assert!(decrypt(refused.get("response"), std::slice::from_ref(&key)).is_ok());
    }
    sluice.node.stop().await;
}

/// It is signed with the keys of id tokens, and must not pass for one.
#[tokio::test(flavor = "multi_thread")]
async fn a_signed_answer_is_no_token() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["code"], json!({"access_token_strategy": "jwt"})).await;
    let answer = answer(&sluice, &client, &[With("response_mode", "jwt")]).await;
    let token = answer.get("response");
    refusal(&sluice, &client, &[With("id_token_hint", token)]).await.refused_with("invalid_request");
    assert!(!sluice.is_active(token).await);
    assert_eq!(client.userinfo(token).await.0, 401);
    client.redeem(token).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_way_to_sign_is_refused_unsigned() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["code"], json!({})).await;
    for unknown in ["JWT", "pigeon.jwt", "jwt.query", "jwt "] {
        refusal(&sluice, &client, &[With("response_mode", unknown)]).await.refused_with("invalid_request");
    }
    sluice.node.stop().await;
}
