//! Serial: the one connection of a node that runs transactions of several statements, one after the other.
//!
//! A [`Transaction`] is a list of statements. It is sent in one go, from BEGIN to COMMIT, without waiting for the answers
//! in between: one round trip, and no caller who leaves can leave it half sent. A network can: then the server waits for the
//! rest no longer than for a statement. It is tried again as a whole after a lost connection or contention, so each is
//! harmless to repeat.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use sluice_commit::{StoreError, StoreRefusals};
use sluice_primitives::Clock;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::connection::Session;
use crate::dialer::Dialer;
use crate::error::Failure;
use crate::lenders::Lenders;
use crate::link::Link;
use crate::retry::Tries;
use crate::statistics::{Counters, Kind};
use crate::store::after;
use crate::turn::Turn;

/// Values of one statement.
pub(crate) type Values<'a> = Vec<&'a (dyn ToSql + Sync)>;

/// Statements that are committed together.
#[derive(Default)]
pub(crate) struct Transaction<'a> {
    serializable: bool,
    steps: Vec<Step<'a>>,
    wakes: bool,
}

/// A statement and its values.
struct Step<'a> {
    sql: &'static str,
    values: Values<'a>,
    /// Whether the time of the attempt comes last.
    is_timed: bool,
}

impl Step<'_> {
    /// The values of an attempt at this time, in milliseconds.
    fn values_at<'s>(&'s self, now: &'s i64) -> Values<'s> {
        let mut values: Values<'s> = self.values.clone();
        if self.is_timed {
            values.push(now);
        }
        values
    }
}

/// What the statements of a transaction returned.
pub(crate) struct Committed {
    rows: Vec<Vec<Row>>,
    /// Whether an earlier attempt was sent, and may have been committed as well.
    pub(crate) repeated: bool,
}

impl<'a> Transaction<'a> {
    /// A transaction each of whose statements sees what others have committed before it.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A transaction that sees no other's effects and is tried again if it would have to.
    pub(crate) fn serializable() -> Self {
        Self { serializable: true, ..Self::default() }
    }

    /// Adds a statement.
    #[must_use]
    pub(crate) fn then(mut self, sql: &'static str, values: Values<'a>) -> Self {
        self.steps.push(Step { sql, values, is_timed: false });
        self
    }

    /// Adds a statement whose last value is the time, in milliseconds, at which it is sent: each attempt has its own.
    #[must_use]
    pub(crate) fn then_at_its_time(mut self, sql: &'static str, values: Values<'a>) -> Self {
        self.steps.push(Step { sql, values, is_timed: true });
        self
    }

    /// Wakes the readers of the feed after the commit.
    #[must_use]
    pub(crate) const fn waking(mut self) -> Self {
        self.wakes = true;
        self
    }
}

impl Committed {
    /// The rows that the first statement returned.
    pub(crate) fn first(&self) -> &[Row] {
        self.rows.first().map_or(&[], Vec::as_slice)
    }

    /// The rows that the last statement returned.
    pub(crate) fn last(&self) -> &[Row] {
        self.rows.last().map_or(&[], Vec::as_slice)
    }

    /// The first row that the last statement returned.
    pub(crate) fn row(&self) -> Option<&Row> {
        self.last().first()
    }
}

/// The connection, and who waits for it.
pub(crate) struct Serial {
    link: Arc<Link>,
    turn: Turn,
    patience: Duration,
    clock: Arc<dyn Clock>,
    counters: Arc<Counters>,
    refusals: Arc<StoreRefusals>,
}

impl Serial {
    /// At most `depth` transactions wait, none longer than `patience`. Where the lenders have no connection, they are given this one.
    pub(crate) fn new(
        (dialer, lenders): (Arc<Dialer>, &Lenders),
        depth: usize,
        (patience, clock): (Duration, Arc<dyn Clock>),
        (counters, refusals): (Arc<Counters>, Arc<StoreRefusals>),
    ) -> Self {
        let (link, turn) = (Arc::new(Link::new(dialer)), Turn::new(depth));
        lenders.add_serial(&link, &turn);
        Self { link, turn, patience, clock, counters, refusals }
    }

    /// Commits a transaction. Of one that an earlier attempt may have committed nobody is told that nothing was written.
    pub(crate) async fn commit(&self, transaction: &Transaction<'_>) -> Result<Committed, StoreError> {
        let mut repeated = false;
        let answer = self.persist(transaction, &mut repeated).await.map_err(|error| after(repeated, error));
        let rows = self.refusals.writes.noted(answer)?;
        Ok(Committed { rows, repeated })
    }

    /// `repeated` is set when it is tried again after an attempt that may be committed.
    async fn persist(
        &self,
        transaction: &Transaction<'_>,
        repeated: &mut bool,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut tries = Tries::within(self.patience);
        let _turn = self.turn.take(tries.deadline()).await?;
        loop {
            let mut is_sent = false;
            match self.attempt(transaction, &mut is_sent).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => {
                    let may_be_committed = is_sent && failure.may_be_committed();
                    tries.again(failure).await?;
                    *repeated |= may_be_committed;
                }
            }
        }
    }

    /// The connection.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Finishes what is under way and ends.
    pub(crate) async fn shutdown(&self) {
        self.turn.finished().await;
        self.link.close();
    }

    /// `is_sent` is set as soon as it may reach the server.
    async fn attempt(
        &self,
        transaction: &Transaction<'_>,
        is_sent: &mut bool,
    ) -> Result<Vec<Vec<Row>>, Failure> {
        let session = self.link.session().await?;
        let answer = session.within(self.send(&session, transaction, is_sent)).await;
        answer.inspect_err(|failure| self.link.note(&session, failure))
    }

    async fn send(
        &self,
        session: &Session,
        transaction: &Transaction<'_>,
        is_sent: &mut bool,
    ) -> Result<Vec<Vec<Row>>, Failure> {
        let mut steps = Vec::with_capacity(transaction.steps.len());
        for step in &transaction.steps {
            steps.push((session.prepared(step.sql).await?, step));
        }
        let now = self.clock.now().as_millis();
        let steps: Vec<_> =
            steps.into_iter().map(|(statement, step)| (statement, step.values_at(&now))).collect();
        let client = session.client();
        let begin = if transaction.serializable { "BEGIN ISOLATION LEVEL SERIALIZABLE" } else { "BEGIN" };
        *is_sent = true;
        // All of it is sent by the first poll of each, in this order; fewer than thirty, which `join_all` polls in order.
        let (opened, answers, committed, ()) = tokio::join!(
            biased;
            client.batch_execute(begin),
            join_all(steps.iter().map(|(statement, values)| client.query(statement, values))),
            client.batch_execute("COMMIT"),
            async {
                if transaction.wakes {
                    session.wake_readers();
                }
            },
        );
        opened?;
        let rows = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
        committed?;
        self.counters.count(Kind::Other, rows.len(), rows.len());
        Ok(rows)
    }
}
