use std::sync::OnceLock;

use super::*;
use crate::keys::fake::FakeKeys;
use crate::keys::{NoHint, REQUEST_OBJECT_ALGORITHMS};
use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sluice_crypto::Purpose;
use sluice_crypto::jwe::{ContentEncryption, EncryptionKey, KeyManagement, decrypt, encrypt};
use sluice_crypto::jwk::{Jwk, JwkError, JwkSet};
use sluice_crypto::jws::VerifyingKey;
use sluice_primitives::{Lifetime, ManualClock, NetworkId, OsRng, Secret, Timestamp};
use tokio::sync::Notify;

fn at_rest(secret: &str) -> Arc<Sealer> {
    Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(secret.as_bytes().to_vec())]))
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)))
}

async fn start(repo: &Arc<FakeKeys>, clock: &Arc<ManualClock>) -> Arc<KeyRing> {
    KeyRing::start(repo.clone(), at_rest("secret"), Arc::new(OsRng), clock.clone()).await.unwrap()
}

/// A key of the id token set, written as another node would.
fn es256(clock: &ManualClock, kid: &str, state: KeyState) -> StoredKey {
    let sealer = KeySealer { at_rest: at_rest("secret"), rng: Arc::new(OsRng) };
    let jwk = Jwk::generate(SigningAlgorithm::ES256, kid.to_owned(), RsaSize::default()).unwrap();
    sealer.seal(ID_TOKEN_SET, &jwk, state, clock.now())
}

fn kid(key: Option<Arc<SigningKey>>) -> String {
    key.unwrap().kid().unwrap().to_owned()
}

#[tokio::test]
async fn nodes_that_start_one_after_the_other_have_the_same_keys() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let (first, second) = (start(&repo, &clock).await, start(&repo, &clock).await);
    assert_eq!(repo.0.lock().len(), 4);
    assert_eq!(first.public_jwks(), second.public_jwks());
    for algorithm in ALGORITHMS {
        assert_eq!(kid(first.id_token_signer(algorithm)), kid(second.id_token_signer(algorithm)));
        assert!(first.access_token_signer(algorithm).is_some());
    }
    assert!(first.id_token_signer(SigningAlgorithm::EdDSA).is_none());
}

#[tokio::test]
async fn nodes_that_start_at_once_have_the_same_keys() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let nodes = [start(&repo, &clock), start(&repo, &clock), start(&repo, &clock)];
    let [one, two, three] = nodes;
    let (one, two, three) = tokio::join!(one, two, three);
    assert_eq!(repo.0.lock().len(), 4);
    assert!(one.public_jwks() == two.public_jwks() && two.public_jwks() == three.public_jwks());
}

#[tokio::test]
async fn only_public_parts_are_published() {
    let ring = start(&Arc::new(FakeKeys::default()), &clock()).await;
    let published: JwkSet = serde_json::from_str(&ring.public_jwks()).unwrap();
    assert_eq!(published.keys.len(), 4);
    assert!(published.keys.iter().all(|key| !key.is_private() && key.kid.is_some()));
    assert!(!ring.public_jwks().contains("\"d\""));
}

/// Rows of earlier versions, which took any key.
#[tokio::test]
async fn a_stored_key_that_is_malformed_is_not_published_and_one_with_such_certificates_goes_without_them() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let ring = start(&repo, &clock).await;
    let sealer = KeySealer { at_rest: at_rest("secret"), rng: Arc::new(OsRng) };
    let good =
        |kid: &str| Jwk::generate(SigningAlgorithm::ES256, kid.to_owned(), RsaSize::default()).unwrap();
    let signs = Jwk { x5c: Some(vec!["!!!".to_owned()]), ..good("signs") };
    let off_the_curve = Jwk { x: good("another").x, ..good("malformed") };
    for jwk in [&signs, &off_the_curve.public()] {
        clock.advance(Lifetime::secs(1));
        repo.0.lock().push(sealer.seal(ID_TOKEN_SET, jwk, KeyState::Active, clock.now()));
    }
    ring.reload(ID_TOKEN_SET).await.unwrap();
    assert_eq!(ring.loaded().malformed, ["malformed", "signs"]);
    let published: JwkSet = serde_json::from_str(&ring.public_jwks()).unwrap();
    assert!(published.keys.iter().all(|key| key.check().is_ok()));
    assert_eq!(kid(ring.id_token_signer(SigningAlgorithm::ES256)), "signs");
    assert!(published.find("signs").is_some_and(|key| key.x5c.is_none()));
    assert!(published.find("malformed").is_none() && published.keys.len() == 5);
}

