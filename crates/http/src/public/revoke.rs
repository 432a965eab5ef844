//! `POST /oauth2/revoke` (RFC 7009).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::Map;
use sluice_oauth::client_auth::{ClientAuthError, Presented};
use sluice_oauth::refusals::Endpoint;
use sluice_oauth::revocation::RevocationError;
use sluice_protocol::ErrorCode;

use super::refusing;
use crate::extract::{ClientCall, NoCall, authorization, client_call, parameters};
use crate::respond::oauth_error::{Refusing, no_store};
use crate::state::PublicState;

/// `POST /oauth2/revoke`: 200 also for a token that is not known (RFC 7009 §2.2). Clients pass over what is answered, but some take nothing
/// that is not JSON.
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let call = match client_call(request, &state.ui.proxies).await {
        Ok(call) => call,
        Err(NoCall { error, client }) => {
            return refusing(&state, Endpoint::Revocation, client.as_deref())
                .refuse(ErrorCode::InvalidRequest, &error);
        }
    };
    match revoke(&state, &call).await {
        Ok(()) => {
            let mut response = Json(Map::new()).into_response();
            no_store(&mut response);
            response
        }
        Err(error) => {
            let client = call.named_client();
            let refusing = refusing(&state, Endpoint::Revocation, client.as_deref());
            let refusing = Refusing { has_left: error.is_unheard(), ..refusing };
            refusing.refuse_saying((error.code(), error.description()), &error)
        }
    }
}

async fn revoke(state: &PublicState, call: &ClientCall) -> Result<(), RevocationError> {
    let form = parameters(&call.body).map_err(|_| RevocationError::Malformed)?;
    let authorization = authorization(&call.headers).map_err(|_| ClientAuthError::MalformedHeader)?;
    let presented = Presented::read(authorization, &form)?;
    let token = form.get("token").ok_or(RevocationError::Malformed)?;
    state.revocation.revoke(presented, &call.caller, token).await
}
