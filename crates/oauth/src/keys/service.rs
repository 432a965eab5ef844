//! What an administrator may do with key sets: Hydra's admin API without HTTP.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::{Jwk, JwkError, JwkSet, MacAlgorithm, RsaSize, SigningAlgorithm};
use sluice_primitives::{Clock, Lifetime, Rng};
use thiserror::Error;
use tracing::info;

use super::at_rest::{KeyError, KeySealer, MAX_JWK};
use super::encryption::REQUEST_OBJECT_SET;
use super::removal::TRIES;
use super::repository::{KeyRepository, KeyState, StoredKey};
use super::ring::{KeyRing, Wanted, is_own, new_kid, own};
use super::rotation::tell_made;

/// A longer name of a set or key is refused, in bytes.
const MAX_NAME: usize = 255;

/// Why a key set was not read or changed.
#[derive(Debug, Clone, Error)]
pub enum KeyServiceError {
    /// There is no such set, or nothing in it.
    #[error("there is no such key set")]
    NoSuchSet,
    /// There is no such key in the set.
    #[error("there is no such key")]
    NoSuchKey,
    /// The set has a key of that `kid`.
    #[error("the set has a key with that kid already")]
    Taken,
    /// Keys of this algorithm are not made here.
    #[error("the algorithm is not supported")]
    Algorithm,
    /// This server does not sign with the keys of this set.
    #[error("this server does not sign with the keys of this set")]
    NotOwn,
    /// A key has no `kid`.
    #[error("the key has no kid")]
    NoKid,
    /// Two keys of a set have the same `kid`.
    #[error("two keys have the same kid")]
    SameKid,
    /// The name of a set or key is empty, longer than 255 bytes, has control characters, or is `.` or `..`.
    #[error("the name of a key set or key is not allowed")]
    Name,
    /// A key is not valid.
    #[error("a key is not valid: {0}")]
    Invalid(#[from] JwkError),
    /// A key is longer than 32 KiB.
    #[error("a key is too long")]
    TooLong,
    /// The keys could not be read or made.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A key that is to be made.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// `alg`: a signature algorithm, HS256 to HS512, or one that encrypts, such as RSA-OAEP-256 or ECDH-ES.
    pub algorithm: String,
    /// `kid`; random if empty.
    pub kid: String,
    /// `use`; what the algorithm is for if empty.
    pub key_use: String,
}

/// Reads and changes key sets.
pub struct KeyService {
    repo: Arc<dyn KeyRepository>,
    sealer: KeySealer,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ring: Arc<KeyRing>,
}

impl KeyService {
    /// A service; `key_ring` is told of what it changes.
    pub fn new(
        repo: Arc<dyn KeyRepository>,
        at_rest: Arc<Sealer>,
        rng: Arc<dyn Rng>,
        clock: Arc<dyn Clock>,
        key_ring: Arc<KeyRing>,
    ) -> Self {
        Self { repo, sealer: KeySealer { at_rest, rng }, clock, ring: key_ring }
    }

    /// Makes a key and adds it to the set; answers with the new key alone. In the sets that this server signs with, a
    /// key that has a predecessor is announced first: it signs when others had the time to learn of it.
    ///
    /// # Errors
    /// [`KeyServiceError::Algorithm`] for one that is not known, [`KeyServiceError::Taken`] if the set has a key of that `kid`.
    pub async fn create(&self, set: &str, asked: NewKey) -> Result<JwkSet, KeyServiceError> {
        check_name(set)?;
        let kid = if asked.kid.is_empty() { new_kid(&*self.sealer.rng) } else { asked.kid };
        check_name(&kid)?;
        let mut jwk = self.make(&asked.algorithm, kid).await?;
        if !asked.key_use.is_empty() {
            jwk.key_use = Some(asked.key_use);
        }
        let state =
            if self.has_predecessor(set, &jwk).await? { KeyState::Announced } else { KeyState::Active };
        if !self.repo.add_new(self.sealed(set, &jwk, state)?).await? {
            return Err(KeyServiceError::Taken);
        }
        let (kid, state) = (jwk.kid.as_deref(), state.as_str());
        info!(target: "sluice_audit", { key.set = set, key.kid = kid, key.alg = asked.algorithm, key.state = state }, "key made");
        self.tell_if_silent(set, &jwk);
        self.ring.reload(set).await?;
        Ok(JwkSet { keys: vec![jwk] })
    }

