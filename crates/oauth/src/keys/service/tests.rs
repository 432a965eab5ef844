use super::*;
use crate::keys::KeyRotation;
use crate::keys::fake::FakeKeys;
use crate::keys::ring::ID_TOKEN_SET;
use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};

async fn given() -> (KeyService, Arc<KeyRing>, Arc<FakeKeys>) {
    given_at(Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)))).await
}

async fn given_at(clock: Arc<ManualClock>) -> (KeyService, Arc<KeyRing>, Arc<FakeKeys>) {
    let repo = Arc::new(FakeKeys::default());
    let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]));
    let ring = KeyRing::start(repo.clone(), at_rest.clone(), Arc::new(OsRng), clock.clone()).await.unwrap();
    (KeyService::new(repo.clone(), at_rest, Arc::new(OsRng), clock, ring.clone()), ring, repo)
}

fn asking(algorithm: &str, kid: &str) -> NewKey {
    NewKey { algorithm: algorithm.to_owned(), kid: kid.to_owned(), key_use: String::new() }
}

fn key(json: &str) -> Jwk {
    serde_json::from_str(json).unwrap()
}

#[tokio::test]
async fn keys_are_made_for_each_algorithm_and_kept_sealed() {
    let (service, _, repo) = given().await;
    for algorithm in ["ES256", "ES512", "EdDSA", "RS256", "RS512", "HS256", "HS512"] {
        let made = service.create("mine", asking(algorithm, algorithm)).await.unwrap();
        assert_eq!(made.keys.len(), 1, "the new key alone is answered");
        assert_eq!(service.key("mine", algorithm).await.unwrap(), made);
        let secret = made.keys[0].d.as_ref().or(made.keys[0].k.as_ref()).unwrap().expose();
        assert!(repo.0.lock().iter().all(|row| !row.sealed.contains(secret)));
    }
    assert_eq!(service.set("mine").await.unwrap().keys.len(), 7);
    let unknown = service.create("mine", asking("none", "k")).await;
    assert!(matches!(unknown, Err(KeyServiceError::Algorithm)));
}

/// Who verifies a token looks for its algorithm in the key.
#[tokio::test]
async fn an_algorithm_with_two_names_is_kept_by_the_one_that_tokens_say() {
    let (service, ring, _) = given().await;
    let made = service.create("elsewhere", asking("EdDSA", "k")).await.unwrap().keys.remove(0);
    let named = Jwk { alg: Some("Ed25519".to_owned()), ..made };
    service.put_key(ID_TOKEN_SET, named).await.unwrap();
    assert_eq!(service.key(ID_TOKEN_SET, "k").await.unwrap().keys[0].alg.as_deref(), Some("EdDSA"));
    assert!(ring.id_token_signer(SigningAlgorithm::EdDSA).is_some());
}

#[tokio::test]
async fn a_key_that_leaves_out_what_follows_from_its_primes_is_stored_whole() {
    let (service, ..) = given().await;
    let whole = Jwk::generate(SigningAlgorithm::RS256, "k".to_owned(), RsaSize::Bits2048).unwrap();
    let bare = Jwk { dp: None, dq: None, qi: None, ..whole.clone() };
    assert_eq!(service.put_key(ID_TOKEN_SET, bare.clone()).await.unwrap(), whole);
    assert_eq!(service.key(ID_TOKEN_SET, "k").await.unwrap().keys, std::slice::from_ref(&whole));
    let put = service.replace_set("mine", JwkSet { keys: vec![bare] }).await.unwrap();
    assert_eq!(put.keys, std::slice::from_ref(&whole));
    assert_eq!(service.key("mine", "k").await.unwrap().keys, [whole]);
}

#[tokio::test]
async fn a_key_without_a_name_is_given_one() {
    let (service, ..) = given().await;
    let made = service.create("mine", asking("ES256", "")).await.unwrap();
    assert!(uuid::Uuid::parse_str(made.keys[0].kid.as_deref().unwrap()).is_ok());
    assert_eq!(made.keys[0].key_use.as_deref(), Some("sig"));
}

