//! `/admin/oauth2/introspect` (RFC 7662) and `/admin/oauth2/tokens` (Hydra).

use std::sync::Arc;

use axum::extract::{RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sluice_protocol::introspection::IntrospectionResponse;
use sluice_protocol::token_request::InvalidTokenRequest;
use sluice_protocol::{ErrorCode, Parameters};
use tracing::debug;

use crate::extract::{form_bytes, parameters};
use crate::respond::AdminError;
use crate::respond::Written;
use crate::respond::oauth_error::refuse;
use crate::state::AdminState;

/// `POST /admin/oauth2/introspect`.
pub(crate) async fn introspect(State(state): State<Arc<AdminState>>, request: Request) -> Response {
    let body = match form_bytes(request).await {
        Ok((_, body)) => body,
        Err(error) => return refuse("introspection", ErrorCode::InvalidRequest, &error),
    };
    let form = match parameters(&body) {
        Ok(form) => form,
        Err(error) => return refuse("introspection", ErrorCode::InvalidRequest, &error),
    };
    if form.iter().next().is_none() {
        return refuse("introspection", ErrorCode::InvalidRequest, &InvalidTokenRequest::Missing("token"));
    }
    let Some(token) = form.get("token") else {
        // As with Hydra, no token is one that does not hold.
        debug!(reason = "there is none in the request", "a token is not active");
        return Written(IntrospectionResponse::default()).into_response();
    };
    let Ok(scope) = form.get("scope").map(str::parse).transpose() else {
        return refuse("introspection", ErrorCode::InvalidRequest, &InvalidTokenRequest::Scope);
    };
    match state.introspection.introspect(token, scope.as_ref()).await {
        Ok(answer) => Written(answer).into_response(),
        Err(error) => {
            let code =
                if error.is_temporary() { ErrorCode::TemporarilyUnavailable } else { ErrorCode::ServerError };
            refuse("introspection", code, &error)
        }
    }
}

/// `DELETE /admin/oauth2/tokens?client_id=`: everything the client was granted.
pub(crate) async fn delete(
    State(state): State<Arc<AdminState>>,
    RawQuery(query): RawQuery,
) -> Result<Response, AdminError> {
    let query = query.unwrap_or_default();
    let parameters = Parameters::parse(query.as_bytes(), 16 * 1024, &[])?;
    let client = parameters.get("client_id").and_then(|id| id.parse().ok());
    let client =
        client.ok_or_else(|| AdminError::invalid_request("The query parameter `client_id` is missing."))?;
    state.clients.revoke_tokens(&client).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