    /// The keys of a set, private parts included.
    ///
    /// # Errors
    /// [`KeyServiceError::NoSuchSet`].
    pub async fn set(&self, set: &str) -> Result<JwkSet, KeyServiceError> {
        let stored = self.repo.set(set).await?;
        if stored.is_empty() {
            return Err(KeyServiceError::NoSuchSet);
        }
        let keys = stored.iter().map(|key| self.sealer.open(key)).collect::<Result<_, _>>()?;
        Ok(JwkSet { keys })
    }

    /// One key of a set, private parts included.
    ///
    /// # Errors
    /// [`KeyServiceError::NoSuchKey`].
    pub async fn key(&self, set: &str, kid: &str) -> Result<JwkSet, KeyServiceError> {
        let stored = self.repo.set(set).await?;
        let found = stored.iter().find(|key| key.kid == kid).ok_or(KeyServiceError::NoSuchKey)?;
        Ok(JwkSet { keys: vec![self.sealer.open(found)?] })
    }

    /// Replaces a whole set by these keys, the first of which counts as the newest. A key that was in the set keeps its
    /// age and state; but where this server signs with the set, one that stands before a new one of its algorithm that could sign counts as
    /// made now, unless it signs no more.
    ///
    /// # Errors
    /// [`KeyServiceError`] says what is wrong with which key.
    pub async fn replace_set(&self, set: &str, keys: JwkSet) -> Result<JwkSet, KeyServiceError> {
        let keys = keys.keys.into_iter().map(Jwk::completed).collect::<Result<Vec<_>, _>>()?;
        let keys = JwkSet { keys };
        let stored = self.rows(set, &keys.keys)?;
        let in_use = self.ring.in_use();
        let kids: Vec<_> = stored.iter().map(|key| key.kid.clone()).collect();
        self.put_whole(set, &stored, &keys.keys).await?;
        info!(target: "sluice_audit", { key.set = set, key.kids = ?kids }, "set of keys replaced");
        if let Some(newest) = keys.keys.first() {
            self.tell_if_silent(set, newest);
        }
        self.restored(set, in_use).await?;
        Ok(keys)
    }

    /// Adds keys to a set that verify and do not sign, behind its newest: what they signed stays valid for as long as if that had just taken their
    /// place. One whose `kid` is taken is left out.
    ///
    /// # Errors
    /// [`KeyServiceError`] says what is wrong with which key.
    pub(crate) async fn add_retired(&self, set: &str, keys: &[Jwk]) -> Result<(), KeyServiceError> {
        if keys.is_empty() {
            return Ok(());
        }
        check_name(set)?;
        let mut created_at = self.repo.set(set).await?.first().map_or(self.clock.now(), |key| key.created_at);
        for jwk in keys {
            created_at = created_at - Lifetime::millis(1);
            let key = StoredKey { state: KeyState::Retiring, created_at, ..self.checked(set, jwk)? };
            let (kid, state) = (key.kid.clone(), key.state.as_str());
            if self.repo.add_new(key).await? {
                info!(target: "sluice_audit", { key.set = set, key.kid = kid, key.state = state }, "key added that signs no more");
            }
        }
        self.ring.reload(set).await?;
        Ok(())
    }

    /// Adds a key to a set under its own `kid`; one with the same is replaced. In a set that this server signs with, it
    /// signs at once: whoever brings a key along is expected to have told of it. Where it does not sign as the replaced one did, and nothing else does, a
    /// new one is there before, as for [`KeyService::delete_key`].
    ///
    /// # Errors
    /// [`KeyServiceError`] says what is wrong with it.
    pub async fn put_key(&self, set: &str, jwk: Jwk) -> Result<Jwk, KeyServiceError> {
        check_name(set)?;
        let jwk = jwk.completed()?;
        let stored = self.checked(set, &jwk)?;
        let (kid, algorithm) = (stored.kid.clone(), stored.algorithm.clone());
        match own(set) {
            Some(own) => self.ring.put(own, &stored).await?,
            None => self.repo.add(vec![stored]).await?,
        }
        info!(target: "sluice_audit", { key.set = set, key.kid = kid, key.alg = algorithm }, "key put");
        self.tell_if_silent(set, &jwk);
        self.ring.reload(set).await?;
        self.without_lone_parts(set).await?;
        Ok(jwk)
    }

