//! Keys that no secret opens, given up: as long as one of them is there, no node starts.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::jwk::{RsaSize, SigningAlgorithm};
use sluice_primitives::Clock;
use tracing::info;

use super::at_rest::KeyError;
use super::loaded::LoadedSet;
use super::maker::NewKeys;
use super::repository::{KeyState, StoredKey};
use super::reseal::SealedKeys;
use super::ring::{Wanted, own};
use super::rotation::{RotationPolicy, tell_made};

impl SealedKeys {
    /// The keys that no secret opens, as set and id.
    ///
    /// # Errors
    /// The store's.
    pub async fn unopened(&self) -> Result<Vec<(String, String)>, StoreError> {
        Ok(self.lost().await?.into_iter().map(|key| (key.set, key.kid)).collect())
    }

    /// Deletes the keys that no secret opens, and makes those that this server signs with anew, one of each algorithm. How
    /// many were deleted.
    ///
    /// # Errors
    /// [`KeyError`] if a key cannot be made, or the store cannot do it; what was done until then stays, and another call does
    /// the rest.
    pub async fn abandon(&self, clock: &dyn Clock) -> Result<usize, KeyError> {
        let lost = self.lost().await?;
        // Before they go: they alone say of which algorithms there were keys.
        self.make_anew(&lost, clock).await?;
        for StoredKey { set, kid, .. } in &lost {
            if self.repo.delete(set, kid).await? {
                info!(target: "sluice_audit", { key.set = set, key.kid = kid }, "key deleted");
            }
        }
        Ok(lost.len())
    }

    /// A node makes at its start what every node needs. What was made for clients that want another algorithm, it would not.
    async fn make_anew(&self, lost: &[StoredKey], clock: &dyn Clock) -> Result<(), KeyError> {
        let wanted =
            |key: &StoredKey| Some((own(&key.set)?, key.algorithm.parse::<SigningAlgorithm>().ok()?));
        let mut wanted: Vec<Wanted> = lost.iter().filter_map(wanted).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for wanted in wanted {
            if !self.has_signer(wanted).await? {
                let (maker, (set, algorithm)) = (Arc::new(NewKeys) as _, wanted);
                let wanted = (set, algorithm, RsaSize::Bits2048);
                let made = self.sealer.make(&maker, wanted, (KeyState::Active, clock)).await?;
                self.repo.add(vec![made.clone()]).await?;
                tell_made(&made);
            }
        }
        Ok(())
    }

    /// Whether a key that opens signs with this algorithm.
    async fn has_signer(&self, (set, algorithm): Wanted) -> Result<bool, StoreError> {
        let opened = |key: StoredKey| self.sealer.open(&key).ok().map(|jwk| (key, jwk));
        let (keys, jwks): (Vec<_>, Vec<_>) = self.repo.set(set).await?.into_iter().filter_map(opened).unzip();
        Ok(LoadedSet::parse(keys, &jwks, &RotationPolicy::default()).has_signer(algorithm))
    }

    async fn lost(&self) -> Result<Vec<StoredKey>, StoreError> {
        let mut lost = Vec::new();
        for set in self.repo.sets().await? {
            let keys = self.repo.set(&set).await?;
            lost.extend(keys.into_iter().filter(|key| !self.sealer.sealed_by(key).opens()));
        }
        Ok(lost)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_crypto::Sealer;
    use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};

    use super::*;
    use crate::keys::fake::FakeKeys;
    use crate::keys::{ACCESS_TOKEN_SET, ID_TOKEN_SET, KeyRing};

    fn at_rest(secret: &str) -> Arc<Sealer> {
        let secrets = [Secret::new(secret.as_bytes().to_vec())];
        Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets))
    }

    fn clock() -> Arc<ManualClock> {
        Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)))
    }

    async fn ring(repo: &Arc<FakeKeys>, secret: &str) -> Result<Arc<KeyRing>, KeyError> {
        KeyRing::start(repo.clone(), at_rest(secret), Arc::new(OsRng), clock()).await
    }

    #[tokio::test]
    async fn what_no_secret_opens_is_deleted_and_made_anew_for_the_same_algorithms() {
        let repo = Arc::new(FakeKeys::default());
        let before = ring(&repo, "lost").await.unwrap();
        before.ensure(ID_TOKEN_SET, SigningAlgorithm::ES384).await.unwrap();
        assert!(ring(&repo, "new").await.is_err());
        let keys = SealedKeys::new(repo.clone(), at_rest("new"), Arc::new(OsRng));
        assert_eq!(keys.unopened().await.unwrap().len(), 5);
        assert_eq!(keys.abandon(&*clock()).await.unwrap(), 5);
        assert!(keys.unopened().await.unwrap().is_empty());
        let after = ring(&repo, "new").await.unwrap();
        assert!(after.id_token_signer(SigningAlgorithm::ES384).is_some());
        assert!(after.access_token_signer(SigningAlgorithm::ES384).is_none());
        assert!(after.access_token_signer(SigningAlgorithm::RS256).is_some());
        assert_eq!(repo.0.lock().iter().filter(|key| key.set == ACCESS_TOKEN_SET).count(), 2);
    }

    #[tokio::test]
    async fn what_breaks_off_goes_on_where_it_stopped_and_no_algorithm_is_lost() {
        let repo = Arc::new(FakeKeys::default());
        let before = ring(&repo, "lost").await.unwrap();
        before.ensure(ID_TOKEN_SET, SigningAlgorithm::ES384).await.unwrap();
        before.ensure(ACCESS_TOKEN_SET, SigningAlgorithm::ES384).await.unwrap();
        let keys = SealedKeys::new(repo.clone(), at_rest("new"), Arc::new(OsRng));
        *repo.1.lock() = Some(1);
        assert!(keys.abandon(&*clock()).await.is_err());
        assert_eq!(keys.unopened().await.unwrap().len(), 5);
        *repo.1.lock() = None;
        assert_eq!(keys.abandon(&*clock()).await.unwrap(), 5);
        assert_eq!(repo.0.lock().len(), 6, "each is made once");
        let after = ring(&repo, "new").await.unwrap();
        assert!(after.id_token_signer(SigningAlgorithm::ES384).is_some());
        assert!(after.access_token_signer(SigningAlgorithm::ES384).is_some());
    }

    #[tokio::test]
    async fn what_opens_stays() {
        let repo = Arc::new(FakeKeys::default());
        let published = ring(&repo, "secret").await.unwrap().public_jwks();
        let keys = SealedKeys::new(repo.clone(), at_rest("secret"), Arc::new(OsRng));
        assert_eq!(keys.abandon(&*clock()).await.unwrap(), 0);
        assert_eq!(ring(&repo, "secret").await.unwrap().public_jwks(), published);
    }
}
