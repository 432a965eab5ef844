//! Rounds: transactions that share a commit.
//!
//! While a COMMIT is under way, those that come are sent behind it at once, each in one go, after a BEGIN that they share. When it is
//! answered, they are closed by a COMMIT of their own, and a new round begins. Who finds none under way goes at once, and alone: what
//! a commit costs is only shared where somebody would have waited for it.
//!
//! In a round each sees what those before it have done, as if it came after their commit. If a statement of one fails, all of the round is
//! rolled back: who that was is told by its own answers, and who was not tries again.

use std::future::ready;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use parking_lot::Mutex;
use tokio::sync::{OwnedMutexGuard, oneshot};
use tokio::task::unconstrained;
use tokio::time::{Instant, timeout_at};

use super::going::Going;
use crate::connection::Session;
use crate::error::Failure;
use crate::statistics::{Counters, Kind};

/// So many share a commit: their rows are locked until the last of them is done.
const MEMBERS: usize = 64;
/// Fails where a statement before it has: COMMIT does not say that it rolled back.
const ALL_IS_WELL: &str = "SELECT 1";

/// What became of a round.
#[derive(Clone)]
pub(super) enum Outcome {
    Committed,
    RolledBack,
    /// It may be either.
    Open(Failure),
}

/// What a round comes to, for each of its members.
pub(super) type Coming = Shared<oneshot::Receiver<Outcome>>;

/// A turn at the connection, and who has a COMMIT under way there.
#[derive(Clone)]
pub(crate) struct SharedCommits {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Who has it may send a COMMIT. Asked for in the order in which what is committed was sent.
    commits: Arc<tokio::sync::Mutex<()>>,
    open: Arc<Mutex<Option<Round>>>,
    counters: Arc<Counters>,
}

/// One that is not closed yet: its COMMIT is not sent.
struct Round {
    session: Arc<Session>,
    members: usize,
    statements: usize,
    wakes: bool,
    coming: Coming,
}

/// How a transaction was sent.
pub(super) enum Way {
    /// With a BEGIN and a COMMIT of its own. No other COMMIT is sent before this is dropped.
    Alone(Guard),
    /// Into a round.
    With(Coming),
}

/// Whose turn it is, until it is dropped.
pub(super) type Guard = OwnedMutexGuard<()>;

/// What is sent of a transaction.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) statements: usize,
    pub(super) wakes: bool,
}

/// Polls it for the first time, which sends what it has to send. The rest is waited for later.
pub(super) fn sent<'f, T: Send + 'f>(mut answer: BoxFuture<'f, T>) -> BoxFuture<'f, T> {
    match answer.as_mut().now_or_never() {
        Some(answer) => ready(answer).boxed(),
        None => answer,
    }
}

/// What is waited for when a command is sent.
pub(super) type Told = BoxFuture<'static, Result<(), Failure>>;

/// Sends a command.
pub(super) fn told(session: &Arc<Session>, command: &'static str) -> Told {
    let session = session.clone();
    sent(async move { Ok(session.client().batch_execute(command).await?) }.boxed())
}

impl SharedCommits {
    pub(super) fn new(counters: Arc<Counters>) -> Self {
        Self { turn: Arc::default(), commits: Arc::default(), open: Arc::default(), counters }
    }

    /// Counts what was committed alone.
    pub(super) fn count(&self, statements: usize) {
        self.counters.count(Kind::Other, statements, statements);
    }

    /// The turn to send something, until what is returned is dropped. None if it has not come by `deadline`.
    pub(super) async fn turn(&self, deadline: Instant) -> Option<Guard> {
        timeout_at(deadline, self.turn.clone().lock_owned()).await.ok()
    }

    /// Returns when all is answered that was sent before, for who has the turn. None if it has not by `deadline`.
    pub(super) async fn quiet(&self, deadline: Instant) -> Option<Guard> {
        timeout_at(deadline, self.commits.clone().lock_owned()).await.ok()
    }

    /// The connection, if nobody uses it, and nobody waits for it.
    pub(crate) fn at_once(&self) -> Option<(Guard, Guard)> {
        Some((self.turn.clone().try_lock_owned().ok()?, self.commits.clone().try_lock_owned().ok()?))
    }

    /// Returns when nobody uses it.
    pub(super) async fn finished(&self) {
        drop(self.turn.lock().await);
        drop(self.commits.lock().await);
    }

    /// Sends a transaction whose turn it is: alone if no COMMIT is under way, else into the round that is open.
    /// None if it could not be sent by `deadline`.
    pub(super) async fn enter(&self, going: &mut Going<'_>, deadline: Instant) -> Option<Way> {
        loop {
            match self.sent(going) {
                Ok(way) => return Some(way),
                // It is full, or goes over another connection. What comes of it is for its members.
                Err(coming) => drop(timeout_at(deadline, coming).await.ok()?),
            }
        }
    }

    /// The way that it was sent, or what has to be over before.
    fn sent(&self, going: &mut Going<'_>) -> Result<Way, Coming> {
        // Held until all is sent: nothing comes between the statements of a transaction.
        let mut open = self.open.lock();
        let round = match &mut *open {
            Some(round) if !round.takes(going.session()) => return Err(round.coming.clone()),
            Some(round) => round,
            nothing => {
                // The first poll has it, or takes the place behind who does, however much its task has done.
                let mut commits = unconstrained(self.commits.clone().lock_owned()).boxed();
                match commits.as_mut().now_or_never() {
                    Some(commits) => return Ok(going.alone(commits)),
                    None => nothing.insert(self.begin(going.session(), commits)),
                }
            }
        };
        round.add(going.size());
        going.send();
        Ok(Way::With(round.coming.clone()))
    }

    /// Begins a round, which is closed when `commits` has come.
    fn begin(&self, session: &Arc<Session>, commits: BoxFuture<'static, Guard>) -> Round {
        let (teller, coming) = oneshot::channel();
        let begun = told(session, "BEGIN");
        let shared = self.clone();
        tokio::spawn(async move {
            let commits = commits.await;
            let outcome = shared.close(begun).await;
            drop(commits);
            // They may all have left.
            drop(teller.send(outcome));
        });
        Round { session: session.clone(), members: 0, statements: 0, wakes: false, coming: coming.shared() }
    }

    /// Commits the round that is open, whose BEGIN was sent.
    async fn close(&self, begun: Told) -> Outcome {
        let closed = self.open.lock().take().map(|round| (round.closing(), round));
        // One that began is there until it is closed here.
        let Some(((is_well, committed), round)) = closed else { return Outcome::RolledBack };
        let answer = async {
            begun.await?;
            is_well.await?;
            committed.await
        };
        match round.session.among_others(answer).await {
            Ok(()) => {
                self.counters.count(Kind::Other, round.statements, round.statements);
                Outcome::Committed
            }
            Err(failure) if failure.may_be_committed() => Outcome::Open(failure),
            Err(_) => Outcome::RolledBack,
        }
    }
}

impl Round {
    /// Whether one more may come, over this session.
    fn takes(&self, session: &Arc<Session>) -> bool {
        self.members < MEMBERS && Arc::ptr_eq(&self.session, session)
    }

    const fn add(&mut self, size: Size) {
        self.members += 1;
        self.statements += size.statements;
        self.wakes |= size.wakes;
    }

    /// Sends the end of it: the question whether all is well, and COMMIT.
    fn closing(&self) -> (Told, Told) {
        let (is_well, committed) = (told(&self.session, ALL_IS_WELL), told(&self.session, "COMMIT"));
        if self.wakes {
            self.session.wake_readers();
        }
        (is_well, committed)
    }
}
