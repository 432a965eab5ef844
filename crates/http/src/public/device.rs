//! `POST /oauth2/device/auth` (RFC 8628 §3.1). Discovery names it because Hydra's clients require it to; no client may use
//! the device flow yet.

use axum::response::Response;
use sluice_protocol::ErrorCode;
use thiserror::Error;

use crate::respond::oauth_error::refuse;

#[derive(Debug, Error)]
#[error("no client may use the device flow")]
struct NotGranted;

/// `POST /oauth2/device/auth`.
pub(crate) async fn post() -> Response {
    refuse("device authorization", ErrorCode::UnauthorizedClient, &NotGranted)
}
