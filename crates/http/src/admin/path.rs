//! Path parameters of the admin API: axum's, but what is refused is refused in the shape that all errors here have.

use std::borrow::Cow;

use axum::extract::{FromRequestParts, Path as AnyPath};
use http::Uri;
use http::request::Parts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str};
use serde::de::DeserializeOwned;

use crate::respond::AdminError;

/// What is encoded in a segment of a path: all but the unreserved characters (RFC 3986 §2.3).
pub(super) const IN_A_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parameters of the path, percent-decoded.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = AdminError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, AdminError> {
        match AnyPath::from_request_parts(parts, state).await {
            Ok(AnyPath(parameters)) => Ok(Self(parameters)),
            Err(_) => Err(no_text()),
        }
    }
}

/// Where no router has taken the path apart: its last segment, percent-decoded.
pub(super) fn last_segment(uri: &Uri) -> Result<Cow<'_, str>, AdminError> {
    let raw = uri.path().rsplit('/').next().unwrap_or_default();
    percent_decode_str(raw).decode_utf8().map_err(|_| no_text())
}

fn no_text() -> AdminError {
    AdminError::malformed("The path is not valid UTF-8 once percent-decoded.".to_owned())
}
