//! What travels through the flow unchanged is capped.

use sluice_protocol::ErrorCode;
use sluice_protocol::authorization_request::MAX_STATE;

use super::{Checked, Refusal};

/// The longest `state`, in bytes.
pub(super) const STATE: usize = MAX_STATE;
/// The longest of the other values, in bytes.
const OTHER: usize = 1024;

pub(super) fn check(checked: &Checked<'_>) -> Result<(), Refusal> {
    let too_long = |name: &str, max: usize| checked.raw.get(name).is_some_and(|value| value.len() > max);
    if too_long("state", STATE) {
        return Err((ErrorCode::InvalidRequest, "The parameter `state` is longer than 2048 bytes."));
    }
    if ["nonce", "login_hint", "acr_values", "ui_locales", "display"].iter().any(|name| too_long(name, OTHER))
    {
        return Err((ErrorCode::InvalidRequest, "A parameter is longer than 1024 bytes."));
    }
    Ok(())
}
