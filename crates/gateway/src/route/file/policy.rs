//! Who may pass a route.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::section::Section;
use super::{resource, value};
use crate::route::{AuthMode, Preflight, RoutePolicy, TokenSources};
use crate::validation::Lookups;

/// Keys that say something about a token, and nothing where tokens are not looked at.
const OF_TOKENS: [&str; 9] = [
    "token",
    "issuers",
    "scopes",
    "any_scope",
    "audience",
    "subject",
    "dpop_nonce",
    "stale",
    "phantom_token",
];
/// What is said of such a key.
pub(super) const NO_EFFECT: &str = "has no effect with `auth: none`";

/// Reads who may pass.
pub(super) fn read(section: &mut Section<'_>, issuers: &BTreeSet<Arc<str>>) -> Option<RoutePolicy> {
    let auth = section.read("auth").unwrap_or_default();
    for key in OF_TOKENS {
        if auth == AuthMode::None && section.has(key) {
            section.mistake(key, NO_EFFECT);
        }
    }
    if auth == AuthMode::None && section.has("resource") {
        section.mistake("resource", "would have clients bring tokens, which `auth: none` does not look at");
    }
    let sources = section.section("token").map(sources).unwrap_or_default();
    let resource = section.section("resource").map(|section| resource::read(section, &sources));
    let known = |text: &str| match issuers.get(text) {
        Some(name) => Ok(name.clone()),
        None => Err(format!(
            "no such issuer; there are {}",
            issuers.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
        )),
    };
    let preflight: Preflight = section.read("preflight").unwrap_or_default();
    if preflight != Preflight::Pass && section.has("cors_credentials") {
        section.mistake("cors_credentials", "has no effect without `preflight: pass`");
    }
    let policy = RoutePolicy {
        auth,
        sources,
        issuers: section.narrowing("issuers", "`sluice` alone", known),
        foreign_issuers: Vec::new(),
        scopes: section.narrowing("scopes", "none", value::scope),
        any_scope: section.narrowing("any_scope", "none", value::scope),
        audience: section.narrowing("audience", "any", value::text),
        subject: section.read("subject"),
        dpop_nonce: section.read("dpop_nonce").unwrap_or(false),
        preflight,
        cors_credentials: section.list("cors_credentials", value::origin),
        stale: section.read("stale").unwrap_or_default(),
        resource: match resource {
            Some(resource) => Some(resource?),
            None => None,
        },
        lookups: Lookups::default(),
    };
    Some(policy)
}

/// Where tokens are looked for.
fn sources(mut section: Section<'_>) -> TokenSources {
    let sources = TokenSources {
        authorization: section.read("authorization").unwrap_or(true),
        header: section.parse("header", token_header),
        cookie: section.parse("cookie", cookie),
        origins: section.list("origins", value::origin),
    };
    if sources.cookie.is_none() && !sources.origins.is_empty() {
        section.mistake("origins", "has no effect without `cookie`");
    }
    if !sources.authorization && sources.header.is_none() && sources.cookie.is_none() {
        section.mistake("", "a token must be somewhere: in `authorization`, a `header` or a `cookie`");
    }
    section.finish();
    sources
}

fn token_header(text: &str) -> Result<http::HeaderName, &'static str> {
    match value::set_header(text)? {
        http::header::AUTHORIZATION => Err("this is what `authorization: true` says"),
        http::header::COOKIE => Err("this is what `cookie` is for"),
        name => Ok(name),
    }
}

/// The name of a cookie (RFC 6265 §4.1.1).
fn cookie(text: &str) -> Result<String, &'static str> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_fit) {
        Ok(text.to_owned())
    } else {
        Err("must be the name of a cookie")
    }
}
