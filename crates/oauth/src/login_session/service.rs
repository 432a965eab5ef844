//! What an administrator may do with login sessions: end them. People see and end their own.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_primitives::{Clock, SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::RevocationSet;

use super::repository::{EndSessions, LoginSession, LoginSessionRepository};
use crate::client::ClientDirectory;
use crate::config::Config;
use crate::logout::ending::Ending;

/// Ends sessions on behalf of an administrator, or of their person.
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
    /// The sessions of a subject that go on, the newest first; at most 200.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot do it now.
    pub async fn of_subject(&self, subject: &Subject) -> Result<Vec<LoginSession>, StoreError> {
        self.sessions.of_subject(subject, self.clock.now()).await
    }

    /// Ends a session of this subject; whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot do it now.
    pub async fn end_of(&self, subject: &Subject, session: SessionId) -> Result<bool, StoreError> {
        let which = EndSessions::One(session);
        let found = self.sessions.participants(&which, self.clock.now()).await?;
        let is_theirs = found.iter().any(|found| found.subject == *subject);
        if is_theirs {
            self.end(which).await?;
        }
        Ok(is_theirs)
    }

    /// Ends sessions, with their tokens. Clients hear of it by the back channel; there is no browser for the front channel.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot do it now.
    pub async fn end(&self, which: EndSessions) -> Result<(), StoreError> {
        self.end_at(which, self.clock.now()).await
    }

    /// As [`Self::end`], of what had authenticated at a time that the caller knows.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot do it now.
    pub async fn end_at(&self, which: EndSessions, now: Timestamp) -> Result<(), StoreError> {
        self.ending().end(&which, now, now + self.config.lifetimes.revocation).await.map(drop)
    }

    /// Deletes what is left of sessions of subjects that have ended, and tells their clients: of those who had more than are deleted at once,
    /// or where the store failed, or this process, after it was said that they end. A subject for whom this fails holds up no other.
    ///
    /// # Errors
    /// The first [`StoreError`], if the store cannot do all of it now.
    pub async fn clear_ended(&self) -> Result<(), StoreError> {
        self.ending().clear_left_over(&*self.clock).await
    }

    fn ending(&self) -> Ending<'_> {
        Ending {
            sessions: &*self.sessions,
            clients: &self.clients,
            revocations: &self.revocations,
            config: &self.config,
        }
    }
}
