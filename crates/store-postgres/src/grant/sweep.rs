//! Sweep: writes onto grants what wide markers say of them, so that markers need not live for ever.
//!
//! A pass goes through all grants, in many calls if there are many. A marker is gone only after a pass that began when it had expired: what
//! was granted by a flow under way when the marker was made is covered as well. With a pass go the remembered decisions about clients that
//! were deleted: nothing but their markers says that they do not hold.

use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, Timestamp};
use uuid::Uuid;

use crate::PostgresStore;
use crate::connection::Params;
use crate::error::column;
use crate::rounds::{Done, SLICES, Slice, Stretch, walk};

const SWEEP_NEEDED: &str = include_str!("sweep_needed.sql");
const SWEEP_POSITIONS: &str = include_str!("sweep_positions.sql");
const SWEEP_SLICE: &str = include_str!("sweep_slice.sql");
const SWEEP_DECISIONS: &str = include_str!("sweep_decisions.sql");
const SWEEP_FORGET: &str = include_str!("sweep_forget.sql");
const SWEEP_MARK: &str = include_str!("sweep_mark.sql");
const FORGET_GRANT_MARKERS: &str = include_str!("forget_grant_markers.sql");
const FORGET_CHANGES: &str = include_str!("../feed/forget_changes.sql");
const FORGET_NODES: &str = include_str!("../feed/forget_nodes.sql");

/// How long a change stays in the feed: a reader that was away longer starts anew.
const CHANGES_LIVE: Lifetime = Lifetime::hours(24);
/// How long an origin without entries is remembered.
const NODES_LIVE: Lifetime = Lifetime::hours(24 * 7);
/// How often one call runs a statement at most that marks or forgets a thousand at once.
const TIMES: usize = 100;

/// A pass under way. In memory only: after a restart it begins anew.
pub(crate) struct Pass {
    begun_at: Timestamp,
    origins: Vec<Uuid>,
    counters: Vec<i64>,
    place: Uuid,
}

/// The repository's method of this name. A pass whose call fails goes on where that call began.
pub(crate) async fn sweep_revoked(
    store: &PostgresStore,
    now: Timestamp,
    limit: u32,
) -> Result<u64, StoreError> {
    let mut under_way = store.sweep.lock().await;
    if under_way.is_none() && !store.read(SWEEP_NEEDED, &[&now.as_millis()]).await?.is_empty() {
        *under_way = Some(begin(store, now).await?);
    }
    let mut changed = 0;
    if let Some(pass) = under_way.as_mut() {
        let mut step = |slice: Slice| sweep_slice(store, now, slice);
        let stretch = Stretch { from: pass.place, until: None, limit, slices: SLICES };
        let walked = walk(stretch, &mut step).await?;
        (pass.place, changed) = (walked.at, walked.changed);
        if walked.to_the_end && complete(store, pass).await? {
            *under_way = None;
        }
    }
    forget(store, now).await?;
    Ok(changed)
}

async fn begin(store: &PostgresStore, now: Timestamp) -> Result<Pass, StoreError> {
    let rows = store.read(SWEEP_POSITIONS, &[]).await?;
    let mut pass = Pass { begun_at: now, origins: Vec::new(), counters: Vec::new(), place: Uuid::nil() };
    for row in &rows {
        pass.origins.push(column(row, 0)?);
        pass.counters.push(column(row, 1)?);
    }
    Ok(pass)
}

async fn sweep_slice(store: &PostgresStore, now: Timestamp, slice: Slice) -> Result<Done, StoreError> {
    let rows =
        store.upkeep(SWEEP_SLICE, &[&slice.after, &slice.rows, &now.as_millis(), &slice.limit]).await?;
    Done::read(rows.first())
}

/// Every grant was seen since the pass began: its markers are marked, or go, if no decision is left that they alone keep from holding;
/// whether all of them are. Those of subjects whose sessions are not all deleted stay as they are.
async fn complete(store: &PostgresStore, pass: &Pass) -> Result<bool, StoreError> {
    if !forget_decisions(store).await? {
        return Ok(false);
    }
    let begun_at = pass.begun_at.as_millis();
    let marked = repeat(store, SWEEP_MARK, &[&pass.origins, &pass.counters]).await?;
    Ok(marked && repeat(store, SWEEP_FORGET, &[&pass.origins, &pass.counters, &begun_at]).await?)
}

/// Deletes decisions about clients that were deleted, but not for ever; whether none is left.
async fn forget_decisions(store: &PostgresStore) -> Result<bool, StoreError> {
    for _ in 0..TIMES {
        if store.upkeep(SWEEP_DECISIONS, &[]).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What needs no sweep: it has said all it had to say.
async fn forget(store: &PostgresStore, now: Timestamp) -> Result<(), StoreError> {
    let clock = store.clock.now();
    let (changes, nodes) = ((clock - CHANGES_LIVE).as_millis(), (clock - NODES_LIVE).as_millis());
    repeat(store, FORGET_GRANT_MARKERS, &[&now.as_millis()]).await?;
    repeat(store, FORGET_CHANGES, &[&changes]).await?;
    store.upkeep(FORGET_NODES, &[&nodes]).await.map(drop)
}

/// Runs a statement as long as it finds anything, but not for ever; whether nothing is left.
async fn repeat(store: &PostgresStore, sql: &'static str, values: Params<'_>) -> Result<bool, StoreError> {
    for _ in 0..TIMES {
        if store.upkeep(sql, values).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
