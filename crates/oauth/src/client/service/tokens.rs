//! What a client was granted, revoked all at once while the client stays.

use sluice_protocol::ClientId;
use sluice_token::{Marker, Target};
use tracing::info;

use super::{ClientService, ClientServiceError};

impl ClientService {
    /// Revokes everything that the client was granted up to now; what it is granted later holds. A client that is described by
    /// a document is nowhere registered: its id is enough. One that does not exist has nothing left.
    ///
    /// # Errors
    /// [`ClientServiceError::Store`] if the store cannot do it now.
    pub async fn revoke_tokens(&self, id: &ClientId) -> Result<(), ClientServiceError> {
        let stored = self.0.repo.find(id).await?;
        if stored.is_none() && !self.0.directory.may_describe(id) {
            return Ok(());
        }
        let at = self.now();
        let longest = stored.and_then(|client| client.lifespans.longest_access_token()).unwrap_or_default();
        let expires_at = at + longest.max(self.0.marker_lifetime);
        self.0.repo.revoke_grants(id, at, expires_at).await?;
        self.0.revocations.apply(&Marker { target: Target::Client(id.clone()), at, expires_at });
        info!(target: "sluice_audit", { client.id = %id }, "tokens of a client revoked by an administrator");
        Ok(())
    }
}
