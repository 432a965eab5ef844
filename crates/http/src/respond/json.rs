//! JSON answers.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Response as HttpResponse, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Serialize;
use sluice_protocol::WriteJson;
use tracing::error;

/// What most answers fit into, in bytes.
const USUAL: usize = 2048;

/// An answer of `application/json`: as axum's, written into one buffer that needs not grow.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let mut text = Vec::with_capacity(USUAL);
        if let Err(cause) = serde_json::to_writer(&mut text, &self.0) {
            error!(%cause, "an answer cannot be written as JSON");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        written(Body::from(text))
    }
}

/// The same of what is written without a serializer.
pub(crate) struct Written<T>(pub(crate) T);

impl<T: WriteJson> IntoResponse for Written<T> {
    fn into_response(self) -> Response {
        let mut text = Vec::with_capacity(USUAL);
        self.0.write_json(&mut text);
        written(Body::from(text))
    }
}

/// An answer that is JSON already.
pub(crate) struct JsonText(pub(crate) Bytes);

impl IntoResponse for JsonText {
    fn into_response(self) -> Response {
        written(Body::from(self.0))
    }
}

/// An answer whose body is JSON.
pub(crate) fn written(body: Body) -> Response {
    let mut response = HttpResponse::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
