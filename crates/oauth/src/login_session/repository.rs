//! Login sessions and who takes part in them.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};

use crate::logout::LogoutNotice;

/// A login that is remembered, or that clients with a logout URI take part in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginSession {
    /// Made with the flow that logged in.
    pub id: SessionId,
    /// Who logged in.
    pub subject: Subject,
    /// When.
    pub authenticated_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_seen_at: Timestamp,
    /// Until when it lives, however often it is used.
    pub expires_at: Timestamp,
    /// Whether it lets the login page be skipped; a session that is not remembered is kept for logout only.
    pub remembered: bool,
    /// How long it lives without being used; without end if `FOREVER`.
    pub idle: Lifetime,
    /// Authentication context class.
    pub acr: Option<String>,
    /// Authentication methods.
    pub amr: Vec<String>,
    /// Session id at the identity provider, as the login page named it.
    pub provider_session: Option<String>,
}

/// A client that got a grant in a session and wants to hear of its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionClient {
    /// The client.
    pub client: ClientId,
    /// Whose session it is as this client sees it, if that is another than the subject: by its first grant in the session.
    pub shown_subject: Option<String>,
}

/// Which sessions end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndSessions {
    /// This one.
    One(SessionId),
    /// All of a subject.
    Subject(Subject),
}

/// A session that ended, and who is to hear of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedSession {
    /// The session.
    pub session: SessionId,
    /// Whose it was.
    pub subject: Subject,
    /// Who took part.
    pub clients: Vec<SessionClient>,
}

/// Login sessions. Every method is one transaction.
#[async_trait]
pub trait LoginSessionRepository: Send + Sync {
    /// Stores a session unless one with this id is there. Whether it is this subject's now: a replayed login verifier
    /// never makes a second session and never changes whose it is. A session that has ended does not come back: `false`.
    async fn insert(&self, session: LoginSession) -> Result<bool, StoreError>;

    /// Lets a session go on in which its subject has proved once more who it is: it is as of that login from now on, if that is
    /// the later one. Whether the session is there, and this subject's; one that has ended does not come back, nor one whose time was over
    /// when it is said to have been seen.
    async fn renew(&self, session: &LoginSession) -> Result<bool, StoreError>;

    /// The session if it is remembered, has neither expired nor been idle too long at `now`, and was not ended.
    async fn find(&self, session: SessionId, now: Timestamp) -> Result<Option<LoginSession>, StoreError>;

    /// The sessions of a subject that have neither expired nor been idle too long at `now`, and were not ended, whether
    /// remembered or not; the newest first, at most 200.
    async fn of_subject(&self, subject: &Subject, now: Timestamp) -> Result<Vec<LoginSession>, StoreError>;

    /// Notes that a session was used and, with `expires_at`, moves its end; one whose time is over at `now` stays as it is.
    async fn touch(
        &self,
        session: SessionId,
        now: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError>;

    /// Who would hear of the end of these sessions at `now`, without ending them: of those of a subject that authenticated later none ends,
    /// and nobody hears of it.
    async fn participants(
        &self,
        which: &EndSessions,
        now: Timestamp,
    ) -> Result<Vec<EndedSession>, StoreError>;

    /// Ends sessions: their rows go, one marker is appended (session or subject, which revokes nothing that
    /// authenticated after `now`), and the notices are put into the outbox, all in one transaction. A session that authenticated after
    /// `now` by the clock of another node ends, too, if it is named and there: its marker is of when it authenticated. With a subject who is a
    /// person of the identity service go the sessions there that the marker covers: it expires, and they would revive.
    /// Answers with who took part in the end, which may be more than a moment before.
    async fn end(
        &self,
        which: EndSessions,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError>;

    /// Deletes at most `limit` sessions that expired before `now`, with their participants; how many it was. One that was remembered is kept
    /// for `kept` after it expired: those who took part may hold tokens of it, and want to hear of its end.
    async fn purge_expired(&self, now: Timestamp, kept: Lifetime, limit: u32) -> Result<u64, StoreError>;
}
