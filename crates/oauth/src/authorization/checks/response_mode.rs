//! `response_mode` (OAuth 2.0 Multiple Response Type Encoding Practices §2.1, JARM §2.3).

use sluice_protocol::response_mode::UnknownResponseMode;
use sluice_protocol::{ErrorCode, RawAuthorizationRequest, ResponseMode, ResponseType};

use super::{Checked, Refusal};
use crate::client::Client;

pub(super) fn check(checked: &Checked<'_>, response_type: ResponseType) -> Result<ResponseMode, Refusal> {
    let mode = read(checked.raw, response_type)
        .map_err(|_| (ErrorCode::InvalidRequest, "The `response_mode` is not supported."))?;
    if !may_carry(mode, response_type, checked.client) {
        return Err((ErrorCode::InvalidRequest, "Tokens do not travel in a query."));
    }
    Ok(mode)
}

/// How an error travels, whatever else is wrong with the request.
pub(super) fn of_errors(raw: &RawAuthorizationRequest<'_>, client: &Client) -> ResponseMode {
    let response_type: ResponseType =
        raw.get("response_type").and_then(|text| text.parse().ok()).unwrap_or_default();
    let asked = read(raw, response_type).ok();
    let signed = asked.is_some_and(ResponseMode::is_signed);
    let possible = asked.filter(|mode| may_carry(*mode, response_type, client));
    possible.unwrap_or_else(|| response_type.default_mode().signed(signed))
}

fn read(
    raw: &RawAuthorizationRequest<'_>,
    response_type: ResponseType,
) -> Result<ResponseMode, UnknownResponseMode> {
    match raw.get("response_mode") {
        None => Ok(response_type.default_mode()),
        // JARM §2.3.4: signed, in the way of the response type.
        Some("jwt") => Ok(response_type.default_mode().signed(true)),
        Some(named) => named.parse(),
    }
}

/// Tokens stay out of queries, which are logged and sent on (Multiple Response Types §5), unless nobody but the client can
/// read them there (JARM §2.3.1).
fn may_carry(mode: ResponseMode, response_type: ResponseType, client: &Client) -> bool {
    match mode {
        ResponseMode::Query => !response_type.has_front_channel_tokens(),
        ResponseMode::QueryJwt => {
            !response_type.has_front_channel_tokens() || client.formats.authorization_encryption.is_some()
        }
        ResponseMode::Fragment
        | ResponseMode::FormPost
        | ResponseMode::FragmentJwt
        | ResponseMode::FormPostJwt => true,
    }
}
