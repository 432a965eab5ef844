//! Login sessions on SQLite.

use std::collections::HashMap;

use async_trait::async_trait;
use rusqlite::{Params, Row};
use sluice_commit::StoreError;
use sluice_oauth::login_session::{
    EndSessions, EndedSession, LoginOrigin, LoginSession, LoginSessionRepository, SessionClient,
};
use sluice_oauth::logout::LogoutNotice;
use sluice_primitives::{IdentityId, Lifetime, SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::{Marker, Target};

use crate::error::SqliteError;
use crate::outbox::NewNotice;
use crate::store::SqliteStore;
use crate::writer::Write;
use crate::{identity_session, row};

const INSERT: &str = include_str!("insert.sql");
const RENEW: &str = include_str!("renew.sql");
const BELONGS: &str = include_str!("belongs.sql");
const FIND: &str = include_str!("find.sql");
const OF_SUBJECT: &str = include_str!("of_subject.sql");
const TOUCH: &str = include_str!("touch.sql");
const EXTEND: &str = include_str!("extend.sql");
const PARTICIPANTS_OF_ONE: &str = include_str!("participants_of_one.sql");
const PARTICIPANTS_OF_SUBJECT: &str = include_str!("participants_of_subject.sql");
const END_ONE: &str = include_str!("end_one.sql");
const FORGET_PARTICIPANTS: &str = include_str!("forget_participants.sql");
const END_PARTICIPANTS: &str = include_str!("end_participants.sql");
const CLEAR: &str = include_str!("clear.sql");
const LEFT_OVER: &str = include_str!("left_over.sql");
const EXPIRED: &str = include_str!("expired.sql");
const KEEP: &str = include_str!("keep.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

fn session(row: &Row<'_>) -> Result<LoginSession, SqliteError> {
    Ok(LoginSession {
        id: SessionId::from_bytes(row.get(0)?),
        subject: row::parsed(row, 1)?,
        authenticated_at: row::time(row, 2)?,
        last_seen_at: row::time(row, 3)?,
        expires_at: row::time(row, 4)?,
        remembered: row.get(5)?,
        idle: lifetime(row.get(6)?),
        acr: row.get(7)?,
        amr: row::json(row, 8)?,
        provider_session: row.get(9)?,
        origin: origin(row.get(10)?, row.get(11)?),
    })
}

/// None of a session that is older than these columns, or whose login nobody is shown.
fn origin(device: Option<String>, network: Option<String>) -> Option<LoginOrigin> {
    device.zip(network).map(|(device, network)| LoginOrigin { device, network })
}

fn lifetime(millis: i64) -> Lifetime {
    if millis == i64::MAX {
        return Lifetime::FOREVER;
    }
    Lifetime::from(std::time::Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

/// A session that can be stored, with the texts that are made of it.
struct NewSession {
    session: LoginSession,
    amr: String,
    /// Its key among the markers.
    key: String,
}

impl NewSession {
    fn new(session: LoginSession) -> Result<Self, StoreError> {
        let texts = [("acr", &session.acr), ("provider session", &session.provider_session)];
        texts
            .iter()
            .try_for_each(|(name, text)| text.as_ref().map_or(Ok(()), |text| row::check(name, text)))?;
        if let Some(origin) = &session.origin {
            row::check("device", &origin.device)?;
            row::check("network", &origin.network)?;
        }
        let (amr, key) = (row::encode_list("amr", &session.amr)?, session.id.to_string());
        Ok(Self { session, amr, key })
    }

    /// In the order of the placeholders.
    fn values(&self) -> impl Params + '_ {
        let session = &self.session;
        let origin = session.origin.as_ref();
        (
            session.id.as_bytes(),
            session.subject.as_str(),
            session.authenticated_at.as_millis(),
            session.last_seen_at.as_millis(),
            session.expires_at.as_millis(),
            session.remembered,
            session.idle.as_millis(),
            session.acr.as_deref(),
            self.amr.as_str(),
            session.provider_session.as_deref(),
            origin.map(|origin| origin.device.as_str()),
            origin.map(|origin| origin.network.as_str()),
            self.key.as_str(),
        )
    }

    /// Whether it is this subject's now; if it was not written, it may be there already, and must not be over at `goes_on_at`.
    fn belongs(
        &self,
        write: &Write<'_>,
        written: usize,
        goes_on_at: Option<Timestamp>,
    ) -> Result<bool, SqliteError> {
        if written == 1 {
            return Ok(true);
        }
        let (id, subject) = (self.session.id.as_bytes(), self.session.subject.as_str());
        let values = (id, subject, self.key.as_str(), goes_on_at.map(Timestamp::as_millis));
        Ok(write.row(BELONGS, values, |row| Ok(row.get(0)?))?.unwrap_or(false))
    }
}

#[async_trait]
impl LoginSessionRepository for SqliteStore {
    async fn insert(&self, session: LoginSession) -> Result<bool, StoreError> {
        let new = NewSession::new(session)?;
        self.write(move |write| {
            let written = write.insert("login_session", INSERT, new.values())?;
            new.belongs(write, written, None)
        })
        .await
    }

    async fn renew(&self, session: &LoginSession) -> Result<bool, StoreError> {
        let new = NewSession::new(session.clone())?;
        self.write(move |write| {
            let written = write.update("login_session", RENEW, new.values())?;
            new.belongs(write, written, Some(new.session.last_seen_at))
        })
        .await
    }

    async fn find(&self, id: SessionId, now: Timestamp) -> Result<Option<LoginSession>, StoreError> {
        self.read(move |read| read.row(FIND, (id.as_bytes(), now.as_millis(), id.to_string()), session)).await
    }

    async fn of_subject(&self, subject: &Subject, now: Timestamp) -> Result<Vec<LoginSession>, StoreError> {
        let subject = subject.clone();
        self.read(move |read| read.rows(OF_SUBJECT, (subject.as_str(), now.as_millis()), session)).await
    }

    async fn touch(
        &self,
        session: SessionId,
        now: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        self.write(move |write| {
            let (session, now) = (session.as_bytes(), now.as_millis());
            let touched = match expires_at {
                None => write.update("login_session", TOUCH, (session, now)),
                Some(end) => write.update("login_session", EXTEND, (session, now, end.as_millis())),
            };
            touched.map(drop)
        })
        .await
    }

    async fn keep(&self, session: SessionId, now: Timestamp, until: Timestamp) -> Result<(), StoreError> {
        self.write(move |write| {
            let values = (session.as_bytes(), now.as_millis(), until.as_millis());
            write.update("login_session", KEEP, values).map(drop)
        })
        .await
    }

    async fn participants(
        &self,
        which: &EndSessions,
        now: Timestamp,
    ) -> Result<Vec<EndedSession>, StoreError> {
        let which = which.clone();
        self.read(move |read| match &which {
            EndSessions::One(session) => read.rows(PARTICIPANTS_OF_ONE, [session.as_bytes()], ended),
            EndSessions::Subject(subject) => {
                read.rows(PARTICIPANTS_OF_SUBJECT, (subject.as_str(), now.as_millis()), ended)
            }
        })
        .await
    }

    async fn end(
        &self,
        which: EndSessions,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError> {
        let rng = self.rng();
        let notices: Vec<NewNotice> =
            notices.into_iter().map(|notice| NewNotice::new(notice, now, &*rng)).collect();
        self.write(move |write| {
            let ((target, at), participants) = end(write, &which, now)?;
            write.mark(&Marker { target, at, expires_at: marker_expires_at })?;
            notices.iter().try_for_each(|notice| notice.insert(write))?;
            Ok(participants)
        })
        .await
    }

    async fn clear(
        &self,
        ended: &[EndedSession],
        until: Timestamp,
        notices: Vec<LogoutNotice>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let known =
            |ended: &EndedSession| (ended.session, i64::try_from(ended.clients.len()).unwrap_or(i64::MAX));
        let sessions: Vec<(SessionId, i64)> = ended.iter().map(known).collect();
        let rng = self.rng();
        let mut told: HashMap<SessionId, Vec<NewNotice>> = HashMap::new();
        for notice in notices {
            told.entry(notice.session).or_default().push(NewNotice::new(notice, now, &*rng));
        }
        self.write(move |write| {
            sessions.iter().try_for_each(|(session, clients)| {
                let notices: &[NewNotice] = told.get(session).map_or(&[], Vec::as_slice);
                clear(write, *session, (*clients, until), notices)
            })
        })
        .await
    }

    async fn left_over(&self, after: Option<&Subject>) -> Result<Option<(Subject, Timestamp)>, StoreError> {
        let after = after.map_or_else(String::new, Subject::to_string);
        self.read(move |read| {
            read.row(LEFT_OVER, [&after], |row| Ok((row::parsed(row, 0)?, row::time(row, 1)?)))
        })
        .await
    }

    async fn purge_expired(&self, now: Timestamp, kept: Lifetime, limit: u32) -> Result<u64, StoreError> {
        let (before, remembered_before) = (now.as_millis(), (now - kept).as_millis());
        let expired = self.read(move |read| {
            let values = (before, limit, remembered_before);
            read.rows(EXPIRED, values, |row| Ok(SessionId::from_bytes(row.get(0)?)))
        });
        let expired = expired.await?;
        self.write(move |write| {
            let mut purged = 0;
            for session in &expired {
                let values = (session.as_bytes(), before, remembered_before);
                if write.delete("login_session", PURGE_EXPIRED, values)? == 1 {
                    write.delete("session_client", FORGET_PARTICIPANTS, [session.as_bytes()])?;
                    purged += 1;
                }
            }
            Ok(purged)
        })
        .await
    }
}

/// Who took part in a session that ended.
type Participants = Vec<(SessionId, SessionClient)>;

/// Deletes the row of a session that ends; the target and the time of its marker, and who took part. The marker of one session covers it
/// whatever the clocks of two nodes say. That of a subject covers the sessions, too, that the subject has as a person of the identity service:
/// it expires, and they must not revive.
fn end(
    write: &mut Write<'_>,
    which: &EndSessions,
    now: Timestamp,
) -> Result<((Target, Timestamp), Participants), SqliteError> {
    match which {
        EndSessions::One(session) => {
            let participants =
                write.deleted("session_client", END_PARTICIPANTS, [session.as_bytes()], participant)?;
            let authenticated_at =
                write.deleted("login_session", END_ONE, [session.as_bytes()], |ended| row::time(ended, 0))?;
            let at = authenticated_at.into_iter().fold(now, Ord::max);
            Ok(((Target::Session(*session), at), participants))
        }
        EndSessions::Subject(subject) => {
            let person = subject.as_str().parse::<IdentityId>().ok();
            // A UUID can be written in more ways than one; a person is called by one.
            if let Some(person) = person.filter(|person| person.to_string() == subject.as_str()) {
                identity_session::forget_until(write, person, now)?;
            }
            Ok(((Target::Subject(subject.clone()), now), Participants::new()))
        }
    }
}

/// Deletes a session that ended at `until`, with its participants, unless there are more than are known; if it was there, its notices wait.
fn clear(
    write: &mut Write<'_>,
    session: SessionId,
    (clients, until): (i64, Timestamp),
    notices: &[NewNotice],
) -> Result<(), SqliteError> {
    let values = (session.as_bytes(), until.as_millis(), clients);
    if write.delete("login_session", CLEAR, values)? == 1 {
        write.delete("session_client", FORGET_PARTICIPANTS, [session.as_bytes()])?;
        notices.iter().try_for_each(|notice| notice.insert(write))?;
    }
    Ok(())
}

fn ended(row: &Row<'_>) -> Result<EndedSession, SqliteError> {
    Ok(EndedSession {
        session: SessionId::from_bytes(row.get(0)?),
        subject: row::parsed(row, 1)?,
        clients: clients(row, 2)?,
    })
}

fn participant(row: &Row<'_>) -> Result<(SessionId, SessionClient), SqliteError> {
    let client = SessionClient { client: row::parsed(row, 1)?, shown_subject: row.get(2)? };
    Ok((SessionId::from_bytes(row.get(0)?), client))
}

fn clients(row: &Row<'_>, column: usize) -> Result<Vec<SessionClient>, SqliteError> {
    let stored: Vec<(String, Option<String>)> = row::json(row, column)?;
    let client = |(id, shown_subject): (String, _)| {
        Ok(SessionClient { client: id.parse().map_err(SqliteError::unreadable)?, shown_subject })
    };
    stored.into_iter().map(client).collect()
}
