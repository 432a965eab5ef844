//! What the gateway serves itself: the metadata of protected resources (RFC 9728 §3), and the public keys of phantom tokens.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW,
    CACHE_CONTROL, CONTENT_TYPE,
};
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;

use super::GatewayParts;
use crate::authn::Asked;
use crate::route::WELL_KNOWN;

/// The document that is asked for, if it is one of the gateway's.
pub(super) fn find(parts: &GatewayParts, asked: &Asked<'_>) -> Option<Response<Full<Bytes>>> {
    if let Some(phantom) = &parts.phantom
        && phantom.jwks_path.as_deref() == Some(asked.path)
    {
        return Some(document(asked.method, phantom.signer.jwks()));
    }
    if !asked.path.starts_with(WELL_KNOWN) {
        return None;
    }
    let table = parts.routes.load();
    let resource = table.resource(asked.host, asked.path)?;
    // Others are told about it without it.
    let is_read = matches!(*asked.method, Method::GET | Method::HEAD);
    let metadata = is_read.then(|| table.metadata(resource, parts.validation.issuer()));
    Some(document(asked.method, Bytes::from(metadata.unwrap_or_default())))
}

/// Open to all, pages of other origins too, whatever headers they ask with.
fn document(method: &Method, document: Bytes) -> Response<Full<Bytes>> {
    let any = HeaderValue::from_static("*");
    match *method {
        Method::GET | Method::HEAD => {
            let mut response = Response::new(Full::new(document));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, any);
            response
        }
        Method::OPTIONS => {
            let mut response = without_body(StatusCode::NO_CONTENT);
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD"));
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, any.clone());
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, any);
            response
        }
        _ => without_body(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// An answer that says with which methods there is a document.
fn without_body(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
    response
}
