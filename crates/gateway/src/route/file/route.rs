//! `routes`: one rule after the other.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::section::Section;
use super::{Surroundings, enrichment, matching, policy, value};
use crate::route::path::{Readings, readings};
use crate::route::pattern::Match;
use crate::route::{BalancedUpstream, Limit, LimitBy, Route};

const LONGEST_EXCHANGE: Duration = Duration::from_hours(24);
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);
const LONGEST_PERIOD: Duration = Duration::from_hours(24 * 30);
/// After this, as many may come at once as ever. They are counted in nanoseconds, of which 64 bits hold 584 years.
const LONGEST_REFILL: Duration = Duration::from_hours(24 * 365 * 500);

/// Reads a route.
pub(super) fn read(mut section: Section<'_>, surroundings: &Surroundings) -> Option<(Match, Route)> {
    for key in ["name", "match"] {
        if !section.has(key) {
            section.mistake(key, "is missing");
        }
    }
    let name = section.parse("name", value::route_name);
    let matched = section.section("match").and_then(matching::read);
    let upstreams = upstreams(&mut section, surroundings);
    let rewrite_prefix = rewrite(&mut section, matched.as_ref());
    let rewrite_location = section.read("rewrite_location").unwrap_or(false);
    let total_timeout =
        section.parse("timeout", value::duration(Duration::from_millis(10)..=LONGEST_EXCHANGE));
    let max_body = section.parse("max_body", value::size);
    let preserve_host = section.read("preserve_host").unwrap_or(true);
    let policy = policy::read(&mut section, &surroundings.issuers);
    let (auth, sources) =
        policy.as_ref().map(|policy| (policy.auth, policy.sources.clone())).unwrap_or_default();
    let enrichment = enrichment::read(&mut section, (auth, &sources), surroundings);
    let limits = section.sections("limits").into_iter().map(limit).collect::<Vec<_>>();
    check_limits(&section, &limits);
    section.finish();
    let (matched, policy) = (matched?, policy?);
    let prefix_segments = matched.path.segments.len();
    let route = Route {
        name: name?,
        upstreams,
        rewrite_prefix,
        prefix_segments,
        rewrite_location,
        max_body,
        total_timeout,
        preserve_host,
        policy,
        enrichment: enrichment?,
        limits: limits.into_iter().collect::<Option<_>>()?,
    };
    Some((matched, route))
}

/// `upstream: name`, or `upstreams` with weights.
fn upstreams(section: &mut Section<'_>, surroundings: &Surroundings) -> Vec<BalancedUpstream> {
    let known = |text: &str| surroundings.upstreams.get(text).cloned().ok_or("no such upstream");
    if section.has("upstream") && section.has("upstreams") {
        section.mistake("upstreams", "stands beside `upstream`: one of them");
    }
    let single =
        section.parse("upstream", known).map(|config| BalancedUpstream { config, weight: NonZeroU32::MIN });
    let several = section.pairs("upstreams");
    let weighted = several.iter().filter_map(|(name, weight)| {
        let key = format!("upstreams.{name}");
        let config = known(name).map_err(|error| section.mistake(&key, error)).ok();
        let weight = value::weight(weight).map_err(|error| section.mistake(&key, error)).ok();
        config.zip(weight).map(|(config, weight)| BalancedUpstream { config, weight })
    });
    single.into_iter().chain(weighted).collect()
}

/// What replaces the prefix, without a slash at its end.
fn rewrite(section: &mut Section<'_>, matched: Option<&Match>) -> Option<String> {
    const KEY: &str = "rewrite_prefix";
    let path = section.parse(KEY, rewritten)?;
    if matched.is_some_and(|matched| !matched.path.is_prefix()) {
        section.mistake(KEY, "needs `match.prefix`: it is what it replaces");
    }
    Some(path)
}

fn rewritten(text: &str) -> Result<String, &'static str> {
    let is_path = text.starts_with('/') && text.parse::<http::uri::PathAndQuery>().is_ok();
    let is_plain = |read: Readings<'_>| !read.literal.contains(';') && !read.literal.contains("//");
    if !is_path || !readings(text, false).is_ok_and(is_plain) {
        return Err("must be a path such as /v1/, escaped where needed");
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn limit(mut section: Section<'_>) -> Option<Limit> {
    for key in ["by", "requests", "period"] {
        if !section.has(key) {
            section.mistake(key, "is missing");
        }
    }
    let (by, requests): (Option<LimitBy>, Option<NonZeroU32>) =
        (section.read("by"), section.read("requests"));
    let period = section.parse("period", value::duration(SHORTEST_PERIOD..=LONGEST_PERIOD));
    let burst: Option<NonZeroU32> = section.read("burst");
    if let (Some(requests), Some(period), Some(burst)) = (requests, period, burst)
        && (period / requests.get()).saturating_mul(burst.get()) > LONGEST_REFILL
    {
        section
            .mistake("burst", "takes longer than 500 years to be given back, at `requests` in each `period`");
    }
    section.finish();
    let requests = requests?;
    Some(Limit { by: by?, requests, period: period?, burst: burst.unwrap_or(requests) })
}

/// Clients tell rules apart by whose requests they count.
fn check_limits(section: &Section<'_>, limits: &[Option<Limit>]) {
    for (index, limit) in limits.iter().enumerate() {
        let Some(limit) = limit else { continue };
        if limits.iter().take(index).flatten().any(|other| other.by == limit.by) {
            section.mistake(&format!("limits[{index}].by"), "another limit of the route counts the same");
        }
    }
}

/// What routes must not have in common.
pub(super) fn check_together(routes: &[Option<(Match, Route)>], places: &[String], file: &Section<'_>) {
    let mut names: BTreeMap<&Arc<str>, &String> = BTreeMap::new();
    let mut documents: BTreeMap<&str, (&str, &String)> = BTreeMap::new();
    for (route, place) in routes.iter().zip(places) {
        let Some((_, route)) = route else { continue };
        let first = *names.entry(&route.name).or_insert(place);
        if first != place {
            file.mistake_at(&format!("{place}.name"), format_args!("{first} is called the same"));
        }
        let Some(resource) = &route.policy.resource else { continue };
        let known = documents.entry(&resource.metadata_url).or_insert((&resource.metadata, place));
        if known.0 != resource.metadata {
            let message = format_args!("{} says something else about the same identifier", known.1);
            file.mistake_at(&format!("{place}.resource"), message);
        }
    }
}
