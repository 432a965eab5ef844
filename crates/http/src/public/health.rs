//! `/health/alive`, `/health/ready`, `/version`: for those who watch.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::state::{Health, Ready};

/// `GET /health/alive`: the process answers.
pub(crate) async fn alive() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

/// `GET /health/ready`: the process can serve.
pub(crate) async fn ready(health: Arc<dyn Health>) -> Response {
    match health.ready().await {
        Ready::Yes => Json(json!({"status": "ok"})).into_response(),
        Ready::No(reasons) => {
            let errors: Map<String, Value> = reasons
                .into_iter()
                .map(|(component, reason)| (component.to_owned(), Value::String(reason)))
                .collect();
            (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"errors": errors}))).into_response()
        }
    }
}

/// `GET /version`.
pub(crate) fn version(version: &'static str) -> std::future::Ready<Response> {
    std::future::ready(Json(json!({"version": version})).into_response())
}
