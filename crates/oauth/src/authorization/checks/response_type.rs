//! `response_type` (RFC 6749 §3.1.1).

use sluice_protocol::{ErrorCode, ResponseType};

use super::{Checked, Refusal};
use crate::client::Client;

pub(super) fn check(checked: &Checked<'_>) -> Result<ResponseType, Refusal> {
    let raw = checked.raw.get("response_type");
    let raw = raw.ok_or((ErrorCode::InvalidRequest, "The parameter `response_type` is missing."))?;
    let response_type: ResponseType = raw.parse().map_err(|_| (ErrorCode::UnsupportedResponseType, ""))?;
    if response_type != ResponseType::CODE {
        return Err((ErrorCode::UnsupportedResponseType, ""));
    }
    if !is_allowed(response_type, checked.client) {
        return Err((
            ErrorCode::UnauthorizedClient,
            "The client is not registered for this `response_type`.",
        ));
    }
    Ok(response_type)
}

/// Whether the client registered the response type and the grant type that it needs.
pub(super) fn is_allowed(response_type: ResponseType, client: &Client) -> bool {
    let registered = client.response_types.iter().any(|own| own.parse() == Ok(response_type));
    registered && client.grant_types.iter().any(|own| own == "authorization_code")
}
