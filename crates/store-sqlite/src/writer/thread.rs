//! The thread that writes: takes what waits, one `BEGIN IMMEDIATE … COMMIT` for all of it, then the answers.
//!
//! Each job runs in a savepoint of its own. There is no timer: what arrives during a commit shares the next one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode};
use sluice_primitives::Clock;
use tokio::sync::{Notify, oneshot};

use super::job::{Answer, Job, Task};
use super::write::{Counters, Write};
use crate::connection::Opening;
use crate::error::SqliteError;
use crate::statistics::{StoreStatistics, Totals};
use crate::work_queue::WorkQueue;

/// Jobs in one commit at most: a job of a lane may itself be hundreds of rows.
const MAX_JOBS: usize = 256;

type Waiting = WorkQueue<Box<dyn Job>>;

/// How repositories and lanes reach the writer.
#[derive(Clone)]
pub(crate) struct WriterHandle {
    waiting: Arc<Waiting>,
}

impl WriterHandle {
    /// A queue for a writer, and its two ends.
    pub(crate) fn new(depth: usize) -> Self {
        Self { waiting: Arc::new(Waiting::new(depth)) }
    }

    /// Does `work` in a transaction; the answer comes after the commit.
    pub(crate) async fn submit<T, F>(&self, work: F) -> Answer<T>
    where
        F: FnOnce(&mut Write<'_>) -> Result<T, SqliteError> + Send + 'static,
        T: Send + 'static,
    {
        let (task, answer) = Task::new(work);
        self.waiting.push(Box::new(task)).map_err(Arc::new)?;
        answer.await.unwrap_or_else(|_| Err(Arc::new(SqliteError::Closed)))
    }

    /// Ends the intake; the thread ends when it has finished what waits.
    pub(crate) fn close(&self) {
        self.waiting.close();
    }
}

/// What the thread owns.
pub(crate) struct WriterThread {
    pub(crate) handle: WriterHandle,
    pub(crate) opening: Opening,
    pub(crate) counters: Counters,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) totals: Arc<Totals>,
    pub(crate) appended: Arc<Notify>,
}

impl WriterThread {
    /// Opens the connection, says so, and works until the handle is closed.
    pub(crate) fn run(mut self, opened: oneshot::Sender<Result<(), SqliteError>>) {
        let mut connection = match self.opening.first() {
            Ok(connection) => connection,
            Err(error) => return drop(opened.send(Err(error))),
        };
        if let Err(error) = self.counters.catch_up(&connection) {
            return drop(opened.send(Err(error)));
        }
        drop(opened.send(Ok(())));
        let mut jobs = Vec::new();
        while self.handle.waiting.take(&mut jobs, MAX_JOBS) {
            jobs.retain(|job| !job.is_abandoned());
            if !jobs.is_empty() && !self.commit(&connection, std::mem::take(&mut jobs)) {
                connection = self.opening.writer().unwrap_or(connection);
            }
        }
        self.opening.close(connection);
    }

    /// Runs all jobs in one transaction, and answers them. False if the connection is better replaced.
    fn commit(&mut self, connection: &Connection, jobs: Vec<Box<dyn Job>>) -> bool {
        // What is written into a file or a log that has lost its name is gone at the next start: nobody may be told that it is kept.
        let in_place = self.opening.file.is_in_place();
        if let Err(error) = in_place.and_then(|()| execute(connection, "BEGIN IMMEDIATE")) {
            self.opening.save_log(connection);
            self.fail(jobs, error);
            return connection.is_autocommit();
        }
        let mut done = Done::default();
        let mut left = jobs.into_iter();
        while let Some(mut job) = left.next() {
            match self.run_alone(connection, &mut *job, &mut done) {
                Ok(()) => done.jobs.push(job),
                Err(error) if connection.is_autocommit() => {
                    // The engine gave up the whole transaction (disk full, input or output error).
                    done.jobs.push(job);
                    done.jobs.extend(left);
                    self.fail(done.jobs, error);
                    return true;
                }
                Err(error) => job.finish(Err(Arc::new(self.opening.explained(error)))),
            }
        }
        match execute(connection, "COMMIT") {
            Ok(()) => {
                self.committed(done);
                true
            }
            Err(error) => {
                let (error, is_undone) = undo(connection, error);
                self.fail(done.jobs, error);
                is_undone
            }
        }
    }

