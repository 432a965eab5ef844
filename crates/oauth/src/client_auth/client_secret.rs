//! Client secrets (RFC 6749 §2.3.1). A generated one is checked by a keyed fast hash. A chosen or imported one is checked
//! slowly once, on the hash pool, and then remembered by a keyed hash in memory.

use std::sync::Arc;

use quick_cache::sync::Cache;
use sluice_crypto::digest::{MacKey, sha256};
use sluice_crypto::hash_pool::{HashPool, Priority};
use sluice_crypto::secret_hash::{FastHashKeys, SlowHash, StoredSecretHash, verify_fast, verify_slow};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Rng, Secret, Timestamp};

use super::error::ClientAuthError;
use super::failure_limit::FailureLimit;
use crate::client::Client;

/// Right secrets that are remembered.
const RIGHT: usize = 16_384;
/// Wrong secrets that are remembered.
const WRONG: usize = 4_096;

/// A keyed hash of a secret, bound to the client, its revision and its stored hashes.
type Proof = [u8; 32];

/// Checks secrets, in time that tells nothing of them.
///
/// What is remembered: proofs, by a key that this process drew. Bound: [`RIGHT`] and [`WRONG`], apart, so that guesses
/// push out no right secret. Staleness: none, since a changed client has another revision and so other proofs; nobody
/// has to empty it.
pub(super) struct SecretVerifier {
    keys: FastHashKeys,
    pool: Arc<HashPool>,
    process_key: MacKey,
    right: Cache<Proof, ()>,
    wrong: Cache<Proof, ()>,
    failures: FailureLimit,
}

impl SecretVerifier {
    pub(super) fn new(keys: FastHashKeys, pool: Arc<HashPool>, rng: &dyn Rng) -> Self {
        Self {
            keys,
            pool,
            process_key: MacKey::new(&random_bytes::<32>(rng)),
            right: Cache::new(RIGHT),
            wrong: Cache::new(WRONG),
            failures: FailureLimit::new(),
        }
    }

    /// Checks the secret against all that the client has: the current one and rotated ones.
    pub(super) async fn verify(
        &self,
        client: &Client,
        secret: &Secret<String>,
        now: Timestamp,
    ) -> Result<(), ClientAuthError> {
        if client.secret_expires_at > 0 && now.as_secs() >= client.secret_expires_at {
            return Err(ClientAuthError::SecretExpired);
        }
        let (mut matches, mut slow) = (false, Vec::new());
        for stored in &client.secret_hashes {
            match stored.parse()? {
                StoredSecretHash::Fast(stored) => matches |= verify_fast(&stored, &self.keys, secret)?,
                StoredSecretHash::Slow(stored) => slow.push(stored),
            }
        }
        if matches {
            return Ok(());
        }
        if slow.is_empty() {
            return Err(ClientAuthError::WrongSecret);
        }
        let proof = self.proof(client, secret);
        if self.wrong.get(&proof).is_some() {
            return Err(ClientAuthError::WrongSecret);
        }
        // Those who bring the same secret at once share one slow hash.
        self.right.get_or_insert_async(&proof, self.verify_slowly(client, slow, secret, proof, now)).await
    }

    async fn verify_slowly(
        &self,
        client: &Client,
        stored: Vec<SlowHash>,
        secret: &Secret<String>,
        proof: Proof,
        now: Timestamp,
    ) -> Result<(), ClientAuthError> {
        if self.wrong.get(&proof).is_some() {
            return Err(ClientAuthError::WrongSecret);
        }
        if !self.failures.take(&client.id, now) {
            return Err(ClientAuthError::TooManyFailures);
        }
        let secret = secret.clone();
        let hashed = self.pool.run(Priority::ClientSecret, move |memory| {
            for stored in &stored {
                if verify_slow(stored, &secret, memory)? {
                    return Ok(true);
                }
            }
            Ok(false)
        });
        let verdict = match hashed.await {
            Ok(Ok(false)) => {
                self.wrong.insert(proof, ());
                return Err(ClientAuthError::WrongSecret);
            }
            Ok(Ok(true)) => Ok(()),
            Ok(Err(error)) => Err(ClientAuthError::SecretHash(error)),
            Err(busy) => Err(ClientAuthError::HashPool(busy)),
        };
        self.failures.give_back(&client.id);
        verdict
    }

    fn proof(&self, client: &Client, secret: &Secret<String>) -> Proof {
        let id = sha256(client.id.as_str().as_bytes());
        let stored = sha256(client.secret_hashes.join("\n").as_bytes());
        self.process_key.mac(&[&client.revision.to_be_bytes(), &id, &stored, secret.expose().as_bytes()])
    }
}
