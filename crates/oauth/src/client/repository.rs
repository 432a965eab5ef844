//! Clients in the store.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;

use super::model::Client;
use crate::grant::Insertion;

/// Which clients are listed, in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClientFilter {
    /// Only those with exactly this name.
    pub name: Option<String>,
    /// Only those of this owner.
    pub owner: Option<String>,
    /// Only those after this one.
    pub after: Option<ClientId>,
    /// At most so many.
    pub limit: u32,
}

/// What became of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The client is as given now, its revision one higher than given.
    Replaced,
    /// The client has another revision than given: read again.
    Changed,
    /// No such client.
    Unknown,
}

/// Clients. Every method is one transaction; those that write append a change of the client to the feed.
#[async_trait]
pub trait ClientRepository: Send + Sync {
    /// Stores a new client, unless its id is taken.
    async fn insert(&self, client: &Client) -> Result<Insertion, StoreError>;

    /// The client with this id.
    async fn find(&self, id: &ClientId) -> Result<Option<Client>, StoreError>;

    /// Replaces a client whose stored revision is `client.revision`; the stored one is one higher then.
    async fn replace(&self, client: &Client) -> Result<Replacement, StoreError>;

    /// Deletes a client and, in the same transaction, appends its marker: no token of it holds any more. Whether it was
    /// there. Remembered decisions about it hold no more, also if another client is registered under its id, however many there are: they are
    /// deleted later, by [`GrantRepository::sweep_revoked`](crate::grant::GrantRepository::sweep_revoked).
    async fn delete(
        &self,
        id: &ClientId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Revokes everything a client was granted up to `now` (its marker is appended); the client stays, and what was decided about it. If it
    /// is not registered, decisions about it up to then hold no more.
    async fn revoke_grants(
        &self,
        id: &ClientId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<(), StoreError>;

    /// A page of clients.
    async fn list(&self, filter: &ClientFilter) -> Result<Vec<Client>, StoreError>;

    /// How many clients there are, whatever is listed of them.
    async fn count(&self) -> Result<u64, StoreError>;
}
