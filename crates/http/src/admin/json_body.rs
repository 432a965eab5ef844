//! JSON bodies of the admin API. Like Hydra, no `Content-Type` is asked for; unlike it, an error names the member.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::StatusCode;
use serde::de::DeserializeOwned;
use sluice_net::{NoWholeBody, whole_body};

use crate::respond::AdminError;

/// A body of at most this is read, in bytes.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// A JSON body that can be read more than once.
pub(crate) struct JsonBody(Bytes);

impl JsonBody {
    /// The JSON object of the body as `T`; members without meaning are ignored.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, AdminError> {
        read_json(&self.0).map_err(AdminError::malformed)
    }

    /// As [`Self::read`]; without a body, the default.
    pub(crate) fn read_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, AdminError> {
        if self.0.is_empty() { Ok(T::default()) } else { self.read() }
    }

    /// As [`Self::read`], for login and device requests: there, too, Hydra says `invalid_request`.
    pub(crate) fn read_request<T: DeserializeOwned>(&self) -> Result<T, AdminError> {
        read_json(&self.0).map_err(|reason| AdminError::invalid_request(&reason))
    }

    /// As [`Self::read_request`]; without a body, the default.
    pub(crate) fn read_request_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, AdminError> {
        if self.0.is_empty() { Ok(T::default()) } else { self.read_request() }
    }

    /// The JSON of the body as `T`, whatever JSON that is.
    pub(crate) fn read_any<T: DeserializeOwned>(&self) -> Result<T, AdminError> {
        read_any(&self.0).map_err(AdminError::malformed)
    }

    /// The body as it was sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = AdminError;

    async fn from_request(request: Request, _: &S) -> Result<Self, AdminError> {
        match whole_body(request.into_body(), MAX_BODY).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(NoWholeBody::TooLong) => {
                let description = format!("The request body is larger than {MAX_BODY} bytes.");
                Err(AdminError::of(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large", description))
            }
            Err(NoWholeBody::BrokeOff) => {
                Err(AdminError::malformed("The request body could not be read.".to_owned()))
            }
        }
    }
}

/// Reads a JSON object; the refusal is a sentence that names the member. (Serde would take a list for an object.)
pub(crate) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None | Some(b'{') => read_any(bytes),
        Some(_) => Err("Unable to decode the request body: a JSON object is expected.".to_owned()),
    }
}

/// Most bodies are right: where an error is, is looked for only if there is one.
fn read_any<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).or_else(|_| read_with_path(bytes))
}

fn read_with_path<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        if path == "." {
            format!("Unable to decode the request body: {cause}.")
        } else {
            format!("Unable to decode the request body: {path}: {cause}.")
        }
    })?;
    json.end().map_err(|cause| format!("Unable to decode the request body: {cause}."))?;
    Ok(value)
}
