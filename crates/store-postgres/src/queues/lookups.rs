//! Lookups: those of one kind that arrive together share a statement. [`Look`]: what is looked for by its key.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_commit::{BoxError, CommitFailure, CommitMetrics, Queue, StoreError, Writer};
use sluice_primitives::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Queues;
use crate::consent::find::FindConsents;
use crate::error::{Failure, Unreadable, column};
use crate::grant::look::{Grants, Standings};
use crate::identity::{Identities, Named};
use crate::identity_session::IdentitySessions;
use crate::link::Link;
use crate::login_session::LoginSessions;

/// The queues of what is looked for often.
pub(crate) struct Lookups {
    pub(crate) consents: Queue<FindConsents>,
    pub(crate) grants: Queue<Lookup<Grants>>,
    pub(crate) standings: Queue<Lookup<Standings>>,
    pub(crate) login_sessions: Queue<Lookup<LoginSessions>>,
    pub(crate) identities: Queue<Lookup<Identities>>,
    pub(crate) named: Queue<Lookup<Named>>,
    pub(crate) identity_sessions: Queue<Lookup<IdentitySessions>>,
}

impl Lookups {
    /// Over these connections.
    pub(crate) fn start(queues: &Queues<'_>, readers: &[Arc<Link>], metrics: &Arc<CommitMetrics>) -> Self {
        Self {
            consents: queues.start_reading(readers, metrics, FindConsents),
            grants: queues.start_reading(readers, metrics, Lookup::new),
            standings: queues.start_reading(readers, metrics, Lookup::new),
            login_sessions: queues.start_reading(readers, metrics, Lookup::new),
            identities: queues.start_reading(readers, metrics, Lookup::new),
            named: queues.start_reading(readers, metrics, Lookup::new),
            identity_sessions: queues.start_reading(readers, metrics, Lookup::new),
        }
    }

    /// Finishes what was submitted, and turns away what comes.
    pub(crate) async fn shutdown(&self) {
        tokio::join!(
            self.consents.shutdown(),
            self.grants.shutdown(),
            self.standings.shutdown(),
            self.login_sessions.shutdown(),
            self.identities.shutdown(),
            self.named.shutdown(),
            self.identity_sessions.shutdown(),
        );
    }
}

/// What is looked for by its key.
pub(crate) trait Look: Send + Sync + 'static {
    /// The key.
    type Key: ToSql + Clone + Send + Sync + 'static;
    /// The statement for a batch. `$1`: the keys, each of which it looks up by itself. Each of its rows ends with the place of the key
    /// among them, from 1 on.
    const SQL: &'static str;
    /// Whether it also wants to know, as `$2`, when each of them was asked for.
    const AS_OF: bool = false;
    /// What a row is.
    type Found: Send + 'static;

    /// Reads a row.
    fn read(row: &Row) -> Result<Self::Found, Unreadable>;
}

/// A key that is looked for.
pub(crate) struct Wanted<K> {
    key: K,
    now: Timestamp,
    /// Tells lookups apart: nobody waits for another who looks for the same.
    number: u64,
}

/// How many were looked for.
static LOOKUPS: AtomicU64 = AtomicU64::new(0);

impl<K> Wanted<K> {
    /// As of `now`.
    pub(crate) fn new(key: K, now: Timestamp) -> Self {
        Self { key, now, number: LOOKUPS.fetch_add(1, Ordering::Relaxed) }
    }

    /// Of something that is there whatever the time.
    pub(crate) fn at_any_time(key: K) -> Self {
        Self::new(key, Timestamp::NEVER)
    }
}

/// Looks for batches. Nothing is written: a lookup may be repeated at will.
pub(crate) struct Lookup<L> {
    link: Arc<Link>,
    look: PhantomData<L>,
}

impl<L> Lookup<L> {
    /// One that asks over this connection.
    pub(crate) const fn new(link: Arc<Link>) -> Self {
        Self { link, look: PhantomData }
    }
}

impl<L: Look> Writer for Lookup<L> {
    type Op = Wanted<L::Key>;
    type Out = Result<Option<L::Found>, StoreError>;

    fn key(op: &Wanted<L::Key>) -> u64 {
        op.number
    }

    async fn commit(&mut self, batch: &[Wanted<L::Key>]) -> Result<Vec<Self::Out>, CommitFailure> {
        let rows = self.find(batch).await.map_err(Failure::into_commit_failure)?;
        let lost = |unreadable: Unreadable| CommitFailure::Lost(Box::new(unreadable));
        let mut outcomes: Vec<Self::Out> = batch.iter().map(|_| Ok(None)).collect();
        for row in &rows {
            let place: i64 = column(row, row.len().saturating_sub(1)).map_err(lost)?;
            let place = usize::try_from(place).unwrap_or_default();
            if let Some(outcome) = place.checked_sub(1).and_then(|place| outcomes.get_mut(place)) {
                *outcome = L::read(row).map(Some).map_err(StoreError::from);
            }
        }
        Ok(outcomes)
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.link.session().await.map(drop).map_err(BoxError::from)
    }
}

impl<L: Look> Lookup<L> {
    async fn find(&self, batch: &[Wanted<L::Key>]) -> Result<Vec<Row>, Failure> {
        let keys: Vec<L::Key> = batch.iter().map(|wanted| wanted.key.clone()).collect();
        if !L::AS_OF {
            return self.link.query(L::SQL, &[&keys]).await;
        }
        let times: Vec<i64> = batch.iter().map(|wanted| wanted.now.as_millis()).collect();
        self.link.query(L::SQL, &[&keys, &times]).await
    }
}