    /// Whether these keys may be a set, or be put there.
    pub(crate) fn check(&self, set: &str, keys: &[Jwk]) -> Result<(), KeyServiceError> {
        self.rows(set, keys).map(drop)
    }

    /// Deletes a set, if it is there. One that this server signs or decrypts with gets new keys at once.
    ///
    /// # Errors
    /// The store's.
    pub async fn delete_set(&self, set: &str) -> Result<(), KeyServiceError> {
        let in_use = self.ring.in_use();
        let was_there = if is_own(set) {
            self.put_whole(set, &[], &[]).await?
        } else {
            self.repo.delete_set(set).await?
        };
        if was_there {
            info!(target: "sluice_audit", { key.set = set }, "set of keys deleted");
        }
        self.restored(set, in_use).await
    }

    /// Deletes a key, if it is there; with a private one that this server signs with goes its public part, under whatever name. If this server signs
    /// with it and has no other, also because that is deleted at the same time, a new one is there before it goes. One that it decrypts with is
    /// replaced at once.
    ///
    /// # Errors
    /// The store's.
    pub async fn delete_key(&self, set: &str, kid: &str) -> Result<(), KeyServiceError> {
        let in_use = self.ring.in_use();
        let was_there = match own(set) {
            Some(own) => self.ring.delete(own, (kid, None)).await?,
            None => self.repo.delete(set, kid).await?,
        };
        if was_there {
            info!(target: "sluice_audit", { key.set = set, key.kid = kid }, "key deleted");
        }
        self.restored(set, in_use).await
    }

