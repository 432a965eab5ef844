//! Rotation of signing keys: announced → active → retiring → gone.
//!
//! `life` says where a key is, from times alone; a round writes it down, makes successors and deletes what is over. A
//! round that was missed delays nothing but that.

use std::fmt;
use std::sync::Arc;

use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::{Lifetime, Timestamp};
use thiserror::Error;
use tracing::info;

use super::at_rest::KeyError;
use super::loaded::LoadedSet;
use super::repository::{KeyState, StoredKey};
use super::ring::{KeyRing, OWN_SETS};
use crate::config::LONGEST_ACCESS_TOKEN;

/// How long others may keep `/.well-known/jwks.json`.
pub const JWKS_MAX_AGE: Lifetime = Lifetime::minutes(5);

/// When signing keys change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationPolicy {
    /// The age at which a signing key gets a successor; none if that is done by hand.
    pub every: Option<Lifetime>,
    /// How long a successor is published before it signs.
    pub announce_for: Lifetime,
    /// How long a key is published after it signed for the last time.
    pub retire_after: Lifetime,
}

/// What is wrong with a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RotationPolicyError {
    /// A key would sign before others can know it.
    #[error("keys must be announced for longer than the 5 minutes that others may keep the old ones")]
    AnnouncedTooShortly,
    /// A key would get its successor's successor before its successor signs.
    #[error("keys must be rotated less often than they are announced for")]
    TooOften,
    /// A key would go before the last token that it signed.
    #[error("retiring keys must be published for at least 744 hours, as long as an access token may live")]
    RetiredTooSoon,
}

impl RotationPolicy {
    /// Refuses what would make tokens that nobody can verify.
    ///
    /// # Errors
    /// [`RotationPolicyError`] says what.
    pub fn check(&self) -> Result<(), RotationPolicyError> {
        if self.announce_for <= JWKS_MAX_AGE {
            return Err(RotationPolicyError::AnnouncedTooShortly);
        }
        if self.every.is_some_and(|every| every <= self.announce_for) {
            return Err(RotationPolicyError::TooOften);
        }
        if self.retire_after < LONGEST_ACCESS_TOKEN {
            return Err(RotationPolicyError::RetiredTooSoon);
        }
        Ok(())
    }
}

impl Default for RotationPolicy {
    /// By hand; announced for two hours; published for a day longer than the longest access token.
    fn default() -> Self {
        Self { every: None, announce_for: Lifetime::hours(2), retire_after: Lifetime::hours(32 * 24) }
    }
}

/// What a round did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rotated {
    /// Successors that were made.
    pub announced: usize,
    /// Keys that began to sign.
    pub promoted: usize,
    /// Keys that sign no more.
    pub retired: usize,
    /// Keys that are gone.
    pub deleted: usize,
}

/// Moves signing keys through their lives.
pub struct KeyRotation {
    ring: Arc<KeyRing>,
}

impl KeyRotation {
    /// Rotates the keys of this ring, by its policy.
    pub const fn new(ring: Arc<KeyRing>) -> Self {
        Self { ring }
    }

    /// Makes what every set has a key of and this one has not, and the successors that are due; writes down who signs and who
    /// retires, deletes what is over. Any number of nodes may do so at once.
    ///
    /// # Errors
    /// [`KeyError`]; what was done until then is done.
    pub async fn round(&self, now: Timestamp) -> Result<Rotated, KeyError> {
        self.ring.create_missing(Vec::new()).await?;
        let loaded = self.ring.loaded();
        let mut done = Rotated::default();
        for name in OWN_SETS {
            let Some(set) = loaded.own(name) else { continue };
            for algorithm in set.algorithms() {
                self.announce(name, set, (algorithm, now), &mut done).await?;
                self.move_on(set, (algorithm, now), &mut done).await?;
            }
            done.deleted += self.ring.remove_lone_parts(name).await?;
        }
        if done != Rotated::default() {
            self.ring.read().await?;
        }
        Ok(done)
    }

    /// Makes what request objects are encrypted to, if it is missing: a node may have stopped between its deletion and that.
    ///
    /// # Errors
    /// [`KeyError`] if the store does not answer.
    pub async fn restore_request_object_keys(&self) -> Result<(), KeyError> {
        self.ring.ensure_request_object_keys().await
    }

    async fn announce(
        &self,
        name: &'static str,
        set: &LoadedSet,
        (algorithm, now): (SigningAlgorithm, Timestamp),
        done: &mut Rotated,
    ) -> Result<(), KeyError> {
        let Some(every) = self.ring.policy().every else { return Ok(()) };
        let newest =
            set.signers(algorithm).map(|(stored, _)| stored).find(|key| key.state != KeyState::Retiring);
        if newest.is_none_or(|key| key.created_at + every > now) {
            return Ok(());
        }
        if self.ring.add_successor((name, set), algorithm, KeyState::Announced).await?.is_some() {
            done.announced += 1;
        }
        Ok(())
    }

    async fn move_on(
        &self,
        set: &LoadedSet,
        (algorithm, now): (SigningAlgorithm, Timestamp),
        done: &mut Rotated,
    ) -> Result<(), KeyError> {
        for (key, life) in set.lives(algorithm, self.ring.policy(), now) {
            if life.state == KeyState::Retiring && life.gone_at.is_some_and(|at| at <= now) {
                done.deleted += usize::from(self.ring.remove(set, key).await?);
            } else if life.state != key.state && self.ring.set_state(key, life.state).await? {
                match life.state {
                    KeyState::Active => done.promoted += 1,
                    KeyState::Retiring => done.retired += 1,
                    KeyState::Announced => {}
                }
            }
        }
        Ok(())
    }
}

impl KeyRing {
    /// Adds a key after the newest of this algorithm, unless somebody else just did; its id.
    pub(super) async fn add_successor(
        &self,
        (name, set): (&'static str, &LoadedSet),
        algorithm: SigningAlgorithm,
        state: KeyState,
    ) -> Result<Option<String>, KeyError> {
        let Some(newest) = set.newest(algorithm) else { return Ok(None) };
        let made = self.make_key((name, algorithm), state, set.rsa_size(algorithm, &self.sealer)).await?;
        if !self.repo.add_successor(made.clone(), &newest.kid).await? {
            return Ok(None);
        }
        tell_made(&made);
        Ok(Some(made.kid))
    }

    /// Writes the state of a key down; whether it was as it is known here until then.
    pub(super) async fn set_state(&self, key: &StoredKey, state: KeyState) -> Result<bool, KeyError> {
        let changed = self.repo.replace(key, StoredKey { state, ..key.clone() }).await?;
        if changed {
            let (from, to) = (key.state.as_str(), state.as_str());
            info!(target: "sluice_audit", { key.set = key.set, key.kid = key.kid, from, to }, "signing key moved on");
        }
        Ok(changed)
    }
}

/// Says in the audit trail that a key was made that signs, or will.
pub(super) fn tell_made(key: &StoredKey) {
    let StoredKey { set, kid, algorithm, state, .. } = key;
    let state = state.as_str();
    info!(target: "sluice_audit", { key.set = set, key.kid = kid, key.alg = %algorithm, key.state = state }, "signing key made");
}

impl fmt::Debug for KeyRotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRotation").field("ring", &self.ring).finish()
    }
}

#[cfg(test)]
mod tests;
