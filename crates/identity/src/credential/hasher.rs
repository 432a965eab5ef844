//! Argon2id in the bounded pool.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sluice_crypto::hash_pool::{HashPool, Priority};
use sluice_crypto::password_hash::{self, Argon2Params, StoredArgon2};
use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;

use super::password::Password;
use crate::error::IdentityError;

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    /// The password is another one.
    Wrong,
    /// It is the one.
    Right {
        /// The hash anew, if the stored one was made with other parameters than are configured now.
        rehashed: Option<String>,
    },
}

/// Hashes and verifies passwords on the hash pool, with the priority of a login.
pub struct PasswordHasher {
    pool: Arc<HashPool>,
    params: Argon2Params,
    rng: Arc<dyn Rng>,
    dummy: String,
}

impl PasswordHasher {
    /// A hasher that makes hashes with `params`.
    pub fn new(pool: Arc<HashPool>, params: Argon2Params, rng: Arc<dyn Rng>) -> Self {
        let dummy = dummy(params, &*rng);
        Self { pool, params, rng, dummy }
    }

    /// The hash of a password.
    ///
    /// # Errors
    /// [`IdentityError::Busy`] if too many wait.
    pub async fn hash(&self, password: Password) -> Result<String, IdentityError> {
        let (params, salt) = (self.params, random_bytes::<16>(&*self.rng));
        let hashed = self.pool.run(Priority::Login, move |memory| {
            password_hash::hash(params, password.expose().as_bytes(), &salt, memory)
        });
        Ok(hashed.await??)
    }

    /// Whether `stored` is the hash of the password. Without one the same work is done and the answer is
    /// [`Verified::Wrong`], so that its time does not tell whether there is an account.
    ///
    /// # Errors
    /// [`IdentityError::Busy`] if too many wait; [`IdentityError::Hash`] if `stored` is no hash.
    pub async fn verify(&self, stored: Option<&str>, password: Password) -> Result<Verified, IdentityError> {
        let known = stored.is_some();
        let stored = StoredArgon2::parse(stored.unwrap_or(&self.dummy))?;
        let (params, salt) = (self.params, random_bytes::<16>(&*self.rng));
        let verified = self.pool.run(Priority::Login, move |memory| {
            let password = password.expose().as_bytes();
            if !stored.matches(password, memory)? || !known {
                return Ok(Verified::Wrong);
            }
            let outdated = stored.params() != params;
            let rehashed =
                outdated.then(|| password_hash::hash(params, password, &salt, memory)).transpose()?;
            Ok(Verified::Right { rehashed })
        });
        verified.await?
    }
}

impl fmt::Debug for PasswordHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHasher").field("params", &self.params).finish_non_exhaustive()
    }
}

/// A hash that no known password has, as dear to verify as a real one.
fn dummy(params: Argon2Params, rng: &dyn Rng) -> String {
    let (memory, passes, lanes) = (params.memory_kib(), params.passes(), params.lanes());
    let salt = STANDARD_NO_PAD.encode(random_bytes::<16>(rng));
    let hash = STANDARD_NO_PAD.encode(random_bytes::<32>(rng));
    format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${hash}")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use sluice_crypto::hash_pool::HashPoolConfig;
    use sluice_primitives::SeededRng;

    use super::*;

    fn hasher(passes: u32) -> PasswordHasher {
        let config = HashPoolConfig { threads: NonZeroUsize::MIN, ..HashPoolConfig::default() };
        let pool = Arc::new(HashPool::start(&config).unwrap());
        PasswordHasher::new(pool, Argon2Params::new(64, passes, 1).unwrap(), Arc::new(SeededRng::new(1)))
    }

    fn password(text: &str) -> Password {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn a_password_is_told_from_another() {
        let hasher = hasher(1);
        let stored = hasher.hash(password("correct horse")).await.unwrap();
        let right = hasher.verify(Some(&stored), password("correct horse")).await.unwrap();
        assert_eq!(right, Verified::Right { rehashed: None });
        assert_eq!(hasher.verify(Some(&stored), password("Correct horse")).await.unwrap(), Verified::Wrong);
    }

    #[tokio::test]
    async fn without_a_stored_hash_the_pool_works_all_the_same() {
        let hasher = hasher(1);
        assert_eq!(hasher.verify(None, password("correct horse")).await.unwrap(), Verified::Wrong);
        hasher.pool.shutdown();
        assert_eq!(hasher.pool.metrics().done_total(), 1);
    }

    #[tokio::test]
    async fn a_hash_of_other_parameters_is_made_anew() {
        let stored = hasher(1).hash(password("correct horse")).await.unwrap();
        let hasher = hasher(2);
        let verified = hasher.verify(Some(&stored), password("correct horse")).await.unwrap();
        let Verified::Right { rehashed: Some(rehashed) } = verified else { panic!("{verified:?}") };
        let again = hasher.verify(Some(&rehashed), password("correct horse")).await.unwrap();
        assert_eq!(again, Verified::Right { rehashed: None });
    }
}
