//! `authorization_details` (RFC 9396 §2, §5): of types that the client registered and no others.

use sluice_protocol::{AuthorizationDetails, ErrorCode};

use super::{Checked, Refusal};
use crate::client::Client;

/// What is asked for, as JSON; none if nothing is.
pub(super) fn check(checked: &Checked<'_>) -> Result<Option<String>, Refusal> {
    let Some(text) = checked.raw.get("authorization_details") else { return Ok(None) };
    let refused = (ErrorCode::InvalidAuthorizationDetails, "");
    let details = AuthorizationDetails::parse(text).map_err(|_| refused)?;
    if !may_ask(checked.client, &details) {
        return Err(refused);
    }
    Ok((!details.is_empty()).then(|| details.into_value().to_string()))
}

/// Whether the client registered all types.
pub(crate) fn may_ask(client: &Client, details: &AuthorizationDetails) -> bool {
    details.types().all(|asked| client.authorization_details_types.iter().any(|own| own == asked))
}
