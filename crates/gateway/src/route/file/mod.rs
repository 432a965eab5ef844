//! The routes file as it is written (YAML): read as a whole, and every mistake in it is told with its place, not the first only.
//!
//! `mistake`: what is wrong, and where. `section`: a part of the file, read key by key. `value`: durations, sizes, names.
//! `issuer`, `upstream`, `route`, `matching`, `policy`, `enrichment`, `resource`: a file for each part. What the keys mean is in
//! `docs/gateway/routes.md`; what is not said there has the default of the struct that it is read into.

mod enrichment;
mod issuer;
mod matching;
mod mistake;
mod policy;
mod resource;
mod route;
mod section;
mod upstream;
mod value;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use http::HeaderName;
use http::header::AUTHORIZATION;
use serde_json::Value;
use sluice_net::TrustedProxies;

use super::pattern::Match;
use super::rule::{Enrichment, Route};
use super::table::{RouteTable, Settings};
use crate::enrichment::CountryDatabase;
use crate::proxy::upstream::UpstreamConfig;
use crate::validation::{IssuerConfig, OWN_ISSUER};
pub use mistake::{Mistake, Mistakes};
use section::Section;

/// A file in which nothing is wrong.
#[derive(Debug)]
pub struct Checked {
    /// What it says.
    pub table: RouteTable,
    /// What is odd, but can be.
    pub warnings: Vec<Mistake>,
    /// What the file with the countries holds, if it names one.
    pub countries: Option<CountryDatabase>,
}

/// What a file says of all routes, for those that read its parts.
struct Surroundings {
    issuers: BTreeSet<Arc<str>>,
    upstreams: BTreeMap<Arc<str>, Arc<UpstreamConfig>>,
    has_countries: bool,
}

/// Reads a file. Other files that it names are relative to `directory`; all of them are read.
///
/// # Errors
/// [`Mistakes`]: all of them.
pub fn read(text: &str, directory: &Path) -> Result<Checked, Mistakes> {
    let document = parse(text).map_err(|error| Mistakes::from(vec![Mistake::unreadable(&error)]))?;
    let names = route_names(&document);
    let named = |found: Vec<Mistake>| found.into_iter().map(|one| one.among(&names)).collect::<Vec<_>>();
    let mistakes = RefCell::default();
    let read = Section::root(document, &mistakes).and_then(|file| read_file(file, directory));
    let mistakes = named(mistakes.into_inner());
    let Some((table, countries)) = read.filter(|_| mistakes.is_empty()) else { return Err(mistakes.into()) };
    let warnings = named(warnings(&table));
    Ok(Checked { table, warnings, countries })
}

/// One YAML document, its anchors and merge keys (`<<`) resolved.
fn parse(text: &str) -> Result<Value, serde_norway::Error> {
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let mut document: serde_norway::Value = serde_norway::from_str(text)?;
    document.apply_merge()?;
    serde_norway::from_value(document)
}

/// What the routes of a file are called, in its order: who reads of a mistake need not count them. What is no name is left out.
fn route_names(document: &Value) -> Vec<Option<Arc<str>>> {
    let routes = document.get("routes").and_then(Value::as_array).into_iter().flatten();
    routes.map(|route| value::name(route.get("name")?.as_str()?).ok()).collect()
}

fn read_file(mut file: Section<'_>, directory: &Path) -> Option<(RouteTable, Option<CountryDatabase>)> {
    let trusted = file.list("trusted_proxies", value::network);
    let strip_headers = file.list("strip_headers", value::stripped_header);
    let countries = file.parse("country_database", |text| value::countries(text, directory));
    let encoded_slash = file.read("allow_encoded_slash").unwrap_or(false);
    let ignore_case = file.read("ignore_case").unwrap_or(false);
    let ignore_suffix = file.read("ignore_suffix").unwrap_or(false);
    let (issuers, upstreams) = (file.named_sections("issuers"), file.named_sections("upstreams"));
    let issuer_names = issuers.iter().map(|(name, _)| name.clone()).chain([OWN_ISSUER.into()]).collect();
    let issuers: Vec<_> =
        issuers.into_iter().map(|(name, section)| issuer::read(&name, section, directory)).collect();
    let upstreams: Vec<_> = upstreams
        .into_iter()
        .map(|(name, section)| Arc::new(upstream::read(name, section, directory)))
        .collect();
    let surroundings = Surroundings {
        issuers: issuer_names,
        upstreams: upstreams.iter().map(|upstream| (upstream.name.clone(), upstream.clone())).collect(),
        has_countries: countries.is_some(),
    };
    if !file.has("routes") {
        // Cut off by whoever writes it: it must not take all routes away.
        file.mistake("routes", "is missing; `routes: []` says that there are none");
    }
    let routes = file.sections("routes");
    let places: Vec<String> = routes.iter().map(|section| section.place().to_owned()).collect();
    let routes: Vec<_> = routes.into_iter().map(|section| route::read(section, &surroundings)).collect();
    route::check_together(&routes, &places, &file);
    file.finish();
    let (issuers, routes): (Option<Vec<_>>, Option<Vec<_>>) =
        (issuers.into_iter().collect(), routes.into_iter().collect());
    let routes = routes?;
    let settings = Settings {
        trusted_proxies: TrustedProxies::new(trusted),
        strip_headers: with_set_headers(strip_headers, &routes),
        country_database: countries.as_ref().map(|countries| countries.path().to_owned()),
        encoded_slash,
        ignore_case,
        ignore_suffix,
        issuers: issuers?.into_iter().map(Arc::new).collect(),
    };
    Some((RouteTable::new(routes, upstreams, settings), countries))
}

