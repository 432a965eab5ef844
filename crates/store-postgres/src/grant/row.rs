//! A grant as a row: the columns of every statement that returns one, in their order.

use sluice_commit::StoreError;
use sluice_oauth::grant::{Generation, Grant, GrantClaims};
use sluice_primitives::{AttemptId, GrantId, SessionId, Timestamp};
use sluice_protocol::Audience;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Unreadable, column};
use crate::storable::{self, read_list};

/// A grant and what only the store knows of it.
pub(crate) struct Stored {
    pub(crate) grant: Grant,
    /// The digest of the request that led to the current generation.
    pub(crate) request: Option<Uuid>,
}

/// Reads the sixteen columns of a grant.
pub(crate) fn read(row: &Row) -> Result<Stored, Unreadable> {
    let grant = Grant {
        id: id(row)?,
        client: parsed(row, 1)?,
        subject: parsed(row, 2)?,
        session: column::<Option<Uuid>>(row, 3)?.map(SessionId::from_uuid),
        scope: parsed(row, 4)?,
        audience: Audience::from_values(read_list(column(row, 5)?).map_err(|cause| unreadable(&cause))?),
        claims: claims(column(row, 6)?)?,
        authenticated_at: time(row, 7)?,
        consented_at: time(row, 8)?,
        expires_at: time(row, 9)?,
        redeemed_at: maybe_time(row, 10)?,
        revoked_at: maybe_time(row, 11)?,
        generation: Generation(u32::try_from(column::<i64>(row, 12)?).map_err(|cause| unreadable(&cause))?),
        rotated_at: maybe_time(row, 13)?,
        attempt: AttemptId::from_uuid(column(row, 14)?),
    };
    Ok(Stored { grant, request: column(row, 15)? })
}

/// The first column of a grant.
pub(crate) fn id(row: &Row) -> Result<GrantId, Unreadable> {
    column(row, 0).map(GrantId::from_uuid)
}

/// The claims as they are stored; nothing for none.
pub(crate) fn claims_text(claims: &GrantClaims) -> String {
    if *claims == GrantClaims::default() {
        return String::new();
    }
    serde_json::to_string(claims).unwrap_or_default()
}

/// The claims as they are stored, if they can be.
pub(crate) fn storable_claims(claims: &GrantClaims) -> Result<String, StoreError> {
    let text = claims_text(claims);
    storable::text("the claims of a grant", &text)?;
    Ok(text)
}

/// The claims that [`claims_text`] wrote.
pub(crate) fn claims(text: &str) -> Result<GrantClaims, Unreadable> {
    if text.is_empty() {
        return Ok(GrantClaims::default());
    }
    serde_json::from_str(text).map_err(|cause| unreadable(&cause))
}

fn time(row: &Row, place: usize) -> Result<Timestamp, Unreadable> {
    column(row, place).map(Timestamp::from_millis)
}

fn maybe_time(row: &Row, place: usize) -> Result<Option<Timestamp>, Unreadable> {
    Ok(column::<Option<i64>>(row, place)?.map(Timestamp::from_millis))
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(row: &Row, place: usize) -> Result<T, Unreadable> {
    column::<&str>(row, place)?.parse().map_err(|cause| unreadable(&cause))
}

fn unreadable(cause: &dyn std::fmt::Display) -> Unreadable {
    Unreadable::new("grant", cause)
}
