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
use crate::route::{Resource, RouteTable};

/// What the paths of metadata begin with.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

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
    let is_it = |resource: &&Resource| resource.metadata_path == asked.path;
    let is_nearly_it =
        |resource: &&Resource| without_slash(&resource.metadata_path) == without_slash(asked.path);
    // Some clients leave a slash at the end out. Of two identifiers that differ in it each has its own document.
    let found = resources(&table, asked.host).find(is_it);
    let resource = found.or_else(|| resources(&table, asked.host).find(is_nearly_it))?;
    Some(document(asked.method, Bytes::copy_from_slice(resource.metadata.as_bytes())))
}

/// The protected resources of `host`.
fn resources<'a>(table: &'a RouteTable, host: &'a str) -> impl Iterator<Item = &'a Resource> {
    let resources = table.routes().iter().filter_map(|route| route.policy.resource.as_ref());
    resources.filter(move |resource| is_host(authority(&resource.metadata_url), host))
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
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

fn authority(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    after_scheme.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Whether two authorities are the same host; the port of https needs no mention.
fn is_host(left: &str, right: &str) -> bool {
    let bare = |authority: &'_ str| authority.len() - if authority.ends_with(":443") { 4 } else { 0 };
    let bare_of = |authority| str::get(authority, ..bare(authority)).unwrap_or(authority);
    bare_of(left).eq_ignore_ascii_case(bare_of(right))
}
