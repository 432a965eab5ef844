//! The keys that this server signs with.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use sluice_crypto::Sealer;
use sluice_crypto::jwk::{RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, VerifiedJws, VerifyError, verify};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, Rng};
use tracing::warn;

use super::at_rest::{KeyError, KeySealer};
use super::encryption::REQUEST_OBJECT_SET;
use super::loaded::{Loaded, LoadedSet, Rows};
use super::maker::{KeyMaker, NewKeys};
use super::repository::{KeyRepository, KeyState, StoredKey};
use super::rotation::{RotationPolicy, tell_made};

/// The set of the keys that sign id tokens and logout tokens.
pub const ID_TOKEN_SET: &str = "hydra.openid.id-token";
/// The set of the keys that sign JWT access tokens.
pub const ACCESS_TOKEN_SET: &str = "hydra.jwt.access-token";
/// The sets that this server signs with.
pub(super) const OWN_SETS: [&str; 2] = [ID_TOKEN_SET, ACCESS_TOKEN_SET];
/// What there is a key for in both sets from the first start.
const ALGORITHMS: [SigningAlgorithm; 2] = [SigningAlgorithm::RS256, SigningAlgorithm::ES256];

/// A set that this server signs with, and an algorithm.
pub(super) type Wanted = (&'static str, SigningAlgorithm);

/// What tokens are signed with whose client registered no algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultAlgorithms {
    /// Id tokens.
    pub id_token: SigningAlgorithm,
    /// JWT access tokens.
    pub access_token: SigningAlgorithm,
}

/// What can be chosen about a ring.
#[derive(Debug, Clone)]
pub struct RingOptions {
    /// Sets of others whose public keys are published too (Hydra's `webfinger.jwks.broadcast_keys`); nothing that they
    /// sign is accepted.
    pub further: Vec<String>,
    /// When signing keys change.
    pub rotation: RotationPolicy,
    /// Makes the keys.
    pub maker: Arc<dyn KeyMaker>,
    /// Who brings along a key that signs nothing by default is told so; nobody is if they are not known here.
    pub defaults: Option<DefaultAlgorithms>,
}

impl Default for RingOptions {
    fn default() -> Self {
        Self {
            further: Vec::new(),
            rotation: RotationPolicy::default(),
            maker: Arc::new(NewKeys),
            defaults: None,
        }
    }
}

