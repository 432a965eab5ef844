//! `audience` and `resource` (RFC 8707): nothing beyond what the client is registered for.

use sluice_protocol::audience::InvalidTarget;
use sluice_protocol::{Audience, ErrorCode};

use super::{Checked, Refused};

pub(super) fn check(checked: &Checked<'_>) -> Result<Audience, Refused> {
    let asked = checked.raw.audience().map_err(|why| (ErrorCode::InvalidTarget, hint(why)))?;
    let audience = Audience::from_values(asked);
    let beyond = audience.as_slice().iter().find(|name| !checked.client.audience.permits(name));
    if let Some(beyond) = beyond {
        return Err(Refused::naming(ErrorCode::InvalidTarget, "audience", beyond));
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
