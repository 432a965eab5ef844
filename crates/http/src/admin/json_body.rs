//! JSON bodies of the admin API. Like Hydra, no `Content-Type` is asked for, and `null` is no body (Go clients send it
//! where none was set); unlike it, an error names the member.

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

    /// As [`Self::read`], but `null` is refused: for what an object without members would empty.
    pub(crate) fn read_object<T: DeserializeOwned>(&self) -> Result<T, AdminError> {
        read_object(&self.0).map_err(AdminError::malformed)
    }

    /// As [`Self::read`]; without a body, the default.
    pub(crate) fn read_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, AdminError> {
        if self.is_absent() { Ok(T::default()) } else { self.read() }
    }

    /// As [`Self::read`], for login and device requests: there, too, Hydra says `invalid_request`.
    pub(crate) fn read_request<T: DeserializeOwned>(&self) -> Result<T, AdminError> {
        read_json(&self.0).map_err(|reason| AdminError::invalid_request(&reason))
    }

    /// As [`Self::read_request`]; without a body, the default.
    pub(crate) fn read_request_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, AdminError> {
        if self.is_absent() { Ok(T::default()) } else { self.read_request() }
    }

    /// The JSON of the body as `T`, whatever JSON that is.
    pub(crate) fn read_any<T: DeserializeOwned>(&self) -> Result<T, AdminError> {
        read_any(&self.0).map_err(AdminError::malformed)
    }

    /// The body as it was sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty() || is_null(&self.0)
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

/// Reads a JSON object, `null` as an empty one; the refusal is a sentence that names the member. (Serde would take a list
/// for an object.)
pub(crate) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    if is_null(bytes) { read_any(b"{}") } else { read_object(bytes) }
}

fn read_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None | Some(b'{') => read_any(bytes),
        Some(_) => Err("Unable to decode the request body: a JSON object is expected.".to_owned()),
    }
}

fn is_null(bytes: &[u8]) -> bool {
    bytes.trim_ascii() == b"null"
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

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug, PartialEq, Default)]
    #[serde(default)]
    struct Rejection {
        error: Option<String>,
    }

    #[derive(Deserialize, Debug)]
    struct Key {
        kty: String,
    }

    fn body(text: &'static str) -> JsonBody {
        JsonBody(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn null_is_no_body_and_an_object_without_members() {
        for text in ["null", "null\n", " \r\n null\t"] {
            let body = body(text);
            assert_eq!(body.read_or_default::<Rejection>().ok(), Some(Rejection::default()), "{text:?}");
            assert_eq!(
                body.read_request_or_default::<Rejection>().ok(),
                Some(Rejection::default()),
                "{text:?}"
            );
            assert_eq!(body.read::<Rejection>().ok(), Some(Rejection::default()), "{text:?}");
            assert!(body.read_object::<Rejection>().is_err(), "{text:?}");
            let missed = read_json::<Key>(text.as_bytes()).unwrap_err();
            assert!(missed.contains("missing field `kty`"), "{missed}");
        }
        assert_eq!(read_json::<Key>(br#"{"kty": "EC"}"#).unwrap().kty, "EC");
    }

    #[test]
    fn what_only_looks_like_null_is_refused() {
        for text in ["nul", "nullx", "null null", "\"null\"", "[null]", "[]", "0"] {
            let body = body(text);
            assert!(body.read_or_default::<Rejection>().is_err(), "{text}");
            assert!(body.read_request_or_default::<Rejection>().is_err(), "{text}");
            assert!(body.read::<Rejection>().is_err(), "{text}");
        }
    }

    #[test]
    fn without_a_body_only_what_may_be_left_out_is_read() {
        let body = body("");
        assert_eq!(body.read_or_default::<Rejection>().ok(), Some(Rejection::default()));
        assert_eq!(body.read_request_or_default::<Rejection>().ok(), Some(Rejection::default()));
        assert!(body.read::<Rejection>().is_err());
    }
}
