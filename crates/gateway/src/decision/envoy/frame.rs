//! One message of gRPC in, one out (gRPC over HTTP/2, "Length-Prefixed-Message").

use bytes::{BufMut, Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use prost::Message;

use crate::decision::body::DecisionBody;

/// A flag, and four bytes of length.
const PREFIX: usize = 5;

const CONTENT: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Why a call fails before it is a question (gRPC status codes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// No message, more than one, or one that breaks the format: `INVALID_ARGUMENT`.
    Unreadable,
    /// It did not come in time: `DEADLINE_EXCEEDED`.
    TooSlow,
    /// `PERMISSION_DENIED`.
    Stranger,
    /// Longer than [`super::check::MAX_QUESTION`]: `RESOURCE_EXHAUSTED`.
    TooLong,
    /// Compressed: `UNIMPLEMENTED`.
    Compressed,
}

impl Fault {
    /// What it would be over HTTP.
    pub(super) const fn http_status(self) -> StatusCode {
        match self {
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Stranger => StatusCode::FORBIDDEN,
            Self::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Compressed => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    /// The sentence of the answer.
    pub(super) const fn sentence(self) -> &'static str {
        self.status().1
    }

    const fn status(self) -> (&'static str, &'static str) {
        match self {
            Self::Unreadable => ("3", "no readable CheckRequest"),
            Self::TooSlow => ("4", "the CheckRequest did not come in time"),
            Self::Stranger => {
                ("7", "decisions are for trusted proxies: add the network of this one to trusted_proxies")
            }
            Self::TooLong => ("8", "the CheckRequest is too long: do not send the body of the request"),
            Self::Compressed => ("12", "compressed messages are not understood"),
        }
    }

    /// The answer: headers only.
    pub(super) fn response(self) -> Response<DecisionBody> {
        let (status, message) = self.status();
        let mut response = Response::new(DecisionBody::default());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, CONTENT);
        headers.insert(STATUS, HeaderValue::from_static(status));
        headers.insert(MESSAGE, HeaderValue::from_static(message));
        response
    }
}

/// The only message of `body`.
///
/// # Errors
/// [`Fault`]: it is not there, or cannot be read.
pub(super) fn decode<M: Message + Default>(body: &Bytes) -> Result<M, Fault> {
    let (&[compressed, a, b, c, d], message) = body.split_first_chunk::<PREFIX>().ok_or(Fault::Unreadable)?;
    if compressed != 0 {
        return Err(Fault::Compressed);
    }
    if usize::try_from(u32::from_be_bytes([a, b, c, d])) != Ok(message.len()) {
        return Err(Fault::Unreadable);
    }
    M::decode(message).map_err(|_| Fault::Unreadable)
}

/// The answer with `message`, and trailers that say that all went well.
pub(super) fn response(message: &impl Message) -> Response<DecisionBody> {
    let length = message.encoded_len();
    let mut frame = BytesMut::with_capacity(PREFIX + length);
    frame.put_u8(0);
    frame.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    frame.put_slice(&message.encode_to_vec());
    let trailers = HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0"))]);
    let mut response = Response::new(DecisionBody::with_trailers(frame.freeze(), trailers));
    response.headers_mut().insert(CONTENT_TYPE, CONTENT);
    response
}
