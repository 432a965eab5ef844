//! Client secrets (RFC 6749 §2.3.1). A generated one is checked by a keyed fast hash; if an older key made that, the client
//! gets another hash of the same secret, since nobody else brings it. A chosen or imported one is checked slowly once, on
//! the hash pool, and then remembered by a keyed hash in memory.

use std::net::IpAddr;
use std::sync::Arc;

use quick_cache::sync::Cache;
use sluice_crypto::digest::{MacKey, sha256};
use sluice_crypto::hash_pool::{HashPool, Priority};
use sluice_crypto::password_hash::HashMemory;
use sluice_crypto::secret_hash::{
    FastHashKeys, SecretHashError, SlowHash, StoredSecretHash, hash_generated, key_of, verify_slow,
};
use sluice_net::bounded::oldest_first;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Rng, Secret, Timestamp};
use tracing::warn;

use super::error::ClientAuthError;
use super::failure_limit::FailureLimit;
use crate::client::Client;

/// Right secrets that are remembered.
const RIGHT: usize = 16_384;
/// Wrong secrets that are remembered.
const WRONG: usize = 4_096;
/// Secrets that are remembered as turned away: of a client that is guessed at 50 times in a second, what came within five minutes.
const TURNED_AWAY: usize = 16_384;

/// A keyed hash of what was brought, bound to the client, its revision and the stored hashes that still count.
type Proof = [u8; 32];

/// What the hashes of a client say of a secret, in each way that it may be meant.
#[derive(Default)]
struct Looked<'a> {
    /// The place of the hash that is the secret's, that of the key that made it, and the secret.
    found: Option<(usize, usize, &'a Secret<String>)>,
    /// Those that cost too much to be looked at here.
    slow: Vec<SlowHash>,
    /// The id of a key that is not known here: what it made is of no secret.
    unknown_key: Option<u8>,
    /// What is wrong with another one.
    unreadable: Option<SecretHashError>,
}

