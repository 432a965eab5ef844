//! Rows of grants, all read in the same order of columns.

use rusqlite::Row;
use sluice_oauth::grant::{Generation, Grant, RefreshRequest};
use sluice_primitives::{AttemptId, GrantId, SessionId, Timestamp};
use sluice_token::{Marker, Target};

use crate::error::SqliteError;
use crate::row;
use crate::writer::Write;

pub(super) const EXAMINE: &str = include_str!("examine.sql");
const PUNISH: &str = include_str!("punish.sql");

/// The columns of a grant, from the first on.
pub(super) fn grant(row: &Row<'_>) -> Result<Grant, SqliteError> {
    Ok(Grant {
        id: GrantId::from_bytes(row.get(0)?),
        client: row::parsed(row, 1)?,
        subject: row::parsed(row, 2)?,
        session: row.get::<_, Option<[u8; 16]>>(3)?.map(SessionId::from_bytes),
        scope: row::parsed(row, 4)?,
        audience: row::audience(row, 5)?,
        claims: row::json(row, 6)?,
        authenticated_at: row::time(row, 7)?,
        consented_at: row::time(row, 8)?,
        expires_at: row::time(row, 9)?,
        redeemed_at: row::time_if_any(row, 10)?,
        revoked_at: row::time_if_any(row, 11)?,
        generation: Generation(row.get(12)?),
        rotated_at: row::time_if_any(row, 13)?,
        attempt: AttemptId::from_bytes(row.get(14)?),
    })
}

/// A grant that a compare-and-swap did not find as it expected.
pub(super) struct Examined {
    pub(super) grant: Grant,
    /// What the last refresh asked for.
    pub(super) request: Option<RefreshRequest>,
    /// Whether it was revoked, by itself or by a wide marker.
    pub(super) is_revoked: bool,
}

/// The grant as it is inside the transaction, unless it is not there or has expired.
pub(super) fn examine(
    write: &Write<'_>,
    id: GrantId,
    now: Timestamp,
) -> Result<Option<Examined>, SqliteError> {
    write.row(EXAMINE, (id.as_bytes(), now.as_millis()), examined)
}

/// A row of that statement.
pub(super) fn examined(row: &Row<'_>) -> Result<Examined, SqliteError> {
    let grant = grant(row)?;
    let is_revoked = grant.revoked_at.is_some() || row.get(16)?;
    Ok(Examined { grant, request: row.get(15)?, is_revoked })
}

/// Revokes a grant for the misuse of its code or refresh token, and appends its marker.
pub(super) fn punish(
    write: &mut Write<'_>,
    grant: &Grant,
    (now, expires_at): (Timestamp, Timestamp),
) -> Result<(), SqliteError> {
    write.update("oauth_grant", PUNISH, (grant.id.as_bytes(), now.as_millis()))?;
    write.mark(&Marker { target: Target::Grant(grant.id), at: now, expires_at })
}
