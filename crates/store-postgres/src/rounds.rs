//! Rounds: going through a large table slice by slice, in the order of its key, again and again, without an index made
//! for it. A round goes on where the last one stopped.

use sluice_commit::StoreError;
use tokio::sync::Mutex;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Unreadable, column};

/// Rows looked at by one statement: a few milliseconds, for which others on the same connection wait.
const ROWS: i64 = 1_000;

/// What one statement is to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    /// The key after which it begins.
    pub(crate) after: Uuid,
    /// How many rows.
    pub(crate) rows: i64,
    /// How many of them may be changed.
    pub(crate) limit: i64,
}

/// What one statement has done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    seen: i64,
    last_seen: Option<Uuid>,
    changed: i64,
    last_changed: Option<Uuid>,
}

impl Done {
    /// The one row of such a statement: how many rows it saw and which was the last; how many it changed and which was
    /// the last.
    pub(crate) fn read(row: Option<&Row>) -> Result<Self, StoreError> {
        let row = row.ok_or_else(|| Unreadable::new("slice", &"no row"))?;
        Ok(Self {
            seen: column(row, 0)?,
            last_seen: column(row, 1)?,
            changed: column(row, 2)?,
            last_changed: column(row, 3)?,
        })
    }
}

/// Where the rounds through one table are. In memory only: a restart begins at the front.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Mutex<Uuid>);

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Walked {
    /// How many rows were changed.
    pub(crate) changed: u64,
    /// Whether it came to the end of the table.
    pub(crate) to_the_end: bool,
    /// Where it stopped.
    pub(crate) at: Uuid,
}

impl Rounds {
    /// Changes at most `limit` rows, in at most one full circle.
    pub(crate) async fn go<F>(&self, limit: u32, mut step: impl FnMut(Slice) -> F) -> Result<u64, StoreError>
    where
        F: Future<Output = Result<Done, StoreError>>,
    {
        let mut place = self.0.lock().await;
        let from = *place;
        let first = walk(from, limit, &mut step).await?;
        *place = if first.to_the_end { Uuid::nil() } else { first.at };
        let left = u64::from(limit).saturating_sub(first.changed);
        if !first.to_the_end || from.is_nil() || left == 0 {
            return Ok(first.changed);
        }
        let second = walk(Uuid::nil(), u32::try_from(left).unwrap_or(u32::MAX), &mut step).await?;
        *place = if second.to_the_end { Uuid::nil() } else { second.at };
        Ok(first.changed + second.changed)
    }
}

/// Goes on from `at` until `limit` rows were changed or the table ends.
pub(crate) async fn walk<F>(
    mut at: Uuid,
    limit: u32,
    step: &mut impl FnMut(Slice) -> F,
) -> Result<Walked, StoreError>
where
    F: Future<Output = Result<Done, StoreError>>,
{
    let mut changed = 0;
    loop {
        let left = i64::from(limit) - changed;
        if left <= 0 {
            return Ok(Walked { changed: u64::from(limit), to_the_end: false, at });
        }
        let done = step(Slice { after: at, rows: ROWS, limit: left }).await?;
        changed += done.changed;
        let stopped_early = done.changed >= left;
        let last = if stopped_early { done.last_changed } else { done.last_seen };
        at = last.unwrap_or(at);
        if !stopped_early && done.seen < ROWS {
            let changed = u64::try_from(changed).unwrap_or_default();
            return Ok(Walked { changed, to_the_end: true, at });
        }
    }
}
