//! How a request must come: pushed (RFC 9126 §4, §5), signed (RFC 9101 §10.5), or as it likes.

use sluice_protocol::ErrorCode;

use super::{Checked, Refusal};
use crate::client::{Client, SecurityProfile};
use crate::config::Config;

pub(super) fn check(checked: &Checked<'_>) -> Result<(), Refusal> {
    if must_push(checked.client, checked.config) && checked.how.pushed.is_none() {
        return Err((ErrorCode::InvalidRequest, "The client must push its authorization requests."));
    }
    if must_sign(checked.client, checked.config) && !checked.how.signed {
        return Err((ErrorCode::InvalidRequest, "The client must send signed request objects."));
    }
    Ok(())
}

/// Whether the client must push its requests.
pub(super) fn must_push(client: &Client, config: &Config) -> bool {
    let security = &client.security;
    config.policies.pushed_requests.required
        || security.require_pushed_authorization_requests
        || security.profile.is_fapi()
}

/// Whether the client must sign its requests.
pub(super) fn must_sign(client: &Client, config: &Config) -> bool {
    let security = &client.security;
    config.policies.request_objects.require_signed
        || security.require_signed_request_object
        || security.profile == SecurityProfile::Fapi2MessageSigning
}
