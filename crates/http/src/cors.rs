//! Who may read answers across origins (Fetch §3.2). Configured origins, and those a client registered for itself.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, CONTENT_TYPE, HeaderValue, ORIGIN, VARY,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sluice_oauth::client::ClientDirectory;
use sluice_oauth::client_auth::Presented;
use sluice_protocol::{ClientId, Parameters};

use crate::extract::MAX_FORM;

/// What is allowed across origins (Hydra's `serve.public.cors`).
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the fields are Hydra's keys of the same name")]
pub struct CorsPolicy {
    pub allowed_origins: Vec<String>,
    pub allowed_methods: Vec<String>,
    pub allowed_headers: Vec<String>,
    pub exposed_headers: Vec<String>,
    pub allow_credentials: bool,
    pub max_age: Duration,
}

/// A policy and the clients whose own origins count too.
#[derive(Clone)]
pub(crate) struct Cors {
    pub(crate) policy: Arc<CorsPolicy>,
    pub(crate) clients: Option<Arc<ClientDirectory>>,
}

/// Answers preflights and marks answers that may be read.
pub(crate) async fn layer(State(cors): State<Cors>, request: Request, next: Next) -> Response {
    let Some(origin) = request.headers().get(ORIGIN).cloned() else { return next.run(request).await };
    let (request, client) = match client_of(&request) {
        Some(client) => (request, Some(client)),
        None if is_form(&request) => match client_of_form(request).await {
            Ok(found) => found,
            Err(refused) => return refused,
        },
        None => (request, None),
    };
    let preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    // A preflight does not say which client will speak: the origin of any client may ask, the answer is checked again.
    let allowed = cors.allows(&origin, client.as_ref(), preflight).await;
    let mut response =
        if preflight { (StatusCode::NO_CONTENT, Body::empty()).into_response() } else { next.run(request).await };
    response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
    if allowed {
        cors.policy.mark(response.headers_mut(), origin, preflight);
    }
    response
}

impl Cors {
    async fn allows(&self, origin: &HeaderValue, client: Option<&ClientId>, preflight: bool) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        if self.policy.allowed_origins.iter().any(|pattern| matches(pattern, origin)) {
            return true;
        }
        let Some(clients) = &self.clients else { return false };
        let Some(id) = client else { return preflight };
        let client = clients.find(id).await.ok().flatten();
        client.is_some_and(|client| client.allowed_cors_origins.iter().any(|pattern| matches(pattern, origin)))
    }
}

impl CorsPolicy {
    fn mark(&self, headers: &mut HeaderMap, origin: HeaderValue, preflight: bool) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.allow_credentials {
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        let mut list = |name, values: &[String]| {
            if let Ok(value) = HeaderValue::from_str(&values.join(", ")) {
                headers.insert(name, value);
            }
        };
        if preflight {
            list(ACCESS_CONTROL_ALLOW_METHODS, &self.allowed_methods);
            list(ACCESS_CONTROL_ALLOW_HEADERS, &self.allowed_headers);
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(self.max_age.as_secs()));
        } else if !self.exposed_headers.is_empty() {
            list(ACCESS_CONTROL_EXPOSE_HEADERS, &self.exposed_headers);
        }
    }
}

/// `*`, an origin, or an origin with one `*` in it (`https://*.example.com`), which stands for at least one character and
/// never for a slash.
fn matches(pattern: &str, origin: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == origin,
        Some(("", "")) => true,
        Some((before, after)) => {
            let middle = origin.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            middle.is_some_and(|middle| !middle.is_empty() && !middle.contains('/'))
        }
    }
}

/// Whether the body is a form that may name the client.
fn is_form(request: &Request) -> bool {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|text| text.starts_with("application/x-www-form-urlencoded"))
}

/// Reads the form for the client's id, and puts it back.
async fn client_of_form(request: Request) -> Result<(Request, Option<ClientId>), Response> {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, MAX_FORM).await;
    let bytes = bytes.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE.into_response())?;
    let form = Parameters::parse(&bytes, MAX_FORM, &["resource", "audience"]).ok();
    let client = form.and_then(|form| form.get("client_id")?.parse().ok());
    Ok((Request::from_parts(parts, Body::from(bytes)), client))
}

/// The client that a request names in its query or by HTTP Basic.
fn client_of(request: &Request) -> Option<ClientId> {
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let named = Parameters::parse(query, 16 * 1024, &["resource", "audience"]).ok()?;
    if let Some(id) = named.get("client_id") {
        return id.parse().ok();
    }
    let header = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    match Presented::read(Some(header), &Parameters::default()).ok()? {
        Presented::Basic { client, .. } => Some(client),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn an_origin_matches_itself_or_a_pattern() {
        assert!(matches("https://a.example", "https://a.example"));
        assert!(matches("https://*.example", "https://a.example"));
        assert!(!matches("https://*.example", "https://.example"));
        assert!(!matches("https://*.example", "https://a.example.evil"));
        assert!(!matches("https://a.example", "https://a.example:444"));
        assert!(matches("*", "https://anything"));
    }
}
