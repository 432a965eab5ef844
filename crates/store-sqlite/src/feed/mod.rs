//! The feed on SQLite: what any process appended to the file, origin by origin.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::NodeId;
use sluice_token::{Change, Feed, FeedBatch, FeedPosition, Marker, Target};
use tokio::time::timeout;

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;

const READ_REVOCATIONS: &str = include_str!("read_revocations.sql");
const READ_CHANGES: &str = include_str!("read_changes.sql");
/// How long a reader waits for what other processes append.
const POLL: Duration = Duration::from_millis(250);

#[async_trait]
impl Feed for SqliteStore {
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
        let (revocations, changes) = (by_origin(&from.revocations), by_origin(&from.changes));
        let mut batch = FeedBatch { position: from.clone(), ..FeedBatch::default() };
        SqliteStore::read(self, move |read| {
            for (origin, counter, marker) in read.rows(READ_REVOCATIONS, [revocations], marker)? {
                batch.position.revocations.insert(origin, counter);
                batch.markers.extend(marker);
            }
            for (origin, counter, change) in read.rows(READ_CHANGES, [changes], change)? {
                batch.position.changes.insert(origin, counter);
                batch.changes.extend(change);
            }
            Ok(batch)
        })
        .await
    }

    async fn wait(&self) {
        drop(timeout(POLL, self.appended()).await);
    }
}

/// A JSON object of the positions.
fn by_origin(positions: &BTreeMap<NodeId, i64>) -> String {
    let hex = |node: &NodeId| node.as_uuid().simple().to_string().to_ascii_uppercase();
    let entries: serde_json::Map<_, _> =
        positions.iter().map(|(node, counter)| (hex(node), (*counter).into())).collect();
    serde_json::Value::Object(entries).to_string()
}

/// A marker; none if a newer version marks something that this one does not know.
fn marker(row: &rusqlite::Row<'_>) -> Result<(NodeId, i64, Option<Marker>), SqliteError> {
    let (at, expires_at) = (row::time(row, 4)?, row::time(row, 5)?);
    let target = Target::parse(row.get(2)?, &row.get::<_, String>(3)?).ok();
    let marker = target.map(|target| Marker { target, at, expires_at });
    Ok((NodeId::from_bytes(row.get(0)?), row.get(1)?, marker))
}

/// A change; none if a newer version tells of something that this one keeps no cache of.
fn change(row: &rusqlite::Row<'_>) -> Result<(NodeId, i64, Option<Change>), SqliteError> {
    let change = match row.get::<_, i16>(2)? {
        1 => Some(Change::Client(row::parsed(row, 3)?)),
        2 => Some(Change::Keys(row.get(3)?)),
        _ => None,
    };
    Ok((NodeId::from_bytes(row.get(0)?), row.get(1)?, change))
}
