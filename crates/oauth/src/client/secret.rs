//! Client secrets: made, and hashed to be stored.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_crypto::hash_pool::{HashPool, PoolBusy, Priority};
use sluice_crypto::password_hash::PasswordHashError;
use sluice_crypto::secret_hash::{
    FastHashKeys, StoredSecretHash, hash_chosen, hash_generated, verify_fast, verify_slow,
};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Rng, Secret};
use thiserror::Error;

/// Why a secret was not hashed.
#[derive(Debug, Clone, Error)]
pub enum SecretNotHashed {
    /// The hash pool has too much to do, there is no memory for the hash, or it shuts down: try later.
    #[error(transparent)]
    Busy(#[from] PoolBusy),
    /// The hash could not be computed.
    #[error(transparent)]
    Failed(#[from] PasswordHashError),
}

/// Makes and hashes client secrets: generated ones by a keyed fast hash, chosen ones slowly on the hash pool.
#[derive(Clone)]
pub struct ClientSecrets {
    keys: FastHashKeys,
    pool: Arc<HashPool>,
    rng: Arc<dyn Rng>,
}

impl ClientSecrets {
    /// A maker of secrets.
    pub const fn new(keys: FastHashKeys, pool: Arc<HashPool>, rng: Arc<dyn Rng>) -> Self {
        Self { keys, pool, rng }
    }

    /// A new secret of 256 random bits, URL-safe, and its hash.
    pub fn generate(&self) -> (Secret<String>, String) {
        self.hashed(&random_bytes::<32>(&*self.rng))
    }

    /// A new secret to sign with, of 512 random bits, URL-safe, and its hash: 86 characters are a key for any HMAC algorithm
    /// (RFC 7518 §3.2).
    pub fn generate_to_sign(&self) -> (Secret<String>, String) {
        self.hashed(&random_bytes::<64>(&*self.rng))
    }

    fn hashed(&self, random: &[u8]) -> (Secret<String>, String) {
        let secret = Secret::new(URL_SAFE_NO_PAD.encode(random));
        let hash = hash_generated(&self.keys, &secret);
        (secret, hash)
    }

    /// The hash of a secret that somebody chose.
    ///
    /// # Errors
    /// [`SecretNotHashed`] if the pool is busy, or the hash fails.
    pub async fn hash_chosen(&self, secret: &Secret<String>) -> Result<String, SecretNotHashed> {
        let (secret, rng) = (secret.clone(), Arc::clone(&self.rng));
        let work = move |memory: &mut _| hash_chosen(&secret, &*rng, memory);
        Ok(self.pool.run(Priority::ClientSecret, work).await??)
    }

    /// Whether a secret can be held against this hash: it can be read, and the key that made it is known.
    pub fn can_check(&self, hash: &str) -> bool {
        match hash.parse() {
            Ok(StoredSecretHash::Fast(hash)) => self.keys.place_of(hash.key_id()).is_some(),
            Ok(StoredSecretHash::Slow(_)) => true,
            Err(_) => false,
        }
    }

    /// Whether one of the hashes is that of the secret. A hash that cannot be read is of no secret.
    ///
    /// # Errors
    /// [`SecretNotHashed`] if the pool is busy.
    pub async fn is_one_of(
        &self,
        hashes: &[String],
        secret: &Secret<String>,
    ) -> Result<bool, SecretNotHashed> {
        let mut slow = Vec::new();
        for stored in hashes.iter().filter_map(|stored| stored.parse().ok()) {
            match stored {
                StoredSecretHash::Fast(stored)
                    if verify_fast(&stored, &self.keys, secret).unwrap_or(false) =>
                {
                    return Ok(true);
                }
                StoredSecretHash::Fast(_) => {}
                StoredSecretHash::Slow(stored) => slow.push(stored),
            }
        }
        if slow.is_empty() {
            return Ok(false);
        }
        let secret = secret.clone();
        let work = move |memory: &mut _| {
            slow.iter().any(|stored| verify_slow(stored, &secret, memory).unwrap_or(false))
        };
        Ok(self.pool.run(Priority::ClientSecret, work).await?)
    }
}

impl fmt::Debug for ClientSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSecrets").field("keys", &self.keys).finish_non_exhaustive()
    }
}
