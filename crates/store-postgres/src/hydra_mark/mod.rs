//! Marks of what was imported from a Hydra.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::takeover::{HydraMarkRepository, Mark, MarkSet};
use sluice_primitives::Timestamp;
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::error::column;
use crate::storable;

const PUT: &str = include_str!("put.sql");
const FIND: &str = include_str!("find.sql");
const PAGE: &str = include_str!("page.sql");
const DELETE: &str = include_str!("delete.sql");

#[async_trait]
impl HydraMarkRepository for PostgresStore {
    async fn put_marks(&self, of: MarkSet, marks: Vec<Mark>) -> Result<(), StoreError> {
        let (network, part) = (of.network.as_uuid(), of.part.number());
        let ats: Vec<i64> = marks.iter().map(|mark| mark.at.as_millis()).collect();
        let changed: Vec<i64> = marks.iter().map(|mark| mark.changed_at.as_millis()).collect();
        let going: Vec<bool> = marks.iter().map(|mark| mark.is_going).collect();
        let ids: Vec<String> = marks.into_iter().map(|mark| mark.id).collect();
        storable::each("the id of a mark", &ids)?;
        self.write(PUT, &[&network, &part, &ids, &ats, &changed, &going]).await.map(drop)
    }

    async fn marks_of(&self, of: MarkSet, ids: Vec<String>) -> Result<Vec<Mark>, StoreError> {
        let (network, part) = (of.network.as_uuid(), of.part.number());
        marks_of(&self.read(FIND, &[&network, &part, &ids]).await?)
    }

    async fn mark_page(&self, of: MarkSet, after: &str, limit: u32) -> Result<Vec<Mark>, StoreError> {
        let (network, part) = (of.network.as_uuid(), of.part.number());
        marks_of(&self.read(PAGE, &[&network, &part, &after, &i64::from(limit)]).await?)
    }

    async fn delete_marks(&self, of: MarkSet, ids: Vec<String>) -> Result<u64, StoreError> {
        let (network, part) = (of.network.as_uuid(), of.part.number());
        Ok(self.write(DELETE, &[&network, &part, &ids]).await?.len() as u64)
    }
}

fn marks_of(rows: &[Row]) -> Result<Vec<Mark>, StoreError> {
    let read = |row: &Row| -> Result<Mark, StoreError> {
        Ok(Mark {
            id: column(row, 0)?,
            at: Timestamp::from_millis(column(row, 1)?),
            changed_at: Timestamp::from_millis(column(row, 2)?),
            is_going: column(row, 3)?,
        })
    };
    rows.iter().map(read).collect()
}