#[tokio::test]
async fn a_key_is_not_made_under_a_kid_that_is_taken() {
    let (service, ring, repo) = given().await;
    let first = service.create("mine", asking("ES256", "k")).await.unwrap();
    let again = service.create("mine", asking("HS256", "k")).await;
    assert!(matches!(again, Err(KeyServiceError::Taken)));
    assert_eq!(service.set("mine").await.unwrap(), first);
    service.create("another", asking("ES256", "k")).await.unwrap();
    let kid = ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid().unwrap().to_owned();
    let before = repo.set(ID_TOKEN_SET).await.unwrap();
    let own = service.create(ID_TOKEN_SET, asking("ES256", &kid)).await;
    assert!(matches!(own, Err(KeyServiceError::Taken)));
    assert_eq!(repo.set(ID_TOKEN_SET).await.unwrap(), before, "what is signed with goes on as it was");
}

#[tokio::test]
async fn what_is_not_there_is_told_apart() {
    let (service, ..) = given().await;
    assert!(matches!(service.set("mine").await, Err(KeyServiceError::NoSuchSet)));
    assert!(matches!(service.key("mine", "k").await, Err(KeyServiceError::NoSuchKey)));
    service.delete_set("mine").await.unwrap();
    service.delete_key("mine", "k").await.unwrap();
}

