//! `/.well-known/openid-configuration` (OpenID Connect Discovery §4) and `/.well-known/oauth-authorization-server`
//! (RFC 8414 §3).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use sluice_oauth::discovery::metadata;

use crate::state::PublicState;

/// The metadata of this server.
pub(crate) async fn get(State(state): State<Arc<PublicState>>) -> Response {
    ([(CACHE_CONTROL, "public, max-age=300")], Json(metadata(&state.config, &state.keys))).into_response()
}
