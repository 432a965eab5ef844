use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::jwk::Jwk;
use sluice_crypto::jws::SigningKey;
use sluice_primitives::{Clock, Lifetime, ManualClock, NetworkId, OsRng, Secret};

use super::*;
use crate::keys::fake::FakeKeys;
use crate::keys::ring::{ACCESS_TOKEN_SET, ID_TOKEN_SET, KeyRing};

const ALGORITHM: SigningAlgorithm = SigningAlgorithm::ES256;

struct World {
    service: KeyService,
    ring: Arc<KeyRing>,
    clock: Arc<ManualClock>,
}

impl World {
    async fn new() -> Self {
        let repo = Arc::new(FakeKeys::default());
        let secrets = [Secret::new(b"secret".to_vec())];
        let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets));
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
        let ring =
            KeyRing::start(repo.clone(), at_rest.clone(), Arc::new(OsRng), clock.clone()).await.unwrap();
        let service = KeyService::new(repo, at_rest, Arc::new(OsRng), clock.clone(), ring.clone());
        clock.advance(Lifetime::hours(1));
        Self { service, ring, clock }
    }

    fn signer(&self) -> String {
        self.ring.id_token_signer(ALGORITHM).unwrap().kid().unwrap().to_owned()
    }

    fn token(&self) -> String {
        self.ring.id_token_signer(ALGORITHM).unwrap().sign(None, b"{}").unwrap()
    }

    async fn state(&self, kid: &str) -> Option<KeyState> {
        let keys = self.service.signing_keys().await.unwrap();
        keys.into_iter().find(|key| key.kid == kid).map(|key| key.state)
    }
}

fn asking(at_once: bool, revoke: bool) -> Rotate {
    Rotate { algorithm: Some(ALGORITHM), at_once, revoke }
}

#[tokio::test]
async fn a_new_key_says_when_it_begins_to_sign_and_does() {
    let world = World::new().await;
    let old = world.signer();
    let [made] =
        <[_; 1]>::try_from(world.service.rotate(ID_TOKEN_SET, asking(false, false)).await.unwrap()).unwrap();
    assert_eq!((made.state, made.set.as_str()), (KeyState::Announced, ID_TOKEN_SET));
    assert_eq!(made.signs_from, Some(made.created_at + Lifetime::hours(2)));
    assert_eq!(world.signer(), old);
    world.clock.advance(Lifetime::hours(2));
    assert_eq!(world.signer(), made.kid);
    assert_eq!(world.state(&old).await, Some(KeyState::Retiring));
}

#[tokio::test]
async fn a_set_is_rotated_for_each_algorithm_that_it_has() {
    let world = World::new().await;
    let made = world.service.rotate(ACCESS_TOKEN_SET, Rotate::default()).await.unwrap();
    let algorithms: Vec<_> = made.iter().map(|key| key.algorithm).collect();
    assert_eq!(algorithms, [SigningAlgorithm::RS256, SigningAlgorithm::ES256]);
    assert_eq!(world.service.signing_keys().await.unwrap().len(), 6);
    let foreign = world.service.rotate("mine", Rotate::default()).await;
    assert!(matches!(foreign, Err(KeyServiceError::NotOwn)));
}

#[tokio::test]
async fn a_compromised_key_signs_no_more_and_still_verifies_unless_it_is_revoked() {
    let world = World::new().await;
    let (old, token) = (world.signer(), world.token());
    let made = world.service.rotate(ID_TOKEN_SET, asking(true, false)).await.unwrap();
    assert_eq!((made[0].state, world.signer()), (KeyState::Active, made[0].kid.clone()));
    assert_eq!(world.state(&old).await, Some(KeyState::Retiring));
    assert!(world.ring.verify_own(&token).is_ok());
    world.clock.advance(Lifetime::secs(1));
    world.service.rotate(ID_TOKEN_SET, asking(true, true)).await.unwrap();
    assert_eq!(world.state(&old).await, None);
    assert!(world.ring.verify_own(&token).is_err() && !world.ring.public_jwks().contains(&old));
}

/// As a Hydra 1.x kept it.
#[tokio::test]
async fn the_public_part_of_a_key_that_is_revoked_goes_with_it_whatever_its_name() {
    let world = World::new().await;
    let old = world.signer();
    let private = world.service.key(ID_TOKEN_SET, &old).await.unwrap().keys.remove(0);
    let named = Jwk { kid: Some("public:1".to_owned()), ..private };
    world.service.put_key(ID_TOKEN_SET, named.public()).await.unwrap();
    let token = SigningKey::from_jwk(&named).unwrap().sign(None, b"{}").unwrap();
    world.service.rotate(ID_TOKEN_SET, asking(true, false)).await.unwrap();
    assert!(world.ring.verify_own(&token).is_ok() && world.ring.public_jwks().contains("public:1"));
    world.clock.advance(Lifetime::secs(1));
    world.service.rotate(ID_TOKEN_SET, asking(true, true)).await.unwrap();
    assert!(world.ring.verify_own(&token).is_err() && !world.ring.public_jwks().contains("public:1"));
}

#[tokio::test]
async fn an_announced_key_never_signs_once_a_newer_one_does() {
    let world = World::new().await;
    let announced = world.service.rotate(ID_TOKEN_SET, asking(false, false)).await.unwrap();
    world.clock.advance(Lifetime::secs(1));
    let made = world.service.rotate(ID_TOKEN_SET, asking(true, false)).await.unwrap();
    world.clock.advance(Lifetime::hours(3));
    assert_eq!(world.signer(), made[0].kid);
    assert_eq!(world.state(&announced[0].kid).await, Some(KeyState::Retiring));
}

#[tokio::test]
async fn the_later_of_two_rotations_at_once_wins() {
    let world = World::new().await;
    let rotate = || world.service.rotate(ID_TOKEN_SET, asking(true, false));
    let (one, other) = tokio::join!(rotate(), rotate());
    let newest = one.unwrap().into_iter().chain(other.unwrap()).max_by_key(|key| key.created_at).unwrap();
    assert_eq!(world.signer(), newest.kid);
}

#[tokio::test]
async fn the_first_key_of_an_algorithm_signs_at_once() {
    let world = World::new().await;
    let asked = Rotate { algorithm: Some(SigningAlgorithm::EdDSA), ..Rotate::default() };
    let made = world.service.rotate(ID_TOKEN_SET, asked).await.unwrap();
    assert_eq!((made.len(), made[0].state), (1, KeyState::Active));
    assert_eq!(made[0].signs_from, Some(world.clock.now()));
}