/// What one route sets, an upstream may believe on another that does not set it: so it is stripped on all. `Authorization` is the
/// client's own on routes without a phantom token.
fn with_set_headers(mut stripped: Vec<HeaderName>, routes: &[(Match, Route)]) -> Vec<HeaderName> {
    for (_, route) in routes {
        let Enrichment { fixed, claims, phantom, .. } = &route.enrichment;
        let fixed = fixed.iter().map(|(name, _)| name);
        let claims = claims.iter().map(|claim| &claim.header);
        let phantom = phantom.iter().map(|phantom| &phantom.header);
        for name in fixed.chain(claims).chain(phantom) {
            if *name != AUTHORIZATION && !stripped.contains(name) {
                stripped.push(name.clone());
            }
        }
    }
    stripped
}

fn warnings(table: &RouteTable) -> Vec<Mistake> {
    let mut warnings = Vec::new();
    let unreachable = table.unreachable();
    for (index, route) in table.routes().iter().enumerate() {
        if unreachable.contains(&route.name) {
            let why = "no request comes to it: routes before it are for the same hosts, path and methods";
            warnings.push(Mistake::new(format!("routes[{index}]"), why));
        } else if route.upstreams.is_empty() && !table.upstreams().is_empty() {
            let why = "requests at the gateway get 404: it is for other proxies' questions only";
            warnings.push(Mistake::new(format!("routes[{index}]"), why));
        }
        let place = format!("routes[{index}].audience");
        let whys = for_anybody(route).chain(not_for_itself(route));
        warnings.extend(whys.map(|why| Mistake::new(place.as_str(), why)));
        let place = format!("routes[{index}].issuers");
        warnings.extend(behind_their_like(route).map(|why| Mistake::new(place.as_str(), why)));
    }
    for upstream in table.upstreams() {
        let is_used = |name: &Arc<str>| *name == upstream.name;
        if !table.routes().iter().any(|route| route.upstreams.iter().any(|one| is_used(&one.config.name))) {
            warnings.push(Mistake::new(format!("upstreams.{}", upstream.name), "no route uses it"));
        }
    }
    for issuer in &table.settings().issuers {
        if !table.routes().iter().any(|route| route.policy.issuers.contains(&issuer.name)) {
            warnings.push(Mistake::new(format!("issuers.{}", issuer.name), "no route uses it"));
        }
    }
    if table.routes().is_empty() {
        warnings.push(Mistake::new("routes", "there are none: every request is answered with 404"));
    }
    warnings
}

/// What is odd about a route that JWTs of other issuers pass whoever they are for (RFC 9068 §4): one for each issuer.
fn for_anybody(route: &Route) -> impl Iterator<Item = String> {
    let policy = &route.policy;
    let issuers = policy.foreign_issuers.iter().filter(|issuer| issuer.jwt.is_some());
    issuers.filter(move |issuer| policy.audience.is_empty() && issuer.audience.is_empty()).map(|issuer| {
        format!(
            "JWTs of `{0}` pass whoever they are for, and may be id tokens: name an audience here or in `issuers.{0}`",
            issuer.name
        )
    })
}

/// What is odd about a route whose metadata have clients ask for tokens that it refuses (RFC 9728 §2, RFC 8707 §2).
fn not_for_itself(route: &Route) -> Option<String> {
    let (resource, audience) = (route.policy.resource.as_ref()?, &route.policy.audience);
    let is_named = audience.is_empty() || audience.contains(&resource.identifier);
    (!is_named).then(|| {
        format!(
            "does not have `{0}`, the identifier of the resource: clients that read its metadata ask for tokens for `{0}`, and these are refused",
            resource.identifier
        )
    })
}

/// What is odd about a route with several issuers of one identifier: JWTs are checked by the first that they may be of.
fn behind_their_like(route: &Route) -> impl Iterator<Item = String> {
    let issuers = &route.policy.foreign_issuers;
    let named = issuers.iter().enumerate().filter(|(_, issuer)| !issuer.issuer.is_empty());
    named.filter_map(move |(index, issuer)| {
        let is_like = |first: &&Arc<IssuerConfig>| first.issuer == issuer.issuer && first.name != issuer.name;
        let first = issuers.iter().take(index).find(is_like)?;
        Some(format!(
            "JWTs of `{}` are checked as `issuers.{}` says, never as `issuers.{}` does",
            issuer.issuer, first.name, issuer.name
        ))
    })
}

#[cfg(test)]
mod tests;
