//! Values on their way into rows and out of them. What PostgreSQL could not hold is refused here too, before it is queued.

use rusqlite::Row;
use sluice_commit::StoreError;
use sluice_oauth::grant::GrantClaims;
use sluice_primitives::{AttemptId, Timestamp};
use sluice_protocol::Audience;

use crate::error::SqliteError;

/// The longest text in bytes.
const LONGEST_TEXT: usize = 1 << 20;

/// Refuses a text that cannot be stored.
pub(crate) fn check(name: &str, text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        return Err(StoreError::Invalid(format!("{name} holds NUL")));
    }
    if text.len() > LONGEST_TEXT {
        return Err(StoreError::Invalid(format!("{name} is longer than {LONGEST_TEXT} bytes")));
    }
    Ok(())
}

/// The JSON array of texts.
pub(crate) fn encode_list(name: &str, texts: &[String]) -> Result<String, StoreError> {
    texts.iter().try_for_each(|text| check(name, text))?;
    let json = serde_json::to_string(texts).map_err(|error| StoreError::Invalid(error.to_string()))?;
    check(name, &json)?;
    Ok(json)
}

/// The JSON of claims.
pub(crate) fn encode_claims(claims: &GrantClaims) -> Result<String, StoreError> {
    let json = serde_json::to_string(claims).map_err(|error| StoreError::Invalid(error.to_string()))?;
    check("claims", &json)?;
    Ok(json)
}

/// A text column as the value that its `FromStr` makes of it.
pub(crate) fn parsed<T>(row: &Row<'_>, column: usize) -> Result<T, SqliteError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    row.get_ref(column)?.as_str().map_err(SqliteError::unreadable)?.parse().map_err(SqliteError::unreadable)
}

/// A text column as the value that its JSON holds.
pub(crate) fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, SqliteError> {
    let text = row.get_ref(column)?.as_str().map_err(SqliteError::unreadable)?;
    serde_json::from_str(text).map_err(SqliteError::unreadable)
}

/// An audience.
pub(crate) fn audience(row: &Row<'_>, column: usize) -> Result<Audience, SqliteError> {
    json::<Vec<String>>(row, column).map(Audience::from_values)
}

/// A point in time.
pub(crate) fn time(row: &Row<'_>, column: usize) -> Result<Timestamp, SqliteError> {
    Ok(Timestamp::from_millis(row.get(column)?))
}

/// A point in time, if any.
pub(crate) fn time_if_any(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, SqliteError> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
}

/// When the id in the first column was made, as it tells, if there is one.
pub(crate) fn made_at_if_any(row: &Row<'_>) -> Result<Option<Timestamp>, SqliteError> {
    Ok(row.get::<_, Option<[u8; 16]>>(0)?.map(|id| AttemptId::from_bytes(id).made_at()))
}

/// A count.
pub(crate) fn count_of(row: &Row<'_>, column: usize) -> Result<u64, SqliteError> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// A number that is never negative.
pub(crate) fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_stored_is_refused() {
        assert!(check("name", &"x".repeat(LONGEST_TEXT)).is_ok());
        assert!(check("name", &"x".repeat(LONGEST_TEXT + 1)).is_err());
        assert!(check("name", "a\0b").is_err());
        assert!(encode_list("list", &["a\0b".to_owned()]).is_err());
    }
}
