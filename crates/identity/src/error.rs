//! Why a use case could not be carried out. What the person did wrong is no error: outcomes say it.

use sluice_commit::StoreError;
use sluice_crypto::hash_pool::PoolBusy;
use sluice_crypto::password_hash::PasswordHashError;
use thiserror::Error;

/// Why a login or a registration came to no outcome.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// Too many hashes wait: try again later.
    #[error(transparent)]
    Busy(#[from] PoolBusy),
    /// A hash could not be computed, or a stored one is none.
    #[error(transparent)]
    Hash(#[from] PasswordHashError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IdentityError {
    /// Whether trying later may help: what 503 and `Retry-After` are for.
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Busy(_) => true,
            Self::Hash(_) => false,
            Self::Store(error) => error.is_temporary(),
        }
    }
}
