use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::jwk::Jwk;
use sluice_primitives::{Clock, Lifetime, ManualClock, NetworkId, OsRng, Secret};

use super::*;
use crate::keys::fake::FakeKeys;
use crate::keys::ring::ID_TOKEN_SET;
use crate::keys::{KeyRepository, KeyRotation, KeyService, Rotate};

const ALGORITHM: SigningAlgorithm = SigningAlgorithm::ES256;

struct World {
    repo: Arc<FakeKeys>,
    clock: Arc<ManualClock>,
}

fn at_rest(secret: &str) -> Arc<Sealer> {
    Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(secret.as_bytes().to_vec())]))
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
        Self { repo: Arc::new(FakeKeys::default()), clock }
    }

    async fn node(&self) -> Arc<KeyRing> {
        let (at_rest, rng) = (at_rest("secret"), Arc::new(OsRng));
        KeyRing::start(self.repo.clone(), at_rest, rng, self.clock.clone()).await.unwrap()
    }

    fn service(&self, ring: &Arc<KeyRing>) -> KeyService {
        let (at_rest, rng) = (at_rest("secret"), Arc::new(OsRng));
        KeyService::new(self.repo.clone(), at_rest, rng, self.clock.clone(), ring.clone())
    }

    /// A key that signs id tokens, of this name, not stored yet.
    fn made(&self, ring: &KeyRing, kid: &str) -> StoredKey {
        let jwk = Jwk::generate(ALGORITHM, kid.to_owned(), RsaSize::default()).unwrap();
        ring.sealer.seal(ID_TOKEN_SET, &jwk, KeyState::Active, self.clock.now())
    }

    /// As it is stored now.
    async fn stored(&self, kid: &str) -> Option<StoredKey> {
        self.repo.set(ID_TOKEN_SET).await.unwrap().into_iter().find(|key| key.kid == kid)
    }
}

fn signer(ring: &KeyRing) -> String {
    ring.id_token_signer(ALGORITHM).unwrap().kid().unwrap().to_owned()
}

#[tokio::test]
async fn a_node_that_has_not_heard_of_another_deletion_leaves_a_signer_wherever_it_stops() {
    let world = World::new();
    let (one, other) = (world.node().await, world.node().await);
    for writes in 0..=2 {
        let last = world.made(&one, &format!("last-{writes}"));
        world.repo.add(vec![last.clone()]).await.unwrap();
        other.reload(ID_TOKEN_SET).await.unwrap();
        for key in world.repo.set(ID_TOKEN_SET).await.unwrap() {
            if key.algorithm == last.algorithm && key.kid != last.kid {
                assert!(one.delete(ID_TOKEN_SET, (&key.kid, None)).await.unwrap());
            }
        }
        *world.repo.2.lock() = Some(writes);
        let deleted = other.delete(ID_TOKEN_SET, (&last.kid, None)).await;
        *world.repo.2.lock() = None;
        assert_eq!(deleted.is_ok(), writes == 2, "{writes}");
        assert_eq!(world.stored(&last.kid).await.is_none(), writes == 2, "{writes}");
        one.reload(ID_TOKEN_SET).await.unwrap();
        assert!(one.id_token_signer(ALGORITHM).is_some(), "{writes}");
    }
}

#[tokio::test]
async fn a_key_whose_companion_goes_at_that_moment_is_deleted_when_it_has_a_substitute() {
    let world = World::new();
    let ring = world.node().await;
    let (first, second) = (signer(&ring), world.made(&ring, "second"));
    world.repo.add(vec![second.clone()]).await.unwrap();
    *world.repo.4.lock() = Some(StoredKey { state: KeyState::Retiring, ..second });
    world.service(&ring).delete_key(ID_TOKEN_SET, &first).await.unwrap();
    assert_eq!(world.stored(&first).await, None);
    assert!(signer(&ring) != first && signer(&ring) != "second");
}

#[tokio::test]
async fn a_key_that_is_sealed_again_at_that_moment_is_revoked_all_the_same() {
    let world = World::new();
    let ring = world.node().await;
    world.clock.advance(Lifetime::secs(1));
    let old = world.stored(&signer(&ring)).await.unwrap();
    let jwk = ring.sealer.open(&old).unwrap();
    *world.repo.4.lock() = Some(ring.sealer.seal(ID_TOKEN_SET, &jwk, old.state, old.created_at));
    let asked = Rotate { algorithm: Some(ALGORITHM), at_once: true, revoke: true };
    let made = world.service(&ring).rotate(ID_TOKEN_SET, asked).await.unwrap();
    assert_eq!(signer(&ring), made[0].kid);
    assert!(world.stored(&old.kid).await.is_none() && !ring.public_jwks().contains(&old.kid));
}

#[tokio::test]
async fn a_key_that_is_put_in_the_place_of_one_that_is_over_stays() {
    let world = World::new();
    let ring = world.node().await;
    let (old, rotation) = (signer(&ring), KeyRotation::new(ring.clone()));
    world.clock.advance(Lifetime::secs(1));
    let asked = Rotate { algorithm: Some(ALGORITHM), ..Rotate::default() };
    world.service(&ring).rotate(ID_TOKEN_SET, asked).await.unwrap();
    world.clock.advance(ring.policy().announce_for);
    rotation.round(world.clock.now()).await.unwrap();
    world.clock.advance(ring.policy().retire_after);
    let put = world.made(&ring, &old);
    *world.repo.4.lock() = Some(put.clone());
    assert_eq!(rotation.round(world.clock.now()).await.unwrap().deleted, 0);
    assert_eq!(world.stored(&old).await, Some(put));
}

/// Whoever lost its secret has to be rid of it.
#[tokio::test]
async fn a_key_that_does_not_open_is_deleted() {
    let world = World::new();
    let ring = world.node().await;
    let before = signer(&ring);
    let sealer = crate::keys::at_rest::KeySealer { at_rest: at_rest("lost"), rng: Arc::new(OsRng) };
    let jwk = Jwk::generate(ALGORITHM, "lost".to_owned(), RsaSize::default()).unwrap();
    let lost = sealer.seal(ID_TOKEN_SET, &jwk, KeyState::Active, world.clock.now());
    world.repo.add(vec![lost]).await.unwrap();
    assert!(ring.reload(ID_TOKEN_SET).await.is_err());
    world.service(&ring).delete_key(ID_TOKEN_SET, "lost").await.unwrap();
    assert_eq!((world.stored("lost").await, signer(&ring)), (None, before));
}
