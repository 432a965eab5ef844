//! Who may use the admin port: who bears its credential or, if it is open, whoever reaches it – but for pages of other sites in the
//! browser of somebody who reaches it.
//!
//! A browser says in `Sec-Fetch-Site` where a request comes from, but over plain http only to its own machine; and in `Origin`, which
//! it leaves out of a read. Such a read tells a page nothing, unless the name of its own site was made to lead here (DNS rebinding):
//! then `Host` is that name. Programs use whatever name they like, if they do not look like a browser.
//!
//! Introspection is for whoever asks, if there is no list of names: a proxy may hand on the headers of the browser whose token it
//! asks about, and a page learns only of a token that it has.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{ACCEPT_LANGUAGE, AsHeaderName, HOST, ORIGIN, USER_AGENT, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sluice_primitives::Secret;

use crate::cors::CorsPolicy;
use crate::extract::{bearer, bears_one_of};
use crate::respond::AdminError;

const SEC_FETCH_MODE: &str = "sec-fetch-mode";
const SEC_FETCH_SITE: &str = "sec-fetch-site";
/// The ends of names that nobody can register, so that no page has them but one of this network. Of `arpa` that is one name
/// alone (RFC 8375): those below `ip6.arpa` belong to whoever has the addresses.
const PRIVATE: [&str; 9] =
    ["localhost", "local", "internal", "svc", "home.arpa", "lan", "home", "corp", "consul"];
/// Where tokens are introspected, as the routes have it.
pub(crate) const INTROSPECTION: &str = "/admin/oauth2/introspect";
/// What Hydra says where a credential is missing or wrong.
const UNAUTHORIZED: &str = "The request could not be authorized";
/// RFC 6750 §3. The CLI knows the port by it.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"sluice admin\"");
/// What Hydra says where something is forbidden.
const FORBIDDEN: &str = "The requested action was forbidden";

/// Who may use the admin API.
#[derive(Clone)]
pub(crate) enum AdminGuard {
    /// Who bears one of these (RFC 6750).
    Credential(Arc<[Secret<String>]>),
    /// Who reaches it.
    Open(Arc<OpenPort>),
}

/// What is known about who speaks to an open admin port.
#[derive(Debug, Default)]
pub(crate) struct OpenPort {
    /// The origins whose pages may speak: those that are named.
    pub(crate) cors: Option<Arc<CorsPolicy>>,
    /// The public names that it is reached at; any, if there are none.
    pub(crate) hosts: Vec<String>,
}

/// Why a request is turned away from an open port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// A page of another site sent it.
    Site,
    /// It is for a name that may be that of another site.
    Host,
}

impl Stranger {
    const fn description(self) -> &'static str {
        match self {
            Self::Site => "A page of another origin sent this request; see serve.admin.cors.",
            Self::Host => {
                "The admin port is not known to browsers under this host name; see serve.admin.allowed_hosts."
            }
        }
    }
}

impl AdminGuard {
    /// Whether a request would be let in.
    pub(crate) fn admits(&self, asked: (&Method, &Uri), headers: &HeaderMap) -> bool {
        match self {
            Self::Credential(expected) => bears_one_of(headers, expected),
            Self::Open(port) => port.check(asked, headers).is_ok(),
        }
    }
}

/// Lets a request in, or says why not.
pub(crate) async fn layer(State(guard): State<AdminGuard>, request: Request, next: Next) -> Response {
    match &guard {
        AdminGuard::Credential(expected) if !bears_one_of(request.headers(), expected) => {
            unauthorized(request.headers())
        }
        AdminGuard::Credential(_) => next.run(request).await,
        AdminGuard::Open(port) => match port.check((request.method(), request.uri()), request.headers()) {
            Ok(()) => next.run(request).await,
            Err(stranger) => {
                let description = stranger.description().to_owned();
                AdminError::of(StatusCode::FORBIDDEN, FORBIDDEN, description).into_response()
            }
        },
    }
}

fn unauthorized(headers: &HeaderMap) -> Response {
    let description = match bearer(headers) {
        None => "The admin port asks for a bearer token, and none was sent; see serve.admin.bearer_token.",
        Some(_) => "The bearer token is another than serve.admin.bearer_token.",
    };
    let refusal = AdminError::of(StatusCode::UNAUTHORIZED, UNAUTHORIZED, description.to_owned());
    let mut response = refusal.into_response();
    response.headers_mut().insert(WWW_AUTHENTICATE, CHALLENGE);
    response
}

impl OpenPort {
    fn check(&self, (method, uri): (&Method, &Uri), headers: &HeaderMap) -> Result<(), Stranger> {
        let authority = uri.authority().map(Authority::as_str).or_else(|| text(headers, HOST));
        let is_foreign = authority.is_some_and(|authority| self.is_foreign(authority));
        if is_foreign && !self.hosts.is_empty() {
            return Err(Stranger::Host);
        }
        if method == Method::POST && uri.path() == INTROSPECTION {
            return Ok(());
        }
        let origin = text(headers, ORIGIN);
        let is_allowed = || self.cors.as_ref().zip(origin).is_some_and(|(cors, origin)| cors.names(origin));
        match text(headers, SEC_FETCH_SITE) {
            // Said only where the host has shown a certificate, or is this machine.
            Some("same-origin" | "none") => return Ok(()),
            Some("same-site" | "cross-site") if !is_allowed() => return Err(Stranger::Site),
            _ => {}
        }
        if headers.contains_key(ORIGIN) && !is_allowed() && !is_own(origin, authority) {
            return Err(Stranger::Site);
        }
        if is_foreign && is_of_browser(headers) { Err(Stranger::Host) } else { Ok(()) }
    }

    /// Whether the host is a name that the owner of another site may have made lead here.
    fn is_foreign(&self, authority: &str) -> bool {
        // An IPv6 address is left with its bracket, which has no dot.
        let name = authority.split(':').next().unwrap_or_default().trim_end_matches('.');
        name.contains('.')
            && name.parse::<Ipv4Addr>().is_err()
            && !PRIVATE.iter().any(|private| is_below(name, private))
            && !self.hosts.iter().any(|host| name.eq_ignore_ascii_case(host))
    }
}

/// Whether a name ends in whole labels with this one.
fn is_below(name: &str, end: &str) -> bool {
    let at = name.len().checked_sub(end.len());
    let parts = at.and_then(|at| name.split_at_checked(at));
    parts.is_some_and(|(above, own)| {
        own.eq_ignore_ascii_case(end) && (above.is_empty() || above.ends_with('.'))
    })
}

/// Whether the page is one of this port itself.
fn is_own(origin: Option<&str>, authority: Option<&str>) -> bool {
    let own = origin.and_then(|origin| origin.split_once("://")).map(|(_, own)| own);
    own.zip(authority).is_some_and(|(own, authority)| own.eq_ignore_ascii_case(authority))
}

/// Whether a browser sent it: a script there can change the language, but neither leave it out nor set `Sec-Fetch-Mode`, as the
/// `fetch` of Node.js does. `Referer` tells nothing: Go sends it where a redirect leads.
fn is_of_browser(headers: &HeaderMap) -> bool {
    let has_language = headers.contains_key(ACCEPT_LANGUAGE) && !headers.contains_key(SEC_FETCH_MODE);
    let agent = text(headers, USER_AGENT).unwrap_or_default();
    has_language
        || headers.contains_key(ORIGIN)
        || (agent.starts_with("Mozilla/") && !agent.contains("PowerShell"))
}

fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests;
