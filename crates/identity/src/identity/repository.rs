//! Identities in the store.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::IdentityId;

use super::model::{Identity, LoginNameHash};

/// What became of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// The identity is in the store, written by this attempt.
    Registered,
    /// The login name belongs to another identity.
    Taken,
}

/// Identities. Every method is one transaction.
#[async_trait]
pub trait IdentityRepository: Send + Sync {
    /// Stores an identity and its login name in one transaction, unless the name is taken. Concurrent calls share a
    /// commit; each gets its own outcome.
    async fn register(&self, identity: Identity) -> Result<Registration, StoreError>;

    /// The identity with this login name.
    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError>;

    /// The identity with this id.
    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError>;

    /// Replaces the stored hash, if it is still `old`; whether it was.
    async fn replace_password_hash(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError>;
}
