//! A rule, checked and ready for use.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::Deserialize;

use crate::authn::SubjectKind;
use crate::proxy::upstream::UpstreamConfig;
use crate::validation::{IssuerConfig, Lookups, OWN_ISSUER};

/// One route.
#[derive(Debug, Clone)]
pub struct Route {
    /// Its name: in metrics, logs and errors.
    pub name: Arc<str>,
    /// Where requests go; empty for routes that exist for the decisions of other proxies only.
    pub upstreams: Vec<BalancedUpstream>,
    /// What replaces the matched prefix, without a slash at its end. `None`: the path goes on as it came ([`Route::upstream_path`]).
    pub rewrite_prefix: Option<String>,
    /// How many segments of the path `rewrite_prefix` replaces.
    pub prefix_segments: usize,
    /// Whether a `Location` of its answers that leads to the server, or below `rewrite_prefix`, leads back to the route. Default: no; an
    /// application that knows where it is for its clients would have the prefix twice.
    pub rewrite_location: bool,
    /// The most bytes of a request body. `None`: no bound.
    pub max_body: Option<u64>,
    /// The time for all of an exchange, retries included. `None`: no bound. Upgraded connections have none.
    pub total_timeout: Option<Duration>,
    /// Whether the client's `Host` goes to the upstream. Default: yes.
    pub preserve_host: bool,
    /// Who may pass.
    pub policy: RoutePolicy,
    /// What the upstream is told.
    pub enrichment: Enrichment,
    /// How often.
    pub limits: Vec<Limit>,
}

impl Route {
    /// The path that the upstream is asked for when the client asked for `path`, both escaped.
    pub fn upstream_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let Some(prefix) = &self.rewrite_prefix else { return Cow::Borrowed(path) };
        match (prefix.as_str(), path.get(self.prefix_end(path)..).unwrap_or_default()) {
            ("", "") => Cow::Borrowed("/"),
            ("", rest) => Cow::Borrowed(rest),
            (prefix, rest) => Cow::Owned(format!("{prefix}{rest}")),
        }
    }

    /// The other way round: where a client that asked for `asked` finds what the upstream has at `path`, which may have a query or a fragment
    /// behind it. `None`: nowhere, for it is not below `rewrite_prefix`.
    pub fn client_path<'a>(&self, asked: &str, path: &'a str) -> Option<Cow<'a, str>> {
        let Some(replaced) = &self.rewrite_prefix else { return Some(Cow::Borrowed(path)) };
        let rest = path.strip_prefix(replaced.as_str())?;
        if !rest.is_empty() && !rest.starts_with(['/', '?', '#']) {
            return None;
        }
        let prefix = asked.get(..self.prefix_end(asked)).unwrap_or_default();
        let slash = if prefix.is_empty() && !rest.starts_with('/') { "/" } else { "" };
        Some(Cow::Owned(format!("{prefix}{slash}{rest}")))
    }

    /// Where what `rewrite_prefix` replaces ends.
    fn prefix_end(&self, path: &str) -> usize {
        path.match_indices('/').nth(self.prefix_segments).map_or(path.len(), |(at, _)| at)
    }
}

/// An upstream with its share of a route's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalancedUpstream {
    /// The upstream, as the file describes it: a route goes with the upstreams of its own table whatever table is in force meanwhile.
    pub config: Arc<UpstreamConfig>,
    /// Its share beside the other weights.
    pub weight: NonZeroU32,
}

/// Whether a token is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// Without a valid token a request does not pass.
    #[default]
    Required,
    /// A request without a token passes as nobody's; one with an invalid token does not.
    Optional,
    /// Tokens are not looked at.
    None,
}

/// What happens to a CORS preflight (a bodyless `OPTIONS` with `Origin` and `Access-Control-Request-Method`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preflight {
    /// It is judged like any other request.
    #[default]
    Judge,
    /// It passes without a token; browsers send none with it.
    Pass,
}

/// What to do when revocations may have been missed for longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StalePolicy {
    /// Ask the authorization server about each token; if it cannot be asked, 502.
    #[default]
    Ask,
    /// 502.
    Refuse,
    /// Go on with what is known.
    Trust,
}

/// Where the token of a request is looked for. More than one token is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSources {
    /// `Authorization: Bearer` and `Authorization: DPoP`. Default: yes.
    pub authorization: bool,
    /// A further header whose whole value is the token.
    pub header: Option<HeaderName>,
    /// A cookie.
    pub cookie: Option<String>,
    /// Origins whose pages may do something with the token of that cookie, as `Origin` names them, beside the host's own and those of
    /// [`RoutePolicy::cors_credentials`].
    pub origins: Vec<HeaderValue>,
}

impl Default for TokenSources {
    fn default() -> Self {
        Self { authorization: true, header: None, cookie: None, origins: Vec::new() }
    }
}

