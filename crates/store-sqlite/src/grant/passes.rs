//! Walks over all grants, slice by slice: those that have expired go, those that wide markers cover are revoked. With the latter go the
//! remembered decisions about clients that were deleted: nothing but their markers says that they do not hold.

use std::sync::Arc;

use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, NodeId, Timestamp};

use crate::row;
use crate::slices::{BEGINNING, Expiry, Place, STEPS, Search};
use crate::store::SqliteStore;
use crate::writer::Write;

const EXPIRY: Expiry = Expiry {
    table: "oauth_grant",
    search: Search { slice_end: SLICE_END, candidates: include_str!("purge_candidates.sql") },
    delete: include_str!("purge_expired.sql"),
};
const COVERED: Search = Search { slice_end: SLICE_END, candidates: include_str!("sweep_candidates.sql") };
const SWEEP_MARKERS: &str = include_str!("sweep_markers.sql");
const SWEEP_REVOKED: &str = include_str!("sweep_revoked.sql");
const SWEEP_DECISIONS: &str = include_str!("sweep_decisions.sql");
const SWEEP_DONE: &str = include_str!("sweep_done.sql");
const SLICE_END: &str = include_str!("slice_end.sql");
const FORGET_MARKERS: &str = include_str!("forget_markers.sql");
const FORGET_CHANGES: &str = include_str!("../feed/forget_changes.sql");
const FORGET_NODES: &str = include_str!("../feed/forget_nodes.sql");

/// What one job marks or forgets at most: what waits to be written goes between two jobs. The statements that forget say it, too.
const AT_ONCE: usize = 1_000;
/// How many such jobs one call does at most for decisions.
const TIMES: usize = 100;
/// How long changes of the caches are kept: longer than any node may be deaf.
const CHANGES_KEPT: Lifetime = Lifetime::hours(7 * 24);
/// How long the starts of processes are kept, which older versions write.
const NODES_KEPT: Lifetime = Lifetime::hours(90 * 24);

/// Where the walks of this process stand.
#[derive(Debug, Default)]
pub(crate) struct Passes {
    purge: Place,
    sweep: Mutex<Option<Sweep>>,
}

/// A walk for the markers that were there when it began. A grant that is inserted later is held against them when it is
/// inserted.
#[derive(Debug, Clone)]
struct Sweep {
    after: [u8; 16],
    markers: Arc<[([u8; 16], i64)]>,
}

impl SqliteStore {
    pub(super) async fn purge_grants(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.purge_slices(EXPIRY, &self.passes().purge, now, limit).await
    }

    pub(super) async fn sweep_grants(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let mut swept = 0;
        if let Some(mut sweep) = self.sweep_under_way().await? {
            let mut is_complete = false;
            for _ in 0..STEPS {
                let (after, left) = (sweep.after, limit - u32::try_from(swept).unwrap_or(limit));
                let slice = self.read(move |read| COVERED.slice(read, after, now, left)).await?;
                swept += self.write_swept(slice.found, now).await?;
                is_complete = slice.next.is_none();
                sweep.after = slice.next.unwrap_or(after);
                *self.passes().sweep.lock() = Some(sweep.clone());
                if is_complete || swept >= u64::from(limit) {
                    break;
                }
            }
            if is_complete && self.forget_decisions().await? {
                self.complete(&sweep.markers).await?;
                *self.passes().sweep.lock() = None;
            }
        }
        self.forget(now).await?;
        Ok(swept)
    }

    /// The sweep that an earlier call has begun, or a new one; none if no marker needs it.
    async fn sweep_under_way(&self) -> Result<Option<Sweep>, StoreError> {
        let begun = self.passes().sweep.lock().clone();
        if begun.is_some() {
            return Ok(begun);
        }
        let markers: Vec<([u8; 16], i64)> =
            self.read(|read| read.rows(SWEEP_MARKERS, [], |row| Ok((row.get(0)?, row.get(1)?)))).await?;
        Ok((!markers.is_empty()).then(|| Sweep { after: BEGINNING, markers: markers.into() }))
    }

    async fn write_swept(&self, found: Vec<[u8; 16]>, now: Timestamp) -> Result<u64, StoreError> {
        if found.is_empty() {
            return Ok(0);
        }
        let revoke = move |write: &mut Write<'_>| {
            let revoke = |id: &[u8; 16]| write.update("oauth_grant", SWEEP_REVOKED, (id, now.as_millis()));
            found.iter().map(revoke).sum::<Result<usize, _>>()
        };
        Ok(row::count(self.write(revoke).await?))
    }

    /// Deletes decisions about clients that were deleted, but not for ever; whether none is left.
    async fn forget_decisions(&self) -> Result<bool, StoreError> {
        for _ in 0..TIMES {
            let some = |write: &mut Write<'_>| write.delete("consent", SWEEP_DECISIONS, []);
            if self.write(some).await? < AT_ONCE {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Every grant was seen since the sweep began. Should it stop half-way, the next call does it again.
    async fn complete(&self, markers: &[([u8; 16], i64)]) -> Result<(), StoreError> {
        for some in markers.chunks(AT_ONCE) {
            let some = some.to_vec();
            self.write(move |write| {
                some.iter().try_for_each(|marker| write.update("revocation", SWEEP_DONE, *marker).map(drop))
            })
            .await?;
        }
        Ok(())
    }

    /// Forgets what no reader of the feeds needs any more.
    async fn forget(&self, now: Timestamp) -> Result<(), StoreError> {
        self.forget_all("revocation", FORGET_MARKERS, now).await?;
        self.forget_all("change", FORGET_CHANGES, now - CHANGES_KEPT).await?;
        self.write(move |write| {
            let node: NodeId = write.node();
            write.delete("node", FORGET_NODES, (node.as_bytes(), (now - NODES_KEPT).as_millis())).map(drop)
        })
        .await
    }

    /// Deletes all that a statement names as older than `before`, in as many jobs as it takes.
    async fn forget_all(
        &self,
        table: &'static str,
        forget: &'static str,
        before: Timestamp,
    ) -> Result<(), StoreError> {
        loop {
            let some = move |write: &mut Write<'_>| write.delete(table, forget, [before.as_millis()]);
            if self.write(some).await? < AT_ONCE {
                return Ok(());
            }
        }
    }
}
