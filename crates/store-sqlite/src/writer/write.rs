//! What a job may do inside the writer's transaction. Counts what it writes.

use rusqlite::{Connection, Params, Row};
use sluice_primitives::{Clock, NodeId, Timestamp};
use sluice_token::{Change, Marker};

use crate::connection;
use crate::error::SqliteError;
use crate::migrate;
use crate::statistics::{StoreStatistics, Verb};

const APPEND_MARKER: &str = include_str!("../feed/append_marker.sql");
const APPEND_CHANGE: &str = include_str!("../feed/append_change.sql");
const LAST_COUNTERS: &str = include_str!("../feed/last_counters.sql");
const CLIENT: i16 = 1;
const KEYS: i16 = 2;

/// Counts what this node appends to the feeds. Only the writer's thread has it, so counters grow in the order of commits.
#[derive(Debug)]
pub(crate) struct Counters {
    node: NodeId,
    last: i64,
}

impl Counters {
    /// Counters begin at the time, so that a node that is opened again never counts anything twice, even if its rows
    /// are gone.
    pub(crate) fn new(node: NodeId, clock: &dyn Clock) -> Self {
        Self { node, last: clock.now().as_millis().max(0) }
    }

    /// Catches up with what an earlier writer of the same node has left.
    pub(crate) fn catch_up(&mut self, connection: &Connection) -> Result<(), SqliteError> {
        if !migrate::has_schema(connection)? {
            return Ok(());
        }
        let node = self.node.as_bytes();
        let last =
            connection::row(connection, LAST_COUNTERS, [node], |row| Ok(row.get::<_, Option<i64>>(0)?))?;
        self.last = self.last.max(last.flatten().unwrap_or(0));
        Ok(())
    }

    fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }
}

/// The inside of a transaction.
pub(crate) struct Write<'c> {
    connection: &'c Connection,
    counters: &'c mut Counters,
    clock: &'c dyn Clock,
    pub(super) written: StoreStatistics,
    pub(super) appended: bool,
}

impl<'c> Write<'c> {
    pub(super) fn new(connection: &'c Connection, counters: &'c mut Counters, clock: &'c dyn Clock) -> Self {
        Self { connection, counters, clock, written: StoreStatistics::default(), appended: false }
    }

    /// The connection itself, for statements that are neither counted nor cached.
    pub(crate) const fn connection(&self) -> &Connection {
        self.connection
    }

    pub(crate) const fn node(&self) -> NodeId {
        self.counters.node
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Executes an `INSERT`; how many rows it inserted.
    pub(crate) fn insert(
        &mut self,
        table: &'static str,
        sql: &str,
        params: impl Params,
    ) -> Result<usize, SqliteError> {
        self.execute(table, Verb::Insert, sql, params)
    }

    /// Executes an `UPDATE`; how many rows it updated.
    pub(crate) fn update(
        &mut self,
        table: &'static str,
        sql: &str,
        params: impl Params,
    ) -> Result<usize, SqliteError> {
        self.execute(table, Verb::Update, sql, params)
    }

    /// Executes a `DELETE`; how many rows it deleted.
    pub(crate) fn delete(
        &mut self,
        table: &'static str,
        sql: &str,
        params: impl Params,
    ) -> Result<usize, SqliteError> {
        self.execute(table, Verb::Delete, sql, params)
    }

    /// Executes an `UPDATE … RETURNING`: the rows as they are now.
    pub(crate) fn updated<T>(
        &mut self,
        table: &'static str,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Vec<T>, SqliteError> {
        self.returning((table, Verb::Update), sql, params, read)
    }

    /// Executes a `DELETE … RETURNING`: the rows as they were.
    pub(crate) fn deleted<T>(
        &mut self,
        table: &'static str,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Vec<T>, SqliteError> {
        self.returning((table, Verb::Delete), sql, params, read)
    }

    /// All rows of a `SELECT`.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Vec<T>, SqliteError> {
        connection::rows(self.connection, sql, params, read)
    }

    /// The first row of a `SELECT`, if any.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Option<T>, SqliteError> {
        connection::row(self.connection, sql, params, read)
    }

    /// Appends a marker to the feed.
    pub(crate) fn mark(&mut self, marker: &Marker) -> Result<(), SqliteError> {
        let (node, counter) = (self.counters.node, self.counters.next());
        let (kind, key) = (marker.target.kind(), marker.target.key());
        let (at, expires_at) = (marker.at.as_millis(), marker.expires_at.as_millis());
        let swept = !marker.target.is_wide();
        self.appended = true;
        self.insert(
            "revocation",
            APPEND_MARKER,
            (node.as_bytes(), counter, kind, key, at, expires_at, swept),
        )?;
        Ok(())
    }

    /// Appends a change to the feed.
    pub(crate) fn change(&mut self, change: &Change) -> Result<(), SqliteError> {
        let (node, counter, at) = (self.counters.node, self.counters.next(), self.clock.now().as_millis());
        let (kind, key) = match change {
            Change::Client(client) => (CLIENT, client.as_str()),
            Change::Keys(set) => (KEYS, set.as_str()),
        };
        self.appended = true;
        self.insert("change", APPEND_CHANGE, (node.as_bytes(), counter, kind, key, at))?;
        Ok(())
    }

    fn returning<T>(
        &mut self,
        (table, verb): (&'static str, Verb),
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, SqliteError>,
    ) -> Result<Vec<T>, SqliteError> {
        let rows = connection::rows(self.connection, sql, params, read)?;
        self.written.count(table, verb, rows.len());
        Ok(rows)
    }

    fn execute(
        &mut self,
        table: &'static str,
        verb: Verb,
        sql: &str,
        params: impl Params,
    ) -> Result<usize, SqliteError> {
        let rows = self.connection.prepare_cached(sql)?.execute(params)?;
        self.written.count(table, verb, rows);
        Ok(rows)
    }
}
