//! Transactions: statements that are committed together, and what they returned.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Values of one statement.
pub(crate) type Values<'a> = Vec<&'a (dyn ToSql + Sync)>;

/// Statements that are committed together.
#[derive(Default)]
pub(crate) struct Transaction<'a> {
    pub(super) serializable: bool,
    pub(super) steps: Vec<Step<'a>>,
    pub(super) wakes: bool,
}

/// A statement and its values.
pub(super) struct Step<'a> {
    pub(super) sql: &'static str,
    values: Values<'a>,
    /// Whether the time of the attempt comes last.
    is_timed: bool,
}

impl Step<'_> {
    /// The values of an attempt at this time, in milliseconds.
    pub(super) fn values_at<'s>(&'s self, now: &'s i64) -> Values<'s> {
        let mut values: Values<'s> = self.values.clone();
        if self.is_timed {
            values.push(now);
        }
        values
    }
}

/// What the statements of a transaction returned.
pub(crate) struct Committed {
    pub(super) rows: Vec<Vec<Row>>,
    /// Whether an earlier attempt was sent, and may have been committed as well.
    pub(crate) repeated: bool,
}

impl<'a> Transaction<'a> {
    /// A transaction each of whose statements sees what others have committed before it.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A transaction that sees no other's effects and is tried again if it would have to. It shares its commit with nobody.
    pub(crate) fn serializable() -> Self {
        Self { serializable: true, ..Self::default() }
    }

    /// Adds a statement.
    #[must_use]
    pub(crate) fn then(mut self, sql: &'static str, values: Values<'a>) -> Self {
        self.steps.push(Step { sql, values, is_timed: false });
        self
    }

    /// Adds a statement whose last value is the time, in milliseconds, at which it is sent: each attempt has its own.
    #[must_use]
    pub(crate) fn then_at_its_time(mut self, sql: &'static str, values: Values<'a>) -> Self {
        self.steps.push(Step { sql, values, is_timed: true });
        self
    }

    /// Wakes the readers of the feed after the commit.
    #[must_use]
    pub(crate) const fn waking(mut self) -> Self {
        self.wakes = true;
        self
    }
}

impl Committed {
    /// The rows that the first statement returned.
    pub(crate) fn first(&self) -> &[Row] {
        self.rows.first().map_or(&[], Vec::as_slice)
    }

    /// The rows that the last statement returned.
    pub(crate) fn last(&self) -> &[Row] {
        self.rows.last().map_or(&[], Vec::as_slice)
    }

    /// The same, for keeps.
    pub(crate) fn into_last(mut self) -> Vec<Row> {
        self.rows.pop().unwrap_or_default()
    }

    /// The first row that the last statement returned.
    pub(crate) fn row(&self) -> Option<&Row> {
        self.last().first()
    }
}
