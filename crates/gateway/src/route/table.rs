//! All routes, found by host, path and method.

use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, Method};
use sluice_net::TrustedProxies;

use super::host::ByHost;
use super::path::suffix::{without_ends, without_suffixes};
use super::path::{AmbiguousPath, Readings, readings};
use super::pattern::Match;
use super::rule::{Preflight, Route};
use super::tree::{Leaf, PathTree};
use crate::authn::{Asked, Refusal};
use crate::proxy::upstream::UpstreamConfig;
use crate::validation::IssuerConfig;

/// All routes, and what the file says beside them. Made from a file, never changed.
#[derive(Debug, Default)]
pub struct RouteTable {
    routes: Vec<Arc<Route>>,
    matches: Vec<Match>,
    upstreams: Vec<Arc<UpstreamConfig>>,
    settings: Settings,
    tree: ByHost<PathTree>,
    generation: u64,
}

/// What the file says of all routes.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Whose `X-Forwarded-*` and `Forwarded` count. Default: nobody's.
    pub trusted_proxies: TrustedProxies,
    /// Headers of clients that reach no upstream, beside `OAuth-*`.
    pub strip_headers: Vec<HeaderName>,
    /// The file with the countries of addresses (MMDB). Default: none.
    pub country_database: Option<PathBuf>,
    /// Whether a path may have escaped slashes, which stay escaped. Default: no.
    pub encoded_slash: bool,
    /// Whether paths are compared without the case of letters. Default: no.
    pub ignore_case: bool,
    /// Whether a path passes only if it leads to the same route without suffixes, and without dots and blanks at the ends of names. Default:
    /// no.
    pub ignore_suffix: bool,
    /// Issuers whose tokens count beside this installation's own.
    pub issuers: Vec<Arc<IssuerConfig>>,
}

impl Settings {
    fn named_issuers(&self, names: &[Arc<str>]) -> Vec<Arc<IssuerConfig>> {
        let named = |name: &Arc<str>| self.issuers.iter().find(|issuer| issuer.name == *name);
        names.iter().filter_map(named).cloned().collect()
    }
}

/// Why a request falls under no route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unrouted {
    /// Its method has small letters: `delete` is another than `DELETE` here (RFC 9110 §9.1), and the same to many applications.
    #[error("the method has small letters")]
    SmallLetters,
    /// Its path could be read in two ways.
    #[error("the path can be read in two ways")]
    AmbiguousPath,
    /// No route is for its host and path.
    #[error("no route is for this host and path")]
    NoRoute,
    /// Routes are for its host and path, but with other methods ([`RouteTable::methods`]).
    #[error("no route is for this method")]
    OtherMethods,
}

impl From<AmbiguousPath> for Unrouted {
    fn from(AmbiguousPath: AmbiguousPath) -> Self {
        Self::AmbiguousPath
    }
}

impl RouteTable {
    /// A table of these routes, in the order of precedence.
    pub fn new(rules: Vec<(Match, Route)>, upstreams: Vec<Arc<UpstreamConfig>>, settings: Settings) -> Self {
        let stripped: Arc<[HeaderName]> = settings.strip_headers.as_slice().into();
        let mut table = Self { upstreams, settings, ..Self::default() };
        for (mut matched, mut route) in rules {
            if table.settings.ignore_case {
                matched.path = matched.path.without_case();
            }
            route.enrichment.stripped = stripped.clone();
            route.policy.foreign_issuers = table.settings.named_issuers(&route.policy.issuers);
            let route = Arc::new(route);
            for host in &matched.hosts {
                table.tree.entry(host).entry(&matched.path).add(methods(&matched, &route), route.clone());
            }
            table.routes.push(route);
            table.matches.push(matched);
        }
        table
    }

    /// All routes, in the order of the file.
    pub fn routes(&self) -> &[Arc<Route>] {
        &self.routes
    }

    /// Which requests each of the routes is for, in the same order.
    pub fn matches(&self) -> &[Match] {
        &self.matches
    }

    /// All upstreams.
    pub fn upstreams(&self) -> &[Arc<UpstreamConfig>] {
        &self.upstreams
    }

