//! Keys that are made when somebody wants them.

use async_trait::async_trait;
use sluice_crypto::jwk::SigningAlgorithm;

use super::{KeyError, KeyRing};

/// Makes signing keys that are missing.
#[async_trait]
pub trait SigningKeys: Send + Sync {
    /// Sees to it that a set has a key of this algorithm that signs.
    async fn ensure(&self, set: &str, algorithm: SigningAlgorithm) -> Result<(), KeyError>;
}

#[async_trait]
impl SigningKeys for KeyRing {
    async fn ensure(&self, set: &str, algorithm: SigningAlgorithm) -> Result<(), KeyError> {
        Self::ensure(self, set, algorithm).await
    }
}
