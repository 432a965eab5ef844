//! Slices: going through a large table in the order of its key, again and again, without an index made for it.
//!
//! What is to be done is looked for by a reader, one slice of the table at a time, so that the writer is held up by what is found and not by
//! what is there. Where a walk stands is remembered by the process, whatever fails, and lost with it: the next one begins anew.

use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::Timestamp;

use crate::error::SqliteError;
use crate::reader::Read;
use crate::row;
use crate::store::SqliteStore;
use crate::writer::Write;

/// Rows that a reader looks at in one step.
const SLICE: u32 = 8192;
/// Steps of one call at most.
pub(crate) const STEPS: u32 = 16;
/// The key before all others.
pub(crate) const BEGINNING: [u8; 16] = [0; 16];

/// What is looked for in a table, by two statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    /// The key that is ?2 rows after ?1.
    pub(crate) slice_end: &'static str,
    /// The keys after ?1 and up to ?2 of what is looked for at ?3, at most ?4 of them in their order.
    pub(crate) candidates: &'static str,
}

/// What one slice of the table holds.
pub(crate) struct Slice {
    /// The keys of what was looked for.
    pub(crate) found: Vec<[u8; 16]>,
    /// Where the next slice begins; none at the end of the table.
    pub(crate) next: Option<[u8; 16]>,
}

impl Search {
    /// What the slice after a key holds, `limit` of it at most.
    pub(crate) fn slice(
        self,
        read: Read<'_>,
        after: [u8; 16],
        now: Timestamp,
        limit: u32,
    ) -> Result<Slice, SqliteError> {
        let end: Option<[u8; 16]> = read.row(self.slice_end, (after, SLICE), |row| Ok(row.get(0)?))?;
        let until = end.unwrap_or([u8::MAX; 16]);
        let values = (after, until, now.as_millis(), limit);
        let found: Vec<[u8; 16]> = read.rows(self.candidates, values, |row| Ok(row.get(0)?))?;
        let is_cut = u32::try_from(found.len()).is_ok_and(|found| found >= limit);
        let next = if is_cut { found.last().copied().or(Some(after)) } else { end };
        Ok(Slice { found, next })
    }
}

/// What expires in a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expiry {
    /// The table.
    pub(crate) table: &'static str,
    /// What looks for rows that have expired.
    pub(crate) search: Search,
    /// Deletes the row with the key ?1, if it has expired before ?2.
    pub(crate) delete: &'static str,
}

/// Where a walk through a table stands.
#[derive(Debug, Default)]
pub(crate) struct Place(Mutex<Option<[u8; 16]>>);

impl SqliteStore {
    /// Deletes at most `limit` rows that expired before `now`, in a bounded part of the table; how many it was.
    pub(crate) async fn purge_slices(
        &self,
        Expiry { table, search, delete }: Expiry,
        place: &Place,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let mut after = place.0.lock().unwrap_or(BEGINNING);
        let mut purged = 0;
        for _ in 0..STEPS {
            let left = limit - u32::try_from(purged).unwrap_or(limit);
            let slice = self.read(move |read| search.slice(read, after, now, left)).await?;
            if !slice.found.is_empty() {
                let found = slice.found;
                let purge = move |write: &mut Write<'_>| {
                    let purge = |key: &[u8; 16]| write.delete(table, delete, (key, now.as_millis()));
                    found.iter().map(purge).sum::<Result<usize, _>>()
                };
                purged += row::count(self.write(purge).await?);
            }
            *place.0.lock() = slice.next;
            let Some(next) = slice.next else { break };
            after = next;
            if purged >= u64::from(limit) {
                break;
            }
        }
        Ok(purged)
    }
}
