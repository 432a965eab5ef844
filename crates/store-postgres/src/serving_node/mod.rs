//! What nodes say of themselves. Their table is looked for each time: a node does without, until the database was migrated and its role may
//! read and write what is there.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::serving_node::{ServingNode, ServingNodeRepository, SharedSettings};
use sluice_primitives::{NodeId, Timestamp};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::connection::Params;
use crate::error::{Unreadable, column};
use crate::storable;

const IS_THERE: &str = include_str!("is_there.sql");
const NOTE: &str = include_str!("note.sql");
const KNOWN: &str = include_str!("known.sql");

#[async_trait]
impl ServingNodeRepository for PostgresStore {
    async fn note_node(&self, node: &ServingNode, forgotten_before: Timestamp) -> Result<(), StoreError> {
        storable::text("the name of a machine", &node.host)?;
        if !is_there(self).await? {
            return Ok(());
        }
        let (id, seen_at, settings) = (node.id.as_uuid(), node.seen_at.as_millis(), node.settings.to_text());
        let forgotten_before = forgotten_before.as_millis();
        let values: Params<'_> = &[&id, &node.host, &seen_at, &node.is_serving, &settings, &forgotten_before];
        self.upkeep(NOTE, values).await.map(drop)
    }

    async fn known_nodes(&self, limit: u32) -> Result<Vec<ServingNode>, StoreError> {
        if !is_there(self).await? {
            return Ok(Vec::new());
        }
        let rows = self.look_at_work(KNOWN, &[&i64::from(limit)]).await?;
        Ok(rows.iter().map(node).collect::<Result<Vec<_>, _>>()?)
    }
}

async fn is_there(store: &PostgresStore) -> Result<bool, StoreError> {
    let there = store.look_at_work(IS_THERE, &[]).await?;
    Ok(there.first().is_some_and(|row| row.try_get(0).is_ok_and(|is_there: bool| is_there)))
}

fn node(row: &Row) -> Result<ServingNode, Unreadable> {
    Ok(ServingNode {
        id: NodeId::from_uuid(column(row, 0)?),
        host: column(row, 1)?,
        seen_at: Timestamp::from_millis(column(row, 2)?),
        is_serving: column(row, 3)?,
        settings: SharedSettings::parse(column(row, 4)?),
    })
}
