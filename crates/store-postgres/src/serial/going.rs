//! Going: a transaction on its way, alone or with others.

use std::future::ready;
use std::mem::replace;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::timeout;

use super::Rows;
use super::round::{Coming, Guard, Outcome, Size, Way, sent, told};
use super::transaction::Transaction;
use crate::connection::Session;
use crate::error::Failure;

/// Why an attempt came to nothing.
pub(super) enum Vain {
    /// For what its own statements, or the connection, said.
    Failed(Failure),
    /// The same, in a round: it may be for what another did there.
    FailedAmongOthers(Failure),
    /// A statement of another in the same round failed.
    RolledBackWithOthers,
    /// Its turn did not come in time.
    NoTurn,
}

/// A transaction whose answers are waited for, once it is sent.
pub(super) struct Going<'t> {
    session: &'t Arc<Session>,
    size: Size,
    /// What it begins with alone. Nothing if it is one statement, which is a transaction by itself.
    begin: Option<&'static str>,
    begun: BoxFuture<'t, Result<(), Failure>>,
    answers: BoxFuture<'t, Result<Rows, Failure>>,
    committed: BoxFuture<'t, Result<(), Failure>>,
}

impl<'t> Going<'t> {
    /// One that is not sent yet; the first poll of `answers` sends its statements.
    pub(super) fn new(
        session: &'t Arc<Session>,
        transaction: &Transaction<'_>,
        answers: BoxFuture<'t, Result<Rows, Failure>>,
    ) -> Self {
        let size = Size { statements: transaction.steps.len(), wakes: transaction.wakes };
        let begin = if transaction.serializable {
            Some("BEGIN ISOLATION LEVEL SERIALIZABLE")
        } else {
            (size.statements > 1).then_some("BEGIN")
        };
        let (begun, committed) = (ready(Ok(())).boxed(), ready(Ok(())).boxed());
        Self { session, size, begin, begun, answers, committed }
    }

    pub(super) const fn session(&self) -> &'t Arc<Session> {
        self.session
    }

    pub(super) const fn size(&self) -> Size {
        self.size
    }

    /// Sends it with a BEGIN and a COMMIT of its own, which one statement has by itself.
    pub(super) fn alone(&mut self, commits: Guard) -> Way {
        if let Some(begin) = self.begin {
            self.begun = told(self.session, begin);
        }
        self.send();
        if self.begin.is_some() {
            self.committed = told(self.session, "COMMIT");
        }
        if self.size.wakes {
            self.session.wake_readers();
        }
        Way::Alone(commits)
    }

    /// Sends its statements.
    pub(super) fn send(&mut self) {
        self.answers = sent(replace(&mut self.answers, ready(Ok(Rows::new())).boxed()));
    }

    /// What came of one that was sent alone.
    pub(super) async fn answered(self) -> Result<Rows, Failure> {
        let Self { session, begun, answers, committed, .. } = self;
        let answered = async {
            let (begun, rows, committed) = tokio::join!(begun, answers, committed);
            begun?;
            let rows = rows?;
            committed.map(|()| rows)
        };
        session.among_others(answered).await
    }

    /// What came of one that was sent into a round.
    pub(super) async fn answered_with_others(self, coming: Coming) -> Result<Rows, Vain> {
        let rows = match self.session.among_others(self.answers).await {
            Ok(rows) => rows,
            Err(failure) if failure.is_for_another_statement() => return Err(Vain::RolledBackWithOthers),
            Err(failure) => return Err(Vain::FailedAmongOthers(failure)),
        };
        // Whoever commits it may have gone, as at the end of the process. What is told here is no word of the server: who commits has heard that.
        match timeout(self.session.patience(), coming).await {
            Ok(Ok(Outcome::Committed)) => Ok(rows),
            Ok(Ok(Outcome::RolledBack)) => Err(Vain::RolledBackWithOthers),
            Ok(Ok(Outcome::Open(failure))) => Err(Vain::FailedAmongOthers(failure)),
            Ok(Err(_)) | Err(_) => Err(Vain::FailedAmongOthers(self.session.unanswered())),
        }
    }
}
