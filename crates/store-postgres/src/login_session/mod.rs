//! Login sessions and who takes part in them. [`put`] and [`touch`]: what logins write, one statement for a batch each. Here: the
//! repository.

mod put;
mod touch;

use async_trait::async_trait;
use sluice_commit::{Queue, StoreError};
use sluice_oauth::login_session::{
    EndSessions, EndedSession, LoginOrigin, LoginSession, LoginSessionRepository, SessionClient,
};
use sluice_oauth::logout::LogoutNotice;
use sluice_primitives::{AttemptId, IdentityId, Lifetime, SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::{Marker, Target};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::{Counted, Markers};
use crate::queues::{Columns, Look, Queues, Wanted, ids_and_times};
use crate::rounds::{Done, Slice};
use crate::serial::{Transaction, Values};
use crate::storable::read_list;
use put::{NewSession, Put, PutSessions};
use touch::{Touch, TouchSessions};

const OF_SUBJECT: &str = include_str!("of_subject.sql");
const PARTICIPANTS_OF_ONE: &str = include_str!("participants_of_one.sql");
const PARTICIPANTS_OF_SUBJECT: &str = include_str!("participants_of_subject.sql");
const END_ONE: &str = include_str!("end_one.sql");
const END_PARTICIPANTS: &str = include_str!("end_participants.sql");
const END_PERSON: &str = include_str!("end_person.sql");
const LOCK_ENDED: &str = include_str!("lock_ended.sql");
const CLEAR: &str = include_str!("clear.sql");
const LEFT_OVER: &str = include_str!("left_over.sql");
const NOTIFY: &str = include_str!("notify.sql");
const KEEP: &str = include_str!("keep.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

/// The queues of what logins write.
pub(crate) struct LoginSessionQueues {
    inserts: Queue<PutSessions>,
    renewals: Queue<PutSessions>,
    touches: Queue<TouchSessions>,
}

impl LoginSessionQueues {
    /// Beside those of grants, which are written in the same logins, a moment later.
    pub(crate) fn start(queues: &Queues<'_>) -> Self {
        Self {
            inserts: queues.start(1, |hot| PutSessions { hot, how: Put::Insert }),
            renewals: queues.start(0, |hot| PutSessions { hot, how: Put::Renew }),
            touches: queues.start(1, TouchSessions),
        }
    }

    /// Finishes what was submitted, and turns away what comes.
    pub(crate) async fn shutdown(&self) {
        tokio::join!(self.inserts.shutdown(), self.renewals.shutdown(), self.touches.shutdown());
    }
}

impl PostgresStore {
    /// Deletes what nobody needs any more in one slice of the table.
    async fn purge_sessions(&self, over: Over, slice: Slice) -> Result<Done, StoreError> {
        let Over { before, remembered_before } = over;
        let (before, remembered_before) = (before.as_millis(), remembered_before.as_millis());
        let rows = self
            .upkeep(PURGE_EXPIRED, &[&slice.after, &slice.rows, &before, &slice.limit, &remembered_before])
            .await?;
        Done::read(rows.first())
    }
}

/// Sessions that hold.
pub(crate) struct LoginSessions;

impl Look for LoginSessions {
    type Asked = (Uuid, Timestamp);
    type Found = LoginSession;
    const SQL: &'static str = include_str!("find.sql");

    fn columns<'a>(batch: &[&'a (Uuid, Timestamp)]) -> Columns<'a> {
        ids_and_times(batch)
    }

    fn read(row: &Row, _: &(Uuid, Timestamp)) -> Result<LoginSession, Unreadable> {
        read(row)
    }
}

#[async_trait]
impl LoginSessionRepository for PostgresStore {
    async fn insert(&self, session: LoginSession) -> Result<bool, StoreError> {
        Ok(self.login_sessions.inserts.submit(NewSession::new(session)?, self.deadline()).await?)
    }

    async fn renew(&self, session: &LoginSession) -> Result<bool, StoreError> {
        let new = NewSession::new(session.clone())?;
        Ok(self.login_sessions.renewals.submit(new, self.deadline()).await?)
    }

    async fn find(&self, session: SessionId, now: Timestamp) -> Result<Option<LoginSession>, StoreError> {
        self.lookups.login_sessions.submit(Wanted::new((session.as_uuid(), now)), self.deadline()).await?
    }

