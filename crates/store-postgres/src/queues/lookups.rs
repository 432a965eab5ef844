//! Lookups: those of one kind that arrive together share a statement. [`Look`]: what is looked for by its key.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_commit::{BoxError, CommitFailure, CommitMetrics, Queue, StoreError, Writer};
use sluice_primitives::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{Queues, READERS_PER_LANE};
use crate::consent::find::Decisions;
use crate::error::{Failure, Unreadable, column};
use crate::grant::look::{Grants, Standings};
use crate::identity::{Identities, Named};
use crate::identity_session::IdentitySessions;
use crate::link::Link;
use crate::login_session::LoginSessions;

/// The queues of what is looked for often.
pub(crate) struct Lookups {
    pub(crate) consents: Queue<Lookup<Decisions>>,
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
            consents: start(queues, readers, metrics),
            grants: start(queues, readers, metrics),
            standings: start(queues, readers, metrics),
            login_sessions: start(queues, readers, metrics),
            identities: start(queues, readers, metrics),
            named: start(queues, readers, metrics),
            identity_sessions: start(queues, readers, metrics),
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

/// A queue of one kind, which nobody counts among commits.
fn start<L: Look>(
    queues: &Queues<'_>,
    readers: &[Arc<Link>],
    metrics: &Arc<CommitMetrics>,
) -> Queue<Lookup<L>> {
    let own = readers.iter().step_by(READERS_PER_LANE).cloned();
    Queue::start(own.map(Lookup::new).collect(), queues.config(), metrics.clone())
}

/// Something that is looked for by its key.
pub(crate) trait Look: Send + Sync + 'static {
    /// What is asked for: the key, and as of when, where that matters.
    type Asked: Send + Sync + 'static;
    /// What a row is.
    type Found: Send + 'static;
    /// The statement for a batch, in which each key is looked up by itself. Each of its rows ends with the place of what was asked for, from
    /// 1 on.
    const SQL: &'static str;

    /// The columns of a batch, in the order of the placeholders.
    fn columns<'a>(batch: &[&'a Self::Asked]) -> Columns<'a>;

    /// Reads a row, which answers this.
    fn read(row: &Row, asked: &Self::Asked) -> Result<Self::Found, Unreadable>;
}

/// Parameters, each of which is an array.
pub(crate) type Columns<'a> = Vec<Box<dyn ToSql + Sync + Send + 'a>>;

/// Ids.
pub(crate) fn ids(batch: &[&Uuid]) -> Columns<'static> {
    vec![Box::new(batch.iter().copied().copied().collect::<Vec<_>>())]
}

/// Ids, and when each was asked for.
pub(crate) fn ids_and_times(batch: &[&(Uuid, Timestamp)]) -> Columns<'static> {
    let ids: Vec<_> = batch.iter().map(|(id, _)| *id).collect();
    let times: Vec<_> = batch.iter().map(|(_, now)| now.as_millis()).collect();
    vec![Box::new(ids), Box::new(times)]
}

/// Something that is wanted.
pub(crate) struct Wanted<A> {
    asked: A,
    /// Tells lookups apart: a batch may hold two for the same, and nobody waits for the other.
    number: u64,
}

/// How many lookups there were.
static LOOKUPS: AtomicU64 = AtomicU64::new(0);

impl<A> Wanted<A> {
    /// This.
    pub(crate) fn new(asked: A) -> Self {
        Self { asked, number: LOOKUPS.fetch_add(1, Ordering::Relaxed) }
    }
}

/// Looks for batches. Nothing is written: a lookup may be repeated at will.
pub(crate) struct Lookup<L> {
    link: Arc<Link>,
    look: PhantomData<L>,
}

impl<L> Lookup<L> {
    /// One that asks over this connection.
    const fn new(link: Arc<Link>) -> Self {
        Self { link, look: PhantomData }
    }
}

impl<L: Look> Writer for Lookup<L> {
    type Op = Wanted<L::Asked>;
    type Out = Result<Option<L::Found>, StoreError>;

    fn key(op: &Wanted<L::Asked>) -> u64 {
        op.number
    }

    async fn commit(&mut self, batch: &[Wanted<L::Asked>]) -> Result<Vec<Self::Out>, CommitFailure> {
        let rows = self.find(batch).await.map_err(Failure::into_commit_failure)?;
        let lost = |unreadable: Unreadable| CommitFailure::Lost(Box::new(unreadable));
        let mut outcomes: Vec<Self::Out> = batch.iter().map(|_| Ok(None)).collect();
        for row in &rows {
            let place: i64 = column(row, row.len().saturating_sub(1)).map_err(lost)?;
            let place = usize::try_from(place).unwrap_or_default().checked_sub(1);
            if let Some((wanted, outcome)) =
                place.and_then(|place| batch.get(place).zip(outcomes.get_mut(place)))
            {
                *outcome = L::read(row, &wanted.asked).map(Some).map_err(StoreError::from);
            }
        }
        Ok(outcomes)
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.link.session().await.map(drop).map_err(BoxError::from)
    }
}

impl<L: Look> Lookup<L> {
    /// A row for each that was found.
    async fn find(&self, batch: &[Wanted<L::Asked>]) -> Result<Vec<Row>, Failure> {
        let asked: Vec<&L::Asked> = batch.iter().map(|wanted| &wanted.asked).collect();
        let columns = L::columns(&asked);
        let params: Vec<&(dyn ToSql + Sync)> =
            columns.iter().map(|column| -> &(dyn ToSql + Sync) { column.as_ref() }).collect();
        self.link.query(L::SQL, &params).await
    }
}