    /// Runs one job in a savepoint: an error or a panic undoes it alone.
    fn run_alone(
        &mut self,
        connection: &Connection,
        job: &mut dyn Job,
        done: &mut Done,
    ) -> Result<(), SqliteError> {
        execute(connection, "SAVEPOINT job")?;
        let mut write = Write::new(connection, &mut self.counters, &*self.clock);
        let ran = catch_unwind(AssertUnwindSafe(|| job.run(&mut write)));
        let (written, appended) = (std::mem::take(&mut write.written), write.appended);
        match ran.unwrap_or(Err(SqliteError::Panicked)) {
            Ok(()) => {
                execute(connection, "RELEASE job")?;
                done.written.push(written);
                done.appended |= appended;
                Ok(())
            }
            Err(error) => {
                if !connection.is_autocommit() {
                    execute(connection, "ROLLBACK TO job")?;
                    execute(connection, "RELEASE job")?;
                }
                Err(error)
            }
        }
    }

    fn committed(&self, done: Done) {
        self.totals.committed(done.written.iter());
        if done.appended {
            self.appended.notify_waiters();
            self.appended.notify_one(); // for a reader that is about to wait
        }
        for job in done.jobs {
            job.finish(Ok(()));
        }
    }

    fn fail(&self, jobs: Vec<Box<dyn Job>>, error: SqliteError) {
        let error = Arc::new(self.opening.explained(error));
        for job in jobs {
            job.finish(Err(error.clone()));
        }
    }
}

/// What the jobs of one transaction have done.
#[derive(Default)]
struct Done {
    jobs: Vec<Box<dyn Job>>,
    written: Vec<StoreStatistics>,
    appended: bool,
}

fn execute(connection: &Connection, sql: &str) -> Result<(), SqliteError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Sees to it that nothing is left of a commit that failed; false if nobody knows whether something is.
fn undo(connection: &Connection, error: SqliteError) -> (SqliteError, bool) {
    let is_undone = if connection.is_autocommit() {
        is_of_a_full_disk(&error)
    } else {
        execute(connection, "ROLLBACK").is_ok()
    };
    if is_undone { (error, true) } else { (lost(error), false) }
}

/// Whether there was no room for what a commit writes into the log. Its last frame, which makes it one, is not in the file then, and the
/// engine has rolled back; that is otherwise with an error of input or output, which may be about what comes after that frame.
fn is_of_a_full_disk(error: &SqliteError) -> bool {
    matches!(error, SqliteError::Engine(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull))
}

/// A commit that failed and left no transaction to roll back: its outcome is unknown.
fn lost(error: SqliteError) -> SqliteError {
    match error {
        engine @ SqliteError::Engine(_) => SqliteError::CommitLost(Box::new(engine)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;
    use crate::error::Consequence;

    fn said(code: i32) -> SqliteError {
        SqliteError::Engine(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    /// The pages of a transaction are written at its commit: there a full disk is noticed, and the transaction is over.
    #[test]
    fn a_commit_that_found_no_room_is_refused_and_one_that_broke_off_is_lost() {
        let connection = Connection::open_in_memory().unwrap();
        for (code, consequence) in
            [(ffi::SQLITE_FULL, Consequence::Refused), (ffi::SQLITE_IOERR, Consequence::Reconnect)]
        {
            let (error, is_undone) = undo(&connection, said(code));
            assert_eq!(error.consequence(), consequence);
            assert_eq!(is_undone, consequence == Consequence::Refused, "{error:?}");
        }
        connection.execute_batch("BEGIN").unwrap();
        let (error, is_undone) = undo(&connection, said(ffi::SQLITE_BUSY));
        assert!(is_undone && connection.is_autocommit(), "what is still open is rolled back: {error:?}");
        assert_eq!(error.consequence(), Consequence::TryAgain);
    }
}