    async fn of_subject(&self, subject: &Subject, now: Timestamp) -> Result<Vec<LoginSession>, StoreError> {
        let rows = self.read(OF_SUBJECT, &[&subject.as_str(), &now.as_millis()]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn touch(
        &self,
        session: SessionId,
        now: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let touch = Touch { session, now, expires_at };
        Ok(self.login_sessions.touches.submit(touch, self.deadline()).await?)
    }

    async fn keep(&self, session: SessionId, now: Timestamp, until: Timestamp) -> Result<(), StoreError> {
        let (session, now, until) = (session.as_uuid(), now.as_millis(), until.as_millis());
        let keep = Transaction::new().then(KEEP, vec![&session, &now, &until]);
        self.serial.commit(&keep).await.map(drop)
    }

    async fn participants(
        &self,
        which: &EndSessions,
        now: Timestamp,
    ) -> Result<Vec<EndedSession>, StoreError> {
        let rows = match which {
            EndSessions::One(session) => self.read(PARTICIPANTS_OF_ONE, &[&session.as_uuid()]).await?,
            EndSessions::Subject(subject) => {
                self.read(PARTICIPANTS_OF_SUBJECT, &[&subject.as_str(), &now.as_millis()]).await?
            }
        };
        Ok(gather(&rows)?)
    }

    async fn end(
        &self,
        which: EndSessions,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError> {
        let notices = Notices::new(self, now, &notices);
        let (at, expires_at) = (now.as_millis(), marker_expires_at.as_millis());
        let told = notices.put(Transaction::new(), &at);
        match &which {
            EndSessions::One(session) => {
                let (id, counted) = (session.as_uuid(), Counted::new(self, 1, now));
                let values: Values<'_> = vec![&id, &at, &expires_at, &counted.node];
                let ending = counted.for_revocations(told).then(END_ONE, values);
                let ended = self.serial.commit(&ending.then(END_PARTICIPANTS, vec![&id])).await?;
                Ok(ended.last().iter().map(took_part).collect::<Result<_, _>>()?)
            }
            EndSessions::Subject(subject) => {
                let target = Target::Subject(subject.clone());
                let markers =
                    Markers::new(self, &[Marker { target, at: now, expires_at: marker_expires_at }]);
                let person = person(subject);
                let mut ended = markers.append(told);
                if let Some(person) = &person {
                    ended = ended.then(END_PERSON, vec![person, &at]);
                }
                self.serial.commit(&ended).await.map(|_| Vec::new())
            }
        }
    }

    async fn clear(
        &self,
        ended: &[EndedSession],
        until: Timestamp,
        notices: Vec<LogoutNotice>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sessions: Vec<Uuid> = ended.iter().map(|ended| ended.session.as_uuid()).collect();
        let known = |ended: &EndedSession| i64::try_from(ended.clients.len()).unwrap_or(i64::MAX);
        let known: Vec<i64> = ended.iter().map(known).collect();
        let (until, due_at) = (until.as_millis(), now.as_millis());
        let notices = Notices::new(self, now, &notices);
        let mut values: Values<'_> = vec![&sessions, &known, &until, &due_at];
        values.extend(notices.values());
        let transaction = Transaction::new().then(LOCK_ENDED, vec![&sessions]).then(CLEAR, values);
        self.serial.commit(&transaction).await.map(drop)
    }

    async fn left_over(&self, after: Option<&Subject>) -> Result<Option<(Subject, Timestamp)>, StoreError> {
        // Behind all markers of that subject.
        let (mut subject, mut until) = (after.map_or_else(String::new, Subject::to_string), i64::MAX);
        loop {
            let rows = self.upkeep(LEFT_OVER, &[&subject, &until]).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            subject = column(row, 0)?;
            until = column(row, 1)?;
            if column::<bool>(row, 2)? {
                let subject: Subject = subject.parse().map_err(|cause| unreadable(&cause))?;
                return Ok(Some((subject, Timestamp::from_millis(until))));
            }
        }
    }

    async fn purge_expired(&self, now: Timestamp, kept: Lifetime, limit: u32) -> Result<u64, StoreError> {
        let over = Over { before: now, remembered_before: now - kept };
        self.session_purge.go(limit, |slice| self.purge_sessions(over, slice)).await
    }
}

/// When sessions must have ended that nobody needs any more.
#[derive(Debug, Clone, Copy)]
struct Over {
    before: Timestamp,
    remembered_before: Timestamp,
}

/// The person whose sessions of the identity service end with those of a subject; none if that is no person of ours.
fn person(subject: &Subject) -> Option<Uuid> {
    let id: IdentityId = subject.as_str().parse().ok()?;
    // A UUID can be written in more ways than one; a person is called by one.
    (id.to_string() == subject.as_str()).then(|| id.as_uuid())
}

/// Notices to be put into the outbox, column by column. Their ids are made once, so that a repeated transaction does not
/// put them there twice.
struct Notices<'a> {
    ids: Vec<Uuid>,
    sessions: Vec<Uuid>,
    uris: Vec<&'a str>,
    clients: Vec<&'a str>,
    subjects: Vec<&'a str>,
}

impl<'a> Notices<'a> {
    fn new(store: &PostgresStore, now: Timestamp, notices: &'a [LogoutNotice]) -> Self {
        Self {
            ids: notices.iter().map(|_| AttemptId::generate(now, &*store.rng).as_uuid()).collect(),
            sessions: notices.iter().map(|notice| notice.session.as_uuid()).collect(),
            uris: notices.iter().map(|notice| notice.uri.as_str()).collect(),
            clients: notices.iter().map(|notice| notice.client.as_str()).collect(),
            subjects: notices.iter().map(|notice| notice.subject.as_str()).collect(),
        }
    }

    fn put<'t>(&'t self, transaction: Transaction<'t>, due_at: &'t i64) -> Transaction<'t> {
        if self.ids.is_empty() {
            return transaction;
        }
        let mut values: Values<'t> = vec![due_at];
        values.extend(self.values());
        transaction.then(NOTIFY, values)
    }

