//! How the tokens of a token response are shown.

use serde_json::Value;
use sluice_primitives::Timestamp;

use crate::cli::output::{Answer, text};

const HEADER: &[&str] = &["ACCESS TOKEN", "REFRESH TOKEN", "ID TOKEN", "EXPIRY"];
const EMPTY: &str = "<empty>";

/// The tokens of a token response that came just now.
pub(super) fn tokens(mut json: Value, now: Timestamp) -> Answer {
    let expires_in = json.get("expires_in").and_then(Value::as_i64);
    let expiry = expires_in.map(|seconds| moment(now.as_secs().saturating_add(seconds)));
    if let (Some(expiry), Some(fields)) = (&expiry, json.as_object_mut()) {
        fields.insert("expiry".to_owned(), expiry.as_str().into());
    }
    let token = |name: &str| Some(text(&json, name)).filter(|token| !token.is_empty());
    let cells = ["access_token", "refresh_token", "id_token"].map(token).into_iter();
    let cells = cells.chain([expiry]).map(|cell| cell.unwrap_or_else(|| EMPTY.to_owned())).collect();
    Answer::one(HEADER, cells, json)
}

/// A point in time, in seconds since the epoch, as people write it (RFC 3339, UTC).
pub(super) fn moment(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |moment| moment.to_string())
}
