//! `audience` and `resource` (RFC 8707): nothing beyond what the client is registered for.

use sluice_protocol::audience::InvalidTarget;
use sluice_protocol::{Audience, ErrorCode};

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<Audience, Refusal> {
    let asked = checked.raw.audience().map_err(|why| (ErrorCode::InvalidTarget, hint(why)))?;
    let audience = Audience::from_values(asked);
    if !checked.client.audience.permits_all(&audience) {
        return Err((ErrorCode::InvalidTarget, ""));
    }
    Ok(audience)
}

fn hint(why: InvalidTarget) -> &'static str {
    match why {
        InvalidTarget::Resource => "A `resource` is an absolute URI without a fragment.",
        InvalidTarget::TooMany => {
            "There are more than 256 audiences and resources, or more than 4096 bytes of them."
        }
    }
}
