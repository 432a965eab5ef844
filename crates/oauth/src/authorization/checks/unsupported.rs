//! A parameter whose silent neglect would change what the request means (OpenID Connect Core §7.2.1).

use sluice_protocol::ErrorCode;

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<(), Refusal> {
    match checked.raw.get("registration") {
        Some(_) => Err((ErrorCode::RegistrationNotSupported, "")),
        None => Ok(()),
    }
}
