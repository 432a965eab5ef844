//! Login sessions for the tests of this crate: who takes part in them is said, and all they do is end.

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, SessionId, Timestamp};
use sluice_protocol::Subject;

use super::repository::{EndSessions, EndedSession, LoginSession, LoginSessionRepository, SessionClient};
use crate::logout::LogoutNotice;

/// Sessions that only end.
#[derive(Default)]
pub(crate) struct FakeSessions {
    pub(crate) participants: Vec<EndedSession>,
    /// Who joins them at their end.
    pub(crate) late: Vec<(SessionId, SessionClient)>,
    /// After how many of these the store fails.
    pub(crate) fails_after: Option<usize>,
    /// What was put into the outbox at each end, and with each slice of what ended.
    pub(crate) ends: Mutex<Vec<Vec<LogoutNotice>>>,
}

impl FakeSessions {
    fn note(&self, notices: Vec<LogoutNotice>) -> Result<(), StoreError> {
        let mut ends = self.ends.lock();
        ends.push(notices);
        let fails = self.fails_after.is_some_and(|most| ends.len() > most);
        if fails { Err(StoreError::Busy) } else { Ok(()) }
    }
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

    async fn participants(&self, _: &EndSessions, _: Timestamp) -> Result<Vec<EndedSession>, StoreError> {
        Ok(self.participants.clone())
    }

    async fn end(
        &self,
        _: EndSessions,
        _: Timestamp,
        _: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError> {
        self.note(notices).map(|()| self.late.clone())
    }

    async fn clear(
        &self,
        _: &[EndedSession],
        _: Timestamp,
        notices: Vec<LogoutNotice>,
        _: Timestamp,
    ) -> Result<(), StoreError> {
        self.note(notices)
    }

    async fn left_over(&self) -> Result<Option<(Subject, Timestamp)>, StoreError> {
        Ok(None)
    }

    async fn purge_expired(&self, _: Timestamp, _: Lifetime, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}
