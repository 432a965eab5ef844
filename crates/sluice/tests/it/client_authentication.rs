//! Who is asking? Each way for a client to prove who it is, and everybody who only says so.

use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::KeyPair;
use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Backend, ISSUER, TestClient, TestSluice};

use crate::answer::{Answer, basic, http, plain_basic};
use crate::both_stores::on_both_stores;

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const MACHINE: &[(&str, &str)] = &[("grant_type", "client_credentials")];

/// How many assertions were written: each has a `jti` of its own.
static ASSERTIONS: AtomicU32 = AtomicU32::new(0);

on_both_stores!(
    wrong_credentials_are_refused_and_write_nothing,
    a_secret_comes_either_way_whichever_is_registered,
    an_assertion_works_once,
);

/// A request for a token of the client's own, with this header, if any, and these further parameters.
async fn asks(sluice: &TestSluice, header: &str, more: &[(&str, &str)]) -> Answer {
    let request = http().post(sluice.public.join("/oauth2/token").unwrap());
    let request = if header.is_empty() { request } else { request.header("authorization", header) };
    Answer::to(request.form(&[MACHINE, more].concat())).await
}

async fn wrong_credentials_are_refused_and_write_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let other = sluice.client(&json!({})).await;
    let by_post = sluice.client(&json!({"token_endpoint_auth_method": "client_secret_post"})).await;
    let signing = sluice.client(&json!({"token_endpoint_auth_method": "client_secret_jwt"})).await;
    let public = sluice.client(&json!({"token_endpoint_auth_method": "none"})).await;
    let secret = |client: &TestClient| client.secret.clone().unwrap();
    let before = sluice.written();
    let wrong = "another-secret-of-some-length";
    let invalid: &[(String, Vec<(&str, String)>)] = &[
        (basic(&client.id, wrong), vec![]),
        (basic(&client.id, &secret(&other)), vec![]),
        (basic("nobody", &secret(&client)), vec![]),
        (basic(&client.id.to_uppercase(), &secret(&client)), vec![]),
        (basic(&format!("{} ", client.id), &secret(&client)), vec![]),
        (basic(&client.id, &format!("{}\0", secret(&client))), vec![]),
        (basic(&client.id, &secret(&client)[1..]), vec![]),
        (basic("\u{fc}mlaut", wrong), vec![]),
        (basic(&by_post.id, wrong), vec![]),
        // Registered for a method of another kind than the one that is used.
        (basic(&signing.id, &secret(&signing)), vec![]),
        (String::new(), vec![("client_id", signing.id.clone()), ("client_secret", secret(&signing))]),
        (String::new(), vec![("client_id", client.id.clone())]),
        (basic(&client.id, ""), vec![]),
        (basic(&public.id, "any"), vec![]),
        (String::new(), vec![("client_id", public.id.clone()), ("client_secret", "any".to_owned())]),
        (String::new(), vec![("client_id", by_post.id.clone()), ("client_secret", wrong.to_owned())]),
        (String::new(), vec![("client_id", "nobody".to_owned())]),
    ];
    for (header, form) in invalid {
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        asks(&sluice, header, &form).await.refused_with(401, "invalid_client");
    }
    for header in ["Basic", "Basic !!!", "Basic bm8tY29sb24=", "Bearer x"] {
        asks(&sluice, header, &[]).await.refused_with(401, "invalid_client");
    }
    let good = basic(&client.id, &secret(&client));
    let malformed: &[(&str, Vec<(&str, &str)>)] = &[
        ("", vec![]),
        (&good, vec![("client_secret", "x")]),
        (&good, vec![("client_id", &client.id), ("client_secret", &client.id)]),
        (&good, vec![("client_id", &other.id)]),
        (&good, vec![("client_assertion_type", JWT_BEARER), ("client_assertion", "a.b.c")]),
        ("", vec![("client_id", &client.id), ("client_assertion", "a.b.c")]),
        ("", vec![("client_assertion_type", JWT_BEARER)]),
        ("", vec![("client_assertion_type", "x"), ("client_assertion", "a.b.c")]),
    ];
    for (header, form) in malformed {
        asks(&sluice, header, form).await.refused_with(400, "invalid_request");
    }
    let twice = http().post(sluice.public.join("/oauth2/token").unwrap()).header("authorization", &good);
    Answer::to(twice.header("authorization", basic(&other.id, &secret(&other))).form(MACHINE))
        .await
        .refused_with(401, "invalid_client");
    assert_eq!(sluice.written(), before);
    asks(&sluice, &good, &[]).await.ok();
    asks(&sluice, &good, &[("client_id", &client.id)]).await.ok();
    sluice.node.stop().await;
}