/// The keys that this server signs and decrypts with, in memory, and those that it publishes. Bound: what these sets hold.
/// Staleness: that of the change feed, none for changes of this node; [`KeyRing::reload`] reads them again, and a slow
/// reading never undoes a later one.
pub struct KeyRing {
    pub(super) repo: Arc<dyn KeyRepository>,
    pub(super) sealer: KeySealer,
    pub(super) clock: Arc<dyn Clock>,
    options: RingOptions,
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
        Self::start_with(repo, at_rest, rng, clock, RingOptions::default()).await
    }

    /// As [`KeyRing::start`], with options.
    ///
    /// # Errors
    /// [`KeyError`] if the store cannot be read, or holds a key that does not open.
    pub async fn start_with(
        repo: Arc<dyn KeyRepository>,
        at_rest: Arc<Sealer>,
        rng: Arc<dyn Rng>,
        clock: Arc<dyn Clock>,
        mut options: RingOptions,
    ) -> Result<Arc<Self>, KeyError> {
        options.further.retain(|set| !is_own(set) && set != REQUEST_OBJECT_SET);
        let sealer = KeySealer { at_rest, rng };
        let empty =
            Loaded::parse(0, &sealer, &options.rotation, options.defaults, (Rows::default(), clock.now()))?;
        let loaded = ArcSwap::from_pointee(empty);
        let started = Self { repo, sealer, clock, options, loaded, readings: AtomicU64::new(0) };
        started.create_missing(Vec::new()).await?;
        Ok(Arc::new(started))
    }

    /// Reads the keys again, if `set` is one of those that are used or published.
    ///
    /// # Errors
    /// [`KeyError`]; then the keys that were read before stay.
    pub async fn reload(&self, set: &str) -> Result<(), KeyError> {
        if self.holds(set) { self.read().await } else { Ok(()) }
    }

    /// Makes a key of this algorithm that signs at once, unless the set has one that signs. `set` is [`ID_TOKEN_SET`] or
    /// [`ACCESS_TOKEN_SET`]. Nodes that do so at once end with the same key.
    ///
    /// # Errors
    /// [`KeyError::NotOwn`] for another set.
    pub async fn ensure(&self, set: &str, algorithm: SigningAlgorithm) -> Result<(), KeyError> {
        let set = own(set).ok_or_else(|| KeyError::NotOwn(set.to_owned()))?;
        if missing(&self.loaded(), &[(set, algorithm)]).is_empty() {
            return Ok(());
        }
        self.create(vec![(set, algorithm)]).await
    }

    /// What there are private keys for.
    pub(super) fn in_use(&self) -> Vec<Wanted> {
        let loaded = self.loaded.load();
        let sets = OWN_SETS.into_iter().filter_map(|name| Some((name, loaded.own(name)?)));
        sets.flat_map(|(name, set)| set.algorithms().into_iter().map(move |algorithm| (name, algorithm)))
            .collect()
    }

    /// Reads the keys; makes those that are missing, of those that there always are and of `wanted`.
    pub(super) async fn create_missing(&self, mut wanted: Vec<Wanted>) -> Result<(), KeyError> {
        let always = OWN_SETS.into_iter().flat_map(|set| ALGORITHMS.map(|algorithm| (set, algorithm)));
        wanted.extend(always);
        wanted.sort_unstable();
        wanted.dedup();
        self.create(wanted).await
    }

    /// What keys that are to be a set lack: new ones of the algorithms that it signs with, or that each set does, and that nothing
    /// would sign with.
    pub(super) async fn lacking(
        &self,
        set: &'static str,
        keys: &[StoredKey],
    ) -> Result<Vec<StoredKey>, KeyError> {
        let jwks = keys.iter().map(|key| self.sealer.open(key)).collect::<Result<Vec<_>, _>>()?;
        let loaded = LoadedSet::parse(keys.to_vec(), &jwks, self.policy());
        let mut missing: BTreeSet<_> = self.loaded().own(set).map(LoadedSet::algorithms).unwrap_or_default();
        missing.extend(ALGORITHMS);
        missing.retain(|algorithm| !loaded.has_signer(*algorithm));
        let mut made = Vec::new();
        for algorithm in missing {
            made.push(self.make_key((set, algorithm), KeyState::Active, RsaSize::Bits2048).await?);
        }
        Ok(made)
    }

    /// A key that is gone signs on here until its successor is there: to make one takes a while, in which nothing would be signed.
    async fn create(&self, wanted: Vec<Wanted>) -> Result<(), KeyError> {
        let mut fresh = self.fresh().await?;
        let made = self.add_missing(&wanted, &mut fresh).await;
        // Also where it failed: what is gone does not sign for ever.
        self.publish(&fresh);
        made
    }

    /// Adds what this reading lacks, and reads again.
    async fn add_missing(&self, wanted: &[Wanted], fresh: &mut Arc<Loaded>) -> Result<(), KeyError> {
        let mut generated = Vec::new();
        for wanted in missing(fresh, wanted) {
            generated.push(self.make_key(wanted, KeyState::Active, RsaSize::Bits2048).await?);
        }
        if generated.is_empty() {
            return Ok(());
        }
        self.repo.create_missing(generated.clone()).await?;
        *fresh = self.fresh().await?;
        // Of nodes that do so at once, one has added its own.
        let is_there = |key: &StoredKey| fresh.own(&key.set).is_some_and(|set| set.has(&key.kid));
        generated.iter().filter(|key| is_there(key)).for_each(tell_made);
        // A set may hold a key of the algorithm that cannot sign, such as somebody else's public key.
        let lacking = missing(fresh, wanted);
        generated.retain(|key| {
            lacking.iter().any(|(set, algorithm)| key.set == *set && key.algorithm == algorithm.as_str())
        });
        if generated.is_empty() {
            return Ok(());
        }
        self.repo.add(generated.clone()).await?;
        generated.iter().for_each(tell_made);
        *fresh = self.fresh().await?;
        Ok(())
    }

    /// A new key, not stored yet.
    pub(super) async fn make_key(
        &self,
        wanted: Wanted,
        state: KeyState,
        rsa: RsaSize,
    ) -> Result<StoredKey, KeyError> {
        let (set, algorithm) = wanted;
        self.sealer.make(self.maker(), (set, algorithm, rsa), (state, &*self.clock)).await
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
        is_own(set) || set == REQUEST_OBJECT_SET || self.options.further.iter().any(|further| further == set)
    }

    /// Makes the keys.
    pub(super) const fn maker(&self) -> &Arc<dyn KeyMaker> {
        &self.options.maker
    }

    /// What a set signs with, unless a client is registered for something else: first the tokens that it is for, then the rest.
    pub(super) fn default_algorithms(&self, set: &str) -> Option<[SigningAlgorithm; 2]> {
        let DefaultAlgorithms { id_token, access_token } = self.options.defaults?;
        match set {
            // Answers that are signed and no id tokens.
            ID_TOKEN_SET => Some([id_token, SigningAlgorithm::RS256]),
            // Those of clients of FAPI 2.0.
            ACCESS_TOKEN_SET => Some([access_token, id_token]),
            _ => None,
        }
    }

    /// When signing keys change.
    pub const fn policy(&self) -> &RotationPolicy {
        &self.options.rotation
    }

    /// The keys as they were read last.
    pub(super) fn loaded(&self) -> Arc<Loaded> {
        self.loaded.load_full()
    }

    /// The public keys of the sets as a JWK set: what `/.well-known/jwks.json` answers. First those that sign what no client has asked to be signed
    /// otherwise, and of these the keys that sign now.
    pub fn public_jwks(&self) -> Arc<str> {
        self.loaded.load().published.at(self.clock.now())
    }

    /// The public keys that own tokens are signed with, as a JWK set: what a gateway elsewhere verifies them with.
    pub fn signing_jwks(&self) -> Arc<str> {
        Arc::clone(&self.loaded.load().signing_jwks)
    }

    /// Changes whenever keys were read again.
    pub fn generation(&self) -> u64 {
        self.loaded.load().reading
    }

    /// Checks that a token was signed by one of our keys, retiring ones included, those for encryption not. What it says (`typ`, `iss`, `exp`) is
    /// the caller's to judge.
    ///
    /// # Errors
    /// [`VerifyError`] if it was not.
    pub fn verify_own(&self, token: &str) -> Result<VerifiedJws, VerifyError> {
        let loaded = self.loaded.load();
        verify(token, &loaded.verifying, &loaded.algorithms)
    }

    /// Reads the keys, and uses them from now on.
    pub(super) async fn read(&self) -> Result<(), KeyError> {
        let fresh = self.fresh().await?;
        self.publish(&fresh);
        Ok(())
    }

    /// The keys as they are stored now.
    async fn fresh(&self) -> Result<Arc<Loaded>, KeyError> {
        let reading = self.readings.fetch_add(1, Ordering::AcqRel) + 1;
        let mut rows = Rows {
            id_token: self.repo.set(ID_TOKEN_SET).await?,
            access_token: self.repo.set(ACCESS_TOKEN_SET).await?,
            request_object: self.repo.set(REQUEST_OBJECT_SET).await?,
            further: Vec::new(),
        };
        for set in &self.options.further {
            rows.further.extend(self.repo.set(set).await?);
        }
        let fresh = Loaded::parse(
            reading,
            &self.sealer,
            self.policy(),
            self.options.defaults,
            (rows, self.clock.now()),
        )?;
        Ok(Arc::new(fresh))
    }

    /// Uses these keys from now on, unless a later reading is in use.
    fn publish(&self, fresh: &Arc<Loaded>) {
        if !fresh.malformed.is_empty() && fresh.malformed != self.loaded.load().malformed {
            warn!({ key.kids = ?fresh.malformed }, "stored keys are malformed: they, or their x5c alone, are not published");
        }
        self.loaded.rcu(|current| {
            let newest = if current.reading > fresh.reading { current } else { fresh };
            Arc::clone(newest)
        });
    }
}

/// Of these, what nothing signs with.
fn missing(loaded: &Loaded, wanted: &[Wanted]) -> Vec<Wanted> {
    let is_missing =
        |(set, algorithm): &&Wanted| loaded.own(set).is_some_and(|set| !set.has_signer(*algorithm));
    wanted.iter().filter(is_missing).copied().collect()
}

/// The name of a set that this server signs with.
pub(super) fn own(set: &str) -> Option<&'static str> {
    OWN_SETS.into_iter().find(|own| *own == set)
}

/// Whether this server signs with the keys of this set.
pub(super) fn is_own(set: &str) -> bool {
    own(set).is_some()
}

/// A new random name for a key (UUID v4).
pub(super) fn new_kid(rng: &dyn Rng) -> String {
    uuid::Builder::from_random_bytes(random_bytes(rng)).into_uuid().to_string()
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("readings", &self.readings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
