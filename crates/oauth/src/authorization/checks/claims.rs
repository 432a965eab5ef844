//! `claims` (OpenID Connect Core §5.5).

use sluice_protocol::{ClaimsRequest, ErrorCode};

use super::{Checked, Refusal};

/// What is asked for; none if nothing is.
pub(super) fn check(checked: &Checked<'_>) -> Result<Option<ClaimsRequest>, Refusal> {
    let Some(text) = checked.raw.get("claims") else { return Ok(None) };
    let malformed = |_| (ErrorCode::InvalidRequest, "The parameter `claims` is malformed.");
    let request = ClaimsRequest::parse(text).map_err(malformed)?;
    request.subject().map_err(malformed)?;
    Ok(Some(request).filter(|request| !request.is_empty()))
}
