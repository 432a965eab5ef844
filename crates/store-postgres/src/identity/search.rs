//! Searching identities. Letters are compared here, not by the server: what it makes of case beyond ASCII depends on how
//! its database was created. It hands out few columns of few rows at a time.

use sluice_commit::StoreError;
use sluice_identity::identity::repository::SEARCHED_AT_ONCE;
use sluice_identity::identity::{IdentityFilter, IdentityPage, IdentityStatus, SoughtText};
use sluice_primitives::IdentityId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{read, status};
use crate::PostgresStore;
use crate::error::{Unreadable, column};

const LOOK: &str = include_str!("look.sql");
const FIND_ALL: &str = include_str!("find_all.sql");
/// Rows looked at by one statement.
const ROWS: u32 = 1_000;

/// What is searched for.
struct Wanted {
    text: Option<SoughtText>,
    status: Option<IdentityStatus>,
}

impl Wanted {
    fn fits(&self, row: &Row) -> Result<bool, Unreadable> {
        let (email, username): (&str, &str) = (column(row, 1)?, column(row, 2)?);
        let own = status(column(row, 3)?);
        let holds = |text: &SoughtText| text.is_in(email, username);
        Ok(self.status.is_none_or(|status| status == own) && self.text.as_ref().is_none_or(holds))
    }
}

/// How far a search has come.
struct Search {
    after: Uuid,
    looked_at: u32,
    found: Vec<Uuid>,
    limit: usize,
}

impl Search {
    /// Looks at these rows; whether the page is full.
    fn look(&mut self, rows: &[Row], wanted: &Wanted) -> Result<bool, Unreadable> {
        for row in rows {
            self.after = column(row, 0)?;
            self.looked_at += 1;
            if wanted.fits(row)? {
                self.found.push(self.after);
            }
            if self.found.len() >= self.limit {
                return Ok(true);
            }
        }
        Ok(self.looked_at >= SEARCHED_AT_ONCE)
    }
}

/// A page of those whom the filter names.
pub(super) async fn search(
    store: &PostgresStore,
    filter: &IdentityFilter,
) -> Result<IdentityPage, StoreError> {
    let wanted = Wanted { text: filter.text.as_deref().map(SoughtText::new), status: filter.status };
    let mut search = Search {
        after: filter.after.map_or_else(Uuid::nil, IdentityId::as_uuid),
        looked_at: 0,
        found: Vec::new(),
        limit: usize::try_from(filter.limit).unwrap_or(usize::MAX),
    };
    let next = loop {
        let rows = store.read(LOOK, &[&search.after, &i64::from(ROWS)]).await?;
        let is_full = search.look(&rows, &wanted)?;
        let last = rows.last().map(|row| column::<Uuid>(row, 0)).transpose()?;
        if rows.len() as u64 != u64::from(ROWS) && last.is_none_or(|last| last == search.after) {
            break None;
        }
        if is_full {
            break Some(IdentityId::from_uuid(search.after));
        }
    };
    let identities = store.read(FIND_ALL, &[&search.found]).await?;
    Ok(IdentityPage { identities: identities.iter().map(read).collect::<Result<_, _>>()?, next })
}
