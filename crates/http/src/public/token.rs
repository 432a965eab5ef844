//! `POST /oauth2/token` (RFC 6749 §3.2).

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use sluice_oauth::client_auth::{ClientAuthError, Presented};
use sluice_oauth::grant_handler::TokenError;
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{ErrorCode, TokenRequest};

use crate::extract::{ClientCall, authorization, client_call, parameters};
use crate::respond::oauth_error::{no_store, refuse};
use crate::state::PublicState;

/// `POST /oauth2/token`.
pub(crate) async fn post(State(state): State<PublicState>, request: Request) -> Response {
    let call = match client_call(request, &state.ui.proxies).await {
        Ok(call) => call,
        Err(error) => return refuse("token", ErrorCode::InvalidRequest, &error),
    };
    match issue(&state, &call).await {
        Ok(tokens) => {
            let mut response = Json(tokens).into_response();
            no_store(&mut response);
            response
        }
        Err(error) => refuse("token", error.code(), &error),
    }
}

async fn issue(state: &PublicState, call: &ClientCall) -> Result<TokenResponse, TokenError> {
    let form = parameters(&call.body)?;
    let authorization = authorization(&call.headers).map_err(|_| ClientAuthError::MalformedHeader)?;
    let presented = Presented::read(authorization, &form)?;
    state.tokens.issue(presented, &call.caller, TokenRequest::read(&form)?).await
}
