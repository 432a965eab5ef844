//! What a client was granted, revoked all at once while the client stays.

use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::ClientId;
use sluice_token::{Marker, Target};
use tracing::info;

use super::super::model::{Client, Lifespans};
use super::{ClientService, ClientServiceError};

impl ClientService {
    /// Revokes everything that the client was granted up to now; what it is granted later holds. Its id is enough: one that is described by
    /// a document is nowhere registered, and of one that was deleted there may be tokens still.
    ///
    /// # Errors
    /// [`ClientServiceError::Store`] if the store cannot do it now.
    pub async fn revoke_tokens(&self, id: &ClientId) -> Result<(), ClientServiceError> {
        let stored = self.0.repo.find(id).await?;
        self.end(id, stored.map(|client| client.lifespans).as_ref(), self.now()).await?;
        info!(target: "sluice_audit", { client.id = %id }, "tokens of a client revoked by an administrator");
        Ok(())
    }

    /// Revokes what a client was granted by a node that knew it still when it was gone, or was another: whoever took it out of memory, at
    /// `forgotten_at`, calls this afterwards. What it is granted as it is registered now holds.
    ///
    /// # Errors
    /// The store's.
    pub async fn end_late(&self, known: &Client, forgotten_at: Timestamp) -> Result<(), StoreError> {
        let at = match self.0.repo.find(&known.id).await? {
            None => self.now(),
            Some(present) if present.created_at == known.created_at => return Ok(()),
            Some(present) => forgotten_at.min(present.created_at - Lifetime::millis(1)),
        };
        self.end(&known.id, Some(&known.lifespans), at).await
    }

    async fn end(
        &self,
        id: &ClientId,
        lifespans: Option<&Lifespans>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let longest = lifespans.and_then(Lifespans::longest_access_token).unwrap_or_default();
        let expires_at = at + longest.max(self.0.marker_lifetime);
        self.0.repo.revoke_grants(id, at, expires_at).await?;
        self.0.revocations.apply(&Marker { target: Target::Client(id.clone()), at, expires_at });
        Ok(())
    }
}
