//! What an administrator may do with login sessions: end them.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_primitives::Clock;
use sluice_token::{Marker, RevocationSet, Target};

use super::repository::{EndSessions, LoginSessionRepository};
use crate::client::ClientDirectory;
use crate::config::{Config, LONGEST_ACCESS_TOKEN};
use crate::logout::notices_for;

/// Ends sessions on behalf of an administrator.
pub struct LoginSessionService {
    /// What it is told.
    pub config: Arc<Config>,
    /// Login sessions.
    pub sessions: Arc<dyn LoginSessionRepository>,
    /// Clients.
    pub clients: Arc<ClientDirectory>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl LoginSessionService {
    /// Ends sessions, with their tokens. Clients hear of it by the back channel; there is no browser for the front channel.
    pub async fn end(&self, which: EndSessions) -> Result<(), StoreError> {
        let now = self.clock.now();
        let ended = self.sessions.participants(&which).await?;
        let (notices, _) = notices_for(&ended, &self.clients, self.config.issuer.as_str()).await?;
        let target = match &which {
            EndSessions::One(session) => Target::Session(*session),
            EndSessions::Subject(subject) => Target::Subject(subject.clone()),
        };
        let expires_at = now + LONGEST_ACCESS_TOKEN;
        self.sessions.end(which, now, expires_at, notices).await?;
        self.revocations.apply(&Marker { target, at: now, expires_at });
        Ok(())
    }
}
