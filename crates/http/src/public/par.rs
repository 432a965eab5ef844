//! `POST /oauth2/par` (RFC 9126).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sluice_oauth::authorization::{PushError, RequestUri};
use sluice_oauth::client_auth::{ClientAuthError, Presented};
use sluice_oauth::refusals::Endpoint;
use sluice_protocol::ErrorCode;

use super::refusing;
use crate::extract::{ClientCall, InvalidForm, NoBody, NoCall, authorization, client_call, parameters};
use crate::respond::dpop::offer_nonce;
use crate::respond::oauth_error::{Refusing, no_store, retry_later};
use crate::state::PublicState;

/// `POST /oauth2/par`: 201 and a request URI (RFC 9126 §2.2).
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let call = match client_call(request, &state.ui.proxies).await {
        Ok(call) => call,
        Err(NoCall { error, client }) => {
            let refusing = refusing(&state, Endpoint::PushedRequest, client.as_deref());
            let mut response = refusing.refuse(ErrorCode::InvalidRequest, &error);
            if matches!(error, InvalidForm::Body(NoBody::TooLarge)) {
                *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            }
            return response;
        }
    };
    let mut response = match push(&state, &call).await {
        Ok(answer) => {
            let mut response = (StatusCode::CREATED, Json(answer)).into_response();
            no_store(&mut response);
            response
        }
        Err(error) => {
            let (told, client) = (error.description(), call.named_client());
            let refusing = refusing(&state, Endpoint::PushedRequest, client.as_deref());
            let refusing = Refusing { has_left: error.is_unheard(), ..refusing };
            let mut response = refusing.refuse_saying((error.code(), told.as_ref()), &error);
            retry_later(error.wait(), &mut response);
            if matches!(error, PushError::TooLong) {
                *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            }
            response
        }
    };
    offer_nonce(&call.caller, &state.constraint, &mut response);
    response
}

async fn push(state: &PublicState, call: &ClientCall) -> Result<RequestUri, PushError> {
    let form = parameters(&call.body)?;
    let authorization = authorization(&call.headers).map_err(|_| ClientAuthError::MalformedHeader)?;
    let presented = Presented::read(authorization, &form)?;
    state.pushed.push(presented, &call.caller, &form).await
}