#[tokio::test]
async fn a_set_is_replaced_whole_or_not_at_all() {
    let (service, ..) = given().await;
    service.create("mine", asking("ES256", "old")).await.unwrap();
    let one = key(r#"{"kty":"oct","k":"AAAA","kid":"one","alg":"HS256","use":"sig"}"#);
    let twice = service.replace_set("mine", JwkSet { keys: vec![one.clone(), one.clone()] }).await;
    assert!(matches!(twice, Err(KeyServiceError::SameKid)));
    let nameless = key(r#"{"kty":"oct","k":"AAAA"}"#);
    let refused = service.replace_set("mine", JwkSet { keys: vec![one.clone(), nameless] }).await;
    assert!(matches!(refused, Err(KeyServiceError::NoKid)));
    assert_eq!(service.set("mine").await.unwrap().keys[0].kid.as_deref(), Some("old"));
    service.replace_set("mine", JwkSet { keys: vec![one.clone()] }).await.unwrap();
    assert_eq!(service.set("mine").await.unwrap().keys, [one]);
}

#[tokio::test]
async fn what_is_no_key_is_refused() {
    let (service, ..) = given().await;
    for json in [
        r#"{"kty":"wat","kid":"k"}"#,
        r#"{"kty":"RSA","kid":"k"}"#,
        r#"{"kty":"EC","crv":"P-256","x":"AA","kid":"k"}"#,
    ] {
        assert!(
            matches!(service.put_key("mine", key(json)).await, Err(KeyServiceError::Invalid(_))),
            "{json}"
        );
    }
    let long = format!(r#"{{"kty":"oct","k":"AAAA","kid":"k","x5c":["{}"]}}"#, "A".repeat(MAX_JWK));
    assert!(matches!(service.put_key("mine", key(&long)).await, Err(KeyServiceError::TooLong)));
    let refused = service.put_key("\n", key(r#"{"kty":"oct","k":"AAAA","kid":"k"}"#)).await;
    assert!(matches!(refused, Err(KeyServiceError::Name)));
}

/// Whoever reads the published keys may give up all of them because of one.
#[tokio::test]
async fn a_key_that_is_malformed_or_contradicts_itself_is_refused_however_it_is_put() {
    let (service, ring, _) = given().await;
    let made =
        |kid: &str| Jwk::generate(SigningAlgorithm::ES256, kid.to_owned(), RsaSize::default()).unwrap();
    let good = made("good");
    for malformed in [
        Jwk { x: made("another").x, ..good.public() },
        Jwk { x: good.x.as_ref().map(|x| format!("{x}=")), ..good.public() },
        Jwk { d: made("another").d, ..good.clone() },
        Jwk { alg: Some("ES512".to_owned()), ..good.clone() },
        Jwk { x5c: Some(vec!["!!!".to_owned()]), ..good.clone() },
        key(r#"{"kty":"RSA","n":"!!!","e":"AQAB","kid":"k","alg":"RS256"}"#),
    ] {
        for set in ["mine", ID_TOKEN_SET] {
            let put = service.put_key(set, malformed.clone()).await;
            assert!(matches!(put, Err(KeyServiceError::Invalid(_))), "{malformed:?}");
            let keys = vec![made("beside"), malformed.clone()];
            let replaced = service.replace_set(set, JwkSet { keys }).await;
            assert!(matches!(replaced, Err(KeyServiceError::Invalid(_))), "{malformed:?}");
        }
    }
    let published = ring.public_jwks();
    assert!(!published.contains("\"good\"") && !published.contains("\"beside\""));
    service.put_key(ID_TOKEN_SET, good).await.unwrap();
}

/// It cannot sign here, which is warned about.
#[tokio::test]
async fn a_small_rsa_key_that_is_well_formed_is_taken() {
    let (service, ring, _) = given().await;
    let n = "_".repeat(170) + "8";
    let small = format!(r#"{{"kty":"RSA","n":"{n}","e":"AQAB","kid":"small","alg":"RS256","use":"sig"}}"#);
    service.put_key(ID_TOKEN_SET, key(&small)).await.unwrap();
    assert!(ring.public_jwks().contains("\"small\""));
}

#[tokio::test]
async fn names_that_no_path_can_name_are_refused() {
    let (service, ..) = given().await;
    for name in [".", ".."] {
        let made = service.create(name, asking("ES256", "k")).await;
        assert!(matches!(made, Err(KeyServiceError::Name)), "{name}");
        let made = service.create("mine", asking("ES256", name)).await;
        assert!(matches!(made, Err(KeyServiceError::Name)), "{name}");
        let jwk = Jwk { kid: Some(name.to_owned()), ..key(r#"{"kty":"oct","k":"AAAA"}"#) };
        let put = service.put_key("mine", jwk).await;
        assert!(matches!(put, Err(KeyServiceError::Name)), "{name}");
    }
    service.create("...", asking("ES256", ".k")).await.unwrap();
}

#[tokio::test]
async fn a_successor_of_a_signing_key_is_announced_first() {
    let (service, ring, repo) = given().await;
    service.create(ID_TOKEN_SET, asking("ES256", "next")).await.unwrap();
    service.create(ID_TOKEN_SET, asking("EdDSA", "first")).await.unwrap();
    let state = |kid: &str| repo.0.lock().iter().find(|row| row.kid == kid).unwrap().state;
    assert_eq!((state("next"), state("first")), (KeyState::Announced, KeyState::Active));
    assert!(ring.public_jwks().contains("\"next\""));
    assert_eq!(ring.id_token_signer(SigningAlgorithm::EdDSA).unwrap().kid(), Some("first"));
    assert_ne!(ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid(), Some("next"));
}

#[tokio::test]
async fn the_server_never_runs_out_of_signing_keys() {
    let (service, ring, _) = given().await;
    let old = ring.public_jwks();
    service.delete_set(ID_TOKEN_SET).await.unwrap();
    assert_ne!(ring.public_jwks(), old);
    assert!(ring.id_token_signer(SigningAlgorithm::RS256).is_some());
    let kid = ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid().unwrap().to_owned();
    service.delete_key(ID_TOKEN_SET, &kid).await.unwrap();
    assert_ne!(ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid(), Some(kid.as_str()));
    let signer = ring.id_token_signer(SigningAlgorithm::RS256).unwrap();
    let public = service.key(ID_TOKEN_SET, signer.kid().unwrap()).await.unwrap().public();
    service.replace_set(ID_TOKEN_SET, public).await.unwrap();
    assert!(ring.id_token_signer(SigningAlgorithm::RS256).is_some(), "a public key cannot sign");
    service.replace_set(ID_TOKEN_SET, JwkSet::default()).await.unwrap();
    assert!(ring.id_token_signer(SigningAlgorithm::ES256).is_some());
}

#[tokio::test]
async fn what_was_signed_with_before_a_set_went_is_signed_with_after() {
    let (service, ring, _) = given().await;
    ring.ensure(ID_TOKEN_SET, SigningAlgorithm::EdDSA).await.unwrap();
    service.delete_set(ID_TOKEN_SET).await.unwrap();
    assert!(ring.id_token_signer(SigningAlgorithm::EdDSA).is_some());
}

#[tokio::test]
async fn what_was_signed_with_is_signed_with_wherever_a_deletion_stops() {
    const USED: [SigningAlgorithm; 3] =
        [SigningAlgorithm::RS256, SigningAlgorithm::ES256, SigningAlgorithm::EdDSA];
    let (service, ring, repo) = given().await;
    ring.ensure(ID_TOKEN_SET, SigningAlgorithm::EdDSA).await.unwrap();
    let signers =
        || USED.map(|algorithm| ring.id_token_signer(algorithm).map(|key| key.kid().map(str::to_owned)));
    for writes in 0..=1 {
        let before = signers();
        *repo.2.lock() = Some(writes);
        let deleted = service.delete_set(ID_TOKEN_SET).await;
        *repo.2.lock() = None;
        ring.reload(ID_TOKEN_SET).await.unwrap();
        assert!(signers().iter().all(Option::is_some), "{writes}");
        assert_eq!(deleted.is_ok(), signers() != before, "all at once or not at all: {writes}");
    }
    let kid = ring.id_token_signer(SigningAlgorithm::EdDSA).unwrap().kid().unwrap().to_owned();
    for writes in 0..=2 {
        *repo.2.lock() = Some(writes);
        let deleted = service.delete_key(ID_TOKEN_SET, &kid).await;
        *repo.2.lock() = None;
        ring.reload(ID_TOKEN_SET).await.unwrap();
        assert!(ring.id_token_signer(SigningAlgorithm::EdDSA).is_some(), "{writes}");
        assert_eq!(deleted.is_ok(), writes == 2);
    }
    let keys = repo.set(ID_TOKEN_SET).await.unwrap();
    assert_eq!(
        keys.iter().filter(|key| key.algorithm == "EdDSA").count(),
        1,
        "who repeats makes no second one"
    );
    assert!(keys.iter().all(|key| key.kid != kid));
}

#[tokio::test]
async fn a_set_that_is_put_back_as_it_was_read_stays_as_it_was() {
    let (service, ring, repo) = given().await;
    service.create(ID_TOKEN_SET, asking("ES256", "next")).await.unwrap();
    let (rows, published) = (repo.set(ID_TOKEN_SET).await.unwrap(), ring.public_jwks());
    let keys = service.set(ID_TOKEN_SET).await.unwrap();
    service.replace_set(ID_TOKEN_SET, keys).await.unwrap();
    let facts = |rows: Vec<StoredKey>| -> Vec<_> {
        rows.into_iter().map(|row| (row.kid, row.state, row.created_at)).collect()
    };
    assert_eq!(facts(repo.set(ID_TOKEN_SET).await.unwrap()), facts(rows));
    assert_eq!(ring.public_jwks(), published);
}

#[tokio::test]
async fn the_first_of_the_keys_that_replace_a_set_signs() {
    let (service, ring, _) = given().await;
    let made = ["z", "a", "m"]
        .map(|kid| Jwk::generate(SigningAlgorithm::ES256, kid.into(), RsaSize::default()).unwrap());
    service.replace_set(ID_TOKEN_SET, JwkSet { keys: made.to_vec() }).await.unwrap();
    assert_eq!(ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid(), Some("z"));
}

/// However old the key is that goes on to sign.
#[tokio::test]
async fn a_new_key_behind_the_one_that_signs_is_published_and_verifies_for_as_long_as_a_predecessor() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let (service, ring, _) = given_at(clock.clone()).await;
    clock.advance(Lifetime::hours(100 * 24));
    let signer = || ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid().unwrap().to_owned();
    let publishes = |kid: &str| ring.public_jwks().contains(&format!("\"{kid}\""));
    let rotation = KeyRotation::new(ring.clone());
    let (old, policy) = (signer(), *ring.policy());
    let mut keys = service.set(ID_TOKEN_SET).await.unwrap();
    keys.keys.push(Jwk::generate(SigningAlgorithm::ES256, "new".to_owned(), RsaSize::default()).unwrap());
    service.replace_set(ID_TOKEN_SET, keys).await.unwrap();
    for (later, is_there) in
        [(Lifetime::ZERO, true), (policy.announce_for, true), (policy.retire_after, false)]
    {
        clock.advance(later);
        rotation.round(clock.now()).await.unwrap();
        assert_eq!((signer(), publishes("new")), (old.clone(), is_there), "{later:?}");
    }
    assert!(publishes(&old));
}

#[tokio::test]
async fn a_key_that_signs_no_more_keeps_its_age_before_a_new_one() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let (service, ring, repo) = given_at(clock.clone()).await;
    let made = ["signs", "retired", "new"]
        .map(|kid| Jwk::generate(SigningAlgorithm::ES256, kid.into(), RsaSize::default()).unwrap());
    service.replace_set(ID_TOKEN_SET, JwkSet { keys: made[..1].to_vec() }).await.unwrap();
    service.add_retired(ID_TOKEN_SET, &made[1..2]).await.unwrap();
    let row = |kid: &str| repo.0.lock().iter().find(|row| row.kid == kid).cloned().unwrap();
    let before = row("retired");
    clock.advance(Lifetime::hours(1));
    service.replace_set(ID_TOKEN_SET, JwkSet { keys: made.to_vec() }).await.unwrap();
    assert_eq!((row("retired").created_at, row("retired").state), (before.created_at, before.state));
    assert_eq!(ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid(), Some("signs"));
}

/// What is behind it signs nothing, or nobody signs with the set.
#[tokio::test]
async fn a_key_keeps_its_age_before_a_new_one_that_does_not_come_to_sign() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let (service, _, repo) = given_at(clock.clone()).await;
    let made = ["old", "new"]
        .map(|kid| Jwk::generate(SigningAlgorithm::ES256, kid.into(), RsaSize::default()).unwrap());
    for (set, is_public) in [(ID_TOKEN_SET, true), ("mine", false)] {
        service.replace_set(set, JwkSet { keys: made[..1].to_vec() }).await.unwrap();
        let age =
            || repo.0.lock().iter().find(|row| row.set == set && row.kid == "old").map(|row| row.created_at);
        let before = age();
        clock.advance(Lifetime::hours(1));
        let behind = if is_public { made[1].public() } else { made[1].clone() };
        service.replace_set(set, JwkSet { keys: vec![made[0].clone(), behind] }).await.unwrap();
        assert_eq!(age(), before, "{set}");
    }
}

#[tokio::test]
async fn keys_for_encryption_are_made_too() {
    let (service, ring, _) = given().await;
    for algorithm in ["RSA-OAEP-256", "ECDH-ES"] {
        let made =
            service.create(crate::keys::REQUEST_OBJECT_SET, asking(algorithm, algorithm)).await.unwrap();
        assert_eq!(
            (made.keys[0].key_use.as_deref(), made.keys[0].alg.as_deref()),
            (Some("enc"), Some(algorithm))
        );
        assert!(ring.request_object_keys().iter().any(|key| key.kid() == Some(algorithm)));
    }
}

#[tokio::test]
async fn the_server_never_runs_out_of_keys_for_request_objects() {
    let (service, ring, _) = given().await;
    ring.ensure_request_object_keys().await.unwrap();
    ring.ensure_request_object_key(KeyManagement::EcdhEs).await.unwrap();
    let kids = || -> BTreeSet<String> {
        ring.request_object_keys().iter().filter_map(|key| key.kid().map(str::to_owned)).collect()
    };
    let first = kids();
    service.delete_set(REQUEST_OBJECT_SET).await.unwrap();
    let second = kids();
    assert_eq!((first.len(), second.len()), (2, 1), "one for ECDH-ES is made for clients alone");
    assert!(second.is_disjoint(&first), "{first:?} {second:?}");
    assert_eq!(ring.request_object_algorithms(), [KeyManagement::RsaOaep256]);
    for kid in &second {
        service.delete_key(REQUEST_OBJECT_SET, kid).await.unwrap();
        assert!(kids().len() == 1 && !kids().contains(kid));
    }
    service.replace_set(REQUEST_OBJECT_SET, JwkSet::default()).await.unwrap();
    assert_eq!(ring.request_object_algorithms(), [KeyManagement::RsaOaep256]);
    assert!(kids().iter().all(|kid| ring.public_jwks().contains(kid.as_str())));
}

/// An ES256 key, and its public part under a name of its own.
fn key_and_part() -> (Jwk, Jwk) {
    let made = Jwk::generate(SigningAlgorithm::ES256, "private:1".to_owned(), RsaSize::default()).unwrap();
    let part = Jwk { kid: Some("public:1".to_owned()), ..made.public() };
    (made, part)
}

/// Whoever has it could go on to sign in that name.
#[tokio::test]
async fn the_public_part_of_a_key_goes_with_it_however_that_goes() {
    for way in ["deleted", "put", "replaced"] {
        let (service, ring, _) = given().await;
        let (private, part) = key_and_part();
        service.put_key(ID_TOKEN_SET, private.clone()).await.unwrap();
        service.add_retired(ID_TOKEN_SET, &[part]).await.unwrap();
        service.put_key(ID_TOKEN_SET, private).await.unwrap();
        assert!(ring.public_jwks().contains("\"public:1\""), "{way}: it is the same key");
        match way {
            "deleted" => service.delete_key(ID_TOKEN_SET, "private:1").await.unwrap(),
            "put" => {
                let (another, _) = key_and_part();
                service.put_key(ID_TOKEN_SET, another).await.unwrap();
            }
            _ => {
                let mut keys = service.set(ID_TOKEN_SET).await.unwrap();
                keys.keys.retain(|key| key.kid.as_deref() != Some("private:1"));
                service.replace_set(ID_TOKEN_SET, keys).await.unwrap();
            }
        }
        assert!(!ring.public_jwks().contains("\"public:1\""), "{way}");
    }
}

#[tokio::test]
async fn a_public_key_that_somebody_put_goes_with_its_private_key_and_with_no_other() {
    let (service, ring, _) = given().await;
    let (private, part) = key_and_part();
    service.put_key(ID_TOKEN_SET, part).await.unwrap();
    let publishes = || ring.public_jwks().contains("\"public:1\"");
    service.create(ID_TOKEN_SET, asking("EdDSA", "other")).await.unwrap();
    service.delete_key(ID_TOKEN_SET, "other").await.unwrap();
    assert!(publishes());
    service.put_key(ID_TOKEN_SET, private).await.unwrap();
    service.delete_key(ID_TOKEN_SET, "private:1").await.unwrap();
    assert!(!publishes());
}

/// As where that one is deleted, wherever it stops.
#[tokio::test]
async fn what_does_not_sign_takes_the_place_of_the_last_key_that_does_once_that_has_a_substitute() {
    let (service, ring, repo) = given().await;
    let signer = |algorithm| ring.id_token_signer(algorithm).unwrap().kid().unwrap().to_owned();
    let kid = signer(SigningAlgorithm::ES256);
    let public = service.key(ID_TOKEN_SET, &kid).await.unwrap().public().keys.remove(0);
    for writes in 0..=2 {
        *repo.2.lock() = Some(writes);
        let put = service.put_key(ID_TOKEN_SET, public.clone()).await;
        *repo.2.lock() = None;
        ring.reload(ID_TOKEN_SET).await.unwrap();
        assert_eq!(put.is_ok(), writes == 2, "{writes}");
        assert!(ring.id_token_signer(SigningAlgorithm::ES256).is_some(), "{writes}");
    }
    assert_ne!(signer(SigningAlgorithm::ES256), kid);
    assert_eq!(service.key(ID_TOKEN_SET, &kid).await.unwrap().keys, [public]);
    let kid = signer(SigningAlgorithm::RS256);
    let other = Jwk::generate(SigningAlgorithm::EdDSA, kid.clone(), RsaSize::default()).unwrap();
    service.put_key(ID_TOKEN_SET, other).await.unwrap();
    assert_eq!(signer(SigningAlgorithm::EdDSA), kid, "of another algorithm");
    assert_ne!(signer(SigningAlgorithm::RS256), kid);
}

#[tokio::test]
async fn a_key_that_signs_takes_the_place_of_one_and_nothing_is_made_beside_it() {
    let (service, ring, repo) = given().await;
    let kid = ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid().unwrap().to_owned();
    let before = repo.set(ID_TOKEN_SET).await.unwrap().len();
    let other = Jwk::generate(SigningAlgorithm::ES256, kid.clone(), RsaSize::default()).unwrap();
    service.put_key(ID_TOKEN_SET, other.clone()).await.unwrap();
    assert_eq!(service.key(ID_TOKEN_SET, &kid).await.unwrap().keys, [other]);
    assert_eq!(repo.set(ID_TOKEN_SET).await.unwrap().len(), before);
}

#[tokio::test]
async fn what_becomes_of_a_key_while_its_set_is_replaced_is_not_undone() {
    let (service, ring, repo) = given().await;
    let signer = || ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid().unwrap().to_owned();
    let (kid, keys) = (signer(), service.set(ID_TOKEN_SET).await.unwrap());
    let row = || repo.0.lock().iter().find(|row| row.kid == kid).unwrap().clone();
    *repo.4.lock() = Some(StoredKey { state: KeyState::Retiring, ..row() });
    service.replace_set(ID_TOKEN_SET, keys).await.unwrap();
    assert_eq!(row().state, KeyState::Retiring);
    assert_ne!(signer(), kid);
}
