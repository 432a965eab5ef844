//! Questions that cannot be understood: mistakes in the configuration of the asking proxy, or a host that is none, answered to it with a sentence.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;

use super::body::DecisionBody;

/// What is wrong with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    /// It has more lines of headers than a request may have.
    #[error("the request has too many header lines")]
    Lines,
    /// The proxy must send this header.
    #[error("the header {0} is missing")]
    Missing(&'static str),
    /// More than one: one of them may be the client's own.
    #[error("there is more than one header {0}")]
    Repeated(&'static str),
    /// It does not hold what it must.
    #[error("the header {0} cannot be read")]
    Unreadable(&'static str),
    /// The certificate that the proxy passes on is none.
    #[error("the client's certificate cannot be read")]
    Certificate,
    /// The proxy is on none of the networks that may ask.
    #[error("decisions are for trusted proxies: add the network of this one to trusted_proxies")]
    Stranger,
    /// The proxy must speak TLS.
    #[error("this port is reached over TLS only")]
    PlainHttp,
    /// Nothing is here.
    #[error("there is no such decision")]
    NoSuchDecision,
    /// gRPC is spoken with `POST` and its own content type.
    #[error("this is a gRPC service")]
    NotGrpc,
}

impl Malformed {
    /// Whether a client can be to blame, and not the asking proxy: for too many lines, or what it takes for a host or a path.
    pub(super) fn may_be_of_client(self) -> bool {
        match self {
            Self::Lines | Self::Missing("host") => true,
            Self::Unreadable(name) => name == "path" || name.ends_with("host") || name.ends_with("-uri"),
            Self::Missing(_)
            | Self::Repeated(_)
            | Self::Certificate
            | Self::Stranger
            | Self::PlainHttp
            | Self::NoSuchDecision
            | Self::NotGrpc => false,
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::Lines => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Missing(_) | Self::Repeated(_) | Self::Unreadable(_) | Self::Certificate => {
                StatusCode::BAD_REQUEST
            }
            Self::Stranger => StatusCode::FORBIDDEN,
            Self::PlainHttp => StatusCode::BAD_GATEWAY,
            Self::NoSuchDecision => StatusCode::NOT_FOUND,
            Self::NotGrpc => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    /// The answer (RFC 9457).
    pub(super) fn response(self) -> Response<DecisionBody> {
        let status = self.status();
        let problem = serde_json::json!({
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": self.to_string(),
        });
        let mut response = Response::new(Full::new(Bytes::from(problem.to_string())).into());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