    /// In the order of the placeholders.
    fn values(&self) -> Values<'_> {
        vec![&self.ids, &self.sessions, &self.uris, &self.clients, &self.subjects]
    }
}

/// Puts the clients of a session together: rows of one session follow each other.
fn gather(rows: &[Row]) -> Result<Vec<EndedSession>, Unreadable> {
    let mut ended: Vec<EndedSession> = Vec::new();
    for row in rows {
        let session = SessionId::from_uuid(column(row, 0)?);
        let client = column::<Option<&str>>(row, 2)?.map(|id| participant(id, row)).transpose()?;
        if let Some(last) = ended.last_mut().filter(|last| last.session == session) {
            last.clients.extend(client);
            continue;
        }
        let subject = column::<&str>(row, 1)?.parse().map_err(|cause| unreadable(&cause))?;
        ended.push(EndedSession { session, subject, clients: client.into_iter().collect() });
    }
    Ok(ended)
}

fn participant(client: &str, row: &Row) -> Result<SessionClient, Unreadable> {
    let client = client.parse().map_err(|cause| unreadable(&cause))?;
    Ok(SessionClient { client, shown_subject: column(row, 3)? })
}

/// Who took part in a session that ended.
fn took_part(row: &Row) -> Result<(SessionId, SessionClient), Unreadable> {
    let client = column::<&str>(row, 1)?.parse().map_err(|cause| unreadable(&cause))?;
    Ok((SessionId::from_uuid(column(row, 0)?), SessionClient { client, shown_subject: column(row, 2)? }))
}

fn read(row: &Row) -> Result<LoginSession, Unreadable> {
    let time = |place| column(row, place).map(Timestamp::from_millis);
    let idle: i64 = column(row, 6)?;
    let idle = if idle == Lifetime::FOREVER.as_millis() {
        Lifetime::FOREVER
    } else {
        Lifetime::from(std::time::Duration::from_millis(idle.unsigned_abs()))
    };
    Ok(LoginSession {
        id: SessionId::from_uuid(column(row, 0)?),
        subject: column::<&str>(row, 1)?.parse().map_err(|cause| unreadable(&cause))?,
        authenticated_at: time(2)?,
        last_seen_at: time(3)?,
        expires_at: time(4)?,
        remembered: column(row, 5)?,
        idle,
        acr: column(row, 7)?,
        amr: read_list(column(row, 8)?).map_err(|cause| unreadable(&cause))?,
        provider_session: column(row, 9)?,
        origin: origin(column(row, 10)?, column(row, 11)?),
    })
}

/// None of a session that is older than these columns, or whose login nobody is shown.
fn origin(device: Option<String>, network: Option<String>) -> Option<LoginOrigin> {
    device.zip(network).map(|(device, network)| LoginOrigin { device, network })
}

fn unreadable(cause: &dyn std::fmt::Display) -> Unreadable {
    Unreadable::new("login session", cause)
}
