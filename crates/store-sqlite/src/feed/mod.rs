//! The feed on SQLite: what any process appended to the file, origin by origin.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::NodeId;
use sluice_token::{Change, FEED_PAGE, Feed, FeedBatch, FeedPosition, Marker, Target};
use tokio::time::timeout;

use crate::error::SqliteError;
use crate::reader::Read;
use crate::row;
use crate::store::SqliteStore;

const REVOCATION_ORIGINS: &str = include_str!("revocation_origins.sql");
const CHANGE_ORIGINS: &str = include_str!("change_origins.sql");
const READ_REVOCATIONS: &str = include_str!("read_revocations.sql");
const READ_CHANGES: &str = include_str!("read_changes.sql");
/// How long a reader waits for what other processes append.
const POLL: Duration = Duration::from_millis(250);

#[async_trait]
impl Feed for SqliteStore {
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
        let FeedPosition { revocations, changes } = from.clone();
        // What others revoke is written where the path leads: who reads elsewhere hears nothing of it, and must know.
        self.read_in_place(move |read| {
            let markers = page(read, (REVOCATION_ORIGINS, READ_REVOCATIONS), revocations, marker)?;
            let changes = page(read, (CHANGE_ORIGINS, READ_CHANGES), changes, change)?;
            Ok(FeedBatch {
                markers: markers.entries,
                changes: changes.entries,
                position: FeedPosition { revocations: markers.position, changes: changes.position },
                more: markers.is_full || changes.is_full,
                ..FeedBatch::default()
            })
        })
        .await
    }

    async fn wait(&self) {
        drop(timeout(POLL, self.appended()).await);
    }
}

/// What was read of one of the two feeds.
struct Page<T> {
    entries: Vec<T>,
    position: BTreeMap<NodeId, i64>,
    is_full: bool,
}

/// Reads a row: its counter, and what it tells, if this version knows it.
type ReadEntry<T> = fn(&rusqlite::Row<'_>) -> Result<(i64, Option<T>), SqliteError>;

/// Reads what lies behind a position, origin by origin, as far as a page goes. `origins` and `behind` are statements: the origins there are,
/// and what one of them appended after a counter.
fn page<T>(
    read: Read<'_>,
    (origins, behind): (&str, &str),
    mut position: BTreeMap<NodeId, i64>,
    entry: ReadEntry<T>,
) -> Result<Page<T>, SqliteError> {
    let mut entries = Vec::new();
    let mut left = FEED_PAGE;
    for origin in read.rows(origins, [], |row| Ok(NodeId::from_bytes(row.get(0)?)))? {
        let after = position.get(&origin).copied().unwrap_or_default();
        let rows = read.rows(behind, (origin.as_bytes(), after, left), entry)?;
        left = left.saturating_sub(u32::try_from(rows.len()).unwrap_or(left));
        for (counter, told) in rows {
            position.insert(origin, counter);
            entries.extend(told);
        }
        if left == 0 {
            break;
        }
    }
    Ok(Page { entries, position, is_full: left == 0 })
}

/// A marker; none if a newer version marks something that this one does not know.
fn marker(row: &rusqlite::Row<'_>) -> Result<(i64, Option<Marker>), SqliteError> {
    let (at, expires_at) = (row::time(row, 3)?, row::time(row, 4)?);
    let target = Target::parse(row.get(1)?, &row.get::<_, String>(2)?).ok();
    Ok((row.get(0)?, target.map(|target| Marker { target, at, expires_at })))
}

/// A change; none if a newer version tells of something that this one keeps no cache of.
fn change(row: &rusqlite::Row<'_>) -> Result<(i64, Option<Change>), SqliteError> {
    let change = match row.get::<_, i16>(1)? {
        1 => Some(Change::Client(row::parsed(row, 2)?)),
        2 => Some(Change::Keys(row.get(2)?)),
        _ => None,
    };
    Ok((row.get(0)?, change))
}
