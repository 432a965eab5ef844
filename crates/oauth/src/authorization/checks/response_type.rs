//! `response_type` (RFC 6749 §3.1.1, OAuth 2.0 Multiple Response Type Encoding Practices §3).

use sluice_protocol::{ErrorCode, GrantType, ResponseType, Scope};

use super::{Checked, Refusal};
use crate::client::Client;

pub(super) fn check(checked: &Checked<'_>) -> Result<ResponseType, Refusal> {
    let raw = checked.raw.get("response_type");
    let raw = raw.ok_or((ErrorCode::InvalidRequest, "The parameter `response_type` is missing."))?;
    let response_type: ResponseType = raw.parse().map_err(|_| (ErrorCode::UnsupportedResponseType, ""))?;
    if !is_allowed(response_type, checked.client) {
        return Err((
            ErrorCode::UnauthorizedClient,
            "The client is not registered for this `response_type`.",
        ));
    }
    Ok(response_type)
}

/// What tokens of the authorization endpoint need.
pub(super) fn check_tokens(
    checked: &Checked<'_>,
    response_type: ResponseType,
    scope: &Scope,
) -> Result<(), Refusal> {
    if !response_type.id_token {
        return Ok(());
    }
    if !scope.contains("openid") {
        return Err((ErrorCode::InvalidRequest, "An id token needs the scope `openid`."));
    }
    // OpenID Connect Core §3.2.2.1, §3.3.2.11: or the client could not tell whose request is answered.
    if checked.raw.get("nonce").is_none_or(str::is_empty) {
        return Err((ErrorCode::InvalidRequest, "The parameter `nonce` is missing."));
    }
    Ok(())
}

/// Whether the client registered exactly this response type, and the grant types that go with it (OpenID Connect
/// Registration §2). An access token that the browser sees is bound to no key, so clients that have theirs bound get none.
pub(super) fn is_allowed(response_type: ResponseType, client: &Client) -> bool {
    client.may_ask_for(response_type)
        && (!response_type.code || client.may_use(GrantType::AuthorizationCode))
        && (!response_type.has_front_channel_tokens() || client.may_use(GrantType::Implicit))
        && !(response_type.token && client.security.binds_tokens())
}
