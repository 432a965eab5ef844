//! A job: work for the writer, and who waits for it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::write::Write;
use crate::error::SqliteError;

/// What the writer's connection answered, once it is committed.
pub(super) type Answer<T> = Result<T, Arc<SqliteError>>;

/// Work for the writer.
pub(super) trait Job: Send {
    /// Whether nobody waits for it any more.
    fn is_abandoned(&self) -> bool;

    /// Does the work inside a transaction that others share. An error rolls this job back, and no other.
    fn run(&mut self, write: &mut Write<'_>) -> Result<(), SqliteError>;

    /// Answers, after the commit.
    fn finish(self: Box<Self>, committed: Result<(), Arc<SqliteError>>);
}

/// A job made of a closure.
pub(super) struct Task<F, T> {
    work: Option<F>,
    outcome: Option<T>,
    reply: oneshot::Sender<Answer<T>>,
}

impl<F, T> Task<F, T> {
    pub(super) fn new(work: F) -> (Self, oneshot::Receiver<Answer<T>>) {
        let (reply, answer) = oneshot::channel();
        (Self { work: Some(work), outcome: None, reply }, answer)
    }
}

impl<F, T> Job for Task<F, T>
where
    F: FnOnce(&mut Write<'_>) -> Result<T, SqliteError> + Send,
    T: Send,
{
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(&mut self, write: &mut Write<'_>) -> Result<(), SqliteError> {
        if let Some(work) = self.work.take() {
            self.outcome = Some(work(write)?);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), Arc<SqliteError>>) {
        let Self { outcome, reply, .. } = *self;
        let answer = committed.and_then(|()| outcome.ok_or_else(|| Arc::new(SqliteError::Panicked)));
        drop(reply.send(answer)); // one that went away does not hear it
    }
}
