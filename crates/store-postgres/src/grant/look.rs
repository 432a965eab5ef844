//! How grants are looked for by their ids.

use sluice_oauth::grant::{Grant, Standing};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{row, swap};
use crate::error::Unreadable;
use crate::queues::{Columns, Look, ids};

/// Grants as their rows have them.
pub(crate) struct Grants;

impl Look for Grants {
    type Asked = Uuid;
    type Found = Grant;
    const SQL: &'static str = include_str!("find.sql");

    fn columns<'a>(batch: &[&'a Uuid]) -> Columns<'a> {
        ids(batch)
    }

    fn read(row: &Row, _: &Uuid) -> Result<Grant, Unreadable> {
        Ok(row::read(row)?.grant)
    }
}

/// Grants, and whether they were revoked by whatever means.
pub(crate) struct Standings;

impl Look for Standings {
    type Asked = Uuid;
    type Found = Standing;
    const SQL: &'static str = swap::EXAMINE;

    fn columns<'a>(batch: &[&'a Uuid]) -> Columns<'a> {
        ids(batch)
    }

    fn read(row: &Row, _: &Uuid) -> Result<Standing, Unreadable> {
        swap::standing(row)
    }
}
