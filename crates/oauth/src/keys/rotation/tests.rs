use super::*;
use crate::keys::REQUEST_OBJECT_SET;
use crate::keys::fake::FakeKeys;
use crate::keys::ring::{ID_TOKEN_SET, RingOptions};
use sluice_crypto::Sealer;
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::{Jwk, RsaSize};
use sluice_primitives::{Clock, ManualClock, NetworkId, OsRng, Secret};

const POLICY: RotationPolicy = RotationPolicy {
    every: Some(Lifetime::hours(90 * 24)),
    announce_for: Lifetime::hours(2),
    retire_after: Lifetime::hours(32 * 24),
};

struct World {
    repo: Arc<FakeKeys>,
    clock: Arc<ManualClock>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
        Self { repo: Arc::new(FakeKeys::default()), clock }
    }

    async fn node(&self, rotation: RotationPolicy) -> Arc<KeyRing> {
        let secrets = [Secret::new(b"secret".to_vec())];
        let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets));
        let options = RingOptions { rotation, ..RingOptions::default() };
        KeyRing::start_with(self.repo.clone(), at_rest, Arc::new(OsRng), self.clock.clone(), options)
            .await
            .unwrap()
    }

    async fn round(&self, ring: &Arc<KeyRing>) -> Rotated {
        KeyRotation::new(ring.clone()).round(self.clock.now()).await.unwrap()
    }
}

