//! `POST /oauth2/token` (RFC 6749 §3.2).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sluice_oauth::client_auth::{ClientAuthError, Presented};
use sluice_oauth::grant_handler::TokenError;
use sluice_oauth::hooks::SentParameters;
use sluice_oauth::refusals::Endpoint;
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{ErrorCode, TokenRequest};

use super::refusing;
use crate::extract::{ClientCall, NoCall, authorization, client_call, parameters};
use crate::respond::Written;
use crate::respond::dpop::offer_nonce;
use crate::respond::oauth_error::{Refusing, no_store};
use crate::state::PublicState;

/// `POST /oauth2/token`.
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let call = match client_call(request, &state.ui.proxies).await {
        Ok(call) => call,
        Err(NoCall { error, client }) => {
            return refusing(&state, Endpoint::Token, client.as_deref())
                .refuse(ErrorCode::InvalidRequest, &error);
        }
    };
    let mut response = match issue(&state, &call).await {
        Ok(tokens) => {
            let mut response = Written(tokens).into_response();
            no_store(&mut response);
            response
        }
        Err(error) => {
            let client = call.named_client();
            let refusing = refusing(&state, Endpoint::Token, client.as_deref());
            let refusing = Refusing { has_left: error.is_unheard(), ..refusing };
            let told = error.description();
            let mut response = refusing.refuse_saying((error.code(), told.as_ref()), &error);
            if matches!(error, TokenError::DeviceDenied) {
                // It is no request that is forbidden, but an answer to one (RFC 8628 §3.5, RFC 6749 §5.2).
                *response.status_mut() = StatusCode::BAD_REQUEST;
            }
            response
        }
    };
    offer_nonce(&call.caller, &state.constraint, &mut response);
    response
}

async fn issue(state: &PublicState, call: &ClientCall) -> Result<TokenResponse, TokenError> {
    let form = parameters(&call.body)?;
    let authorization = authorization(&call.headers).map_err(|_| ClientAuthError::MalformedHeader)?;
    let presented = Presented::read(authorization, &form)?;
    let (request, sent) = (TokenRequest::read(&form)?, SentParameters::of(&form));
    state.tokens.issue(presented, &call.caller, request, &sent).await
}
