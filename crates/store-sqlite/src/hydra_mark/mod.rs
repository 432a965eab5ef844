//! Marks of what was imported from a Hydra, on SQLite.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_oauth::takeover::{HydraMarkRepository, Mark, MarkSet};

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;

const PUT: &str = include_str!("put.sql");
const FIND: &str = include_str!("find.sql");
const PAGE: &str = include_str!("page.sql");
const DELETE: &str = include_str!("delete.sql");

fn mark(row: &Row<'_>) -> Result<Mark, SqliteError> {
    let (at, changed_at) = (row::time(row, 1)?, row::time(row, 2)?);
    Ok(Mark { id: row.get(0)?, at, changed_at, is_going: row.get(3)? })
}

#[async_trait]
impl HydraMarkRepository for SqliteStore {
    async fn put_marks(&self, of: MarkSet, mut marks: Vec<Mark>) -> Result<(), StoreError> {
        marks.iter().try_for_each(|mark| row::check("id", &mark.id))?;
        // Of several with one id the last stays.
        marks.sort_by_key(|mark| mark.at);
        self.write(move |write| {
            for Mark { id, at, changed_at, is_going } in &marks {
                let (at, changed_at) = (at.as_millis(), changed_at.as_millis());
                let values = params![of.network.as_bytes(), of.part.number(), id, at, changed_at, is_going];
                write.insert("hydra_mark", PUT, values)?;
            }
            Ok(())
        })
        .await
    }

    async fn marks_of(&self, of: MarkSet, ids: Vec<String>) -> Result<Vec<Mark>, StoreError> {
        self.read(move |read| {
            let mut found = Vec::new();
            for id in &ids {
                found.extend(read.row(FIND, params![of.network.as_bytes(), of.part.number(), id], mark)?);
            }
            Ok(found)
        })
        .await
    }

    async fn mark_page(&self, of: MarkSet, after: &str, limit: u32) -> Result<Vec<Mark>, StoreError> {
        let after = after.to_owned();
        self.read(move |read| {
            read.rows(PAGE, params![of.network.as_bytes(), of.part.number(), after, limit], mark)
        })
        .await
    }

    async fn delete_marks(&self, of: MarkSet, ids: Vec<String>) -> Result<u64, StoreError> {
        self.write(move |write| {
            let mut deleted = 0;
            for id in &ids {
                let values = params![of.network.as_bytes(), of.part.number(), id];
                deleted += write.delete("hydra_mark", DELETE, values)?;
            }
            Ok(row::count(deleted))
        })
        .await
    }
}
