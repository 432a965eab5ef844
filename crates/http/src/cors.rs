//! Who may read answers across origins (Fetch §3.2). Configured origins, and those a client registered for itself.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, HeaderName, HeaderValue,
    ORIGIN, VARY,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sluice_oauth::access_token_reader::AccessTokenReader;
use sluice_oauth::client::ClientDirectory;
use sluice_oauth::client_auth::{Presented, named_client};
use sluice_protocol::{ClientId, Parameters};

use crate::extract::{MAX_FORM, access_token, is_form, whole};

/// What an application sends that proves a key, and reads, whatever is configured (RFC 9449 §8, §9): also when it may come
/// again (RFC 9110 §10.2.3).
const SENT: &[&str] = &["DPoP"];
const READ: &[&str] = &["DPoP-Nonce", "Retry-After", "WWW-Authenticate"];
/// What answers have besides what every page may read. With credentials `*` stands for none of it (Fetch §3.3.5).
const ALL_READ: &[&str] =
    &["DPoP-Nonce", "Link", "Location", "Retry-After", "WWW-Authenticate", "X-Request-Id", "X-Total-Count"];
/// A longer list of headers that a page would send is not looked at, in bytes.
const LONGEST_LIST: usize = 2048;

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
    let (request, client) = match cors.client_of(&request) {
        Some(client) => (request, Some(client)),
        None if is_form(request.headers()) => match client_of_form(request).await {
            Ok((request, named)) => {
                let client = named.or_else(|| cors.client_of_token(&request));
                (request, client)
            }
            Err(refused) => return cors.refusal(refused, origin).await,
        },
        None => (request, None),
    };
    let preflight = Preflight::of(&request);
    // A preflight does not say which client will speak: the origin of any client may ask, the answer is checked again.
    let allowed = cors.allows(&origin, client.as_ref(), preflight.is_some()).await;
    let mut response = varying(if preflight.is_some() {
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

/// What a browser asks before it asks.
struct Preflight {
    /// The headers that the page would send, if it is a list of names.
    headers: Option<HeaderValue>,
}

impl Preflight {
    fn of(request: &Request) -> Option<Self> {
        let headers = request.headers();
        let is_one =
            request.method() == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        is_one.then(|| Self { headers: asked_headers(headers) })
    }
}

fn asked_headers(headers: &HeaderMap) -> Option<HeaderValue> {
    let text = headers.get(ACCESS_CONTROL_REQUEST_HEADERS)?.to_str().ok()?;
    let names: Vec<_> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let is_token = |name: &&str| HeaderName::from_bytes(name.as_bytes()).is_ok();
    if text.len() > LONGEST_LIST || names.is_empty() || !names.iter().all(is_token) {
        return None;
    }
    HeaderValue::from_str(&names.join(", ")).ok()
}

impl Cors {
    async fn allows(
        &self,
        origin: &HeaderValue,
        client: Option<&ClientId>,
        preflight: bool,
    ) -> Option<Allowed> {
        let origin = origin.to_str().ok()?;
        let by_policy = allowed_by(&self.policy.allowed_origins, origin);
        if by_policy == Some(Allowed::ByName) {
            return by_policy;
        }
        // Whom the policy lets in like everybody, the client may know by name.
        let by_client = match client {
            Some(id) => self.allowed_by_client(id, origin).await,
            None => (preflight && self.clients.is_some()).then_some(Allowed::ByName),
        };
        by_client.or(by_policy)
    }

    async fn allowed_by_client(&self, id: &ClientId, origin: &str) -> Option<Allowed> {
        let client = self.clients.as_ref()?.find(id).await.ok().flatten()?;
        allowed_by(&client.allowed_cors_origins, origin)
    }

    /// The answer to a form that was not read: it names no client, so the origins of the policy alone may read it.
    async fn refusal(&self, refused: Response, origin: HeaderValue) -> Response {
        let mut refused = varying(refused);
        if let Some(allowed) = self.allows(&origin, None, false).await {
            self.policy.mark(refused.headers_mut(), (origin, allowed), None);
        }
        refused
    }

    /// The client that a request names, as far as that is told without its body. Whoever takes a form looks for its client by HTTP Basic and in
    /// it: one that stands in the query besides, or bears a token, is not who speaks.
    fn client_of(&self, request: &Request) -> Option<ClientId> {
        let by_basic = || client_of_basic(request.headers());
        if is_form(request.headers()) {
            return by_basic();
        }
        client_of_query(request).or_else(by_basic).or_else(|| self.client_of_token(request))
    }

    /// The client of the access token that a request bears, whether or not it still holds.
    fn client_of_token(&self, request: &Request) -> Option<ClientId> {
        let (_, token) = access_token(request.headers())?;
        Some(self.tokens.as_ref()?.authentic(token).ok()?.client)
    }
}

impl CorsPolicy {
    /// The same for what is no secret from anybody: all may read it, whom nobody names without the user's cookies.
    pub(crate) fn for_anybody(&self) -> Self {
        let mut policy = self.clone();
        policy.allowed_origins.push("*".to_owned());
        policy
    }

    /// Whether this origin, or the end of its host, is named. `*` names nobody: it says who may read what anybody may ask for, and not
    /// who may ask in the name of whoever has a page open.
    pub(crate) fn names(&self, origin: &str) -> bool {
        self.allowed_origins.iter().any(|pattern| is_name(pattern) && matches(pattern, origin))
    }

    fn mark(
        &self,
        headers: &mut HeaderMap,
        (origin, allowed): (HeaderValue, Allowed),
        preflight: Option<Preflight>,
    ) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.allow_credentials && allowed == Allowed::ByName {
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        let Some(preflight) = preflight else {
            let own = if has_all(&self.exposed_headers) { ALL_READ } else { READ };
            list(headers, ACCESS_CONTROL_EXPOSE_HEADERS, &self.exposed_headers, own);
            return;
        };
        list(headers, ACCESS_CONTROL_ALLOW_METHODS, &self.allowed_methods, &[]);
        if has_all(&self.allowed_headers) {
            // With credentials `*` stands for no header, and without for any but `Authorization`: what is asked for is named.
            headers.append(VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
            if let Some(asked) = preflight.headers {
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked);
            }
        } else {
            list(headers, ACCESS_CONTROL_ALLOW_HEADERS, &self.allowed_headers, SENT);
        }
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(self.max_age.as_secs()));
    }
}

fn has_all(names: &[String]) -> bool {
    names.iter().any(|name| name == "*")
}

/// Sets a header to what is configured and, behind it, what is there in any case.
fn list(headers: &mut HeaderMap, name: HeaderName, values: &[String], own: &[&str]) {
    let configured = |own: &&&str| values.iter().any(|value| value.eq_ignore_ascii_case(own));
    let own = own.iter().filter(|own| !configured(own)).copied();
    let all: Vec<_> = values.iter().map(String::as_str).chain(own).collect();
    if let Ok(value) = HeaderValue::from_str(&all.join(", ")) {
        headers.insert(name, value);
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
/// never for a slash. Scheme and host are the same in either case (RFC 3986 §6.2.2.1).
fn matches(pattern: &str, origin: &str) -> bool {
    let (pattern, origin) = (pattern.to_ascii_lowercase(), origin.to_ascii_lowercase());
    match pattern.split_once('*') {
        None => pattern == origin,
        Some((before, after)) => {
            let middle = origin.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            middle.is_some_and(|middle| !middle.is_empty() && !middle.contains('/'))
        }
    }
}

/// Reads the form for the client's id, and puts it back. Who signs an assertion need not name it besides (RFC 7521 §4.2): then it is whom the
/// assertion is about, which nobody has checked, and which only says whose origins are looked at.
async fn client_of_form(request: Request) -> Result<(Request, Option<ClientId>), Response> {
    let (parts, body) = request.into_parts();
    let bytes = whole(body, MAX_FORM).await.map_err(|none| none.status().into_response())?;
    let form = Parameters::parse(&bytes, MAX_FORM, &["resource", "audience"]).ok();
    let client = form.and_then(|form| match form.get("client_id") {
        Some(named) => named.parse().ok(),
        None => named_client(None, &bytes)?.parse().ok(),
    });
    Ok((Request::from_parts(parts, Body::from(bytes)), client))
}

/// The client that a request names in its query.
fn client_of_query(request: &Request) -> Option<ClientId> {
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let named = Parameters::parse(query, 16 * 1024, &["resource", "audience"]).ok()?;
    named.get("client_id")?.parse().ok()
}

/// The client that a request names by HTTP Basic, also without a secret.
fn client_of_basic(headers: &HeaderMap) -> Option<ClientId> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    match Presented::read(Some(header), &Parameters::default()).ok()? {
        Presented::Basic { client, .. } | Presented::Public { client } => Some(client),
        Presented::Post { .. } | Presented::Assertion { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an answer is marked with, by these lists of `allowed_headers` and `exposed_headers`.
    fn marked((allowed, exposed): (&[&str], &[&str]), preflight: Option<Preflight>) -> HeaderMap {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let policy = CorsPolicy {
            allowed_origins: list(&["https://a.example"]),
            allowed_methods: list(&["GET", "POST"]),
            allowed_headers: list(allowed),
            exposed_headers: list(exposed),
            allow_credentials: true,
            max_age: Duration::ZERO,
        };
        let mut headers = HeaderMap::new();
        let origin = HeaderValue::from_static("https://a.example");
        policy.mark(&mut headers, (origin, Allowed::ByName), preflight);
        headers
    }

    /// What a page is told that would send the headers that are asked for.
    fn told(allowed: &[&str], asked: Option<&str>) -> HeaderMap {
        let request = http::Request::builder().method(Method::OPTIONS);
        let request = request.header(ACCESS_CONTROL_REQUEST_METHOD, "POST");
        let request = match asked {
            Some(asked) => request.header(ACCESS_CONTROL_REQUEST_HEADERS, asked),
            None => request,
        };
        let preflight = Preflight::of(&request.body(Body::empty()).unwrap());
        assert!(preflight.is_some());
        marked((allowed, &[]), preflight)
    }

    #[test]
    fn where_all_headers_are_allowed_those_that_are_asked_for_are_named() {
        let all = told(&["*"], Some("authorization,x-own"));
        assert_eq!(all[ACCESS_CONTROL_ALLOW_HEADERS], "authorization, x-own");
        assert_eq!(all[VARY], "Access-Control-Request-Headers");
        assert_eq!(told(&["Accept", "*"], Some("dpop"))[ACCESS_CONTROL_ALLOW_HEADERS], "dpop");
        let long = "a".repeat(LONGEST_LIST + 1);
        for no_list in [None, Some(""), Some(" ,"), Some("x-a x-b"), Some("x-a, (x)"), Some(long.as_str())] {
            let answer = told(&["*"], no_list);
            assert!(!answer.contains_key(ACCESS_CONTROL_ALLOW_HEADERS), "{no_list:?}");
            assert!(answer.contains_key(VARY) && answer.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
        }
        let named = told(&["Authorization"], Some("x-own"));
        assert_eq!(named[ACCESS_CONTROL_ALLOW_HEADERS], "Authorization, DPoP");
        assert!(!named.contains_key(VARY));
    }

    #[test]
    fn where_all_headers_may_be_read_those_of_answers_are_named() {
        let readable = |exposed: &[&str]| {
            let headers = marked((&[], exposed), None);
            headers[ACCESS_CONTROL_EXPOSE_HEADERS].to_str().unwrap().to_owned()
        };
        assert_eq!(readable(&["link"]), "link, DPoP-Nonce, Retry-After, WWW-Authenticate");
        let all = "*, link, DPoP-Nonce, Location, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count";
        assert_eq!(readable(&["*", "link"]), all);
    }

    #[test]
    fn an_origin_matches_itself_or_a_pattern() {
        assert!(matches("https://a.example", "https://a.example"));
        assert!(matches("https://*.example", "https://a.example"));
        assert!(!matches("https://*.example", "https://.example"));
        assert!(!matches("https://*.example", "https://a.example.evil"));
        assert!(!matches("https://a.example", "https://a.example:444"));
        assert!(matches("HTTPS://A.example", "https://a.EXAMPLE"));
        assert!(matches("https://*.Example", "https://A.example"));
        let patterns = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        assert_eq!(allowed_by(&patterns(&["*"]), "https://anything"), Some(Allowed::AsAnybody));
        assert_eq!(
            allowed_by(&patterns(&["*", "https://a.example"]), "https://a.example"),
            Some(Allowed::ByName)
        );
        assert_eq!(allowed_by(&patterns(&["https://a.example"]), "https://b.example"), None);
    }
}