    /// What holds for all routes.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which table of this process it is; each one that comes into force has a higher number.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The route of a request. The host may have a port; the path is as it was sent, without the query.
    ///
    /// A host comes before the domain that it is below, and that before all hosts; then the path that fits best: text before a
    /// placeholder, a placeholder before a prefix, segment by segment from the left. Methods come last: routes of a path that
    /// fits less well are not asked when it has none for the method.
    ///
    /// # Errors
    /// [`Unrouted`]
    pub fn find(&self, method: &Method, host: &str, path: &str) -> Result<&Arc<Route>, Unrouted> {
        if method.as_str().bytes().any(|byte| byte.is_ascii_lowercase()) {
            return Err(Unrouted::SmallLetters);
        }
        let readings = self.readings(path)?;
        let found = self.choose(method, host, &readings.literal);
        let agrees = |other: &String| match (found, self.choose(method, host, other)) {
            (Ok(one), Ok(another)) => Arc::ptr_eq(one, another),
            (one, another) => one.err() == another.err(),
        };
        let is_elsewhere =
            |reading: &str| found.is_ok_and(|route| self.leads_elsewhere(route, (method, host), reading));
        let is_ambiguous = is_elsewhere(&readings.literal)
            || readings.others.iter().any(|other| !agrees(other) || is_elsewhere(other))
            || found
                .is_ok_and(|route| self.goes_on_elsewhere(route, (method, host), path, &readings.literal));
        if is_ambiguous { Err(Unrouted::AmbiguousPath) } else { found }
    }

    /// The route of a request, or what is said to one that falls under none.
    ///
    /// # Errors
    /// [`Refusal`] before any token is read.
    pub fn route(&self, asked: &Asked<'_>) -> Result<&Arc<Route>, Refusal> {
        match *asked.method {
            Method::CONNECT => return Err(Refusal::Connect),
            Method::TRACE => return Err(Refusal::Trace),
            _ => {}
        }
        self.find(asked.method, asked.host, asked.path)
            .map_err(|unrouted| self.refusal(unrouted, asked.host, asked.path))
    }

    /// What is said to a request for this host and path that falls under no route.
    pub fn refusal(&self, unrouted: Unrouted, host: &str, path: &str) -> Refusal {
        match unrouted {
            Unrouted::SmallLetters => Refusal::SmallLetters,
            Unrouted::AmbiguousPath => Refusal::AmbiguousPath,
            Unrouted::NoRoute => Refusal::NoRoute,
            Unrouted::OtherMethods => self.allow(host, path).map_or(Refusal::NoRoute, Refusal::OtherMethods),
        }
    }

    /// The methods that routes name for this host and path: for `Allow` (RFC 9110 §15.5.6).
    pub fn methods(&self, host: &str, path: &str) -> Vec<&Method> {
        let Ok(readings) = self.readings(path) else { return Vec::new() };
        let mut methods: Vec<&Method> = Vec::new();
        for method in self.leaf(host, &readings.literal).into_iter().flat_map(Leaf::methods) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        methods
    }

    /// The same as `Allow` says them (RFC 9110 §10.2.1), where requests have none but these. `None`: a route is for all, or none is.
    pub fn only_methods(&self, host: &str, path: &str) -> Option<HeaderValue> {
        let readings = self.readings(path).ok()?;
        let is_for_all = self.leaf(host, &readings.literal)?.is_for_all();
        if is_for_all { None } else { self.allow(host, path) }
    }

    /// The names of routes that no request comes to, because others are for the same hosts, paths and methods.
    pub fn unreachable(&self) -> Vec<Arc<str>> {
        let mut unreachable = Vec::new();
        for (route, matched) in self.routes.iter().zip(&self.matches) {
            let leaves = matched.hosts.iter().filter_map(|host| self.tree.get(host)?.get(&matched.path));
            let is_reached = leaves.into_iter().any(|leaf| leaf.leads_to(route));
            if !is_reached {
                unreachable.push(route.name.clone());
            }
        }
        unreachable
    }

    pub(super) fn with_generation(self, generation: u64) -> Self {
        Self { generation, ..self }
    }

    fn allow(&self, host: &str, path: &str) -> Option<HeaderValue> {
        let methods: Vec<_> = self.methods(host, path).into_iter().map(Method::as_str).collect();
        HeaderValue::from_str(&methods.join(", ")).ok()
    }

