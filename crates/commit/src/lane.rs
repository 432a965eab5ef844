//! Lane: one writer and the task that feeds it, batch after batch, until its line is closed and empty.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

use crate::batch::{Batch, Piece};
use crate::config::{Config, Pauses};
use crate::error::{Cause, CommitFailure, SubmitError};
use crate::line::{Line, Pending, Taken};
use crate::metrics::CommitMetrics;
use crate::writer::Writer;

/// How often those that are ready to run go first, while they bring more.
const GATHERINGS: usize = 8;

/// A writer, its line, and the buffers of its batches.
pub(crate) struct Lane<W: Writer> {
    writer: W,
    line: Arc<Line<W::Op, W::Out>>,
    config: Config,
    metrics: Arc<CommitMetrics>,
    taken: Vec<Pending<W::Op, W::Out>>,
    batch: Batch<W::Op, W::Out>,
    in_trouble: bool,
}

/// However a lane ends, nobody waits for it any more.
impl<W: Writer> Drop for Lane<W> {
    fn drop(&mut self) {
        self.line.abandon();
    }
}

impl<W: Writer> Lane<W> {
    pub(crate) fn new(
        writer: W,
        line: Arc<Line<W::Op, W::Out>>,
        config: Config,
        metrics: Arc<CommitMetrics>,
    ) -> Self {
        Self { writer, line, config, metrics, taken: Vec::new(), batch: Batch::new(), in_trouble: false }
    }

    /// Commits what arrives. Returns when the line is closed and nothing waits in it.
    pub(crate) async fn run(mut self) {
        loop {
            match self.line.take(&mut self.taken, self.config.max_batch.get()) {
                Taken::Batch => {
                    if self.config.gathers {
                        self.gather().await;
                    }
                    self.commit_taken().await;
                }
                Taken::Nothing => self.idle().await,
                Taken::Closed => return,
            }
        }
    }

    /// Waits for an op. Those that are ready to submit go first then: they share its commit, and no time is lost.
    async fn idle(&mut self) {
        self.line.woken().await;
        if !self.config.gathers {
            yield_now().await;
        }
    }

    /// Lets those go first that are ready to run, again while they bring more: what shares a commit costs less. Nothing is
    /// waited for, so a single op loses no time.
    async fn gather(&mut self) {
        let max = self.config.max_batch.get();
        for _ in 0..GATHERINGS {
            let before = self.taken.len();
            if before >= max {
                return;
            }
            yield_now().await;
            self.line.take(&mut self.taken, max);
            if self.taken.len() == before {
                return;
            }
        }
    }

    async fn commit_taken(&mut self) {
        let now = Instant::now();
        self.metrics.batch_taken(self.taken.iter().map(|op| now.duration_since(op.submitted)));
        self.batch.fill(&mut self.taken);
        while let Some(piece) = self.batch.next_piece() {
            self.settle(piece).await;
        }
        self.line.release(self.batch.settled());
    }

    /// Commits a piece, again and again if it must be, until each of its ops is answered or the piece is halved.
    async fn settle(&mut self, mut piece: Piece) {
        let mut lost = self.config.lost.pauses();
        let mut busy = self.config.busy.pauses();
        loop {
            let left = match self.commit(piece).await {
                Ok(outcomes) => {
                    self.out_of_trouble();
                    return self.batch.answer(piece, outcomes);
                }
                Err(CommitFailure::Poisoned(cause)) => return self.isolate(piece, cause.into()),
                Err(CommitFailure::Refused(cause)) => return self.refuse(piece, cause.into()),
                Err(CommitFailure::Busy(cause)) => {
                    self.metrics.busy();
                    self.pause(piece, cause.into(), &mut busy).await
                }
                Err(CommitFailure::Lost(cause)) => {
                    self.metrics.lost();
                    piece.is_open = true;
                    self.regain(piece, cause.into(), &mut lost).await
                }
            };
            if !left {
                return self.line.leave_trouble();
            }
        }
    }

    async fn commit(&mut self, piece: Piece) -> Result<Vec<W::Out>, CommitFailure> {
        let commit = self.writer.commit(self.batch.ops(piece));
        AssertUnwindSafe(commit).catch_unwind().await.unwrap_or_else(|_| panicked())
    }

    /// Halves a piece that holds a poisoned row; fails the row that already stands alone.
    fn isolate(&mut self, piece: Piece, cause: Cause) {
        self.out_of_trouble();
        if !self.batch.halve(piece) {
            self.metrics.poisoned();
            self.fail(piece, cause, SubmitError::Failed);
        }
    }

    fn refuse(&mut self, piece: Piece, cause: Cause) {
        self.out_of_trouble();
        self.metrics.refused();
        self.fail(piece, cause, SubmitError::Refused);
    }

    /// Fails all ops of a piece. Of those that a lost attempt may have committed nobody is told that nothing was written.
    fn fail(&mut self, piece: Piece, cause: Cause, unwritten: fn(Cause) -> SubmitError) {
        let error = if piece.is_open { SubmitError::Unavailable(Some(cause)) } else { unwritten(cause) };
        self.batch.fail(piece, &error);
    }

    /// Reconnects, with back-off. Returns whether any op is left to commit.
    async fn regain(&mut self, piece: Piece, mut cause: Cause, pauses: &mut Pauses) -> bool {
        while self.pause(piece, cause, pauses).await {
            match AssertUnwindSafe(self.writer.reconnect()).catch_unwind().await {
                Ok(Ok(())) => return true,
                Ok(Err(error)) => cause = error.into(),
                Err(_) => cause = Arc::new(WriterPanicked),
            }
        }
        false
    }

    /// Waits before the next attempt. Returns whether any op is still before its deadline then.
    async fn pause(&mut self, piece: Piece, cause: Cause, pauses: &mut Pauses) -> bool {
        self.in_trouble = true;
        self.line.set_trouble(Some(cause.clone()));
        sleep(pauses.next_pause()).await;
        self.batch.expire(piece, Instant::now(), &cause)
    }

    fn out_of_trouble(&mut self) {
        if std::mem::take(&mut self.in_trouble) {
            self.line.set_trouble(None);
        }
    }
}

/// The writer's own code failed, at an unknown point.
#[derive(Debug, thiserror::Error)]
#[error("the writer panicked")]
struct WriterPanicked;

fn panicked<T>() -> Result<T, CommitFailure> {
    Err(CommitFailure::Lost(Box::new(WriterPanicked)))
}
