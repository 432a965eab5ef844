//! PKCE (RFC 7636 §4.4): S256 only.

use sluice_protocol::{CodeChallenge, ErrorCode, ResponseType};

use super::{Checked, Refusal};
use crate::client::Client;
use crate::config::Config;

pub(super) fn check(
    checked: &Checked<'_>,
    response_type: ResponseType,
) -> Result<Option<CodeChallenge>, Refusal> {
    let Some(raw) = checked.raw.get("code_challenge") else {
        if checked.raw.get("code_challenge_method").is_some() {
            return Err((
                ErrorCode::InvalidRequest,
                "There is a `code_challenge_method` but no `code_challenge`.",
            ));
        }
        if response_type.code && is_required(checked.client, checked.config) {
            return Err((
                ErrorCode::InvalidRequest,
                "The client must use PKCE: `code_challenge` is missing.",
            ));
        }
        return Ok(None);
    };
    if checked.raw.get("code_challenge_method") != Some("S256") {
        return Err((ErrorCode::InvalidRequest, "The `code_challenge_method` must be `S256`."));
    }
    raw.parse().map(Some).map_err(|_| (ErrorCode::InvalidRequest, "The `code_challenge` is malformed."))
}

/// Whether the client must use PKCE.
pub(super) fn is_required(client: &Client, config: &Config) -> bool {
    config.pkce.for_all || (config.pkce.for_public && client.is_public())
}
