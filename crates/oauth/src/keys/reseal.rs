//! Which secret keys are sealed with at rest, and sealing them with the first one again.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::{SealedBy, Sealer};
use sluice_primitives::Rng;

use super::at_rest::{KeyError, KeySealer};
use super::repository::{KeyRepository, StoredKey};

/// What was sealed again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resealed {
    /// Keys that the first secret seals now.
    pub resealed: u64,
    /// Keys that it had sealed already.
    pub unchanged: u64,
    /// Keys that no secret opens, as set and id.
    pub unopened: Vec<(String, String)>,
}

/// The sealed keys of all sets.
pub struct SealedKeys {
    pub(super) repo: Arc<dyn KeyRepository>,
    pub(super) sealer: KeySealer,
}

impl SealedKeys {
    /// The keys in this store.
    pub fn new(repo: Arc<dyn KeyRepository>, at_rest: Arc<Sealer>, rng: Arc<dyn Rng>) -> Self {
        Self { repo, sealer: KeySealer { at_rest, rng } }
    }

    /// How many keys each secret sealed.
    ///
    /// # Errors
    /// The store's.
    pub async fn count(&self) -> Result<BTreeMap<SealedBy, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        for set in self.repo.sets().await? {
            for key in self.repo.set(&set).await? {
                *counts.entry(self.sealer.sealed_by(&key)).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// Seals with the first secret what another one sealed. A key that changes meanwhile is left alone: whoever changed it
    /// sealed it.
    ///
    /// # Errors
    /// The store's; what was sealed until then is.
    pub async fn reseal(&self) -> Result<Resealed, KeyError> {
        let mut done = Resealed::default();
        for set in self.repo.sets().await? {
            for key in self.repo.set(&set).await? {
                match self.sealer.sealed_by(&key) {
                    SealedBy::Known(0) => done.unchanged += 1,
                    SealedBy::Known(_) => done.resealed += u64::from(self.again(&key).await?),
                    SealedBy::Unknown | SealedBy::Broken => done.unopened.push((key.set, key.kid)),
                }
            }
        }
        Ok(done)
    }

    async fn again(&self, key: &StoredKey) -> Result<bool, KeyError> {
        let jwk = self.sealer.open(key)?;
        let StoredKey { sealed, .. } = self.sealer.seal(&key.set, &jwk, key.state, key.created_at);
        Ok(self.repo.replace(key, StoredKey { sealed, ..key.clone() }).await?)
    }
}

impl fmt::Debug for SealedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedKeys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};

    use super::*;
    use crate::keys::KeyRing;
    use crate::keys::fake::FakeKeys;

    fn at_rest(secrets: &[&str]) -> Arc<Sealer> {
        let secrets: Vec<_> = secrets.iter().map(|secret| Secret::new(secret.as_bytes().to_vec())).collect();
        Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets))
    }

    fn keys(repo: &Arc<FakeKeys>, secrets: &[&str]) -> SealedKeys {
        SealedKeys::new(repo.clone(), at_rest(secrets), Arc::new(OsRng))
    }

    #[tokio::test]
    async fn keys_are_sealed_again_with_the_first_secret_and_stay_the_same_keys() {
        let repo = Arc::new(FakeKeys::default());
        let start = async |secrets: &[&str]| {
            let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
            KeyRing::start(repo.clone(), at_rest(secrets), Arc::new(OsRng), clock).await
        };
        let published = start(&["old"]).await.unwrap().public_jwks();
        let both = keys(&repo, &["new", "old"]);
        assert_eq!(both.count().await.unwrap(), BTreeMap::from([(SealedBy::Known(1), 4)]));
        let done = both.reseal().await.unwrap();
        assert_eq!((done.resealed, done.unchanged, done.unopened), (4, 0, Vec::new()));
        assert_eq!(both.reseal().await.unwrap().unchanged, 4);
        assert_eq!(both.count().await.unwrap(), BTreeMap::from([(SealedBy::Known(0), 4)]));
        assert_eq!(start(&["new"]).await.unwrap().public_jwks(), published);
        assert!(start(&["old"]).await.is_err());
    }

    #[tokio::test]
    async fn keys_that_no_secret_opens_are_named_and_left_as_they_are() {
        let repo = Arc::new(FakeKeys::default());
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
        KeyRing::start(repo.clone(), at_rest(&["old"]), Arc::new(OsRng), clock).await.unwrap();
        let before = repo.0.lock().clone();
        let other = keys(&repo, &["new"]);
        assert_eq!(other.count().await.unwrap(), BTreeMap::from([(SealedBy::Unknown, 4)]));
        assert_eq!(other.reseal().await.unwrap().unopened.len(), 4);
        assert_eq!(*repo.0.lock(), before);
    }
}
