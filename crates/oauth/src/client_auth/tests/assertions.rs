use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sluice_crypto::Purpose;
use sluice_crypto::jwk::{Jwk, JwkSet, MacAlgorithm, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, sign_hmac};
use sluice_primitives::Lifetime;

use super::*;
use crate::client::SecretsEnd;

fn key(algorithm: SigningAlgorithm, kid: &str) -> Jwk {
    Jwk::generate(algorithm, kid.to_owned(), RsaSize::default()).unwrap()
}

fn es256(kid: &str) -> Jwk {
    key(SigningAlgorithm::ES256, kid)
}

fn claims(changes: &Value) -> Value {
    let now = NOW.as_secs();
    let mut claims = json!({"iss": "app", "sub": "app", "aud": "https://op.example/oauth2/token", "exp": now + 60, "jti": "1"});
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

fn sign(key: &Jwk, changes: &Value) -> Presented {
    sign_as(Some("JWT"), key, changes)
}

fn sign_as(typ: Option<&str>, key: &Jwk, changes: &Value) -> Presented {
    let payload = serde_json::to_vec(&claims(changes)).unwrap();
    let token = SigningKey::from_jwk(key).unwrap().sign(typ, &payload).unwrap();
    Presented::Assertion { client: None, assertion: Secret::new(token) }
}

fn with_keys(keys: &[&Jwk]) -> ClientMetadata {
    let keys = keys.iter().map(|key| (*key).clone()).collect();
    ClientMetadata {
        token_endpoint_auth_method: "private_key_jwt".to_owned(),
        jwks: Some(JwkSet { keys }),
        ..ClientMetadata::default()
    }
}

fn with_uri() -> ClientMetadata {
    let jwks_uri = "https://app.example/jwks".to_owned();
    ClientMetadata { jwks: None, jwks_uri, ..with_keys(&[]) }
}

fn served(keys: &[&Jwk], max_age: Option<Lifetime>) -> FetchedKeySet {
    let set = JwkSet { keys: keys.iter().map(|key| key.public()).collect() };
    FetchedKeySet { body: serde_json::to_vec(&set).unwrap(), max_age }
}

async fn answer(given: &Given, presented: Presented, now: Timestamp) -> Result<(), ClientAuthError> {
    given.authenticator.authenticate(presented, &Caller::default(), now).await.map(|_| ())
}

#[tokio::test]
async fn an_assertion_authenticates_once() {
    let (given, key) = (given(), es256("k"));
    given.client(with_keys(&[&key]), Vec::new());
    for audience in [json!("https://op.example"), json!(["x", "https://op.example/oauth2/token"])] {
        let changes = json!({"aud": audience, "jti": audience.to_string()});
        assert!(answer(&given, sign(&key, &changes), NOW).await.is_ok());
        let again = answer(&given, sign(&key, &changes), NOW).await;
        assert!(matches!(again, Err(ClientAuthError::Assertion(AssertionError::Replayed))));
    }
}

#[tokio::test]
async fn an_algorithm_with_two_names_is_registered_by_either() {
    let key = key(SigningAlgorithm::EdDSA, "k");
    for (alg, jwk) in [("EdDSA", "Ed25519"), ("Ed25519", "EdDSA")] {
        let given = given();
        let registered = Jwk { alg: Some(jwk.to_owned()), ..key.clone() };
        let token_endpoint_auth_signing_alg = alg.to_owned();
        let metadata = ClientMetadata { token_endpoint_auth_signing_alg, ..with_keys(&[&registered]) };
        given.client(metadata, Vec::new());
        assert!(answer(&given, sign(&key, &json!({})), NOW).await.is_ok(), "{alg} {jwk}");
    }
}

/// RFC 8725 §3.11.
#[tokio::test]
async fn a_token_that_says_that_it_is_something_else_is_no_assertion() {
    let (given, key) = (given(), es256("k"));
    given.client(with_keys(&[&key]), Vec::new());
    for typ in [
        "JWT",
        "jwt",
        "application/jwt",
        "client-authentication+jwt",
        "Application/Client-Authentication+JWT",
    ] {
        let presented = sign_as(Some(typ), &key, &json!({"jti": typ}));
        assert!(answer(&given, presented, NOW).await.is_ok(), "{typ}");
    }
    assert!(answer(&given, sign_as(None, &key, &json!({"jti": "none"})), NOW).await.is_ok());
    for typ in ["at+jwt", "oauth-authz-req+jwt", "dpop+jwt", "logout+jwt", "application/at+jwt", ""] {
        let presented = sign_as(Some(typ), &key, &json!({"jti": typ.len().to_string()}));
        let refused = answer(&given, presented, NOW).await;
        assert!(
            matches!(refused, Err(ClientAuthError::Assertion(AssertionError::Type))),
            "{typ}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn each_claim_is_checked() {
    let (given, key, now) = (given(), es256("k"), NOW.as_secs());
    given.client(with_keys(&[&key]), Vec::new());
    for (changes, expected) in [
        (json!({"iss": "other"}), AssertionError::Issuer),
        (json!({"aud": "https://other.example"}), AssertionError::Audience),
        (json!({"aud": []}), AssertionError::Audience),
        (json!({"exp": now}), AssertionError::Expired),
        (json!({"exp": now + 3 * 3600}), AssertionError::TooLong),
        (json!({"exp": -1}), AssertionError::Claims),
        (json!({"exp": "soon"}), AssertionError::Claims),
        (json!({"jti": ""}), AssertionError::Claims),
        (json!({"jti": null}), AssertionError::Claims),
        (json!({"nbf": now + 120}), AssertionError::NotYet),
        (json!({"iat": now + 120}), AssertionError::NotYet),
    ] {
        match answer(&given, sign(&key, &changes), NOW).await {
            Err(ClientAuthError::Assertion(why)) => assert_eq!(why, expected, "{changes}"),
            other => panic!("{changes}: {other:?}"),
        }
    }
    let skewed = json!({"nbf": now + 30, "iat": 1_000_030.5, "exp": 1_000_060.25});
    assert!(answer(&given, sign(&key, &skewed), NOW).await.is_ok());
}

#[tokio::test]
async fn another_subject_is_another_client() {
    let (given, key) = (given(), es256("k"));
    given.client(with_keys(&[&key]), Vec::new());
    let unknown = answer(&given, sign(&key, &json!({"sub": "other"})), NOW).await;
    assert!(matches!(unknown, Err(ClientAuthError::UnknownClient)));
    let Presented::Assertion { assertion, .. } = sign(&key, &json!({})) else { panic!() };
    let presented = Presented::Assertion { client: Some("other".parse().unwrap()), assertion };
    assert!(matches!(answer(&given, presented, NOW).await, Err(ClientAuthError::DifferentClients)));
}

#[tokio::test]
async fn the_registered_algorithm_and_keys_are_the_only_ones() {
    let (given, key, other) = (given(), es256("k"), es256("k"));
    let metadata =
        ClientMetadata { token_endpoint_auth_signing_alg: "RS256".to_owned(), ..with_keys(&[&key]) };
    given.client(metadata, Vec::new());
    let wrong = answer(&given, sign(&key, &json!({})), NOW).await;
    assert!(matches!(wrong, Err(ClientAuthError::Assertion(AssertionError::Algorithm))));
    given.client(with_keys(&[&key]), Vec::new());
    let foreign = answer(&given, sign(&other, &json!({})), NOW).await;
    assert!(matches!(foreign, Err(ClientAuthError::Assertion(AssertionError::Signature(_)))));
    let none = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJhcHAiLCJzdWIiOiJhcHAiLCJhdWQiOiJ4IiwiZXhwIjoxLCJqdGkiOiIxIn0.";
    let unsigned = Presented::Assertion { client: None, assertion: Secret::new(none.to_owned()) };
    assert!(matches!(answer(&given, unsigned, NOW).await, Err(ClientAuthError::Assertion(_))));
}

/// Whoever registers keys chooses how many there are.
#[tokio::test]
async fn of_an_assertion_that_names_no_key_two_keys_are_tried_and_no_more() {
    let (given, keys) = (given(), ["one", "two", "three"].map(es256));
    given.client(with_keys(&keys.each_ref()), Vec::new());
    for (number, key) in keys.iter().enumerate() {
        let named = sign(key, &json!({"jti": format!("named {number}")}));
        assert!(answer(&given, named, NOW).await.is_ok());
        let unnamed = sign(&Jwk { kid: None, ..key.clone() }, &json!({"jti": format!("unnamed {number}")}));
        let answered = answer(&given, unnamed, NOW).await;
        assert_eq!(answered.is_ok(), number < 2, "{number}: {answered:?}");
    }
}

/// Clients choose what is at their URIs, and with it how much work it is.
#[tokio::test]
async fn keys_at_a_uri_that_are_slow_to_use_are_passed_over() {
    let (given, key) = (given(), es256("k"));
    let client = given.client(with_uri(), Vec::new());
    let rsa = |bytes: usize| {
        let n = Some(URL_SAFE_NO_PAD.encode(vec![0xff_u8; bytes]));
        Jwk { kty: "RSA".to_owned(), n, e: Some("AQAB".to_owned()), ..Jwk::default() }
    };
    *given.source.answer.lock() = Some(served(&[&rsa(1024), &rsa(512), &key], None));
    let keys = ClientKeys::new(given.source.clone()).of(&client, NOW).await.unwrap();
    assert_eq!((keys.set.keys.len(), keys.verifying.len()), (2, 2));
    assert!(answer(&given, sign(&key, &json!({})), NOW).await.is_ok());
    let registered = given.client(with_keys(&[&rsa(1024)]), Vec::new());
    let keys = ClientKeys::new(given.source.clone()).of(&registered, NOW).await.unwrap();
    assert_eq!(keys.verifying.len(), 1, "an administrator may register it");
}

#[tokio::test]
async fn all_public_key_algorithms_are_accepted() {
    for algorithm in
        [SigningAlgorithm::RS256, SigningAlgorithm::PS256, SigningAlgorithm::EdDSA, SigningAlgorithm::ES512]
    {
        let (given, key) = (given(), key(algorithm, "k"));
        given.client(with_keys(&[&key]), Vec::new());
        assert!(answer(&given, sign(&key, &json!({})), NOW).await.is_ok(), "{algorithm}");
    }
}

#[tokio::test]
async fn keys_at_a_uri_are_fetched_once_and_kept_for_their_time() {
    let (given, key) = (Arc::new(given()), es256("k"));
    given.client(with_uri(), Vec::new());
    *given.source.answer.lock() = Some(served(&[&key], Some(Lifetime::hours(24))));
    let at_once: Vec<_> = (0..16)
        .map(|number| {
            let (given, presented) = (given.clone(), sign(&key, &json!({"jti": number.to_string()})));
            tokio::spawn(async move { answer(&given, presented, NOW).await.is_ok() })
        })
        .collect();
    for one in at_once {
        assert!(one.await.unwrap());
    }
    let fetches = || given.source.fetches.load(Ordering::SeqCst);
    assert_eq!(fetches(), 1);
    let later = NOW + Lifetime::minutes(61);
    let late = sign(&key, &json!({"jti": "late", "exp": later.as_secs() + 60}));
    assert!(answer(&given, late, later).await.is_ok());
    assert_eq!(fetches(), 2, "no longer than an hour, whatever the answer says");
}

#[tokio::test]
async fn an_unknown_key_is_looked_for_again_but_not_all_the_time() {
    let (given, old, new) = (given(), es256("old"), es256("new"));
    given.client(with_uri(), Vec::new());
    *given.source.answer.lock() = Some(served(&[&old], None));
    assert!(answer(&given, sign(&old, &json!({})), NOW).await.is_ok());
    *given.source.answer.lock() = Some(served(&[&new], None));
    let at = |secs: u32| NOW + Lifetime::secs(secs);
    for _ in 0..10 {
        assert!(answer(&given, sign(&new, &json!({"jti": "2"})), at(5)).await.is_err());
    }
    assert_eq!(given.source.fetches.load(Ordering::SeqCst), 1);
    assert!(answer(&given, sign(&new, &json!({"jti": "2"})), at(31)).await.is_ok());
    assert_eq!(given.source.fetches.load(Ordering::SeqCst), 2);
}

/// A client need not name its keys.
#[tokio::test]
async fn a_new_key_without_a_name_is_looked_for_as_well() {
    let (given, old, new) = (given(), es256("old"), es256("new"));
    let unnamed = |key: &Jwk| Jwk { kid: None, ..key.clone() };
    given.client(with_uri(), Vec::new());
    *given.source.answer.lock() = Some(served(&[&unnamed(&old)], None));
    assert!(answer(&given, sign(&unnamed(&old), &json!({})), NOW).await.is_ok());
    *given.source.answer.lock() = Some(served(&[&unnamed(&new)], None));
    let at = |secs: u32| NOW + Lifetime::secs(secs);
    for _ in 0..10 {
        assert!(answer(&given, sign(&unnamed(&new), &json!({"jti": "2"})), at(5)).await.is_err());
    }
    assert_eq!(given.source.fetches.load(Ordering::SeqCst), 1);
    assert!(answer(&given, sign(&unnamed(&new), &json!({"jti": "2"})), at(31)).await.is_ok());
    assert_eq!(given.source.fetches.load(Ordering::SeqCst), 2);
}

/// Whoever forges what a key of this name would have signed is told from who has a newer key.
#[tokio::test]
async fn a_wrong_signature_of_a_key_that_is_known_fetches_nothing() {
    let (given, key) = (given(), es256("k"));
    given.client(with_uri(), Vec::new());
    *given.source.answer.lock() = Some(served(&[&key], None));
    assert!(answer(&given, sign(&key, &json!({})), NOW).await.is_ok());
    assert!(answer(&given, sign(&es256("k"), &json!({"jti": "2"})), NOW + Lifetime::secs(31)).await.is_err());
    assert_eq!(given.source.fetches.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_set_of_more_than_a_hundred_keys_is_none() {
    let (given, key) = (given(), es256("k"));
    given.client(with_uri(), Vec::new());
    *given.source.answer.lock() = Some(served(&[&key; 101], None));
    assert!(answer(&given, sign(&key, &json!({})), NOW).await.is_err());
    *given.source.answer.lock() = Some(served(&[&key; 100], None));
    let later = NOW + Lifetime::secs(11);
    assert!(answer(&given, sign(&key, &json!({"jti": "2"})), later).await.is_ok());
}

#[tokio::test]
async fn entries_that_are_no_keys_are_not_kept() {
    let (given, key) = (given(), es256("k"));
    let client = given.client(with_uri(), Vec::new());
    let good = serde_json::to_string(&key.public()).unwrap();
    let body = format!(r#"{{"keys":[{}{good}]}}"#, r#"{"kty":""},"#.repeat(1000)).into_bytes();
    *given.source.answer.lock() = Some(FetchedKeySet { body, max_age: None });
    let keys = ClientKeys::new(given.source.clone()).of(&client, NOW).await.unwrap();
    assert_eq!((keys.set.keys.len(), keys.verifying.len()), (1, 1));
    assert!(answer(&given, sign(&key, &json!({})), NOW).await.is_ok());
}

#[tokio::test]
async fn a_uri_that_fails_is_left_alone_for_a_moment_and_old_keys_serve_meanwhile() {
    let (given, key) = (given(), es256("k"));
    given.client(with_uri(), Vec::new());
    for _ in 0..5 {
        let refused = answer(&given, sign(&key, &json!({})), NOW).await.unwrap_err();
        assert_eq!(refused.code(), sluice_protocol::ErrorCode::InvalidClient);
        assert!(refused.description().contains("jwks_uri"), "{}", refused.description());
    }
    assert_eq!(given.source.fetches.load(Ordering::SeqCst), 1);
    *given.source.answer.lock() = Some(served(&[&key], Some(Lifetime::ZERO)));
    let at = |secs: u32| NOW + Lifetime::secs(secs);
    assert!(answer(&given, sign(&key, &json!({"jti": "1"})), at(11)).await.is_ok());
    *given.source.answer.lock() = None;
    let late = json!({"jti": "2", "exp": at(200).as_secs()});
    assert!(answer(&given, sign(&key, &late), at(100)).await.is_ok(), "kept for a minute, then old but good");
    assert_eq!(given.source.fetches.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn who_asks_and_goes_away_does_not_take_old_keys_along() {
    let (given, key) = (given(), es256("k"));
    given.client(with_uri(), Vec::new());
    *given.source.answer.lock() = Some(served(&[&key], None));
    assert!(answer(&given, sign(&key, &json!({})), NOW).await.is_ok());
    *given.source.answer.lock() = None;
    let at = |secs: u32| NOW + Lifetime::minutes(10) + Lifetime::secs(secs);
    let says = |jti: &str| json!({"jti": jti, "exp": at(60).as_secs()});
    let fetches = || given.source.fetches.load(Ordering::SeqCst);
    // Polled once, up to the host's answer.
    assert!(at_once(answer(&given, sign(&key, &says("2")), at(0))).await.is_none());
    assert_eq!(fetches(), 2);
    at_once(answer(&given, sign(&es256("unknown"), &says("3")), at(9))).await;
    assert!(answer(&given, sign(&key, &says("4")), at(9)).await.is_ok());
    assert_eq!(fetches(), 2, "the host is left alone for a moment");
    assert!(answer(&given, sign(&key, &says("5")), at(10)).await.is_ok());
    assert_eq!(fetches(), 3);
}

/// What a future answers at once; it is dropped if that is nothing.
async fn at_once<T>(asked: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        answer = asked => Some(answer),
        () = std::future::ready(()) => None,
    }
}

#[tokio::test]
async fn a_secret_that_has_ended_signs_nothing() {
    const SECRET: &[u8] = b"a secret that is as long as it must be";
    let given = given();
    let token_endpoint_auth_method = "client_secret_jwt".to_owned();
    let metadata = ClientMetadata { token_endpoint_auth_method, ..ClientMetadata::default() };
    let mut client = given.client(metadata, Vec::new());
    let at_rest = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]);
    client.security.sealed_secret = Some(at_rest.seal(Purpose::ClientSecret, SECRET, &SeededRng::new(1)));
    for (jti, ends, newer, is_good) in
        [("1", NOW + Lifetime::secs(1), 0, true), ("2", NOW, 0, false), ("3", NOW, 1, true)]
    {
        client.secrets_end = Some(SecretsEnd { at: ends, newer });
        given.repo.put(client.clone());
        given.directory.forget(&client.id);
        let payload = serde_json::to_vec(&claims(&json!({"jti": jti}))).unwrap();
        let token = sign_hmac(Some("JWT"), &payload, SECRET, MacAlgorithm::HS256).unwrap();
        let presented = Presented::Assertion { client: None, assertion: Secret::new(token) };
        match answer(&given, presented, NOW).await {
            Ok(()) => assert!(is_good, "{jti}"),
            Err(ClientAuthError::SecretExpired) => assert!(!is_good, "{jti}"),
            Err(other) => panic!("{jti}: {other}"),
        }
    }
}
