//! Connections: how the file is opened for the one writer and for the readers.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Params, Row};

use crate::error::{Consequence, SqliteError};
use crate::file::DatabaseFile;
use crate::migrate::refuse_foreign;

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
}

impl Opening {
    /// The connection that writes. A file that is gone is missed, and not made anew; one of another program is left as it is.
    pub(crate) fn writer(&self) -> Result<Connection, SqliteError> {
        let connection = self.open()?;
        self.use_write_ahead_log(&connection)?;
        // Opened for reading instead, where it may not be written.
        if connection.is_readonly("main")? {
            return Err(SqliteError::ReadOnly);
        }
        connection.pragma_update(None, "synchronous", if self.durable { "FULL" } else { "OFF" })?;
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        Ok(connection)
    }

    /// A connection that only reads.
    pub(crate) fn reader(&self) -> Result<Connection, SqliteError> {
        let connection = self.open()?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    fn open(&self) -> Result<Connection, SqliteError> {
        let connection = open(self.file.path(), self.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "temp_store", "MEMORY")?;
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
