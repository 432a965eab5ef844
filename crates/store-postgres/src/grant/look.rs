//! How grants are looked for by their ids.

use sluice_oauth::grant::{Grant, Standing};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{row, swap};
use crate::error::Unreadable;
use crate::queues::Look;

/// Grants as their rows have them.
pub(crate) struct Grants;

impl Look for Grants {
    type Key = Uuid;
    const SQL: &'static str = include_str!("find.sql");
    type Found = Grant;

    fn read(row: &Row) -> Result<Grant, Unreadable> {
        Ok(row::read(row)?.grant)
    }
}

/// Grants, and whether they were revoked by whatever means.
pub(crate) struct Standings;

impl Look for Standings {
    type Key = Uuid;
    const SQL: &'static str = swap::EXAMINE;
    type Found = Standing;

    fn read(row: &Row) -> Result<Standing, Unreadable> {
        swap::standing(row)
    }
}
