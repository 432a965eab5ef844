//! What nodes say of themselves, on SQLite. Their table is looked for each time: a node does without, until the database was migrated.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_oauth::serving_node::{ServingNode, ServingNodeRepository, SharedSettings};
use sluice_primitives::{NodeId, Timestamp};

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;

const IS_THERE: &str = include_str!("is_there.sql");
const FORGET: &str = include_str!("forget.sql");
const NOTE: &str = include_str!("note.sql");
const KNOWN: &str = include_str!("known.sql");

#[async_trait]
impl ServingNodeRepository for SqliteStore {
    async fn note_node(&self, node: &ServingNode, forgotten_before: Timestamp) -> Result<(), StoreError> {
        row::check("host", &node.host)?;
        let (node, settings) = (node.clone(), node.settings.to_text());
        self.write(move |write| {
            if write.row(IS_THERE, [], |_| Ok(()))?.is_none() {
                return Ok(());
            }
            let (id, seen_at) = (node.id.as_bytes(), node.seen_at.as_millis());
            write.delete("serving_node", FORGET, params![forgotten_before.as_millis(), id])?;
            let values = params![id, node.host, seen_at, node.is_serving, settings];
            write.insert("serving_node", NOTE, values).map(drop)
        })
        .await
    }

    async fn known_nodes(&self, limit: u32) -> Result<Vec<ServingNode>, StoreError> {
        self.read(move |read| {
            if read.row(IS_THERE, [], |_| Ok(()))?.is_none() {
                return Ok(Vec::new());
            }
            read.rows(KNOWN, [limit], node)
        })
        .await
    }
}

fn node(row: &Row<'_>) -> Result<ServingNode, SqliteError> {
    Ok(ServingNode {
        id: NodeId::from_bytes(row.get(0)?),
        host: row.get(1)?,
        seen_at: row::time(row, 2)?,
        is_serving: row.get(3)?,
        settings: SharedSettings::parse(&row.get::<_, String>(4)?),
    })
}
