//! `POST /oauth2/introspect` (RFC 7662, RFC 9701): for resource servers, which authenticate as clients.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use sluice_oauth::client_auth::{ClientAuthError, Presented};
use sluice_oauth::introspection::for_clients::{Asked, IntrospectionError, Told};
use sluice_oauth::refusals::Endpoint;
use sluice_protocol::ErrorCode;

use super::refusing;
use crate::extract::{ClientCall, NoCall, accept, authorization, client_call, parameters};
use crate::respond::Written;
use crate::respond::oauth_error::{Refusing, no_store};
use crate::state::PublicState;

/// The media type of an answer that is a token (RFC 9701 §4).
const JWT: &str = "application/token-introspection+jwt";

/// `POST /oauth2/introspect`.
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let call = match client_call(request, &state.ui.proxies).await {
        Ok(call) => call,
        Err(NoCall { error, client }) => {
            return refusing(&state, Endpoint::Introspection, client.as_deref())
                .refuse(ErrorCode::InvalidRequest, &error);
        }
    };
    let mut response = match introspect(&state, &call).await {
        Ok(Told::Json(answer)) => Written(*answer).into_response(),
        Ok(Told::Jwt(token)) => ([(CONTENT_TYPE, HeaderValue::from_static(JWT))], token).into_response(),
        Err(error) => {
            let client = call.named_client();
            let refusing = refusing(&state, Endpoint::Introspection, client.as_deref());
            let refusing = Refusing { has_left: error.is_unheard(), ..refusing };
            return refusing.refuse_saying((error.code(), error.description()), &error);
        }
    };
    no_store(&mut response);
    response
}

async fn introspect(state: &PublicState, call: &ClientCall) -> Result<Told, IntrospectionError> {
    let form = parameters(&call.body).map_err(|_| IntrospectionError::Malformed)?;
    let authorization = authorization(&call.headers).map_err(|_| ClientAuthError::MalformedHeader)?;
    let presented = Presented::read(authorization, &form)?;
    let token = form.get("token").ok_or(IntrospectionError::Malformed)?;
    let asked = Asked { token, as_jwt: accept::names(&call.headers, JWT) };
    state.introspection.introspect(presented, &call.caller, asked).await
}
