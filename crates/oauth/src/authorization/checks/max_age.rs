//! `max_age` (OpenID Connect Core §3.1.2.1), in seconds.

use sluice_protocol::ErrorCode;

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<Option<u32>, Refusal> {
    let Some(raw) = checked.raw.get("max_age") else { return Ok(None) };
    raw.parse()
        .map(Some)
        .map_err(|_| (ErrorCode::InvalidRequest, "The `max_age` is not a number of seconds."))
}
