//! Feed: markers and changes, appended under this node's own counters and read by position.
//!
//! [`append`]: as part of a transaction. [`listener`]: what shortens the reader's wait. Here: reading.

pub(crate) mod append;
pub(crate) mod listener;

use std::collections::BTreeMap;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{NodeId, Timestamp};
use sluice_token::{Change, FEED_PAGE, Feed, FeedBatch, FeedPosition, Marker, Target};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::connection::Params;
use crate::error::{Unreadable, column};

const READ_REVOCATIONS: &str = include_str!("read_revocations.sql");
const READ_CHANGES: &str = include_str!("read_changes.sql");

#[async_trait]
impl Feed for PostgresStore {
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
        // If the node moves meanwhile, it is told of it the next time.
        let moves = self.listener.link().moves();
        let (markers_after, changes_after) = (columns(&from.revocations), columns(&from.changes));
        let page = i64::from(FEED_PAGE);
        let markers_after: Params<'_> = &[&markers_after.0, &markers_after.1, &page];
        let changes_after: Params<'_> = &[&changes_after.0, &changes_after.1, &page];
        let (revocations, changes) = tokio::try_join!(
            self.look(READ_REVOCATIONS, markers_after),
            self.look(READ_CHANGES, changes_after)
        )?;
        let mut batch = FeedBatch { position: from.clone(), moves, ..FeedBatch::default() };
        for row in &revocations {
            batch.markers.extend(marker(row)?);
        }
        for row in &changes {
            batch.changes.extend(change(row)?);
        }
        let is_cut = advance(&mut batch.position.revocations, &revocations)?;
        batch.more = advance(&mut batch.position.changes, &changes)? || is_cut;
        Ok(batch)
    }

    async fn wait(&self) {
        self.listener.wait(self.feed_poll).await;
    }
}

fn columns(position: &BTreeMap<NodeId, i64>) -> (Vec<Uuid>, Vec<i64>) {
    position.iter().map(|(node, counter)| (node.as_uuid(), *counter)).unzip()
}

/// Every row tells its origin's last counter, and the rows of one origin follow each other. If the page is full, and there may be more,
/// the last origin was read as far as its last row; whether it is.
fn advance(position: &mut BTreeMap<NodeId, i64>, page: &[Row]) -> Result<bool, Unreadable> {
    for row in page {
        position.insert(NodeId::from_uuid(column(row, 0)?), column(row, 1)?);
    }
    let is_full = u32::try_from(page.len()).is_ok_and(|rows| rows >= FEED_PAGE);
    if let Some(last) = page.last().filter(|_| is_full)
        && let Some(counter) = column::<Option<i64>>(last, 2)?
    {
        position.insert(NodeId::from_uuid(column(last, 0)?), counter);
    }
    Ok(is_full)
}

/// The marker of a row. A target of a kind that only later versions know is passed over.
fn marker(row: &Row) -> Result<Option<Marker>, Unreadable> {
    let Some(kind) = column::<Option<i16>>(row, 3)? else { return Ok(None) };
    let Ok(target) = Target::parse(kind, column(row, 4)?) else { return Ok(None) };
    let (at, expires_at) = (column(row, 5)?, column(row, 6)?);
    Ok(Some(Marker {
        target,
        at: Timestamp::from_millis(at),
        expires_at: Timestamp::from_millis(expires_at),
    }))
}

/// The change of a row. A kind that only later versions know is passed over.
fn change(row: &Row) -> Result<Option<Change>, Unreadable> {
    let Some(kind) = column::<Option<i16>>(row, 3)? else { return Ok(None) };
    let key: &str = column(row, 4)?;
    Ok(match kind {
        1 => key.parse().ok().map(Change::Client),
        2 => Some(Change::Keys(key.to_owned())),
        _ => None,
    })
}
