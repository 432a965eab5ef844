//! Readers: one connection per thread, for statements that only read.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::{Connection, Params, Row};
use tokio::sync::oneshot;

use crate::connection::{self, Opening};
use crate::error::SqliteError;
use crate::work_queue::WorkQueue;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// How repositories reach the readers.
#[derive(Clone)]
pub(crate) struct Readers {
    waiting: Arc<WorkQueue<Job>>,
}

impl Readers {
    pub(crate) fn new(depth: usize) -> Self {
        Self { waiting: Arc::new(WorkQueue::new(depth)) }
    }

    /// Opens one more connection, says so, and reads until the readers are closed.
    pub(crate) fn run(&self, opening: &Opening, opened: oneshot::Sender<Result<(), SqliteError>>) {
        let connection = match opening.reader() {
            Ok(connection) => connection,
            Err(error) => return drop(opened.send(Err(error))),
        };
        drop(opened.send(Ok(())));
        let mut jobs = Vec::with_capacity(1);
        while self.waiting.take(&mut jobs, 1) {
            for job in jobs.drain(..) {
                job(&connection);
            }
        }
        opening.close(connection);
    }

    /// Does `work` with a connection that sees everything committed before.
    pub(crate) async fn submit<T, F>(&self, work: F) -> Result<T, SqliteError>
    where
        F: FnOnce(Read<'_>) -> Result<T, SqliteError> + Send + 'static,
        T: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.waiting.push(Box::new(move |connection| {
            if !reply.is_closed() {
                let read = catch_unwind(AssertUnwindSafe(|| work(Read(connection))));
                drop(reply.send(read.unwrap_or(Err(SqliteError::Panicked))));
            }
        }))?;
        answer.await.unwrap_or(Err(SqliteError::Closed))
    }

    pub(crate) fn close(&self) {
        self.waiting.close();
    }
}

/// A connection that only reads.
#[derive(Clone, Copy)]
pub(crate) struct Read<'c>(&'c Connection);

impl Read<'_> {
    /// All rows of a `SELECT`.
    pub(crate) fn rows<T>(
        self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Vec<T>, SqliteError> {
        connection::rows(self.0, sql, params, read)
    }

    /// Rows of a `SELECT`, one after the other, until `visit` has seen enough.
    pub(crate) fn walk(
        self,
        sql: &str,
        params: impl Params,
        visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, SqliteError>,
    ) -> Result<(), SqliteError> {
        connection::walk(self.0, sql, params, visit)
    }

    /// The first row of a `SELECT`, if any.
    pub(crate) fn row<T>(
        self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Option<T>, SqliteError> {
        connection::row(self.0, sql, params, read)
    }
}