#[tokio::test]
async fn own_tokens_verify_and_changed_ones_do_not() {
    let ring = start(&Arc::new(FakeKeys::default()), &clock()).await;
    for key in
        [ring.id_token_signer(SigningAlgorithm::RS256), ring.access_token_signer(SigningAlgorithm::ES256)]
    {
        let token = key.unwrap().sign(Some("JWT"), br#"{"sub":"alice"}"#).unwrap();
        assert_eq!(ring.verify_own(&token).unwrap().payload, br#"{"sub":"alice"}"#);
        let other = token.replace("eyJzdWIi", "eyJzdWJi");
        assert!(ring.verify_own(&other).is_err());
    }
    let foreign = start(&Arc::new(FakeKeys::default()), &clock()).await;
    let token = foreign.id_token_signer(SigningAlgorithm::ES256).unwrap().sign(None, b"{}").unwrap();
    assert_eq!(ring.verify_own(&token).unwrap_err(), VerifyError::UnknownKey);
}

#[tokio::test]
async fn an_announced_key_is_published_at_once_and_signs_later() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let ring = start(&repo, &clock).await;
    let old = kid(ring.id_token_signer(SigningAlgorithm::ES256));
    clock.advance(Lifetime::secs(1));
    repo.0.lock().push(es256(&clock, "next", KeyState::Announced));
    ring.reload(ID_TOKEN_SET).await.unwrap();
    assert!(ring.public_jwks().contains("\"next\""));
    assert_eq!(kid(ring.id_token_signer(SigningAlgorithm::ES256)), old);
    clock.advance(ring.policy().announce_for);
    assert_eq!(kid(ring.id_token_signer(SigningAlgorithm::ES256)), "next");
}

#[tokio::test]
async fn the_newest_active_key_signs_and_a_retiring_one_verifies() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let ring = start(&repo, &clock).await;
    let token = ring.id_token_signer(SigningAlgorithm::ES256).unwrap().sign(None, b"{}").unwrap();
    for row in repo.0.lock().iter_mut().filter(|row| row.set == ID_TOKEN_SET) {
        row.state = KeyState::Retiring;
    }
    clock.advance(Lifetime::hours(1));
    repo.0.lock().push(es256(&clock, "newer", KeyState::Active));
    ring.reload("another set").await.unwrap();
    assert_ne!(kid(ring.id_token_signer(SigningAlgorithm::ES256)), "newer", "not ours, so nothing was read");
    ring.reload(ID_TOKEN_SET).await.unwrap();
    assert_eq!(kid(ring.id_token_signer(SigningAlgorithm::ES256)), "newer");
    assert!(ring.verify_own(&token).is_ok());
    assert!(ring.id_token_signer(SigningAlgorithm::RS256).is_none());
}

#[tokio::test]
async fn a_slow_reading_does_not_undo_a_later_one() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let ring = start(&repo, &clock).await;
    let go_on = Arc::new(Notify::new());
    *repo.3.lock() = Some((ACCESS_TOKEN_SET, Arc::clone(&go_on)));
    let mut slow = std::pin::pin!(ring.reload(ID_TOKEN_SET));
    assert!(slow.as_mut().now_or_never().is_none(), "it has read the id token set, and waits");
    clock.advance(Lifetime::secs(1));
    repo.0.lock().push(es256(&clock, "newer", KeyState::Active));
    ring.reload(ID_TOKEN_SET).await.unwrap();
    assert_eq!(kid(ring.id_token_signer(SigningAlgorithm::ES256)), "newer");
    go_on.notify_one();
    slow.await.unwrap();
    assert_eq!(kid(ring.id_token_signer(SigningAlgorithm::ES256)), "newer");
    assert!(ring.public_jwks().contains("\"newer\""));
}

/// Makes keys, and notes whether there was something to sign with when it was asked for one.
#[derive(Debug, Default)]
struct Watching {
    ring: OnceLock<Arc<KeyRing>>,
    signed: Mutex<Vec<bool>>,
}