/// Some libraries log in by one way and refresh by the other.
async fn a_secret_comes_either_way_whichever_is_registered(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for method in ["client_secret_basic", "client_secret_post"] {
        let client = sluice.client(&json!({"token_endpoint_auth_method": method})).await;
        let secret = client.secret.clone().unwrap();
        asks(&sluice, &basic(&client.id, &secret), &[]).await.ok();
        asks(&sluice, "", &[("client_id", &client.id), ("client_secret", &secret)]).await.ok();
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_client_and_a_wrong_secret_get_the_same_answer() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let wrong = asks(&sluice, &basic(&client.id, "wrong"), &[]).await;
    let unknown = asks(&sluice, &basic("nobody", "wrong"), &[]).await;
    assert_eq!((wrong.status, &wrong.body), (unknown.status, &unknown.body));
    let names = |answer: &Answer| answer.headers.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&wrong), names(&unknown));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_names_no_client_is_told_that_it_is_this() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let answer = asks(&sluice, "", &[]).await;
    assert!(answer.body.contains("names no client"), "{}", answer.body);
    answer.refused_with(400, "invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_and_secrets_with_special_characters_are_form_encoded() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let id = "app:one+two%20 &=?/\"\\";
    let secret = "p:a%ss+w\u{f6}rd \u{1f511}&=100%";
    for method in ["client_secret_basic", "client_secret_post"] {
        let id = format!("{id}{method}");
        let client = json!({"client_id": id, "client_secret": secret, "token_endpoint_auth_method": method});
        let client = sluice.client(&client).await;
        client.token(MACHINE).await.ok();
        let refused = sluice.client(&json!({"client_id": format!("{id}2"), "client_secret": secret})).await;
        asks(&sluice, &basic(&refused.id, "p:a%ss w\u{f6}rd"), &[]).await.refused_with(401, "invalid_client");
    }
    // Libraries that do not encode get through.
    let plain = json!({"client_id": "plain", "client_secret": "half:encoded%secret-100%"});
    let plain = sluice.client(&plain).await;
    asks(&sluice, &plain_basic(&plain.id, "half:encoded%secret-100%"), &[]).await.ok();
    let plus = sluice.client(&json!({"client_id": "plus", "client_secret": "a+secret+of+some+length"})).await;
    asks(&sluice, &plain_basic(&plus.id, "a+secret+of+some+length"), &[]).await.ok();
    asks(&sluice, &plain_basic(&plus.id, "a+secret of+some+length"), &[])
        .await
        .refused_with(401, "invalid_client");
    asks(&sluice, &basic(&plus.id, "a+secret+of+some+length"), &[]).await.ok();
    sluice.node.stop().await;
}

/// A client with a key of its own.
struct Signer {
    id: String,
    key: KeyPair,
    jwk: Value,
}

impl Signer {
    async fn on(sluice: &TestSluice) -> Self {
        let key = KeyPair::generate().unwrap();
        // The point is 04, x, y.
        let (x, y) = key.public_key_raw()[1..].split_at(32);
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let jwk = json!({"kty": "EC", "crv": "P-256", "use": "sig", "kid": "one", "alg": "ES256",
                         "x": encode(x), "y": encode(y)});
        let metadata = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [jwk]}});
        let client = sluice.client(&metadata).await;
        // As with Hydra it has a secret, too; that proves nothing.
        let credentials = basic(&client.id, client.secret.as_deref().unwrap());
        asks(sluice, &credentials, &[]).await.refused_with(401, "invalid_client");
        Self { id: client.id, key, jwk }
    }

    /// What an assertion says, changed.
    fn claims(&self, sluice: &TestSluice, changes: &Value) -> Value {
        let now = sluice.clock.now().as_secs();
        let jti = ASSERTIONS.fetch_add(1, Ordering::Relaxed).to_string();
        let mut claims = json!({"iss": self.id, "sub": self.id, "aud": format!("{ISSUER}oauth2/token"),
                                "exp": now + 300, "iat": now, "jti": jti});
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        claims
    }

    fn header() -> Header {
        Header { kid: Some("one".to_owned()), ..Header::new(Algorithm::ES256) }
    }

    fn sign(&self, header: &Header, claims: &Value) -> String {
        encode(header, claims, &EncodingKey::from_ec_pem(self.key.serialize_pem().as_bytes()).unwrap())
            .unwrap()
    }
}

