//! Login sessions and who takes part in them.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};

use super::origin::LoginOrigin;
use crate::logout::LogoutNotice;

/// So many sessions of a subject are deleted in one transaction at most: there may be a million, and others wait for it.
pub const SESSIONS_AT_ONCE: usize = 1_000;

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
    /// Where the login was, if it is shown to who logged in.
    pub origin: Option<LoginOrigin>,
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

    /// Keeps a session until then for those who took part, who have tokens of it still: one that is not remembered, and one that is over at
    /// `now`, which does not go on for that. One that is remembered is kept by itself.
    async fn keep(&self, session: SessionId, now: Timestamp, until: Timestamp) -> Result<(), StoreError>;

    /// Who would hear of the end of these sessions at `now`, without ending them: of those of a subject that authenticated later none ends,
    /// and nobody hears of it. Of a subject at most [`SESSIONS_AT_ONCE`], in the order of their ids.
    async fn participants(
        &self,
        which: &EndSessions,
        now: Timestamp,
    ) -> Result<Vec<EndedSession>, StoreError>;

    /// Ends sessions: one marker is appended (session or subject, which revokes nothing that authenticated after `now`), and the notices are
    /// put into the outbox, all in one transaction. The row of a session that is named goes with it. One that authenticated after `now` by the
    /// clock of another node ends, too, if it is there: its marker is of when it authenticated. Answers with who took part in its end, which may
    /// be more than a moment before.
    ///
    /// However many sessions a subject has, they end at once: what the marker covers is found no more. Their rows are left to [`Self::clear`].
    /// With a subject who is a person of the identity service go the sessions there that the marker covers: it expires, and they would revive.
    async fn end(
        &self,
        which: EndSessions,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError>;

    /// Deletes sessions of a subject that ended at `until`, as [`Self::participants`] told of them, and puts the notices of those that it deletes
    /// into the outbox, in one transaction: whoever deletes a session tells of it, and nobody else. One that somebody has joined meanwhile, or
    /// that is as of a login after `until`, stays.
    async fn clear(
        &self,
        ended: &[EndedSession],
        until: Timestamp,
        notices: Vec<LogoutNotice>,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The first subject whose sessions have ended and are not all deleted, and when they ended: there were too many, or whoever ended them did
    /// not come to it. Their marker stays as long as there are any. In the order of their bytes, and only behind `after`.
    async fn left_over(&self, after: Option<&Subject>) -> Result<Option<(Subject, Timestamp)>, StoreError>;

    /// Deletes at most `limit` sessions that expired before `now`, with their participants; how many it was. One that was remembered is kept
    /// for `kept` after it expired: those who took part may hold tokens of it, and want to hear of its end.
    async fn purge_expired(&self, now: Timestamp, kept: Lifetime, limit: u32) -> Result<u64, StoreError>;
}