impl KeyMaker for Watching {
    fn signing(&self, algorithm: SigningAlgorithm, kid: String, rsa: RsaSize) -> Result<Jwk, JwkError> {
        if let Some(ring) = self.ring.get() {
            self.signed.lock().push(ring.id_token_signer(algorithm).is_some());
        }
        NewKeys.signing(algorithm, kid, rsa)
    }

    fn encryption(&self, algorithm: KeyManagement, kid: String, rsa: RsaSize) -> Result<Jwk, JwkError> {
        NewKeys.encryption(algorithm, kid, rsa)
    }
}

#[tokio::test]
async fn what_is_gone_signs_on_until_its_successor_is_made() {
    let (repo, clock, maker) = (Arc::new(FakeKeys::default()), clock(), Arc::new(Watching::default()));
    let options = RingOptions { maker: maker.clone(), ..RingOptions::default() };
    let rng = Arc::new(OsRng);
    let ring =
        KeyRing::start_with(repo.clone(), at_rest("secret"), rng, clock.clone(), options).await.unwrap();
    let old = kid(ring.id_token_signer(SigningAlgorithm::ES256));
    assert!(maker.ring.set(ring.clone()).is_ok());
    repo.0.lock().retain(|row| row.set != ID_TOKEN_SET);
    ring.create_missing(Vec::new()).await.unwrap();
    assert_eq!(*maker.signed.lock(), [true, true]);
    assert_ne!(kid(ring.id_token_signer(SigningAlgorithm::ES256)), old);
    repo.0.lock().retain(|row| row.set != ID_TOKEN_SET);
    *repo.2.lock() = Some(0);
    assert!(ring.create_missing(Vec::new()).await.is_err());
    assert!(ring.id_token_signer(SigningAlgorithm::ES256).is_none(), "but not where there is to be none");
}

#[tokio::test]
async fn a_key_that_does_not_open_stops_the_start() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    start(&repo, &clock).await;
    let refused = KeyRing::start(repo, at_rest("another"), Arc::new(OsRng), clock).await.unwrap_err();
    assert!(matches!(refused, KeyError::Sealed { .. }));
}

#[tokio::test]
async fn a_key_of_another_algorithm_is_made_when_it_is_first_needed() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let (one, other) = (start(&repo, &clock).await, start(&repo, &clock).await);
    for algorithm in [SigningAlgorithm::PS256, SigningAlgorithm::EdDSA, SigningAlgorithm::ES384] {
        let (first, second) =
            tokio::join!(one.ensure(ID_TOKEN_SET, algorithm), other.ensure(ID_TOKEN_SET, algorithm));
        first.and(second).unwrap();
        one.reload(ID_TOKEN_SET).await.unwrap();
        let token = one.id_token_signer(algorithm).unwrap().sign(None, b"{}").unwrap();
        assert!(other.verify_own(&token).is_ok());
        assert_eq!(kid(one.id_token_signer(algorithm)), kid(other.id_token_signer(algorithm)));
        assert!(one.access_token_signer(algorithm).is_none());
    }
    assert_eq!(repo.0.lock().len(), 7);
    let foreign = one.ensure("mine", SigningAlgorithm::PS256).await;
    assert!(matches!(foreign, Err(KeyError::NotOwn(_))));
}

#[tokio::test]
async fn keys_for_request_objects_are_made_once_and_published_for_encryption() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let (one, other) = (start(&repo, &clock).await, start(&repo, &clock).await);
    assert!(one.request_object_keys().is_empty());
    let (first, second) = tokio::join!(one.ensure_request_object_keys(), other.ensure_request_object_keys());
    first.and(second).unwrap();
    one.reload(REQUEST_OBJECT_SET).await.unwrap();
    assert_eq!(one.public_jwks(), other.public_jwks());
    assert_eq!(
        one.request_object_algorithms(),
        [KeyManagement::RsaOaep256],
        "the other one is made for clients"
    );
    let ecdh = KeyManagement::EcdhEs;
    let (first, second) =
        tokio::join!(one.ensure_request_object_key(ecdh), other.ensure_request_object_key(ecdh));
    first.and(second).unwrap();
    one.reload(REQUEST_OBJECT_SET).await.unwrap();
    assert_eq!(one.public_jwks(), other.public_jwks());
    assert_eq!(one.request_object_algorithms(), REQUEST_OBJECT_ALGORITHMS);
    let published: JwkSet = serde_json::from_str(&one.public_jwks()).unwrap();
    let public: Vec<_> = published.keys.iter().filter(|key| key.key_use.as_deref() == Some("enc")).collect();
    let mut algorithms: Vec<_> = public.iter().filter_map(|key| key.alg.as_deref()).collect();
    algorithms.sort_unstable();
    assert_eq!(algorithms, ["ECDH-ES", "RSA-OAEP-256"]);
    for jwk in public {
        let key = EncryptionKey::from_jwk(jwk).unwrap();
        let token = encrypt(b"{}", &key, ContentEncryption::A128Gcm, None).unwrap();
        assert_eq!(decrypt(&token, &other.request_object_keys()).unwrap().payload.as_slice(), b"{}");
        assert!(!jwk.is_private() && VerifyingKey::from_jwk(jwk).is_err());
    }
}

