//! Pages of identities. What is searched for is compared here, not by the engine, whose case folding ends with ASCII.

use std::ops::ControlFlow;

use rusqlite::Row;
use sluice_identity::identity::repository::SEARCHED_AT_ONCE;
use sluice_identity::identity::{IdentityFilter, IdentityPage, IdentityStatus, SoughtText};
use sluice_primitives::IdentityId;

use super::{identity, status};
use crate::error::SqliteError;
use crate::reader::Read;

const LIST: &str = include_str!("list.sql");

/// What a page holds.
pub(super) struct Search {
    after: [u8; 16],
    limit: usize,
    /// So many rows are looked at, at most.
    rows: u32,
    text: Option<SoughtText>,
    status: Option<IdentityStatus>,
}

impl Search {
    pub(super) fn new(filter: &IdentityFilter) -> Self {
        let is_narrow = filter.text.is_some() || filter.status.is_some();
        Self {
            after: filter.after.map_or([0; 16], |after| *after.as_bytes()),
            limit: usize::try_from(filter.limit).unwrap_or(usize::MAX),
            rows: if is_narrow { SEARCHED_AT_ONCE } else { filter.limit },
            text: filter.text.as_deref().map(SoughtText::new),
            status: filter.status,
        }
    }

    pub(super) fn page(&self, read: Read<'_>) -> Result<IdentityPage, SqliteError> {
        let mut page = IdentityPage::default();
        let (mut last, mut left) = (None, self.rows);
        // One row more than are looked at tells whether there is a further page.
        read.walk(LIST, (self.after, i64::from(self.rows) + 1), |row| {
            if left == 0 || page.identities.len() >= self.limit {
                page.next = last;
                return Ok(ControlFlow::Break(()));
            }
            left -= 1;
            last = Some(IdentityId::from_bytes(row.get(0)?));
            if self.is_wanted(row)? {
                page.identities.push(identity(row)?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(page)
    }

    /// Whether a row is one of those searched for.
    fn is_wanted(&self, row: &Row<'_>) -> Result<bool, SqliteError> {
        if let Some(wanted) = self.status
            && status(row, 6)? != wanted
        {
            return Ok(false);
        }
        let Some(wanted) = &self.text else { return Ok(true) };
        let text = |column| row.get_ref(column)?.as_str().map_err(SqliteError::unreadable);
        Ok(wanted.is_in(text(1)?, text(3)?))
    }
}
