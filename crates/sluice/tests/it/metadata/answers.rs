//! How what clients are told is signed and encrypted: authorization responses (JARM), id tokens, userinfo, introspection.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_crypto::jwe::ContentEncryption;
use sluice_testkit::{ISSUER, TestClient, TestSluice};

use super::Server;
use super::authentication::refuses_to_register;
use crate::answer::{Answer, basic, http};
use crate::authorization_errors::Change::With;
use crate::jwt::{header, verified};
use crate::keyed::changed;
use crate::legs::{token, tokens_of};
use crate::oidc_encryption::OwnKey;
use crate::response::{answer, refusal};

/// What a client is told: by kind, as it came.
pub(super) type Told = BTreeMap<&'static str, String>;

pub(super) const KINDS: [&str; 4] = ["authorization", "id_token", "userinfo", "introspection"];

/// The metadata with which a client asks for all kinds in one way.
fn formats(members: &[(&str, &str)]) -> Value {
    let mut metadata = json!({});
    for kind in KINDS {
        for (member, value) in members {
            metadata[format!("{kind}_{member}")] = json!(value);
        }
    }
    metadata
}

/// A login, and all that a client with this metadata is told of it.
async fn told(sluice: &TestSluice, metadata: &Value) -> Told {
    let client = sluice.client(metadata).await;
    let authorization = answer(sluice, &client, &[With("response_mode", "jwt")]).await;
    let tokens = tokens_of(sluice, &client, "alice").await;
    let access_token = token(&tokens, "access_token");
    let userinfo = http().get(sluice.public.join("/userinfo").unwrap()).bearer_auth(access_token);
    let userinfo = Answer::to(userinfo).await;
    assert_eq!((userinfo.status, userinfo.header("content-type")), (200, "application/jwt"), "{userinfo:?}");
    BTreeMap::from([
        ("authorization", authorization.get("response").to_owned()),
        ("id_token", token(&tokens, "id_token").to_owned()),
        ("userinfo", userinfo.body),
        ("introspection", introspected(sluice, &client, access_token).await),
    ])
}

async fn introspected(sluice: &TestSluice, client: &TestClient, access_token: &str) -> String {
    let request = http().post(sluice.public.join("/oauth2/introspect").unwrap());
    let request = request.header("authorization", basic(&client.id, client.secret.as_deref().unwrap()));
    let request = request.header("accept", "application/token-introspection+jwt");
    let answer = Answer::to(request.form(&[("token", access_token)])).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

pub(super) async fn signing(server: &Server, entry: &str, kind: &str) {
    let sluice = &server.sluice;
    let told = server.signed.get_or_init(|| all_signed(server)).await;
    let (announced, member) = (server.names(entry), format!("{kind}_signed_response_alg"));
    for algorithm in announced.iter().filter(|algorithm| **algorithm != "none") {
        let token = &told.get(*algorithm).unwrap_or_else(|| panic!("{entry}: {algorithm}"))[kind];
        assert_eq!(header(token)["alg"], **algorithm, "{entry}");
        verified(sluice, token, algorithm).await;
    }
    for unlisted in ["none", "HS256", "RS1"] {
        if !announced.contains(&unlisted) {
            refuses_to_register(server, &json!({&member: unlisted})).await;
        }
    }
    if announced.contains(&"none") {
        assert_eq!(kind, "userinfo", "what else may be unsigned?");
        let client = sluice.client(&json!({&member: "none"})).await;
        let tokens = tokens_of(sluice, &client, "alice").await;
        assert_eq!(client.userinfo(token(&tokens, "access_token")).await.1["sub"], "alice");
    }
}

/// What is told with each algorithm that is announced for id tokens; the other lists have to name the same.
async fn all_signed(server: &Server) -> BTreeMap<String, Told> {
    let mut all = BTreeMap::new();
    for algorithm in server.names("id_token_signing_alg_values_supported") {
        let metadata = formats(&[("signed_response_alg", algorithm)]);
        all.insert(algorithm.to_owned(), told(&server.sluice, &metadata).await);
    }
    all
}

pub(super) async fn encryption(server: &Server, entry: &str, (kind, member): (&str, &str)) {
    let told = server.encrypted.get_or_init(|| all_encrypted(server)).await;
    for name in server.names(entry) {
        let mut headers = told.iter().map(|told| header(&told[kind]));
        assert!(headers.any(|header| header[member] == name), "{entry}: {name}");
    }
    let how = json!({"jwks": {"keys": [super::SIGNERS["ES256"].jwk]},
                     format!("{kind}_encrypted_response_alg"): "ECDH-ES",
                     format!("{kind}_encrypted_response_enc"): "A128GCM"});
    for unlisted in ["RSA1_5", "dir", "A192GCM"] {
        let wrong = json!({format!("{kind}_encrypted_response_{member}"): unlisted});
        refuses_to_register(server, &changed(how.clone(), &wrong)).await;
    }
}

/// What is told with each algorithm and each content encryption that is announced for id tokens; opened, it is signed.
async fn all_encrypted(server: &Server) -> Vec<Told> {
    let encs = server.names("id_token_encryption_enc_values_supported");
    let mut all = Vec::new();
    for (index, alg) in server.names("id_token_encryption_alg_values_supported").into_iter().enumerate() {
        let (key, enc) = (OwnKey::new(alg.parse().unwrap(), "mine"), encs[index % encs.len()]);
        let how = [
            ("signed_response_alg", "ES256"),
            ("encrypted_response_alg", alg),
            ("encrypted_response_enc", enc),
        ];
        let told = told(&server.sluice, &changed(formats(&how), &json!({"jwks": key.set()}))).await;
        for token in told.values() {
            assert_eq!(key.open(token).header.encryption, enc.parse::<ContentEncryption>().unwrap());
            verified(&server.sluice, &key.nested(token), "ES256").await;
        }
        all.push(told);
    }
    all
}

/// RFC 9207 §2.
pub(super) async fn issuer(server: &Server, entry: &str) {
    let client = server.sluice.client(&json!({})).await;
    let answered = answer(&server.sluice, &client, &[]).await;
    let refused = refusal(&server.sluice, &client, &[With("prompt", "none")]).await;
    for answer in [answered, refused] {
        let names_issuer = answer.parameters.get("iss").is_some_and(|issuer| issuer == ISSUER);
        assert_eq!(names_issuer, server.flag(entry), "{answer:?}");
    }
}
