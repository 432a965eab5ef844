//! Rotation at an administrator's word, and what signing keys there are.

use sluice_commit::StoreError;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Timestamp;

use super::loaded::{Loaded, LoadedSet};
use super::repository::KeyState;
use super::ring::{OWN_SETS, own};
use super::service::{KeyService, KeyServiceError};

/// How often a successor is tried when others make one at the same time.
const TRIES: usize = 3;

/// How a set is rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rotate {
    /// Keys of this algorithm; of all that the set has if there is none.
    pub algorithm: Option<SigningAlgorithm>,
    /// The new key signs at once, and the old ones retire. Others learn of it late: when a key is compromised.
    pub at_once: bool,
    /// The old keys are deleted, too: nothing that they signed is accepted any more.
    pub revoke: bool,
}

/// A key that this server signs with, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStatus {
    /// The set.
    pub set: String,
    /// The key.
    pub kid: String,
    /// What it signs with.
    pub algorithm: SigningAlgorithm,
    /// Where it is in its life.
    pub state: KeyState,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when, or from when, it signs.
    pub signs_from: Option<Timestamp>,
    /// When it is deleted, if it has a successor.
    pub gone_at: Option<Timestamp>,
}

impl KeyService {
    /// The keys that this server signs with: by set, by algorithm, newest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn signing_keys(&self) -> Result<Vec<KeyStatus>, KeyServiceError> {
        self.ring.read().await?;
        let loaded = self.ring.loaded();
        Ok(OWN_SETS.into_iter().flat_map(|set| self.statuses(&loaded, set)).collect())
    }

    /// Gives the signing keys of a set successors, which are announced first unless `asked` says otherwise; the new keys.
    /// An algorithm that the set has no key for gets its first, which signs at once.
    ///
    /// # Errors
    /// [`KeyServiceError::NotOwn`] for a set that this server does not sign with.
    pub async fn rotate(&self, set: &str, asked: Rotate) -> Result<Vec<KeyStatus>, KeyServiceError> {
        let set = own(set).ok_or(KeyServiceError::NotOwn)?;
        self.ring.read().await?;
        let known = self.ring.loaded().own(set).map(LoadedSet::algorithms).unwrap_or_default();
        let algorithms = asked.algorithm.map_or_else(|| known.into_iter().collect(), |only| vec![only]);
        let mut made = Vec::new();
        for algorithm in algorithms {
            let kid = self.succeed(set, algorithm, asked.at_once || asked.revoke).await?;
            if asked.at_once || asked.revoke {
                self.retire_before(&kid, (set, algorithm), asked.revoke).await?;
            }
            made.push(kid);
        }
        self.ring.read().await?;
        let mut statuses = self.statuses(&self.ring.loaded(), set);
        statuses.retain(|key| made.contains(&key.kid));
        Ok(statuses)
    }

    /// Adds a key that succeeds the newest of its algorithm; its id.
    async fn succeed(
        &self,
        set: &'static str,
        algorithm: SigningAlgorithm,
        at_once: bool,
    ) -> Result<String, KeyServiceError> {
        let state = if at_once { KeyState::Active } else { KeyState::Announced };
        for _ in 0..TRIES {
            let loaded = self.ring.loaded();
            let Some(keys) = loaded.own(set) else { break };
            if keys.newest(algorithm).is_none() {
                self.ring.ensure(set, algorithm).await?;
                if let Some((first, _)) =
                    self.ring.loaded().own(set).and_then(|keys| keys.signers(algorithm).next())
                {
                    return Ok(first.kid.clone());
                }
            } else if let Some(kid) = self.ring.add_successor((set, keys), algorithm, state).await? {
                return Ok(kid);
            }
            self.ring.read().await?;
        }
        Err(StoreError::Busy.into())
    }

    /// Takes the keys before this one out of use. Newer ones are left alone: of two rotations at once, the later wins.
    async fn retire_before(
        &self,
        kid: &str,
        (set, algorithm): (&'static str, SigningAlgorithm),
        revoke: bool,
    ) -> Result<(), KeyServiceError> {
        self.ring.read().await?;
        let loaded = self.ring.loaded();
        let Some(keys) = loaded.own(set) else { return Ok(()) };
        for (key, _) in keys.signers(algorithm).skip_while(|(key, _)| key.kid != kid).skip(1) {
            if revoke {
                self.ring.revoke(set, key).await?;
            } else if key.state != KeyState::Retiring {
                self.ring.set_state(key, KeyState::Retiring).await?;
            }
        }
        Ok(())
    }

    fn statuses(&self, loaded: &Loaded, set: &str) -> Vec<KeyStatus> {
        let (Some(keys), now) = (loaded.own(set), self.clock.now()) else { return Vec::new() };
        let mut statuses = Vec::new();
        for algorithm in keys.algorithms() {
            for (key, life) in keys.lives(algorithm, self.ring.policy(), now) {
                statuses.push(KeyStatus {
                    set: key.set.clone(),
                    kid: key.kid.clone(),
                    algorithm,
                    state: life.state,
                    created_at: key.created_at,
                    signs_from: life.signs_from,
                    gone_at: life.gone_at,
                });
            }
        }
        statuses
    }
}

#[cfg(test)]
mod tests;