/// Checks secrets, in time that tells nothing of them.
///
/// What is remembered: proofs, by a key that this process drew. Bound: [`RIGHT`], [`WRONG`] and [`TURNED_AWAY`], apart, so that
/// guesses push out no right secret. Staleness: none, since a changed client has another revision and so other proofs; nobody
/// has to empty it.
pub(super) struct SecretVerifier {
    keys: FastHashKeys,
    pool: Arc<HashPool>,
    process_key: MacKey,
    right: Cache<Proof, ()>,
    wrong: Cache<Proof, ()>,
    turned_away: Cache<Proof, ()>,
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
            turned_away: oldest_first(TURNED_AWAY),
            failures: FailureLimit::new(),
        }
    }

    /// Checks a secret against all that the client has: the current one and rotated ones. `secrets` is what was brought, in each
    /// way that it may be meant: one of them has to be right; where none is, each was a guess. The hashes that the client is to
    /// have from now on, if another key than the first made the one of this secret. `from` is where it comes
    /// from.
    pub(super) async fn verify(
        &self,
        client: &Client,
        secrets: &[Secret<String>],
        (from, now): (Option<IpAddr>, Timestamp),
    ) -> Result<Option<Vec<String>>, ClientAuthError> {
        if client.secrets_have_ended(now) {
            return Err(ClientAuthError::SecretExpired);
        }
        let Looked { found, slow, unknown_key, unreadable } =
            self.look(client.secret_hashes_at(now), secrets);
        if let Some((place, key, secret)) = found {
            return Ok((key > 0).then(|| self.rehashed(&client.secret_hashes, place, secret)));
        }
        // What is sent may be encoded, and longer for that.
        let is_cut = slow.iter().any(|stored| secrets.iter().all(|secret| stored.reads_part_of(secret)));
        match self.verify_chosen(client, slow, secrets, (from, now)).await {
            Ok(()) => Ok(None),
            Err(ClientAuthError::WrongSecret) => {
                if let Some(key) = unknown_key {
                    warn!(client.id = %client.id, key.id = %format_args!("{key:02x}"), "wrong client secret, or one whose hash needs a secret that is not configured");
                }
                if is_cut {
                    warn!(client.id = %client.id, "wrong client secret, of more than the 72 bytes that its bcrypt hash tells of: if it is no guess, give the client another one");
                }
                Err(unreadable.map_or(ClientAuthError::WrongSecret, ClientAuthError::SecretHash))
            }
            Err(error) => Err(error),
        }
    }

    /// Holds the secrets against the fast hashes, all of them whichever it is.
    fn look<'a>(&self, hashes: &[String], secrets: &'a [Secret<String>]) -> Looked<'a> {
        let mut looked = Looked::default();
        for (place, stored) in hashes.iter().enumerate() {
            let stored = match stored.parse::<StoredSecretHash>() {
                Ok(StoredSecretHash::Fast(stored)) => stored,
                Ok(StoredSecretHash::Slow(stored)) => {
                    looked.slow.push(stored);
                    continue;
                }
                Err(error) => {
                    looked.unreadable = Some(error);
                    continue;
                }
            };
            for secret in secrets {
                match key_of(&stored, &self.keys, secret) {
                    Ok(Some(key)) => looked.found = looked.found.or(Some((place, key, secret))),
                    Ok(None) => {}
                    Err(SecretHashError::UnknownKey(id)) => looked.unknown_key = Some(id),
                    Err(error) => looked.unreadable = Some(error),
                }
            }
        }
        looked
    }

    /// The hashes, with that of this secret made by the first key.
    fn rehashed(&self, hashes: &[String], place: usize, secret: &Secret<String>) -> Vec<String> {
        let mut hashes = hashes.to_vec();
        if let Some(hash) = hashes.get_mut(place) {
            *hash = hash_generated(&self.keys, secret);
        }
        hashes
    }

    /// Checks a secret that somebody chose, or remembers it.
    async fn verify_chosen(
        &self,
        client: &Client,
        slow: Vec<SlowHash>,
        secrets: &[Secret<String>],
        (from, now): (Option<IpAddr>, Timestamp),
    ) -> Result<(), ClientAuthError> {
        if slow.is_empty() {
            return Err(ClientAuthError::WrongSecret);
        }
        let proof = self.proof(client, secrets, now);
        if self.wrong.get(&proof).is_some() {
            return Err(ClientAuthError::WrongSecret);
        }
        // Those who bring the same secret at once share one slow hash.
        self.right
            .get_or_insert_async(&proof, self.verify_slowly(client, slow, secrets, proof, (from, now)))
            .await
    }

    async fn verify_slowly(
        &self,
        client: &Client,
        stored: Vec<SlowHash>,
        secrets: &[Secret<String>],
        proof: Proof,
        (from, now): (Option<IpAddr>, Timestamp),
    ) -> Result<(), ClientAuthError> {
        if self.wrong.get(&proof).is_some() {
            return Err(ClientAuthError::WrongSecret);
        }
        let is_beyond = !self.failures.take(&client.id, from, now);
        if is_beyond && !self.has_turn(client, proof, (from, now)) {
            return Err(ClientAuthError::TooManyFailures);
        }
        let (secrets, readings) = (secrets.to_vec(), secrets.len());
        let look = move |memory: &mut HashMemory| {
            for stored in &stored {
                for secret in &secrets {
                    if verify_slow(stored, secret, memory)? {
                        return Ok(true);
                    }
                }
            }
            Ok(false)
        };
        // Nothing is written before it is known who asks: of who leaves before the hash is begun, it is not computed.
        let hashed = match self.pool.reserve(Priority::ClientSecret) {
            Ok(place) => place.run(look).await,
            Err(busy) => Err(busy),
        };
        let verdict = match hashed {
            Ok(Ok(false)) => {
                self.wrong.insert(proof, ());
                // Each reading of a guess cost as much as the first. It is too late to turn it away.
                for _ in 1..readings {
                    self.charge(client, is_beyond, (from, now));
                }
                return Err(ClientAuthError::WrongSecret);
            }
            Ok(Ok(true)) => Ok(()),
            Ok(Err(error)) => Err(ClientAuthError::SecretHash(error)),
            Err(busy) => Err(ClientAuthError::HashPool(busy)),
        };
        if is_beyond {
            self.failures.give_back_again(&client.id, from);
        } else {
            self.failures.give_back(&client.id, from);
        }
        verdict
    }

    /// Takes another cell of the same kind, if there is one.
    fn charge(&self, client: &Client, is_beyond: bool, (from, now): (Option<IpAddr>, Timestamp)) {
        if is_beyond {
            self.failures.take_again(&client.id, from, now);
        } else {
            self.failures.take(&client.id, from, now);
        }
    }

    /// Whether a secret that would be turned away was so before, and has its turn now. A wrong one has it once: it is remembered.
    fn has_turn(&self, client: &Client, proof: Proof, (from, now): (Option<IpAddr>, Timestamp)) -> bool {
        if self.turned_away.get(&proof).is_none() {
            self.turned_away.insert(proof, ());
            return false;
        }
        self.failures.take_again(&client.id, from, now)
    }

    fn proof(&self, client: &Client, secrets: &[Secret<String>], now: Timestamp) -> Proof {
        let id = sha256(client.id.as_str().as_bytes());
        let stored = sha256(client.secret_hashes_at(now).join("\n").as_bytes());
        // Each of one length, so that two secrets are not taken for another one.
        let brought: Vec<u8> = secrets.iter().flat_map(|secret| sha256(secret.expose().as_bytes())).collect();
        self.process_key.mac(&[&client.revision.to_be_bytes(), &id, &stored, &brought])
    }
}
