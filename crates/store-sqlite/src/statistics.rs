//! Statistics: what was written, counted by the writer, so that a test can hold a login to one insert and one update.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// What a store has committed since it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreStatistics {
    /// Transactions that wrote.
    pub commits: u64,
    /// Statements that write, executed in those transactions, whether or not they found a row.
    pub statements: u64,
    /// Rows written, by table.
    pub rows: BTreeMap<&'static str, RowsWritten>,
}

/// How many rows of one table were written, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowsWritten {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
}

/// How a statement writes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verb {
    Insert,
    Update,
    Delete,
}

impl StoreStatistics {
    pub(crate) fn count(&mut self, table: &'static str, verb: Verb, rows: usize) {
        self.statements += 1;
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        let written = self.rows.entry(table).or_default();
        match verb {
            Verb::Insert => written.inserted += rows,
            Verb::Update => written.updated += rows,
            Verb::Delete => written.deleted += rows,
        }
    }

    fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.statements += other.statements;
        for (table, rows) in &other.rows {
            let written = self.rows.entry(table).or_default();
            written.inserted += rows.inserted;
            written.updated += rows.updated;
            written.deleted += rows.deleted;
        }
    }
}

/// The counts of a whole store.
#[derive(Debug, Default)]
pub(crate) struct Totals(Mutex<StoreStatistics>);

impl Totals {
    /// Adds what one commit wrote.
    pub(crate) fn committed<'a>(&self, jobs: impl Iterator<Item = &'a StoreStatistics>) {
        let mut totals = self.0.lock();
        totals.commits += 1;
        jobs.for_each(|job| totals.add(job));
    }

    pub(crate) fn snapshot(&self) -> StoreStatistics {
        self.0.lock().clone()
    }
}
