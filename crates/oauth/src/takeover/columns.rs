//! How texts, lists and times of Hydra's rows are read.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sluice_primitives::{Lifetime, Timestamp};

use super::source::HydraRow;

/// The columns of a row that are looked at.
///
/// # Errors
/// A sentence for a row that no Hydra 2.x has written.
pub(super) fn read<T: DeserializeOwned>(row: &HydraRow) -> Result<T, String> {
    // What serde says may hold a value: only where it was.
    T::deserialize(&row.columns).map_err(|_| "the row is not as a Hydra 2.x writes it".to_owned())
}

/// A time without a zone, which is UTC there, or with one; none for one that cannot be told.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let at = text.parse::<jiff::Timestamp>().or_else(|_| {
        let civil = text.parse::<jiff::civil::DateTime>()?;
        civil.to_zoned(jiff::tz::TimeZone::UTC).map(|zoned| zoned.timestamp())
    });
    at.ok().map(|at| Timestamp::from_millis(at.as_millisecond()))
}

/// A span of a client: nanoseconds, less than none for one without end.
pub(super) fn span(nanos: Option<i64>) -> Option<Lifetime> {
    nanos.map(|nanos| match u64::try_from(nanos) {
        Ok(nanos) => Lifetime::from(std::time::Duration::from_nanos(nanos)),
        Err(_) => Lifetime::FOREVER,
    })
}

/// A list that may be `null`.
pub(super) fn list(values: Option<Vec<String>>) -> Vec<String> {
    values.unwrap_or_default()
}

/// The members of an object; none of anything else.
pub(super) fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// What is said, unless it is nothing, or an empty object.
pub(super) fn said(value: Value) -> Option<Value> {
    let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
    (!is_empty).then_some(value)
}
