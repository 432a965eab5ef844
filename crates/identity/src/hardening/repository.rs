//! Credentials that wait to be hardened.

use std::fmt;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{IdentityId, Lifetime, Timestamp};

/// A credential that a worker took.
///
/// Prints whose it is only.
#[derive(Clone, PartialEq, Eq)]
pub struct LeasedCredential {
    /// Whose.
    pub id: IdentityId,
    /// As it is stored.
    pub stored: String,
}

/// A credential that was hardened.
///
/// Prints whose it is only.
#[derive(Clone, PartialEq, Eq)]
pub struct HardenedCredential {
    /// Whose.
    pub id: IdentityId,
    /// What it was.
    pub old: String,
    /// What it is now.
    pub new: String,
}

impl fmt::Debug for LeasedCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeasedCredential").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for HardenedCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HardenedCredential").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// So many wait, leased ones among them; counted up to 1,000,000.
    pub waiting: u64,
    /// Since when the oldest waits.
    pub oldest: Option<Timestamp>,
    /// So many were given up, because they cannot be read; counted up to 1,000,000. They need an operator.
    pub dead: u64,
}

/// The queue of the hardening workers. Every method is one transaction.
#[async_trait]
pub trait HardeningRepository: Send + Sync {
    /// Takes at most `limit` credentials that are due, the longest waiting first; no other worker gets them before
    /// `lease` has passed.
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedCredential>, StoreError>;

    /// Stores hardened credentials in the place of those that are still what they were; how many those are. The others
    /// were hardened by a login, or replaced.
    async fn harden(&self, hardened: &[HardenedCredential]) -> Result<u64, StoreError>;

    /// Gives a credential up that cannot be hardened, if it is still this one.
    async fn give_up(&self, id: IdentityId, old: &str) -> Result<(), StoreError>;

    /// How much waits.
    async fn backlog(&self) -> Result<Backlog, StoreError>;
}