/// Who may pass a route.
#[derive(Debug, Clone, Default)]
pub struct RoutePolicy {
    /// Whether a token is asked for.
    pub auth: AuthMode,
    /// Where it is.
    pub sources: TokenSources,
    /// Names of the issuers whose tokens count; empty: this installation's only. `sluice` names this installation among others.
    pub issuers: Vec<Arc<str>>,
    /// The other ones among them, as the file describes them: found by [`RouteTable::new`](super::RouteTable::new), so that a route goes with
    /// the issuers of its own table whatever table is in force meanwhile.
    pub foreign_issuers: Vec<Arc<IssuerConfig>>,
    /// Every one of these must have been granted.
    pub scopes: Vec<String>,
    /// At least one of these must have been granted, if there are any.
    pub any_scope: Vec<String>,
    /// The token must be for one of these, if there are any.
    pub audience: Vec<String>,
    /// The caller must be of this kind.
    pub subject: Option<SubjectKind>,
    /// Whether DPoP proofs need a nonce of this gateway.
    pub dpop_nonce: bool,
    /// Preflights. Where they pass, pages of other origins may read what the gateway itself answers.
    pub preflight: Preflight,
    /// Origins whose pages may do so also for requests with what their browsers keep (cookies), as `Origin` names them.
    pub cors_credentials: Vec<HeaderValue>,
    /// Old knowledge.
    pub stale: StalePolicy,
    /// The identifier of the protected resource (RFC 9728); its metadata is served, and refusals point there.
    pub resource: Option<Resource>,
    /// Where the verifications of its tokens are counted.
    pub lookups: Lookups,
}

impl RoutePolicy {
    /// Whether tokens of this installation count.
    #[must_use]
    pub fn takes_own_tokens(&self) -> bool {
        self.issuers.is_empty() || self.issuers.iter().any(|name| **name == *OWN_ISSUER)
    }
}

/// A protected resource (RFC 9728).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its identifier: an https URL.
    pub identifier: String,
    /// Where its metadata is, as an absolute URL.
    pub metadata_url: String,
    /// The path of that URL.
    pub metadata_path: String,
    /// The document, ready to be sent.
    pub metadata: String,
}

/// What the upstream is told about the caller.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the file")]
pub struct Enrichment {
    /// Whether `OAuth-User-Id`, `OAuth-User-Scope` and `OAuth-Client-Id` are set. Default: yes, unless there is a phantom token.
    pub identity_headers: bool,
    /// Whether `OAuth-Country` is set.
    pub country: bool,
    /// Headers with a fixed value.
    pub fixed: Vec<(HeaderName, HeaderValue)>,
    /// Headers from claims.
    pub claims: Vec<HeaderFrom>,
    /// A token of the gateway's own in place of the client's.
    pub phantom: Option<Phantom>,
    /// Whether it was logged that claims for these headers were too large to be in a token: once is enough.
    pub told_of_missing: Arc<AtomicBool>,
    /// Whether the client's `Authorization` (or cookie) with the token goes on to the upstream. Default: yes; no with a phantom token.
    pub forward_token: bool,
    /// Whether headers by which a client asks for another method, path or host (`X-HTTP-Method-Override`, `SCRIPT_NAME` and the like) go on
    /// to the upstream, which may take them for what was judged. Default: no.
    pub forward_overrides: bool,
    /// Whether what a trusted proxy says of the host (`X-Forwarded-Host`, `host` in `Forwarded`) goes on to the upstream, and not the host that
    /// was judged. Default: no.
    pub forward_host: bool,
    /// Whether the gateway names itself in `Via`, by which it notices a request that comes round again. Default: yes.
    pub via: bool,
    /// What the file strips on all routes: put here by [`RouteTable::new`](super::RouteTable::new), so that a request loses what its own
    /// table says whatever table is in force meanwhile.
    pub stripped: Arc<[HeaderName]>,
}

/// A header from a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderFrom {
    /// The header.
    pub header: HeaderName,
    /// The claim: a name, or a path of names below `ext`, separated by dots.
    pub claim: String,
}

/// A JWT that the gateway signs for the upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phantom {
    /// The header it is in; `Authorization` gets `Bearer ` before it.
    pub header: HeaderName,
    /// `aud`.
    pub audience: String,
    /// How long it holds.
    pub lifetime: Duration,
}

/// A bound on how often somebody may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Whose requests are counted together.
    pub by: LimitBy,
    /// So many in a `period`.
    pub requests: NonZeroU32,
    /// The time in which they may come.
    pub period: Duration,
    /// So many at once.
    pub burst: NonZeroU32,
}

/// Whose requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitBy {
    /// Those of a client (by address if nobody calls).
    Client,
    /// Those of a subject (by client, else address, if there is none).
    Subject,
    /// Those of an address; IPv6 by its /64.
    Address,
    /// All of the route.
    Route,
}
