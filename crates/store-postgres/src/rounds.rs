//! Rounds: going through a large table slice by slice, in the order of its key, again and again, without an index made
//! for it. A round goes on where the last one stopped.

use sluice_commit::StoreError;
use tokio::sync::Mutex;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Unreadable, column};

/// Rows looked at by one statement: a few milliseconds, for which others on the same connection wait, where it has others.
const ROWS: i64 = 1_000;
/// Slices that one call looks at, at most: a second or so.
pub(crate) const SLICES: u32 = 256;

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

/// A stretch of a table that is to be walked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    /// The key after which it begins.
    pub(crate) from: Uuid,
    /// The key at which it ends, or a slice behind it; none: the end of the table.
    pub(crate) until: Option<Uuid>,
    /// How many rows may be changed.
    pub(crate) limit: u32,
    /// How many slices may be looked at.
    pub(crate) slices: u32,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Walked {
    /// How many rows were changed.
    pub(crate) changed: u64,
    /// How many more slices it might have looked at.
    slices_left: u32,
    /// Whether it came to the end of the table.
    pub(crate) to_the_end: bool,
    /// Where it stopped.
    pub(crate) at: Uuid,
}

impl Rounds {
    /// Changes at most `limit` rows, in at most one full circle, of which one call goes a bounded part.
    pub(crate) async fn go<F>(&self, limit: u32, mut step: impl FnMut(Slice) -> F) -> Result<u64, StoreError>
    where
        F: Future<Output = Result<Done, StoreError>>,
    {
        let mut place = self.0.lock().await;
        let from = *place;
        let first = walk(Stretch { from, until: None, limit, slices: SLICES }, &mut step).await?;
        *place = if first.to_the_end { Uuid::nil() } else { first.at };
        let left = u64::from(limit).saturating_sub(first.changed);
        if !first.to_the_end || from.is_nil() || left == 0 {
            return Ok(first.changed);
        }
        let limit = u32::try_from(left).unwrap_or(u32::MAX);
        let rest = Stretch { from: Uuid::nil(), until: Some(from), limit, slices: first.slices_left };
        let second = walk(rest, &mut step).await?;
        *place = if second.to_the_end { Uuid::nil() } else { second.at };
        Ok(first.changed + second.changed)
    }
}

/// Goes along a stretch until it ends, as many rows were changed as may be, or enough was looked at.
pub(crate) async fn walk<F>(stretch: Stretch, step: &mut impl FnMut(Slice) -> F) -> Result<Walked, StoreError>
where
    F: Future<Output = Result<Done, StoreError>>,
{
    let (mut at, mut changed, mut slices_left) = (stretch.from, 0, stretch.slices);
    let mut to_the_end = false;
    while slices_left > 0 && stretch.until.is_none_or(|until| at < until) {
        let left = i64::from(stretch.limit) - changed;
        if left <= 0 {
            break;
        }
        let done = step(Slice { after: at, rows: ROWS, limit: left }).await?;
        slices_left -= 1;
        changed += done.changed;
        let stopped_early = done.changed >= left;
        let last = if stopped_early { done.last_changed } else { done.last_seen };
        at = last.unwrap_or(at);
        if !stopped_early && done.seen < ROWS {
            to_the_end = true;
            break;
        }
    }
    Ok(Walked { changed: u64::try_from(changed).unwrap_or_default(), slices_left, to_the_end, at })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// A table with the keys 1, 2, … of which none is to be changed but those named.
    struct Table {
        rows: u128,
        changes: RefCell<Vec<u128>>,
        slices: Cell<u32>,
    }

    impl Table {
        fn of(rows: u128, changes: &[u128]) -> Self {
            Self { rows, changes: RefCell::new(changes.to_vec()), slices: Cell::new(0) }
        }

        fn look_at(&self, slice: Slice) -> Done {
            self.slices.set(self.slices.get() + 1);
            let from = slice.after.as_u128();
            let until = self.rows.min(from + u128::try_from(slice.rows).unwrap());
            let limit = usize::try_from(slice.limit).unwrap();
            let mut changes = self.changes.borrow_mut();
            let is_due = |key: &u128| *key > from && *key <= until;
            let due: Vec<u128> = changes.iter().copied().filter(is_due).take(limit).collect();
            changes.retain(|key| !due.contains(key));
            Done {
                seen: i64::try_from(until.saturating_sub(from)).unwrap(),
                last_seen: (until > from).then(|| Uuid::from_u128(until)),
                changed: i64::try_from(due.len()).unwrap(),
                last_changed: due.last().copied().map(Uuid::from_u128),
            }
        }

        /// How many rows one call changed, and how many slices it looked at.
        async fn go(&self, rounds: &Rounds, limit: u32) -> (u64, u32) {
            self.slices.set(0);
            let changed =
                rounds.go(limit, |slice| std::future::ready(Ok(self.look_at(slice)))).await.unwrap();
            (changed, self.slices.get())
        }
    }

    #[tokio::test]
    async fn a_call_looks_at_so_many_slices_and_the_next_goes_on_behind_them() {
        let slice = u128::try_from(ROWS).unwrap();
        let (table, rounds) = (Table::of(slice * 400, &[slice * 300]), Rounds::default());
        assert_eq!(table.go(&rounds, 10).await, (0, SLICES));
        assert_eq!(table.go(&rounds, 10).await, (1, SLICES), "it begins anew at the front");
        assert_eq!(rounds.0.lock().await.as_u128(), slice * u128::from(2 * SLICES - 401));
    }

    #[tokio::test]
    async fn a_round_that_began_in_the_middle_ends_there() {
        let slice = u128::try_from(ROWS).unwrap();
        let (table, rounds) = (Table::of(slice * 10 - 1, &[slice * 4]), Rounds::default());
        assert_eq!(table.go(&rounds, 1).await, (1, 4));
        assert_eq!(table.go(&rounds, 1).await, (0, 10), "six slices to the end, four from the front");
        assert_eq!(rounds.0.lock().await.as_u128(), slice * 4);
    }

    #[tokio::test]
    async fn a_call_that_changed_as_much_as_it_may_goes_on_behind_its_last_change() {
        let (table, rounds) = (Table::of(500, &[10, 20, 30]), Rounds::default());
        assert_eq!(table.go(&rounds, 2).await, (2, 1));
        assert_eq!(rounds.0.lock().await.as_u128(), 20);
        assert_eq!(table.go(&rounds, 2).await, (1, 2));
    }
}
