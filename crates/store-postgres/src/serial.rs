//! Serial: the one connection of a node that runs transactions of several statements, one after the other.
//!
//! A [`Transaction`] is a list of statements. It is sent in one go, from BEGIN to COMMIT, without waiting for the answers
//! in between: one round trip, and no caller who leaves can leave it half sent. A network can: then the server waits for the
//! rest no longer than for a statement. It is tried again as a whole after a lost connection or contention, so each is
//! harmless to repeat. Those that come while a COMMIT is under way share the next one ([`round`]).

mod going;
mod round;
mod transaction;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use sluice_commit::{StoreError, StoreRefusals};
use sluice_primitives::Clock;
use tokio::time::Instant;
use tokio_postgres::{Row, Statement};

use self::going::{Going, Vain};
use self::round::{Guard, Way};
use crate::connection::Session;
use crate::dialer::Dialer;
use crate::error::Failure;
use crate::lenders::Lenders;
use crate::link::Link;
use crate::retry::Tries;
use crate::statistics::Counters;
use crate::store::after;
use crate::turn::{NoTurn, Place};

pub(crate) use self::round::SharedCommits;
pub(crate) use self::transaction::{Committed, Transaction, Values};

/// So many times a transaction is rolled back with that of another before it goes alone.
const ROLLED_BACK_WITH_OTHERS: u32 = 2;

/// The connection, and who waits for it.
pub(crate) struct Serial {
    link: Arc<Link>,
    shared: SharedCommits,
    callers: Arc<AtomicUsize>,
    /// How many of them there may be.
    places: usize,
    patience: Duration,
    clock: Arc<dyn Clock>,
    refusals: Arc<StoreRefusals>,
}

/// What a transaction returned: rows of each statement.
type Rows = Vec<Vec<Row>>;

impl Serial {
    /// One transaction, and at most `depth` that wait, none longer than `patience`. Where the lenders have no connection, they are given this one.
    pub(crate) fn new(
        (dialer, lenders): (Arc<Dialer>, &Lenders),
        depth: usize,
        (patience, clock): (Duration, Arc<dyn Clock>),
        (counters, refusals): (Arc<Counters>, Arc<StoreRefusals>),
    ) -> Self {
        let (link, shared) = (Arc::new(Link::new(dialer)), SharedCommits::new(counters));
        lenders.add_serial(&link, &shared);
        let places = depth.saturating_add(1);
        Self { link, shared, callers: Arc::default(), places, patience, clock, refusals }
    }

    /// Commits a transaction. Of one that an earlier attempt may have committed nobody is told that nothing was written.
    pub(crate) async fn commit(&self, transaction: &Transaction<'_>) -> Result<Committed, StoreError> {
        let mut repeated = false;
        let answer = self.persist(transaction, &mut repeated).await.map_err(|error| after(repeated, error));
        let rows = self.refusals.writes.noted(answer)?;
        Ok(Committed { rows, repeated })
    }

    /// `repeated` is set when it is tried again after an attempt that may be committed.
    async fn persist(&self, transaction: &Transaction<'_>, repeated: &mut bool) -> Result<Rows, StoreError> {
        let _place = Place::take(&self.callers, self.places)?;
        let mut tries = Tries::within(self.patience);
        let mut times_with_others = if transaction.serializable { 0 } else { ROLLED_BACK_WITH_OTHERS };
        loop {
            let mut is_sent = false;
            let goes_alone = times_with_others == 0;
            match self.attempt(transaction, (goes_alone, tries.deadline()), &mut is_sent).await {
                Ok(rows) => return Ok(rows),
                Err(Vain::NoTurn) => return Err(StoreError::unavailable(NoTurn)),
                Err(Vain::RolledBackWithOthers) if tries.deadline() <= Instant::now() => {
                    return Err(StoreError::unavailable(NoTurn));
                }
                Err(Vain::RolledBackWithOthers) => times_with_others = times_with_others.saturating_sub(1),
                Err(Vain::FailedAmongOthers(failure)) if !failure.may_be_committed() => times_with_others = 0,
                Err(Vain::Failed(failure) | Vain::FailedAmongOthers(failure)) => {
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
        self.shared.finished().await;
        self.link.close();
    }

    /// `is_sent` is set as soon as it may reach the server.
    async fn attempt(
        &self,
        transaction: &Transaction<'_>,
        (goes_alone, deadline): (bool, Instant),
        is_sent: &mut bool,
    ) -> Result<Rows, Vain> {
        let turn = self.shared.turn(deadline).await.ok_or(Vain::NoTurn)?;
        let session = self.link.session().await.map_err(Vain::Failed)?;
        // What is not prepared yet would be prepared in the transaction of others, and fail with it or let it fail.
        let goes_alone = goes_alone || !session.knows(transaction.steps.iter().map(|step| step.sql));
        let quiet =
            if goes_alone { Some(self.shared.quiet(deadline).await.ok_or(Vain::NoTurn)?) } else { None };
        let rows = self.run(&session, transaction, (turn, quiet), (deadline, is_sent)).await;
        rows.inspect_err(|vain| match vain {
            // It is heard once more alone, when the others are answered whose connection it is as well.
            Vain::FailedAmongOthers(failure) if !failure.may_be_committed() => {}
            Vain::Failed(failure) | Vain::FailedAmongOthers(failure) => self.link.note(&session, failure),
            Vain::RolledBackWithOthers | Vain::NoTurn => {}
        })
    }

    async fn run(
        &self,
        session: &Arc<Session>,
        transaction: &Transaction<'_>,
        (turn, quiet): (Guard, Option<Guard>),
        (deadline, is_sent): (Instant, &mut bool),
    ) -> Result<Rows, Vain> {
        // Who has something to prepare is alone; who has not hears nothing of the server here.
        let statements = session.within(prepared(session, transaction)).await.map_err(Vain::Failed)?;
        let now = self.clock.now().as_millis();
        let values: Vec<_> = transaction.steps.iter().map(|step| step.values_at(&now)).collect();
        let mut going = Going::new(session, transaction, answers(session, &statements, &values));
        let goes_alone = quiet.is_some();
        let way = if let Some(commits) = quiet {
            going.alone(commits)
        } else {
            self.shared.enter(&mut going, deadline).await.ok_or(Vain::NoTurn)?
        };
        // Who goes alone for a reason keeps its turn to the end.
        let _turn = goes_alone.then_some(turn);
        *is_sent = true;
        match way {
            Way::Alone(_commits) => {
                let rows = going.answered().await.map_err(Vain::Failed)?;
                self.shared.count(rows.len());
                Ok(rows)
            }
            Way::With(coming) => going.answered_with_others(coming).await,
        }
    }
}

/// The statements of a transaction, prepared.
async fn prepared(session: &Session, transaction: &Transaction<'_>) -> Result<Vec<Statement>, Failure> {
    let mut statements = Vec::with_capacity(transaction.steps.len());
    for step in &transaction.steps {
        statements.push(session.prepared(step.sql).await?);
    }
    Ok(statements)
}

/// What the statements return. All are sent by the first poll, in this order: `join_all` polls fewer than thirty in order.
fn answers<'t>(
    session: &'t Session,
    statements: &'t [Statement],
    values: &'t [Values<'t>],
) -> BoxFuture<'t, Result<Rows, Failure>> {
    let asked =
        |(statement, values): (&'t Statement, &'t Values<'t>)| session.client().query(statement, values);
    let answers = join_all(statements.iter().zip(values).map(asked));
    async { Ok(answers.await.into_iter().collect::<Result<_, _>>()?) }.boxed()
}