/// For those who take the first key, and for those who read no key if they do not know the `alg` of one: `jsonwebtoken` 9 knows these.
#[tokio::test]
async fn first_comes_what_signs_if_nobody_asks_otherwise_and_each_key_has_a_common_algorithm() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let ring = start(&repo, &clock).await;
    clock.advance(Lifetime::hours(1));
    ring.ensure(ID_TOKEN_SET, SigningAlgorithm::ES384).await.unwrap();
    ring.ensure_request_object_keys().await.unwrap();
    let published: JwkSet = serde_json::from_str(&ring.public_jwks()).unwrap();
    let algorithms: Vec<_> = published.keys.iter().map(|key| key.alg.as_deref()).collect();
    assert_eq!(algorithms[..2], [Some("RS256"), Some("RS256")]);
    let mut known: Vec<_> = algorithms.iter().flatten().copied().collect();
    known.sort_unstable();
    assert_eq!(known, ["ES256", "ES256", "ES384", "RS256", "RS256", "RSA-OAEP-256"]);
    assert_eq!(known.len(), published.keys.len());
    let signing: JwkSet = serde_json::from_str(&ring.signing_jwks()).unwrap();
    assert_eq!(signing.keys[..], published.keys[..5]);
}

/// Who takes the first key would fail for as long as it is announced.
#[tokio::test]
async fn an_announced_key_is_published_behind_the_one_that_signs_until_it_does() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let ring = start(&repo, &clock).await;
    let signer = || kid(ring.id_token_signer(SigningAlgorithm::RS256));
    let published = || -> Vec<String> {
        let published: JwkSet = serde_json::from_str(&ring.public_jwks()).unwrap();
        published.keys.into_iter().filter_map(|key| key.kid).collect()
    };
    let (old, before) = (signer(), published());
    clock.advance(Lifetime::secs(1));
    let wanted = (ID_TOKEN_SET, SigningAlgorithm::RS256);
    let next = ring.make_key(wanted, KeyState::Announced, RsaSize::Bits2048).await.unwrap();
    repo.0.lock().push(next.clone());
    ring.reload(ID_TOKEN_SET).await.unwrap();
    let announced = published();
    assert_eq!((&announced[0], &announced[1], &announced[2]), (&old, &before[1], &next.kid));
    assert_eq!(signer(), old);
    let signing = ring.signing_jwks();
    clock.advance(ring.policy().announce_for);
    let signs = published();
    assert_eq!((&signs[0], &signs[1], &signs[2]), (&next.kid, &before[1], &old), "nothing was read again");
    assert_eq!(signer(), next.kid);
    assert_eq!((signs.len(), ring.signing_jwks()), (5, signing));
    ring.reload(ID_TOKEN_SET).await.unwrap();
    assert_eq!(published(), signs);
}

#[tokio::test]
async fn where_all_keys_are_announced_the_one_that_signs_all_the_same_is_published_first() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let ring = start(&repo, &clock).await;
    clock.advance(Lifetime::secs(1));
    let wanted = (ID_TOKEN_SET, SigningAlgorithm::RS256);
    let next = ring.make_key(wanted, KeyState::Announced, RsaSize::Bits2048).await.unwrap();
    repo.0.lock().iter_mut().for_each(|row| row.state = KeyState::Announced);
    repo.0.lock().push(next.clone());
    ring.reload(ID_TOKEN_SET).await.unwrap();
    assert_eq!(kid(ring.id_token_signer(SigningAlgorithm::RS256)), next.kid);
    let published: JwkSet = serde_json::from_str(&ring.public_jwks()).unwrap();
    assert_eq!(published.keys[0].kid.as_deref(), Some(next.kid.as_str()));
}

