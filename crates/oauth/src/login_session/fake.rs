//! Login sessions for the tests of this crate: who takes part in them is said, and all they do is end.

use std::collections::BTreeSet;

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
    /// Whose sessions cannot be read.
    pub(crate) broken: Option<Subject>,
    /// Whose sessions were deleted after their end.
    pub(crate) cleared: Mutex<BTreeSet<Subject>>,
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

    async fn keep(&self, _: SessionId, _: Timestamp, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    async fn participants(&self, which: &EndSessions, _: Timestamp) -> Result<Vec<EndedSession>, StoreError> {
        let is_meant = |ended: &&EndedSession| match which {
            EndSessions::One(session) => ended.session == *session,
            EndSessions::Subject(subject) => ended.subject == *subject,
        };
        let meant: Vec<EndedSession> = self.participants.iter().filter(is_meant).cloned().collect();
        let is_broken = meant.iter().any(|ended| self.broken.as_ref() == Some(&ended.subject));
        if is_broken { Err(StoreError::fault(std::fmt::Error)) } else { Ok(meant) }
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
        ended: &[EndedSession],
        _: Timestamp,
        notices: Vec<LogoutNotice>,
        _: Timestamp,
    ) -> Result<(), StoreError> {
        self.note(notices)?;
        self.cleared.lock().extend(ended.iter().map(|ended| ended.subject.clone()));
        Ok(())
    }

    async fn left_over(&self, after: Option<&Subject>) -> Result<Option<(Subject, Timestamp)>, StoreError> {
        let cleared = self.cleared.lock();
        let left = self.participants.iter().map(|ended| &ended.subject);
        let left = left.filter(|subject| !cleared.contains(*subject));
        let first = left.filter(|subject| after.is_none_or(|after| *subject > after)).min();
        Ok(first.map(|subject| (subject.clone(), Timestamp::from_secs(1_000_000))))
    }

    async fn purge_expired(&self, _: Timestamp, _: Lifetime, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}
