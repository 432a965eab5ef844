//! `/admin/keys`: key sets, private parts included, and those of trusted issuers.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use http::header::LOCATION;
use percent_encoding::utf8_percent_encode;
use sluice_crypto::jwk::{Jwk, JwkSet};
use sluice_oauth::keys::KeyServiceError;
use sluice_oauth::trust::KeySets;

use super::json_body::{JsonBody, MAX_BODY};
use super::path::{IN_A_PATH, Path};
use super::wire::jwks::{KeySetBody, NewKeyBody, RotateBody, SigningKeysBody};
use crate::respond::AdminError;

type Sets = State<Arc<KeySets>>;

/// The routes below `/admin/keys`.
pub(crate) fn routes(sets: Arc<KeySets>) -> Router {
    Router::new()
        .route("/admin/keys", get(list).post(rotate))
        .route("/admin/keys/{set}", get(find_set).post(create).put(replace_set).delete(delete_set))
        .route("/admin/keys/{set}/{kid}", get(find_key).put(put_key).delete(delete_key))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(sets)
}

/// The keys that this server signs with, where each is in its life, and nothing that is in it.
async fn list(State(sets): Sets) -> Result<Json<SigningKeysBody>, AdminError> {
    Ok(Json(sets.keys.signing_keys().await?.into()))
}

async fn rotate(
    State(sets): Sets,
    body: JsonBody,
) -> Result<(StatusCode, Json<SigningKeysBody>), AdminError> {
    let body: RotateBody = body.read()?;
    let asked = body.asked().map_err(|_| KeyServiceError::Algorithm)?;
    Ok((StatusCode::CREATED, Json(sets.keys.rotate(&body.set, asked).await?.into())))
}

async fn create(State(sets): Sets, Path(set): Path<String>, body: JsonBody) -> Result<Response, AdminError> {
    let asked: NewKeyBody = body.read()?;
    let made = sets.keys.create(&set, asked.into()).await?;
    let location = format!("/admin/keys/{}", utf8_percent_encode(&set, IN_A_PATH));
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(made)).into_response())
}

async fn find_set(State(sets): Sets, Path(set): Path<String>) -> Result<Json<JwkSet>, AdminError> {
    Ok(Json(sets.set(&set).await?))
}

async fn find_key(
    State(sets): Sets,
    Path((set, kid)): Path<(String, String)>,
) -> Result<Json<JwkSet>, AdminError> {
    Ok(Json(sets.key(&set, &kid).await?))
}

async fn replace_set(
    State(sets): Sets,
    Path(set): Path<String>,
    body: JsonBody,
) -> Result<Json<JwkSet>, AdminError> {
    let wanted: KeySetBody = body.read_object()?;
    Ok(Json(sets.replace_set(&set, wanted.into()).await?))
}

/// Like in Hydra, the key goes by the `kid` of the body; the one of the path does not count.
async fn put_key(
    State(sets): Sets,
    Path((set, _)): Path<(String, String)>,
    body: JsonBody,
) -> Result<Json<Jwk>, AdminError> {
    let jwk: Jwk = body.read()?;
    Ok(Json(sets.put_key(&set, jwk).await?))
}

async fn delete_set(State(sets): Sets, Path(set): Path<String>) -> Result<StatusCode, AdminError> {
    sets.delete_set(&set).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn delete_key(
    State(sets): Sets,
    Path((set, kid)): Path<(String, String)>,
) -> Result<StatusCode, AdminError> {
    sets.delete_key(&set, &kid).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests;
