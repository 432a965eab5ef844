//! Credentials made and verified; what is slow, in the bounded pool.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_commit::chain;
use sluice_crypto::credential::{Attempt, CredentialError, CredentialKeys, StoredCredential, Verified};
use sluice_crypto::hash_pool::{HashPool, Priority, ReservedPlace};
use sluice_crypto::password_hash::Argon2Params;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{IdentityId, Rng};
use tracing::error;

use super::password::Password;
use crate::error::IdentityError;
use crate::identity::NewCredential;

/// Makes and verifies the credentials of people. Slow work is done on the hash pool, with the priority of a login.
pub struct PasswordHasher {
    keys: CredentialKeys,
    pool: Arc<HashPool>,
    params: Argon2Params,
    rng: Arc<dyn Rng>,
    unreadable: AtomicU64,
}

impl PasswordHasher {
    /// A hasher whose hardened credentials cost `params`.
    pub const fn new(
        keys: CredentialKeys,
        pool: Arc<HashPool>,
        params: Argon2Params,
        rng: Arc<dyn Rng>,
    ) -> Self {
        Self { keys, pool, params, rng, unreadable: AtomicU64::new(0) }
    }

    /// The fast path: what is stored until the worker has hardened it. Takes microseconds and no place in the pool.
    pub fn provisional(&self, owner: IdentityId, password: &Password) -> String {
        self.keys.provisional(owner, password.expose().as_bytes(), &*self.rng)
    }

    /// The same, as a change of the record takes it.
    pub fn new_credential(&self, owner: IdentityId, password: &Password) -> NewCredential {
        NewCredential { stored: self.provisional(owner, password), hardening: true }
    }

    /// Argon2id of the password at once. It goes on where its client leaves: a code may be spent for it by now.
    ///
    /// # Errors
    /// [`IdentityError::Busy`] if too many wait, however long that takes, or there is no memory for the hash.
    pub async fn hardened(&self, password: &Password) -> Result<String, IdentityError> {
        let (keys, params, salt) = (self.keys.clone(), self.params, random_bytes(&*self.rng));
        let password = password.clone();
        let hardened = self.pool.run(Priority::Login, move |memory| {
            keys.hardened(password.expose().as_bytes(), params, salt, memory)
        });
        Ok(hardened.await??)
    }

    /// How many may wait for their hash at a time, as long as hashes take what they take now.
    pub fn places(&self) -> usize {
        self.pool.login_places()
    }

    /// A place for the hash of [`Self::verify`], before anything is read for it.
    ///
    /// # Errors
    /// [`IdentityError::Busy`] if too many wait, or whoever asks has left.
    pub fn reserve(&self) -> Result<ReservedPlace, IdentityError> {
        Ok(self.pool.reserve(Priority::Login)?)
    }

    /// Whether the password is that of `owner`, who has this credential. Without an owner, or a credential, the same work
    /// is done and the answer is [`Verified::Wrong`], so that its time does not tell whether there is an account, nor in
    /// which state its credential is. The same of a credential that cannot be read: its person cannot log in with a
    /// password until an operator helps, whom the log tells. Given up if whoever asks leaves before the hash is begun.
    ///
    /// # Errors
    /// [`IdentityError::Busy`] if it has waited for too long, whoever asks has left, or there is no memory for the hash.
    pub async fn verify(
        &self,
        place: ReservedPlace,
        owner: Option<IdentityId>,
        stored: Option<&str>,
        password: Password,
    ) -> Result<Verified, IdentityError> {
        let (keys, params, salt) = (self.keys.clone(), self.params, random_bytes(&*self.rng));
        let parsed = stored.map(StoredCredential::parse).transpose();
        let verified = place.run(move |memory| {
            let (stored, malformed) = match &parsed {
                Ok(stored) => (stored.as_ref(), None),
                Err(malformed) => (None, Some(*malformed)),
            };
            let (password, raw) = (password.expose().as_bytes(), password.raw().map(str::as_bytes));
            let attempt = Attempt { owner, stored, password, raw };
            let verified = keys.verify(&attempt, params, salt, memory)?;
            malformed.map_or(Ok(verified), Err)
        });
        match (verified.await?, owner) {
            (Err(cause), Some(owner)) => {
                self.report(owner, cause);
                Ok(Verified::Wrong)
            }
            (verified, _) => Ok(verified?),
        }
    }

    /// How often a credential could not be read.
    pub fn unreadable_total(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }

    fn report(&self, identity: IdentityId, cause: CredentialError) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
        error!(identity.id = %identity, error = %chain(&cause), "credential cannot be verified: login refused");
    }
}

impl fmt::Debug for PasswordHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHasher").field("params", &self.params).finish_non_exhaustive()
    }
}
