//! `POST /oauth2/revoke` (RFC 7009).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sluice_oauth::client_auth::{ClientAuthError, Presented};
use sluice_oauth::revocation::RevocationError;
use sluice_protocol::ErrorCode;

use crate::extract::{ClientCall, authorization, client_call, parameters};
use crate::respond::oauth_error::{no_store, refuse};
use crate::state::PublicState;

/// `POST /oauth2/revoke`: 200 also for a token that is not known (RFC 7009 §2.2).
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let call = match client_call(request, &state.ui.proxies).await {
        Ok(call) => call,
        Err(error) => return refuse("revocation", ErrorCode::InvalidRequest, &error),
    };
    match revoke(&state, &call).await {
        Ok(()) => {
            let mut response = StatusCode::OK.into_response();
            no_store(&mut response);
            response
        }
        Err(error) => refuse("revocation", error.code(), &error),
    }
}

async fn revoke(state: &PublicState, call: &ClientCall) -> Result<(), RevocationError> {
    let form = parameters(&call.body).map_err(|_| RevocationError::Malformed)?;
    let authorization = authorization(&call.headers).map_err(|_| ClientAuthError::MalformedHeader)?;
    let presented = Presented::read(authorization, &form)?;
    let token = form.get("token").ok_or(RevocationError::Malformed)?;
    state.revocation.revoke(presented, &call.caller, token).await
}