    /// Makes these keys the set; whether there was one. One that this server signs with gets what it lacks in the same step. Times and states are those
    /// of what is replaced: where others change that meanwhile, it is looked at anew.
    async fn put_whole(&self, set: &str, keys: &[StoredKey], jwks: &[Jwk]) -> Result<bool, KeyServiceError> {
        for _ in 0..TRIES {
            let before = self.repo.set(set).await?;
            let mut dated = keys.to_vec();
            self.date(&mut dated, jwks, &before);
            let made = match own(set) {
                Some(own) => self.ring.lacking(own, &dated).await?,
                None => Vec::new(),
            };
            dated.extend(made.iter().cloned());
            if self.repo.replace_set(set, &before, dated).await? {
                made.iter().for_each(tell_made);
                return Ok(!before.is_empty());
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Says when the keys were made that are to be a set, newest first, and in which state those are that were in it.
    fn date(&self, keys: &mut [StoredKey], jwks: &[Jwk], before: &[StoredKey]) {
        let now = self.clock.now();
        let mut new = BTreeSet::new();
        for (place, (key, jwk)) in keys.iter_mut().zip(jwks).enumerate().rev() {
            let by_place = now - Lifetime::millis(u32::try_from(place).unwrap_or(u32::MAX));
            let Some(old) = before.iter().find(|old| old.kid == key.kid && self.is_same(old, jwk)) else {
                key.created_at = by_place;
                if is_own(&key.set) && jwk.is_private() {
                    new.insert(key.algorithm.clone());
                }
                continue;
            };
            // As if it took the place of the new one now: that would else be newer, and sign before others know it. Were the new one dated back
            // instead, it would be gone at once where this one is old.
            let succeeds = old.state != KeyState::Retiring && new.contains(&key.algorithm);
            key.created_at = if succeeds { old.created_at.max(by_place) } else { old.created_at };
            key.state = old.state;
        }
    }

    /// Tells the ring of keys that went; what was signed with before goes on.
    async fn restored(&self, set: &str, in_use: Vec<Wanted>) -> Result<(), KeyServiceError> {
        if is_own(set) {
            self.ring.create_missing(in_use).await?;
            self.without_lone_parts(set).await?;
        } else {
            self.ring.reload(set).await?;
        }
        // Clients go on to encrypt, to a key that is still there.
        if set == REQUEST_OBJECT_SET {
            self.ring.ensure_request_object_keys().await?;
        }
        Ok(())
    }

    /// Deletes what a private key that went has left behind: it was replaced, or this node had not read it yet.
    async fn without_lone_parts(&self, set: &str) -> Result<(), KeyServiceError> {
        if self.ring.remove_lone_parts(set).await? > 0 {
            self.ring.reload(set).await?;
        }
        Ok(())
    }

    /// RSA keys take a while, so all are made away from the async threads.
    async fn make(&self, algorithm: &str, kid: String) -> Result<Jwk, KeyServiceError> {
        if let Ok(algorithm) = algorithm.parse::<MacAlgorithm>() {
            return Ok(Jwk::generate_symmetric(algorithm, kid, &*self.sealer.rng));
        }
        let name = algorithm.to_owned();
        let generate = move || match (name.parse::<SigningAlgorithm>(), name.parse::<KeyManagement>()) {
            (Ok(algorithm), _) => Ok(Jwk::generate(algorithm, kid, RsaSize::Bits2048)?),
            (_, Ok(algorithm)) => Ok(Jwk::generate_encryption(algorithm, kid, RsaSize::Bits2048)?),
            _ => Err(KeyServiceError::Algorithm),
        };
        tokio::task::spawn_blocking(generate).await.map_err(|_| KeyError::NotMade)?
    }

    /// Whether this is the key of a row, whatever is said about it besides.
    fn is_same(&self, stored: &StoredKey, jwk: &Jwk) -> bool {
        let same = |old: Jwk| old.thumbprint() == jwk.thumbprint() && old.is_private() == jwk.is_private();
        self.sealer.open(stored).is_ok_and(same)
    }

    async fn has_predecessor(&self, set: &str, jwk: &Jwk) -> Result<bool, StoreError> {
        if !is_own(set) {
            return Ok(false);
        }
        let stored = self.repo.set(set).await?;
        Ok(stored
            .iter()
            .any(|key| key.state == KeyState::Active && jwk.alg.as_deref() == Some(&key.algorithm)))
    }

    /// The rows of a set that somebody else made.
    fn rows(&self, set: &str, keys: &[Jwk]) -> Result<Vec<StoredKey>, KeyServiceError> {
        check_name(set)?;
        let stored = keys.iter().map(|jwk| self.checked(set, jwk)).collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<_> = stored.iter().map(|key| key.kid.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() == stored.len() { Ok(stored) } else { Err(KeyServiceError::SameKid) }
    }

    /// The row of a key that somebody else made.
    fn checked(&self, set: &str, jwk: &Jwk) -> Result<StoredKey, KeyServiceError> {
        check_name(jwk.kid.as_deref().ok_or(KeyServiceError::NoKid)?)?;
        jwk.thumbprint()?;
        jwk.check()?;
        self.sealed(set, jwk, KeyState::Active)
    }

    fn sealed(&self, set: &str, jwk: &Jwk, state: KeyState) -> Result<StoredKey, KeyServiceError> {
        let length = serde_json::to_string(jwk).map_or(usize::MAX, |json| json.len());
        if length > MAX_JWK {
            return Err(KeyServiceError::TooLong);
        }
        Ok(self.sealer.seal(set, jwk, state, self.clock.now()))
    }
}

/// A part of a path that is one dot or two is none: clients resolve it before they ask (RFC 3986 §5.2.4).
fn check_name(name: &str) -> Result<(), KeyServiceError> {
    let fits = !name.is_empty() && name.len() <= MAX_NAME && !name.chars().any(char::is_control);
    let fits = fits && !matches!(name, "." | "..");
    if fits { Ok(()) } else { Err(KeyServiceError::Name) }
}

impl fmt::Debug for KeyService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyService").field("ring", &self.ring).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
