//! `audience` and `resource` (RFC 8707): nothing beyond what the client is registered for.

use sluice_protocol::{Audience, ErrorCode};

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<Audience, Refusal> {
    if !checked.raw.resources_are_valid() {
        return Err((ErrorCode::InvalidTarget, "A `resource` is an absolute URI without a fragment."));
    }
    let audience = Audience::from_values(checked.raw.audience());
    if !checked.client.audience.permits_all(&audience) {
        return Err((ErrorCode::InvalidTarget, ""));
    }
    Ok(audience)
}
