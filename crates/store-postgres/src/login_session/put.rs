//! Putting sessions: one statement for a batch that inserts, or for one that renews, and a second look at those it did not write.

use std::collections::HashSet;
use std::sync::Arc;

use sluice_commit::{BoxError, CommitFailure, StoreError, Writer};
use sluice_oauth::login_session::{LoginOrigin, LoginSession};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::connection::Params;
use crate::error::{Failure, column};
use crate::grant::{Hot, mixed};
use crate::statistics::Kind;
use crate::storable;

const INSERT: &str = include_str!("insert.sql");
const RENEW: &str = include_str!("renew.sql");
const BELONGS: &str = include_str!("belongs.sql");

/// A session that can be stored.
pub(crate) struct NewSession {
    session: LoginSession,
    amr: String,
}

impl NewSession {
    /// The session, if all of it can be stored.
    pub(super) fn new(session: LoginSession) -> Result<Self, StoreError> {
        let amr = storable::list(&session.amr);
        storable::each("amr", &session.amr)?;
        let (acr, provider) = (session.acr.as_deref(), session.provider_session.as_deref());
        storable::texts(&[("acr", acr), ("amr", Some(&amr)), ("the provider's session id", provider)])?;
        if let Some(origin) = &session.origin {
            storable::text("the device of a session", &origin.device)?;
            storable::text("the network of a session", &origin.network)?;
        }
        Ok(Self { session, amr })
    }

    fn id(&self) -> Uuid {
        self.session.id.as_uuid()
    }
}

/// How sessions are put.
#[derive(Debug, Clone, Copy)]
pub(super) enum Put {
    /// Unless they are there.
    Insert,
    /// Those that are there, as of a later login.
    Renew,
}

impl Put {
    const fn statement(self) -> &'static str {
        match self {
            Self::Insert => INSERT,
            Self::Renew => RENEW,
        }
    }

    /// When a session that was not written must not be over, if that matters.
    const fn goes_on_at(self, session: &LoginSession) -> Option<i64> {
        match self {
            Self::Insert => None,
            Self::Renew => Some(session.last_seen_at.as_millis()),
        }
    }
}

/// Puts batches of sessions. The answer is whether each is there and its subject's, so a try that was lost and comes again finds what it
/// wrote, and needs no attempt id for that.
pub(crate) struct PutSessions {
    pub(super) hot: Arc<Hot>,
    pub(super) how: Put,
}

impl Writer for PutSessions {
    type Op = NewSession;
    type Out = bool;

    fn key(op: &NewSession) -> u64 {
        mixed(op.id())
    }

    async fn commit(&mut self, batch: &[NewSession]) -> Result<Vec<bool>, CommitFailure> {
        let mut sessions: Vec<&NewSession> = batch.iter().collect();
        // Any two batches lock what they share in this order, and whoever ends those of a subject in nearly the same, as ids are of time. Where
        // they block each other all the same, the server ends one, and it is tried again.
        sessions.sort_unstable_by_key(|new| new.id());
        let mut theirs = self.put(&sessions).await.map_err(Failure::into_commit_failure)?;
        self.hot.counters.count(Kind::Other, 1, batch.len());
        sessions.retain(|new| !theirs.contains(&new.id()));
        if !sessions.is_empty() {
            theirs.extend(self.belonging(&sessions).await.map_err(Failure::after_commit)?);
        }
        Ok(batch.iter().map(|new| theirs.contains(&new.id())).collect())
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.hot.reconnect().await
    }
}

impl PutSessions {
    /// Those that were written.
    async fn put(&self, sessions: &[&NewSession]) -> Result<HashSet<Uuid>, Failure> {
        let all = || sessions.iter().map(|new| &new.session);
        let numbers = |of: fn(&LoginSession) -> i64| all().map(of).collect::<Vec<_>>();
        let ids: Vec<Uuid> = all().map(|session| session.id.as_uuid()).collect();
        let subjects: Vec<&str> = all().map(|session| session.subject.as_str()).collect();
        let remembered: Vec<bool> = all().map(|session| session.remembered).collect();
        let authenticated = numbers(|session| session.authenticated_at.as_millis());
        let seen = numbers(|session| session.last_seen_at.as_millis());
        let ends = numbers(|session| session.expires_at.as_millis());
        let idle = numbers(|session| session.idle.as_millis());
        let classes: Vec<Option<&str>> = all().map(|session| session.acr.as_deref()).collect();
        let methods: Vec<&str> = sessions.iter().map(|new| new.amr.as_str()).collect();
        let providers: Vec<Option<&str>> = all().map(|session| session.provider_session.as_deref()).collect();
        let origins = |of: fn(&LoginOrigin) -> &str| {
            all().map(|session| session.origin.as_ref().map(of)).collect::<Vec<Option<&str>>>()
        };
        let (devices, networks) = (origins(|origin| &origin.device), origins(|origin| &origin.network));
        let params: Params<'_> = &[
            &ids,
            &subjects,
            &authenticated,
            &seen,
            &ends,
            &remembered,
            &idle,
            &classes,
            &methods,
            &providers,
            &devices,
            &networks,
        ];
        Ok(named(&self.hot.link.query(self.how.statement(), params).await?))
    }

    /// Those that are there and their subjects', of those that were not written.
    async fn belonging(&self, sessions: &[&NewSession]) -> Result<HashSet<Uuid>, Failure> {
        let all = || sessions.iter().map(|new| &new.session);
        let ids: Vec<Uuid> = all().map(|session| session.id.as_uuid()).collect();
        let subjects: Vec<&str> = all().map(|session| session.subject.as_str()).collect();
        let times: Vec<Option<i64>> = all().map(|session| self.how.goes_on_at(session)).collect();
        Ok(named(&self.hot.link.query(BELONGS, &[&ids, &subjects, &times]).await?))
    }
}

/// The sessions that these rows name.
fn named(rows: &[Row]) -> HashSet<Uuid> {
    rows.iter().filter_map(|row| column(row, 0).ok()).collect()
}
