//! Keys that are made when somebody wants them.

use async_trait::async_trait;
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::SigningAlgorithm;

use super::{KeyError, KeyRing};

/// Makes keys that are missing.
#[async_trait]
pub trait SigningKeys: Send + Sync {
    /// Sees to it that a set has a key of this algorithm that signs.
    async fn ensure(&self, set: &str, algorithm: SigningAlgorithm) -> Result<(), KeyError>;

    /// Sees to it that there is a key that clients encrypt request objects to with this algorithm.
    async fn ensure_for_request_objects(&self, algorithm: KeyManagement) -> Result<(), KeyError>;
}

#[async_trait]
impl SigningKeys for KeyRing {
    async fn ensure(&self, set: &str, algorithm: SigningAlgorithm) -> Result<(), KeyError> {
        Self::ensure(self, set, algorithm).await
    }

    async fn ensure_for_request_objects(&self, algorithm: KeyManagement) -> Result<(), KeyError> {
        self.ensure_request_object_key(algorithm).await
    }
}
