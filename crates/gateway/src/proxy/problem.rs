//! The gateway's own answers about what went wrong on the way (RFC 9457).

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;

use super::body::ProxyBody;
use super::fault::Fault;
use super::headers::Malformed;

/// The answer to a request that goes nowhere.
pub(super) fn malformed(why: Malformed) -> Response<ProxyBody> {
    problem(why.status(), why.reason(), &why)
}

/// The answer to a request without an answer.
pub(super) fn fault(fault: Fault) -> Response<ProxyBody> {
    let mut response = problem(fault.status(), fault.label(), &fault);
    if fault.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// `title` is a fixed sentence without quotes.
fn problem(status: StatusCode, code: &str, title: &dyn std::fmt::Display) -> Response<ProxyBody> {
    let status_number = status.as_u16();
    let body = format!(
        "{{\"type\":\"urn:sluice:problem:{code}\",\"title\":\"{title}\",\"status\":{status_number},\"code\":\"{code}\"}}"
    );
    let mut response = Response::new(ProxyBody::Own(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