#[tokio::test]
async fn what_a_key_for_encryption_signed_is_not_ours() {
    let (repo, clock) = (Arc::new(FakeKeys::default()), clock());
    let ring = start(&repo, &clock).await;
    for (set, key_use) in
        [(ID_TOKEN_SET, Some("enc")), (REQUEST_OBJECT_SET, Some("enc")), (REQUEST_OBJECT_SET, None)]
    {
        let made = Jwk::generate(SigningAlgorithm::ES256, "enc".to_owned(), RsaSize::default()).unwrap();
        let token = SigningKey::from_jwk(&made).unwrap().sign(None, b"{}").unwrap();
        let kept = Jwk { key_use: key_use.map(str::to_owned), ..made };
        repo.add(vec![ring.sealer.seal(set, &kept, KeyState::Active, clock.now())]).await.unwrap();
        ring.reload(set).await.unwrap();
        assert_eq!(ring.verify_own(&token).unwrap_err(), VerifyError::UnknownKey, "{set} {key_use:?}");
    }
}

/// Earlier versions let pages say something else by the name of the sealed claim.
#[tokio::test]
async fn a_token_with_a_sealed_claim_is_no_hint_whatever_secret_sealed_it() {
    const ISSUER: &str = "https://op.example";
    let ring = start(&Arc::new(FakeKeys::default()), &clock()).await;
    let sealed = at_rest("one that is gone").seal(Purpose::TokenFacts, b"facts", &OsRng);
    for (slc, is_hint) in
        [(Value::Null, true), (json!("x"), true), (json!({"a": 1}), true), (json!(sealed), false)]
    {
        let claims = json!({"iss": ISSUER, "sub": "alice", "exp": 1, "slc": slc}).to_string();
        let key = ring.id_token_signer(SigningAlgorithm::ES256).unwrap();
        let token = key.sign(Some("JWT"), claims.as_bytes()).unwrap();
        assert_eq!(ring.verify_id_token_hint(&token, ISSUER).is_ok(), is_hint, "{claims}");
    }
}

#[tokio::test]
async fn a_hint_whose_key_is_gone_is_told_from_one_that_is_not_ours() {
    const ISSUER: &str = "https://op.example";
    let (ring, before) = (
        start(&Arc::new(FakeKeys::default()), &clock()).await,
        start(&Arc::new(FakeKeys::default()), &clock()).await,
    );
    let key = before.id_token_signer(SigningAlgorithm::ES256).unwrap();
    let signed = |claims: &Value| key.sign(Some("JWT"), claims.to_string().as_bytes()).unwrap();
    let own = json!({"iss": ISSUER, "sub": "alice", "exp": 1});
    assert_eq!(before.verify_id_token_hint(&signed(&own), ISSUER).unwrap().subject.as_str(), "alice");
    assert_eq!(ring.verify_id_token_hint(&signed(&own), ISSUER), Err(NoHint::KeyGone));
    for claims in [
        json!({"iss": "https://elsewhere.example", "sub": "alice", "exp": 1}),
        json!({"iss": ISSUER, "sub": "alice"}),
        json!({"sub": "alice", "exp": 1}),
    ] {
        assert_eq!(ring.verify_id_token_hint(&signed(&claims), ISSUER), Err(NoHint::NotOurs), "{claims}");
    }
    // A key of the same name that signs with another algorithm.
    let known = kid(ring.id_token_signer(SigningAlgorithm::RS256));
    let twin = Jwk::generate(SigningAlgorithm::ES256, known, RsaSize::default()).unwrap();
    let forged = SigningKey::from_jwk(&twin).unwrap().sign(Some("JWT"), own.to_string().as_bytes()).unwrap();
    assert_eq!(ring.verify_own(&forged).unwrap_err(), VerifyError::UnknownKey);
    assert_eq!(ring.verify_id_token_hint(&forged, ISSUER), Err(NoHint::NotOurs));
    assert_eq!(ring.verify_id_token_hint("a.b.c", ISSUER), Err(NoHint::NotOurs));
    let modified = format!("{}AAAA", signed(&own));
    assert_eq!(before.verify_id_token_hint(&modified, ISSUER), Err(NoHint::NotOurs));
}
