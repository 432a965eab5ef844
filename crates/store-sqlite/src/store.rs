//! The store: its threads, its queues, and the ways of repositories to them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use sluice_commit::{CommitMetrics, Config, StoreError, StoreRefusals};
use sluice_oauth::flow::ParkedCount;
use sluice_primitives::{Rng, Timestamp};
use tempfile::TempDir;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

use crate::connection::Opening;
use crate::error::{Consequence, SqliteError, store_error};
use crate::file::DatabaseFile;
use crate::grant::{Passes, lanes::GrantLanes};
use crate::identity::RegisterIdentity;
use crate::options::{SqlitePath, StoreOptions};
use crate::reader::{Read, Readers};
use crate::slices::Place;
use crate::statistics::{StoreStatistics, Totals};
use crate::writer::{Counters, Lane, Write, WriterHandle, WriterThread, start_lane};

/// Reads a page: a statement without a table asks nothing of the file.
const PING: &str = "SELECT 1 FROM sqlite_schema LIMIT 1";
/// The pause before a write that met another process's lock is tried anew.
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// All repositories on one SQLite file. Clones share threads and queues; when the last one goes, they end.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    options: StoreOptions,
    file: Arc<DatabaseFile>,
    writer: WriterHandle,
    readers: Readers,
    grants: GrantLanes,
    register: Lane<RegisterIdentity>,
    passes: Passes,
    identity_session_purge: Place,
    parked: ParkedCount,
    totals: Arc<Totals>,
    metrics: Arc<CommitMetrics>,
    refusals: Arc<StoreRefusals>,
    appended: Arc<Notify>,
    /// Each yields when its thread has ended.
    threads: Mutex<Vec<oneshot::Receiver<()>>>,
    /// Where the file is if it goes with the store.
    _directory: Option<TempDir>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn close(&self) {
        self.writer.close();
        self.readers.close();
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens a file, and starts the threads and queues. Migrates nothing, and writes no row.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the file cannot be opened, or is another program's.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn open(path: SqlitePath, options: StoreOptions) -> Result<Self, StoreError> {
        let (file, directory) = match path {
            SqlitePath::File(path) => (DatabaseFile::kept(path)?, None),
            SqlitePath::Temporary => {
                let directory = TempDir::with_prefix("sluice-").map_err(SqliteError::from)?;
                (DatabaseFile::passing(directory.path().join("sluice.db"))?, Some(directory))
            }
        };
        let (file, durable) = (Arc::new(file), directory.is_none());
        let (busy_timeout, closing, last_look) = (options.busy_timeout, Arc::default(), Arc::default());
        let opening = Opening { file: Arc::clone(&file), busy_timeout, durable, closing, last_look };
        let store = Self::start(options, file, directory);
        store.start_threads(&opening).await?;
        Ok(store)
    }

    /// Whether the file can be read, and is the one that its path leads to.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.read_in_place(|read| read.row(PING, [], |_| Ok(()))).await.map(|_| ())
    }

    /// Stops the intake, finishes what was submitted, and returns when the file is closed.
    pub async fn shutdown(&self) {
        self.shared.grants.shutdown().await;
        self.shared.register.shutdown().await;
        self.shared.close();
        let threads = std::mem::take(&mut *self.shared.threads.lock());
        for ended in threads {
            drop(ended.await);
        }
    }

    /// What was committed since the store was opened.
    pub fn statistics(&self) -> StoreStatistics {
        self.shared.totals.snapshot()
    }

    /// What the group-commit queues count, all kinds together.
    pub fn commit_metrics(&self) -> &Arc<CommitMetrics> {
        &self.shared.metrics
    }

    /// What was refused since the store was opened, past the queues.
    pub fn refusals(&self) -> &Arc<StoreRefusals> {
        &self.shared.refusals
    }

    fn start(options: StoreOptions, file: Arc<DatabaseFile>, directory: Option<TempDir>) -> Self {
        let config = Config { depth: options.depth, ..Config::default() };
        let metrics = Arc::new(CommitMetrics::default());
        let writer = WriterHandle::new(options.depth.get());
        let shared = Shared {
            readers: Readers::new(options.depth.get()),
            grants: GrantLanes::start(&writer, config, &metrics),
            register: start_lane(&writer, config, &metrics),
            passes: Passes::default(),
            identity_session_purge: Place::default(),
            parked: ParkedCount::default(),
            totals: Arc::default(),
            refusals: Arc::default(),
            appended: Arc::default(),
            threads: Mutex::default(),
            _directory: directory,
            options,
            file,
            writer,
            metrics,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Starts the writer, then the readers; returns when all have their connections.
    async fn start_threads(&self, opening: &Opening) -> Result<(), SqliteError> {
        let options = &self.shared.options;
        let writer = WriterThread {
            handle: self.shared.writer.clone(),
            opening: opening.clone(),
            counters: Counters::new(options.node, &*options.clock),
            clock: options.clock.clone(),
            totals: self.shared.totals.clone(),
            appended: self.shared.appended.clone(),
        };
        self.start_thread("sqlite-writer", |opened| writer.run(opened)).await?;
        for _ in 0..options.readers.get() {
            let (readers, opening) = (self.shared.readers.clone(), opening.clone());
            self.start_thread("sqlite-reader", move |opened| readers.run(&opening, opened)).await?;
        }
        Ok(())
    }

    async fn start_thread(
        &self,
        name: &str,
        run: impl FnOnce(oneshot::Sender<Result<(), SqliteError>>) + Send + 'static,
    ) -> Result<(), SqliteError> {
        let (opened, is_open) = oneshot::channel();
        let (ends, ended) = oneshot::channel();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            run(opened);
            drop(ends);
        })?;
        self.shared.threads.lock().push(ended);
        is_open.await.unwrap_or(Err(SqliteError::Closed))
    }

    pub(crate) fn grants(&self) -> &GrantLanes {
        &self.shared.grants
    }

    pub(crate) fn register_lane(&self) -> &Lane<RegisterIdentity> {
        &self.shared.register
    }

    pub(crate) fn passes(&self) -> &Passes {
        &self.shared.passes
    }

    pub(crate) fn identity_session_purge(&self) -> &Place {
        &self.shared.identity_session_purge
    }

    pub(crate) fn parked(&self) -> &ParkedCount {
        &self.shared.parked
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.options.clock.now()
    }

    pub(crate) fn rng(&self) -> Arc<dyn Rng> {
        self.shared.options.rng.clone()
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.shared.options.deadline
    }

    /// Returns when this process has appended to a feed.
    pub(crate) async fn appended(&self) {
        self.shared.appended.notified().await;
    }

    /// Reads on a thread of the readers.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: FnOnce(Read<'_>) -> Result<T, SqliteError> + Send + 'static,
        T: Send + 'static,
    {
        let read = self.shared.readers.submit(work).await.map_err(StoreError::from);
        self.shared.refusals.reads.noted(read)
    }

    /// The same, and refuses if the path of the file leads elsewhere by now.
    pub(crate) async fn read_in_place<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: FnOnce(Read<'_>) -> Result<T, SqliteError> + Send + 'static,
        T: Send + 'static,
    {
        let file = Arc::clone(&self.shared.file);
        self.read(move |read| {
            file.is_in_place()?;
            work(read)
        })
        .await
    }

    /// Writes in a transaction that it shares with whatever else waits, again and again until the deadline while another
    /// process holds the lock.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: Fn(&mut Write<'_>) -> Result<T, SqliteError> + Send + Sync + 'static,
        T: Send + 'static,
    {
        self.write_until(self.deadline(), work).await
    }

    /// The same until another deadline.
    pub(crate) async fn write_until<T, F>(&self, deadline: Instant, work: F) -> Result<T, StoreError>
    where
        F: Fn(&mut Write<'_>) -> Result<T, SqliteError> + Send + Sync + 'static,
        T: Send + 'static,
    {
        self.shared.refusals.writes.noted(self.try_until(deadline, work).await)
    }

    async fn try_until<T, F>(&self, deadline: Instant, work: F) -> Result<T, StoreError>
    where
        F: Fn(&mut Write<'_>) -> Result<T, SqliteError> + Send + Sync + 'static,
        T: Send + 'static,
    {
        let work = Arc::new(work);
        loop {
            let attempt = work.clone();
            let answer = timeout_at(deadline, self.shared.writer.submit(move |write| attempt(write))).await;
            match answer {
                Err(_) => return Err(StoreError::Unavailable(None)),
                Ok(Ok(outcome)) => return Ok(outcome),
                Ok(Err(error)) if is_contention(&error) && Instant::now() < deadline => {
                    sleep(BUSY_PAUSE).await;
                }
                Ok(Err(error)) => return Err(store_error(error)),
            }
        }
    }
}

fn is_contention(error: &SqliteError) -> bool {
    error.consequence() == Consequence::TryAgain && !matches!(error, SqliteError::Overloaded)
}
