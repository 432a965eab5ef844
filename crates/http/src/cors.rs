//! Who may read answers across origins (Fetch §3.2). Configured origins, and those a client registered for itself.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_TYPE, HeaderValue, ORIGIN, VARY,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sluice_oauth::access_token_reader::AccessTokenReader;
use sluice_oauth::client::ClientDirectory;
use sluice_oauth::client_auth::Presented;
use sluice_protocol::{ClientId, Parameters};

use crate::extract::{MAX_FORM, access_token, whole};

/// What an application sends that proves a key, and reads, whatever is configured (RFC 9449 §8, §9): also when it may come
/// again (RFC 9110 §10.2.3).
const SENT: &[&str] = &["DPoP"];
const READ: &[&str] = &["DPoP-Nonce", "Retry-After", "WWW-Authenticate"];

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

/// A policy and the clients whose own origins count too: those that name themselves, and those of an access token.
#[derive(Clone)]
pub(crate) struct Cors {
    pub(crate) policy: Arc<CorsPolicy>,
    pub(crate) clients: Option<Arc<ClientDirectory>>,
    pub(crate) tokens: Option<Arc<AccessTokenReader>>,
}

/// Answers preflights and marks answers that may be read.
pub(crate) async fn layer(State(cors): State<Cors>, request: Request, next: Next) -> Response {
    let Some(origin) = request.headers().get(ORIGIN).cloned() else {
        // Kept by a cache, it would be given to a page, which could not read it.
        return varying(next.run(request).await);
    };
    let (request, client) = match client_of(&request).or_else(|| cors.client_of_token(&request)) {
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
    let mut response = varying(if preflight {
        (StatusCode::NO_CONTENT, Body::empty()).into_response()
    } else {
        next.run(request).await
    });
    if let Some(allowed) = allowed {
        cors.policy.mark(response.headers_mut(), (origin, allowed), preflight);
    }
    response
}

/// Who asks decides what the answer says (Fetch, "CORS protocol and HTTP caches").
fn varying(mut response: Response) -> Response {
    response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
    response
}

impl Cors {
    async fn allows(
        &self,
        origin: &HeaderValue,
        client: Option<&ClientId>,
        preflight: bool,
    ) -> Option<Allowed> {
        let origin = origin.to_str().ok()?;
        if let Some(allowed) = allowed_by(&self.policy.allowed_origins, origin) {
            return Some(allowed);
        }
        let Some(id) = client else {
            return (preflight && self.clients.is_some()).then_some(Allowed::ByName);
        };
        let client = self.clients.as_ref()?.find(id).await.ok().flatten()?;
        allowed_by(&client.allowed_cors_origins, origin)
    }

    /// The client of the access token that a request bears, whether or not it still holds.
    fn client_of_token(&self, request: &Request) -> Option<ClientId> {
        let (_, token) = access_token(request.headers())?;
        Some(self.tokens.as_ref()?.authentic(token).ok()?.client)
    }
}

impl CorsPolicy {
    /// Whether this origin, or the end of its host, is named. `*` names nobody: it says who may read what anybody may ask for, and not
    /// who may ask in the name of whoever has a page open.
    pub(crate) fn names(&self, origin: &str) -> bool {
        self.allowed_origins.iter().any(|pattern| is_name(pattern) && matches(pattern, origin))
    }

    fn mark(&self, headers: &mut HeaderMap, (origin, allowed): (HeaderValue, Allowed), preflight: bool) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.allow_credentials && allowed == Allowed::ByName {
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        let mut list = |name, values: &[String], own: &[&str]| {
            let configured = |own: &&&str| values.iter().any(|value| value.eq_ignore_ascii_case(own));
            let own = own.iter().filter(|own| !configured(own)).copied();
            let all: Vec<_> = values.iter().map(String::as_str).chain(own).collect();
            if let Ok(value) = HeaderValue::from_str(&all.join(", ")) {
                headers.insert(name, value);
            }
        };
        if preflight {
            list(ACCESS_CONTROL_ALLOW_METHODS, &self.allowed_methods, &[]);
            list(ACCESS_CONTROL_ALLOW_HEADERS, &self.allowed_headers, SENT);
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(self.max_age.as_secs()));
        } else {
            list(ACCESS_CONTROL_EXPOSE_HEADERS, &self.exposed_headers, READ);
        }
    }
}

/// How an origin came to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// By its name, or a pattern of it.
    ByName,
    /// By `*`, like everybody: its scripts never act with the user's cookies (Fetch §3.3.5).
    AsAnybody,
}

fn allowed_by(patterns: &[String], origin: &str) -> Option<Allowed> {
    let (anybody, named): (Vec<_>, Vec<_>) = patterns.iter().partition(|pattern| *pattern == "*");
    if named.into_iter().any(|pattern| matches(pattern, origin)) {
        return Some(Allowed::ByName);
    }
    (!anybody.is_empty()).then_some(Allowed::AsAnybody)
}

/// Whether a pattern is for the hosts of somebody: the end of the host is there, or all but the port.
pub fn is_name(pattern: &str) -> bool {
    pattern.split_once('*').is_none_or(|(before, after)| after.contains('.') || before.ends_with(':'))
}

/// An origin, or an origin with one `*` in it (`https://*.example.com`), which stands for at least one character and
/// never for a slash.
fn matches(pattern: &str, origin: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == origin,
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
    let bytes = whole(body, MAX_FORM).await.map_err(|none| none.status().into_response())?;
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
    use super::{Allowed, allowed_by, matches};

    #[test]
    fn an_origin_matches_itself_or_a_pattern() {
        assert!(matches("https://a.example", "https://a.example"));
        assert!(matches("https://*.example", "https://a.example"));
        assert!(!matches("https://*.example", "https://.example"));
        assert!(!matches("https://*.example", "https://a.example.evil"));
        assert!(!matches("https://a.example", "https://a.example:444"));
        let patterns = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        assert_eq!(allowed_by(&patterns(&["*"]), "https://anything"), Some(Allowed::AsAnybody));
        assert_eq!(
            allowed_by(&patterns(&["*", "https://a.example"]), "https://a.example"),
            Some(Allowed::ByName)
        );
        assert_eq!(allowed_by(&patterns(&["https://a.example"]), "https://b.example"), None);
    }
}
