//! The keys that this server signs with.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use sluice_crypto::Sealer;
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, VerifiedJws, VerifyError, verify};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, Rng, Timestamp};

use super::at_rest::{KeyError, KeySealer};
use super::loaded::Loaded;
use super::repository::{KeyRepository, KeyState, StoredKey};

/// The set of the keys that sign id tokens and logout tokens.
pub const ID_TOKEN_SET: &str = "hydra.openid.id-token";
/// The set of the keys that sign JWT access tokens.
pub const ACCESS_TOKEN_SET: &str = "hydra.jwt.access-token";
/// What there is a key for in both sets from the first start.
const ALGORITHMS: [SigningAlgorithm; 2] = [SigningAlgorithm::RS256, SigningAlgorithm::ES256];

/// The keys that this server signs with, in memory, and those that it publishes. Bound: what these sets hold. Staleness: that of the change feed,
/// none for changes of this node; [`KeyRing::reload`] reads them again, and a slow reading never undoes a later one.
pub struct KeyRing {
    repo: Arc<dyn KeyRepository>,
    sealer: KeySealer,
    clock: Arc<dyn Clock>,
    /// Sets of others whose public keys are published too.
    further: Vec<String>,
    loaded: ArcSwap<Loaded>,
    readings: AtomicU64,
}

impl KeyRing {
    /// Reads the keys, and makes those that are missing: RS256 (2048 bits) and ES256 in both sets. Nodes that start at
    /// once end with the same keys.
    ///
    /// # Errors
    /// [`KeyError`] if the store cannot be read, or holds a key that does not open.
    pub async fn start(
        repo: Arc<dyn KeyRepository>,
        at_rest: Arc<Sealer>,
        rng: Arc<dyn Rng>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, KeyError> {
        Self::start_publishing(repo, at_rest, rng, clock, Vec::new()).await
    }

    /// As [`KeyRing::start`], and publishes the public keys of `further` sets too (Hydra's
    /// `webfinger.jwks.broadcast_keys`); nothing that they sign is accepted.
    ///
    /// # Errors
    /// [`KeyError`] if the store cannot be read, or holds a key that does not open.
    pub async fn start_publishing(
        repo: Arc<dyn KeyRepository>,
        at_rest: Arc<Sealer>,
        rng: Arc<dyn Rng>,
        clock: Arc<dyn Clock>,
        mut further: Vec<String>,
    ) -> Result<Arc<Self>, KeyError> {
        further.retain(|set| !is_own(set));
        let sealer = KeySealer { at_rest, rng };
        let empty = Loaded::parse(0, &sealer, [&[], &[], &[]])?;
        let loaded = ArcSwap::from_pointee(empty);
        let started = Self { repo, sealer, clock, further, loaded, readings: AtomicU64::new(0) };
        started.create_missing().await?;
        Ok(Arc::new(started))
    }

    /// Reads the keys again, if `set` is one of those that are signed with or published.
    ///
    /// # Errors
    /// [`KeyError`]; then the keys that were read before stay.
    pub async fn reload(&self, set: &str) -> Result<(), KeyError> {
        if self.holds(set) { self.read().await } else { Ok(()) }
    }

    /// Reads the keys; makes those that are missing.
    pub(super) async fn create_missing(&self) -> Result<(), KeyError> {
        self.read().await?;
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        let (sealer, now) = (self.sealer.clone(), self.clock.now());
        let generate =
            move || missing.into_iter().map(|(set, algorithm)| make(&sealer, set, algorithm, now)).collect();
        let generated: Result<Vec<StoredKey>, JwkError> =
            tokio::task::spawn_blocking(generate).await.map_err(|_| KeyError::NotMade)?;
        let mut generated = generated?;
        self.repo.create_missing(generated.clone()).await?;
        self.read().await?;
        // A set may hold a key of the algorithm that cannot sign, such as somebody else's public key.
        let missing = self.missing();
        generated.retain(|key| {
            missing.iter().any(|(set, algorithm)| key.set == *set && key.algorithm == algorithm.as_str())
        });
        if generated.is_empty() {
            return Ok(());
        }
        self.repo.add(generated).await?;
        self.read().await
    }

    /// The newest active key for id tokens and logout tokens.
    pub fn id_token_signer(&self, algorithm: SigningAlgorithm) -> Option<Arc<SigningKey>> {
        self.loaded.load().id_token.signer(algorithm, self.clock.now())
    }

    /// The newest active key for JWT access tokens.
    pub fn access_token_signer(&self, algorithm: SigningAlgorithm) -> Option<Arc<SigningKey>> {
        self.loaded.load().access_token.signer(algorithm, self.clock.now())
    }

    /// Whether the keys of this set are in memory.
    pub(super) fn holds(&self, set: &str) -> bool {
        is_own(set) || self.further.iter().any(|further| further == set)
    }

    /// The public keys of the sets as a JWK set: what `/.well-known/jwks.json` answers.
    pub fn public_jwks(&self) -> Arc<str> {
        Arc::clone(&self.loaded.load().public_jwks)
    }

    /// Checks that a token was signed by one of our keys, retiring ones included. What it says (`typ`, `iss`, `exp`) is
    /// the caller's to judge.
    ///
    /// # Errors
    /// [`VerifyError`] if it was not.
    pub fn verify_own(&self, token: &str) -> Result<VerifiedJws, VerifyError> {
        let loaded = self.loaded.load();
        verify(token, &loaded.verifying, &loaded.algorithms)
    }

    async fn read(&self) -> Result<(), KeyError> {
        let reading = self.readings.fetch_add(1, Ordering::AcqRel) + 1;
        let (id_token, access_token) =
            (self.repo.set(ID_TOKEN_SET).await?, self.repo.set(ACCESS_TOKEN_SET).await?);
        let mut further = Vec::new();
        for set in &self.further {
            further.extend(self.repo.set(set).await?);
        }
        let fresh = Arc::new(Loaded::parse(reading, &self.sealer, [&id_token, &access_token, &further])?);
        self.loaded.rcu(|current| {
            let newest = if current.reading > reading { current } else { &fresh };
            Arc::clone(newest)
        });
        Ok(())
    }

    fn missing(&self) -> Vec<(&'static str, SigningAlgorithm)> {
        let loaded = self.loaded.load();
        let sets = [(ID_TOKEN_SET, &loaded.id_token), (ACCESS_TOKEN_SET, &loaded.access_token)];
        let missing = sets.into_iter().flat_map(|(name, set)| {
            let wanted = ALGORITHMS.into_iter().filter(|algorithm| !set.has_signer(*algorithm));
            wanted.map(move |algorithm| (name, algorithm))
        });
        missing.collect()
    }
}

/// Whether this server signs with the keys of this set.
pub(super) fn is_own(set: &str) -> bool {
    set == ID_TOKEN_SET || set == ACCESS_TOKEN_SET
}

/// A new random name for a key (UUID v4).
pub(super) fn new_kid(rng: &dyn Rng) -> String {
    uuid::Builder::from_random_bytes(random_bytes(rng)).into_uuid().to_string()
}

fn make(
    sealer: &KeySealer,
    set: &str,
    algorithm: SigningAlgorithm,
    now: Timestamp,
) -> Result<StoredKey, JwkError> {
    let jwk = Jwk::generate(algorithm, new_kid(&*sealer.rng), RsaSize::Bits2048)?;
    Ok(sealer.seal(set, &jwk, KeyState::Active, now))
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("readings", &self.readings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
