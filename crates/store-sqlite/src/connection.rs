//! Connections: how the file is opened for the one writer and for the readers.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Params, Row};

use crate::error::{Consequence, SqliteError};
use crate::file::{DatabaseFile, refuse_without_log};
use crate::migrate::refuse_foreign;
use crate::obstacle::LastLook;

/// Statements kept ready per connection: more than there are.
const STATEMENTS: usize = 256;
/// Attempts to switch to the write-ahead log while other processes open the same file; the engine does not wait there.
const ATTEMPTS: u32 = 400;
const PAUSE: Duration = Duration::from_millis(10);

/// What both kinds of connections share.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    pub(crate) file: Arc<DatabaseFile>,
    pub(crate) busy_timeout: Duration,
    /// Whether the data outlives the process, and so must be on the disk before an answer is sent.
    pub(crate) durable: bool,
    /// Who closes a connection has it.
    pub(crate) closing: Arc<Mutex<()>>,
    /// What stood in the way of the file when it was looked last.
    pub(crate) last_look: Arc<LastLook>,
}

impl Opening {
    /// The first connection of all: the one that writes. Refused if the log that others use is not beside the file.
    pub(crate) fn first(&self) -> Result<Connection, SqliteError> {
        refuse_without_log(self.file.path())?;
        self.writer()
    }

    /// The connection that writes. A file that is gone is missed, and not made anew; one of another program is left as it is.
    pub(crate) fn writer(&self) -> Result<Connection, SqliteError> {
        self.open_to_write().map_err(|error| self.explained(error))
    }

    /// A connection that only reads.
    pub(crate) fn reader(&self) -> Result<Connection, SqliteError> {
        self.open_to_read().map_err(|error| self.explained(error))
    }

    /// An error with what the operating system says of it.
    pub(crate) fn explained(&self, error: SqliteError) -> SqliteError {
        error.explained_by(|| self.last_look.obstacle_of(self.file.path(), Instant::now))
    }

    fn open_to_write(&self) -> Result<Connection, SqliteError> {
        let connection = self.open()?;
        self.use_write_ahead_log(&connection)?;
        // Opened for reading instead, where it cannot be written.
        if connection.is_readonly("main")? {
            return Err(SqliteError::ReadOnly(None));
        }
        connection.pragma_update(None, "synchronous", if self.durable { "FULL" } else { "OFF" })?;
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        self.open_log(&connection)?;
        Ok(connection)
    }

    fn open_to_read(&self) -> Result<Connection, SqliteError> {
        let connection = self.open()?;
        connection.pragma_update(None, "query_only", true)?;
        self.open_log(&connection)?;
        Ok(connection)
    }

    /// Closes a connection. With the last one to a file the engine brings its log into it, as far as the index tells, and deletes the log.
    /// It does not if that index has lost its name and there is a log: others use another index since, and have maybe written what this one
    /// does not know.
    pub(crate) fn close(&self, connection: Connection) {
        // Two that close at once each find the other there, and neither is the last.
        let turn = self.closing.lock();
        self.save_log(&connection);
        if self.file.is_behind() {
            drop(connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
        }
        drop(connection);
        drop(turn);
    }

    /// Brings a log that nobody finds any more into the file, as far as nobody reads what was before: it is gone with this process.
    pub(crate) fn save_log(&self, connection: &Connection) {
        if self.file.has_nameless_log() {
            drop(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
        }
    }

    /// Reads something. With that the engine opens the log and its index: those that are there now, and not what may lie there later.
    fn open_log(&self, connection: &Connection) -> Result<(), SqliteError> {
        refuse_foreign(connection)?;
        self.file.remember_log()
    }

    fn open(&self) -> Result<Connection, SqliteError> {
        // All connections have the same files open.
        self.file.is_in_place()?;
        let connection = open(self.file.path(), self.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // Statements are not planned anew for the values that they get.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    }

    fn use_write_ahead_log(&self, connection: &Connection) -> Result<(), SqliteError> {
        let mut left = ATTEMPTS;
        loop {
            let switch = || connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
            match refuse_foreign(connection).and_then(|()| switch().map_err(SqliteError::from)) {
                Err(error) if error.consequence() == Consequence::TryAgain && left > 0 => {
                    left -= 1;
                    sleep(PAUSE.min(self.busy_timeout));
                }
                switched => return switched,
            }
        }
    }
}

/// A connection to a file that is there.
pub(crate) fn open(path: &Path, busy_timeout: Duration) -> Result<Connection, SqliteError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy_timeout)?;
    Ok(connection)
}

/// All rows that a statement yields.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, SqliteError>,
) -> Result<Vec<T>, SqliteError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut cursor = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = cursor.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

/// Shows rows that a statement yields to `visit`, one after the other, until it has seen enough.
pub(crate) fn walk(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, SqliteError>,
) -> Result<(), SqliteError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut cursor = statement.query(params)?;
    while let Some(row) = cursor.next()? {
        if visit(row)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// The first row that a statement yields, if any.
pub(crate) fn row<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, SqliteError>,
) -> Result<Option<T>, SqliteError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut cursor = statement.query(params)?;
    cursor.next()?.map(read).transpose()
}
