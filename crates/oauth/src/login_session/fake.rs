//! Login sessions for the tests of this crate: who takes part in them is said, and all they do is end.

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::{SessionId, Timestamp};
use sluice_protocol::Subject;

use super::repository::{EndSessions, EndedSession, LoginSession, LoginSessionRepository, SessionClient};
use crate::logout::LogoutNotice;

/// Sessions that only end.
#[derive(Default)]
pub(crate) struct FakeSessions {
    pub(crate) participants: Vec<EndedSession>,
    /// What was put into the outbox at each end.
    pub(crate) ends: Mutex<Vec<Vec<LogoutNotice>>>,
}

#[async_trait]
impl LoginSessionRepository for FakeSessions {
    async fn insert(&self, _: LoginSession) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn renew(&self, _: &LoginSession) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn find(&self, _: SessionId, _: Timestamp) -> Result<Option<LoginSession>, StoreError> {
        Ok(None)
    }

    async fn of_subject(&self, _: &Subject, _: Timestamp) -> Result<Vec<LoginSession>, StoreError> {
        Ok(Vec::new())
    }

    async fn touch(&self, _: SessionId, _: Timestamp, _: Option<Timestamp>) -> Result<(), StoreError> {
        Ok(())
    }

    async fn participants(&self, _: &EndSessions) -> Result<Vec<EndedSession>, StoreError> {
        Ok(self.participants.clone())
    }

    async fn end(
        &self,
        _: EndSessions,
        _: Timestamp,
        _: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError> {
        self.ends.lock().push(notices);
        Ok(Vec::new())
    }

    async fn purge_expired(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}
