//! `prompt` (OpenID Connect Core §3.1.2.1).

use sluice_protocol::{ErrorCode, Prompt};

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<Prompt, Refusal> {
    let raw = checked.raw.get("prompt").unwrap_or_default();
    raw.parse().map_err(|_| {
        (ErrorCode::InvalidRequest, "The `prompt` is malformed, or joins `none` with another value.")
    })
}
