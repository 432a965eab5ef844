//! What a client was granted, revoked all at once while the client stays.

use sluice_protocol::ClientId;
use sluice_token::{Marker, Target};

use super::{ClientService, ClientServiceError};

impl ClientService {
    /// Revokes everything that the client was granted up to now; what it is granted later holds.
    ///
    /// # Errors
    /// [`ClientServiceError::NotFound`].
    pub async fn revoke_tokens(&self, id: &ClientId) -> Result<(), ClientServiceError> {
        let stored = self.stored(id).await?;
        let at = self.now();
        let longest = stored.lifespans.longest_access_token().unwrap_or_default().max(self.0.marker_lifetime);
        let expires_at = at + longest;
        self.0.repo.revoke_grants(id, at, expires_at).await?;
        self.0.revocations.apply(&Marker { target: Target::Client(id.clone()), at, expires_at });
        Ok(())
    }
}
