//! `/.well-known/jwks.json` (RFC 7517 §5).

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sluice_oauth::keys::{JWKS_MAX_AGE, KeyRing};

use crate::state::PublicState;

/// `GET /.well-known/jwks.json`.
pub(crate) async fn get(State(state): State<Arc<PublicState>>) -> Response {
    answer(&state.keys)
}

/// The same on the admin port (Hydra serves it on both).
pub(crate) async fn admin(State(keys): State<Arc<KeyRing>>) -> Response {
    answer(&keys)
}

fn answer(keys: &KeyRing) -> Response {
    let body = keys.public_jwks().to_string();
    // Keys are announced for longer than that before they sign.
    let cached = format!("public, max-age={}", JWKS_MAX_AGE.as_secs());
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, &cached)], body).into_response()
}
