//! `login_hint`, `acr_values`, `ui_locales`, `display`: handed through to the login page, so they must be printable.

use sluice_protocol::ErrorCode;

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<(), Refusal> {
    let broken = |name: &&str| checked.raw.get(name).is_some_and(|value| value.contains(char::is_control));
    if ["login_hint", "acr_values", "ui_locales", "display", "nonce", "state"].iter().any(broken) {
        return Err((ErrorCode::InvalidRequest, "A parameter holds control characters."));
    }
    Ok(())
}