    /// All readings of a path, as paths are compared here.
    fn readings<'a>(&self, path: &'a str) -> Result<Readings<'a>, AmbiguousPath> {
        let readings = readings(path, self.settings.encoded_slash)?;
        if self.settings.ignore_case { readings.without_case() } else { Ok(readings) }
    }

    fn choose(&self, method: &Method, host: &str, path: &str) -> Result<&Arc<Route>, Unrouted> {
        let leaf = self.leaf(host, path).ok_or(Unrouted::NoRoute)?;
        leaf.choose(method).ok_or(Unrouted::OtherMethods)
    }

    /// Whether it is what some programs do not look at that leads this path to `route`.
    fn leads_elsewhere(&self, route: &Arc<Route>, (method, host): (&Method, &str), path: &str) -> bool {
        self.is_moved(route, (method, host), path)
            || self.settings.ignore_suffix && self.is_suffixed(route, (method, host), path)
    }

    /// Whether it is the slash at its end that leads this path to `route`, and no route has it there: many programs serve `/admin/` as
    /// `/admin`, for which the file may say something else.
    fn is_moved(&self, route: &Arc<Route>, (method, host): (&Method, &str), path: &str) -> bool {
        let Some(bare) = path.strip_suffix('/').filter(|bare| !bare.is_empty()) else { return false };
        !self.leaf(host, path).is_some_and(|leaf| leaf.names_slash_after(bare))
            && !self.leads_to(route, (method, host), bare)
    }

    /// Whether the same is true of its suffixes, and of dots and blanks at the ends of names.
    fn is_suffixed(&self, route: &Arc<Route>, (method, host): (&Method, &str), path: &str) -> bool {
        let is_elsewhere = |bare: &str| {
            !self.leads_to(route, (method, host), bare) || self.is_moved(route, (method, host), bare)
        };
        // Before a suffix there may be a blank: `/admin .json`.
        let is_elsewhere_too = |bare: &str| {
            is_elsewhere(bare)
                || without_ends(bare).map_or(true, |end| end.as_deref().is_some_and(is_elsewhere))
        };
        let Ok(bare) = without_ends(path) else { return true };
        if bare.as_deref().is_some_and(is_elsewhere) {
            return true;
        }
        let path = bare.as_deref().unwrap_or(path);
        !self.leaf(host, path).is_some_and(|leaf| leaf.names_end_of(path))
            && without_suffixes(path).is_none_or(|mut shorter| shorter.any(|bare| is_elsewhere_too(&bare)))
    }

    /// Whether what is left of this path without the prefix of `route` is read by some program as what another route is for. Where all of the
    /// prefix is cut off, what goes on may begin with `//`. `literal` is the path without its escapes.
    fn goes_on_elsewhere(
        &self,
        route: &Arc<Route>,
        (method, host): (&Method, &str),
        path: &str,
        literal: &str,
    ) -> bool {
        if route.rewrite_prefix.as_deref() != Some("") {
            return false;
        }
        let Some((_, rest)) = split_behind(path, route.prefix_segments) else { return false };
        let Some((prefix, _)) = split_behind(literal, route.prefix_segments) else { return false };
        let is_elsewhere = |read: &String| {
            let asked = format!("{prefix}{read}");
            !self.leads_to(route, (method, host), &asked)
                || self.leads_elsewhere(route, (method, host), &asked)
        };
        self.readings(rest).ok().is_none_or(|readings| readings.others.iter().any(is_elsewhere))
    }

    fn leads_to(&self, route: &Arc<Route>, (method, host): (&Method, &str), path: &str) -> bool {
        self.choose(method, host, path).is_ok_and(|found| Arc::ptr_eq(found, route))
    }

    fn leaf(&self, host: &str, path: &str) -> Option<&Leaf> {
        self.tree.find(host, |tree| tree.find(path))
    }
}

/// The first segments of a path, and what follows them.
fn split_behind(path: &str, segments: usize) -> Option<(&str, &str)> {
    let (end, _) = path.match_indices('/').nth(segments)?;
    Some(path.split_at(end))
}

/// The methods of a route: `HEAD` goes with `GET` (RFC 9110 §9.3.2), `OPTIONS` with preflights that pass.
fn methods(matched: &Match, route: &Route) -> Vec<Method> {
    let mut methods = matched.methods.clone();
    let implied = [
        (Method::HEAD, methods.contains(&Method::GET)),
        (Method::OPTIONS, !methods.is_empty() && route.policy.preflight == Preflight::Pass),
    ];
    for (method, is_implied) in implied {
        if is_implied && !methods.contains(&method) {
            methods.push(method);
        }
    }
    methods
}

#[cfg(test)]
mod tests;
