//! Keys that no secret opens, given up: as long as one of them is there, no node starts.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Clock;

use super::at_rest::KeyError;
use super::repository::StoredKey;
use super::reseal::SealedKeys;
use super::ring::{KeyRing, own};

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
    /// [`KeyError`] if a key cannot be made, or the store cannot do it; what was deleted until then is.
    pub async fn abandon(&self, clock: Arc<dyn Clock>) -> Result<usize, KeyError> {
        let lost = self.lost().await?;
        for key in &lost {
            self.repo.delete(&key.set, &key.kid).await?;
        }
        if !lost.is_empty() {
            self.make_anew(&lost, clock).await?;
        }
        Ok(lost.len())
    }

    /// A node makes at its start what every node needs. What was made for clients that want another algorithm, it would not.
    async fn make_anew(&self, lost: &[StoredKey], clock: Arc<dyn Clock>) -> Result<(), KeyError> {
        let (at_rest, rng) = (Arc::clone(&self.sealer.at_rest), Arc::clone(&self.sealer.rng));
        let ring = KeyRing::start(Arc::clone(&self.repo), at_rest, rng, clock).await?;
        for key in lost {
            let (Some(set), Ok(algorithm)) = (own(&key.set), key.algorithm.parse::<SigningAlgorithm>())
            else {
                continue;
            };
            ring.ensure(set, algorithm).await?;
        }
        Ok(())
    }

    async fn lost(&self) -> Result<Vec<StoredKey>, StoreError> {
        let mut lost = Vec::new();
        for set in self.repo.sets().await? {
            let keys = self.repo.set(&set).await?;
            lost.extend(keys.into_iter().filter(|key| self.sealer.secret_of(key).is_err()));
        }
        Ok(lost)
    }
}

#[cfg(test)]
mod tests {
    use sluice_crypto::Sealer;
    use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};

    use super::*;
    use crate::keys::fake::FakeKeys;
    use crate::keys::{ACCESS_TOKEN_SET, ID_TOKEN_SET};

    fn at_rest(secret: &str) -> Arc<Sealer> {
        let secrets = [Secret::new(secret.as_bytes().to_vec())];
        Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets))
    }

    fn clock() -> Arc<dyn Clock> {
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
        assert_eq!(keys.abandon(clock()).await.unwrap(), 5);
        assert!(keys.unopened().await.unwrap().is_empty());
        let after = ring(&repo, "new").await.unwrap();
        assert!(after.id_token_signer(SigningAlgorithm::ES384).is_some());
        assert!(after.access_token_signer(SigningAlgorithm::ES384).is_none());
        assert!(after.access_token_signer(SigningAlgorithm::RS256).is_some());
        assert_eq!(repo.0.lock().iter().filter(|key| key.set == ACCESS_TOKEN_SET).count(), 2);
    }

    #[tokio::test]
    async fn what_opens_stays() {
        let repo = Arc::new(FakeKeys::default());
        let published = ring(&repo, "secret").await.unwrap().public_jwks();
        let keys = SealedKeys::new(repo.clone(), at_rest("secret"), Arc::new(OsRng));
        assert_eq!(keys.abandon(clock()).await.unwrap(), 0);
        assert_eq!(ring(&repo, "secret").await.unwrap().public_jwks(), published);
    }
}
