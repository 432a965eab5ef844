//! Sweep: writes onto grants what wide markers say of them, so that markers need not live for ever.
//!
//! A pass goes through all grants. A marker is gone only after a pass that began when it had expired: what was granted by
//! a flow under way when the marker was made is covered as well.

use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, Timestamp};
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::column;
use crate::rounds::{Done, walk};
use crate::serial::Transaction;

const SWEEP_NEEDED: &str = include_str!("sweep_needed.sql");
const SWEEP_POSITIONS: &str = include_str!("sweep_positions.sql");
const SWEEP_SLICE: &str = include_str!("sweep_slice.sql");
const SWEEP_FORGET: &str = include_str!("sweep_forget.sql");
const SWEEP_MARK: &str = include_str!("sweep_mark.sql");
const FORGET_GRANT_MARKERS: &str = include_str!("forget_grant_markers.sql");
const FORGET_CHANGES: &str = include_str!("../feed/forget_changes.sql");
const FORGET_NODES: &str = include_str!("../feed/forget_nodes.sql");

/// How long a change stays in the feed: a reader that was away longer starts anew.
const CHANGES_LIVE: Lifetime = Lifetime::hours(24);
/// How long an origin without entries is remembered.
const NODES_LIVE: Lifetime = Lifetime::hours(24 * 7);

/// A pass under way. In memory only: after a restart it begins anew.
pub(crate) struct Pass {
    begun_at: Timestamp,
    origins: Vec<Uuid>,
    counters: Vec<i64>,
    place: Uuid,
}

/// The repository's method of this name.
pub(crate) async fn sweep_revoked(
    store: &PostgresStore,
    now: Timestamp,
    limit: u32,
) -> Result<u64, StoreError> {
    let mut under_way = store.sweep.lock().await;
    let mut pass = match under_way.take() {
        Some(pass) => pass,
        None if store.read(SWEEP_NEEDED, &[&now.as_millis()]).await?.is_empty() => {
            return forget(store, now).await.map(|()| 0);
        }
        None => begin(store, now).await?,
    };
    let slice = |slice: crate::rounds::Slice| async move {
        let rows =
            store.upkeep(SWEEP_SLICE, &[&slice.after, &slice.rows, &now.as_millis(), &slice.limit]).await?;
        Done::read(rows.first())
    };
    let walked = walk(pass.place, limit, &mut { slice }).await?;
    if walked.to_the_end {
        complete(store, &pass).await?;
        forget(store, now).await?;
    } else {
        pass.place = walked.at;
        *under_way = Some(pass);
    }
    Ok(walked.changed)
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

/// Every grant was seen since the pass began.
async fn complete(store: &PostgresStore, pass: &Pass) -> Result<(), StoreError> {
    let begun_at = pass.begun_at.as_millis();
    let transaction = Transaction::new()
        .upkeep()
        .then(SWEEP_FORGET, vec![&pass.origins, &pass.counters, &begun_at])
        .then(SWEEP_MARK, vec![&pass.origins, &pass.counters]);
    store.serial.commit(&transaction).await.map(drop)
}

/// What needs no sweep: it has said all it had to say.
async fn forget(store: &PostgresStore, now: Timestamp) -> Result<(), StoreError> {
    let at = now.as_millis();
    let clock = store.clock.now();
    let (changes, nodes) = ((clock - CHANGES_LIVE).as_millis(), (clock - NODES_LIVE).as_millis());
    let transaction = Transaction::new()
        .upkeep()
        .then(FORGET_GRANT_MARKERS, vec![&at])
        .then(FORGET_CHANGES, vec![&changes])
        .then(FORGET_NODES, vec![&nodes]);
    store.serial.commit(&transaction).await.map(drop)
}