fn signer(ring: &KeyRing) -> String {
    ring.id_token_signer(SigningAlgorithm::ES256).unwrap().kid().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_is_announced_signs_retires_and_goes_by_the_clock() {
    let world = World::new();
    let ring = world.node(POLICY).await;
    let old = signer(&ring);
    let token = ring.id_token_signer(SigningAlgorithm::ES256).unwrap().sign(None, b"{}").unwrap();
    assert_eq!(world.round(&ring).await, Rotated::default());

    world.clock.advance(POLICY.every.unwrap());
    assert_eq!(world.round(&ring).await, Rotated { announced: 4, ..Rotated::default() });
    assert_eq!(world.round(&ring).await, Rotated::default(), "one successor is enough");
    assert_eq!(signer(&ring), old, "nobody can know its successor yet");

    world.clock.advance(POLICY.announce_for);
    assert_eq!(world.round(&ring).await, Rotated { promoted: 4, retired: 4, ..Rotated::default() });
    assert_ne!(signer(&ring), old);
    assert!(ring.public_jwks().contains(&old) && ring.verify_own(&token).is_ok());

    world.clock.advance(POLICY.retire_after);
    assert_eq!(world.round(&ring).await, Rotated { deleted: 4, ..Rotated::default() });
    assert!(!ring.public_jwks().contains(&old) && ring.verify_own(&token).is_err());
    assert_eq!(world.repo.0.lock().len(), 4);
}

#[tokio::test]
async fn a_node_that_missed_every_round_signs_with_the_same_key_as_the_others() {
    let world = World::new();
    let (busy, idle) = (world.node(POLICY).await, world.node(POLICY).await);
    world.clock.advance(POLICY.every.unwrap());
    world.round(&busy).await;
    idle.reload(ID_TOKEN_SET).await.unwrap();
    world.clock.advance(POLICY.announce_for);
    world.round(&busy).await;
    assert_eq!(signer(&idle), signer(&busy));
    let token = idle.id_token_signer(SigningAlgorithm::ES256).unwrap().sign(None, b"{}").unwrap();
    assert!(busy.verify_own(&token).is_ok());
}

#[tokio::test]
async fn nodes_that_rotate_at_once_make_one_successor() {
    let world = World::new();
    let nodes = [world.node(POLICY).await, world.node(POLICY).await, world.node(POLICY).await];
    world.clock.advance(POLICY.every.unwrap());
    let [one, two, three] = &nodes;
    tokio::join!(world.round(one), world.round(two), world.round(three));
    assert_eq!(world.repo.0.lock().len(), 8, "four keys and a successor of each");
}

#[tokio::test]
async fn a_set_without_a_key_that_every_set_has_gets_one() {
    let world = World::new();
    let ring = world.node(RotationPolicy::default()).await;
    world.repo.0.lock().retain(|key| key.set != ID_TOKEN_SET);
    assert_eq!(world.round(&ring).await, Rotated::default());
    let found = ring.id_token_signer(SigningAlgorithm::ES256);
    assert!(found.is_some() && world.repo.0.lock().len() == 4);
}

#[tokio::test]
async fn keys_for_request_objects_that_nobody_made_again_are_made() {
    let world = World::new();
    let ring = world.node(RotationPolicy::default()).await;
    ring.ensure_request_object_keys().await.unwrap();
    world.repo.0.lock().retain(|key| key.set != REQUEST_OBJECT_SET);
    world.round(&ring).await;
    assert!(ring.request_object_algorithms().is_empty());
    KeyRotation::new(ring.clone()).restore_request_object_keys().await.unwrap();
    assert_eq!(ring.request_object_algorithms(), [KeyManagement::RsaOaep256]);
}

#[tokio::test]
async fn without_an_interval_no_successor_is_made() {
    let world = World::new();
    let ring = world.node(RotationPolicy::default()).await;
    world.clock.advance(Lifetime::hours(24 * 365 * 3));
    assert_eq!(world.round(&ring).await, Rotated::default());
}

#[tokio::test]
async fn a_successor_is_as_long_as_the_key_before_it() {
    let world = World::new();
    let ring = world.node(POLICY).await;
    let key = ring.make_key((ID_TOKEN_SET, SigningAlgorithm::PS256), KeyState::Active, RsaSize::Bits3072);
    let key = key.await.unwrap();
    world.repo.0.lock().push(key);
    world.clock.advance(POLICY.every.unwrap());
    world.round(&ring).await;
    let loaded = ring.loaded();
    assert_eq!(loaded.id_token.signers(SigningAlgorithm::PS256).count(), 2);
    assert_eq!(loaded.id_token.rsa_size(SigningAlgorithm::PS256, &ring.sealer), RsaSize::Bits3072);
}

#[test]
fn a_policy_that_makes_tokens_nobody_can_verify_is_refused() {
    let policy = RotationPolicy::default();
    assert_eq!(policy.check(), Ok(()));
    assert_eq!(POLICY.check(), Ok(()));
    let hasty = RotationPolicy { announce_for: JWKS_MAX_AGE, ..policy };
    assert_eq!(hasty.check(), Err(RotationPolicyError::AnnouncedTooShortly));
    let restless = RotationPolicy { every: Some(policy.announce_for), ..policy };
    assert_eq!(restless.check(), Err(RotationPolicyError::TooOften));
    let forgetful = RotationPolicy { retire_after: Lifetime::hours(1), ..policy };
    assert_eq!(forgetful.check(), Err(RotationPolicyError::RetiredTooSoon));
}

/// A node of the version before may have deleted its private key.
#[tokio::test]
async fn a_public_part_that_was_left_behind_goes_in_the_next_round() {
    let world = World::new();
    let ring = world.node(RotationPolicy::default()).await;
    let own = world.repo.0.lock().iter().find(|row| row.set == ID_TOKEN_SET).cloned().unwrap();
    let own = ring.sealer.open(&own).unwrap().public();
    let strange = Jwk::generate(SigningAlgorithm::ES256, "strange".to_owned(), RsaSize::Bits2048).unwrap();
    let put = Jwk::generate(SigningAlgorithm::ES256, "put".to_owned(), RsaSize::Bits2048).unwrap();
    for (jwk, kid, state) in [
        (own, "part", KeyState::Retiring),
        (strange.public(), "left", KeyState::Retiring),
        (put.public(), "put", KeyState::Active),
    ] {
        let jwk = Jwk { kid: Some(kid.to_owned()), ..jwk };
        let row = ring.sealer.seal(ID_TOKEN_SET, &jwk, state, world.clock.now());
        world.repo.0.lock().push(row);
    }
    assert_eq!(world.round(&ring).await, Rotated { deleted: 1, ..Rotated::default() });
    let published = ring.public_jwks();
    assert!(!published.contains("\"left\""), "its private key is not there");
    assert!(published.contains("\"part\"") && published.contains("\"put\""));
    assert_eq!(world.round(&ring).await, Rotated::default());
}