async fn asserts(sluice: &TestSluice, assertion: &str) -> Answer {
    asks(sluice, "", &[("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)]).await
}

async fn an_assertion_works_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let signer = Signer::on(&sluice).await;
    let other = Signer::on(&sluice).await;
    let claims = signer.claims(&sluice, &json!({"jti": "once"}));
    let assertion = signer.sign(&Signer::header(), &claims);
    asserts(&sluice, &assertion).await.ok();
    asserts(&sluice, &assertion).await.refused_with(401, "invalid_client");
    // Another signature over the same `jti` is the same assertion; another client's is not.
    asserts(&sluice, &signer.sign(&Signer::header(), &claims)).await.refused_with(401, "invalid_client");
    let theirs = other.claims(&sluice, &json!({"jti": "once"}));
    asserts(&sluice, &other.sign(&Signer::header(), &theirs)).await.ok();
    // Another node knows as well.
    let node = sluice.second_node().await;
    asserts(&node, &assertion).await.refused_with(401, "invalid_client");
    node.node.stop().await;
    for aud in [json!(ISSUER), json!([ISSUER, "https://elsewhere.test"])] {
        let claims = signer.claims(&sluice, &json!({"aud": aud}));
        asserts(&sluice, &signer.sign(&Signer::header(), &claims)).await.ok();
    }
    sluice.node.stop().await;
}

/// What proves nothing about a client, whoever else has a key; and one that does, which some of these are made of.
fn hostile_assertions(sluice: &TestSluice, signer: &Signer, other: &Signer) -> (Vec<String>, String) {
    let good = signer.claims(sluice, &json!({}));
    let now = sluice.clock.now().as_secs();
    let mut hostile: Vec<String> = [
        json!({"aud": "https://elsewhere.test/oauth2/token"}),
        json!({"aud": null}),
        json!({"aud": []}),
        json!({"exp": now}),
        json!({"exp": now - 3600}),
        json!({"exp": null}),
        json!({"exp": "soon"}),
        json!({"exp": now + 100 * 24 * 3600}),
        json!({"exp": 1e300}),
        json!({"nbf": now + 3600}),
        json!({"iat": now + 3600}),
        json!({"jti": null}),
        json!({"jti": ""}),
        json!({"jti": "j".repeat(600)}),
        json!({"iss": other.id}),
        json!({"sub": other.id}),
        json!({"iss": other.id, "sub": other.id}),
        json!({"iss": null}),
        json!({"sub": "nobody", "iss": "nobody"}),
    ]
    .iter()
    .map(|changes| signer.sign(&Signer::header(), &signer.claims(sluice, changes)))
    .collect();
    // Not signed; signed with what everybody knows; signed with a key that the assertion brings along.
    let none = |text: &str| URL_SAFE_NO_PAD.encode(text);
    for alg in ["none", "None", "NONE", ""] {
        hostile.push(format!("{}.{}.", none(&json!({"alg": alg}).to_string()), none(&good.to_string())));
    }
    for secret in [signer.key.public_key_pem(), signer.jwk.to_string(), String::new()] {
        let key = EncodingKey::from_secret(secret.as_bytes());
        let header = Header { kid: Some("one".to_owned()), ..Header::new(Algorithm::HS256) };
        hostile.push(encode(&header, &good, &key).unwrap());
    }
    let jku = Header { jku: Some("https://evil.test/jwks.json".to_owned()), kid: None, ..Signer::header() };
    hostile.push(other.sign(&jku, &good));
    hostile.push(other.sign(&Signer::header(), &good));
    let embedded = json!({"alg": "ES256", "jwk": other.jwk, "kid": "one"}).to_string();
    let signed = other.sign(&Signer::header(), &good);
    hostile.push(format!("{}.{}", none(&embedded), signed.split_once('.').unwrap().1));
    let signed = signer.sign(&Signer::header(), &good);
    hostile.extend([
        signed[..signed.len() - 4].to_owned(),
        format!("{signed}."),
        "..".to_owned(),
        "a".repeat(40_000),
    ]);
    (hostile, signed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_assertion_is_refused_and_writes_nothing() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::on(&sluice).await;
    let other = Signer::on(&sluice).await;
    let before = sluice.written();
    let (hostile, signed) = hostile_assertions(&sluice, &signer, &other);
    for assertion in hostile {
        asserts(&sluice, &assertion).await.refused_with(401, "invalid_client");
    }
    assert_eq!(sluice.written(), before);
    // Named beside the assertion is the same client, or none.
    let named = [
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", signed.as_str()),
        ("client_id", &other.id),
    ];
    asks(&sluice, "", &named).await.refused_with(400, "invalid_request");
    asserts(&sluice, &signed).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_lives_no_longer_than_it_says() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::on(&sluice).await;
    let assertion = signer.sign(&Signer::header(), &signer.claims(&sluice, &json!({})));
    sluice.advance(Lifetime::secs(301));
    asserts(&sluice, &assertion).await.refused_with(401, "invalid_client");
    sluice.node.stop().await;
}
