//! Parameters whose silent neglect would change what the request means (OpenID Connect Core §6, §7.2.1).

use sluice_protocol::ErrorCode;

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<(), Refusal> {
    let refused = [
        ("request", ErrorCode::RequestNotSupported),
        ("request_uri", ErrorCode::RequestUriNotSupported),
        ("registration", ErrorCode::RegistrationNotSupported),
    ];
    match refused.iter().find(|(name, _)| checked.raw.get(name).is_some()) {
        Some((_, code)) => Err((*code, "")),
        None => Ok(()),
    }
}
