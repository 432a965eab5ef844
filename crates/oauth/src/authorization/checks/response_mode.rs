//! `response_mode` (OAuth 2.0 Multiple Response Type Encoding Practices §2.1).

use sluice_protocol::response_mode::UnknownResponseMode;
use sluice_protocol::{ErrorCode, RawAuthorizationRequest, ResponseMode};

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<ResponseMode, Refusal> {
    read(checked.raw).map_err(|_| (ErrorCode::InvalidRequest, "The `response_mode` is not supported."))
}

pub(super) fn read(raw: &RawAuthorizationRequest<'_>) -> Result<ResponseMode, UnknownResponseMode> {
    raw.get("response_mode").map_or(Ok(ResponseMode::default()), str::parse)
}
