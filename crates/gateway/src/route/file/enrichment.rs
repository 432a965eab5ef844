//! `headers` and `phantom_token`: what an upstream is told.

use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::section::Section;
use super::{Surroundings, policy, value};
use crate::route::{AuthMode, Enrichment, HeaderFrom, Phantom, TokenSources};

const DEFAULT_LIFETIME: Duration = Duration::from_mins(1);
const SHORTEST_LIFETIME: Duration = Duration::from_secs(5);
const LONGEST_LIFETIME: Duration = Duration::from_hours(1);

/// Reads what an upstream is told.
pub(super) fn read(
    section: &mut Section<'_>,
    (auth, sources): (AuthMode, &TokenSources),
    surroundings: &Surroundings,
) -> Option<Enrichment> {
    let phantom = section.section("phantom_token").map(phantom);
    let usual = phantom.is_none();
    let mut enrichment = match section.section("headers") {
        Some(headers) => headers_of(headers, usual, surroundings),
        None => usual_headers(usual, surroundings),
    };
    enrichment.phantom = match phantom {
        Some(phantom) => Some(phantom?),
        None => None,
    };
    if auth == AuthMode::None && !enrichment.claims.is_empty() {
        section.mistake("headers.claims", policy::NO_EFFECT);
    }
    check_apart(section, &enrichment, sources);
    Some(enrichment)
}

fn usual_headers(usual: bool, surroundings: &Surroundings) -> Enrichment {
    Enrichment {
        identity_headers: usual,
        country: surroundings.has_countries,
        forward_token: usual,
        via: true,
        ..Enrichment::default()
    }
}

fn headers_of(mut section: Section<'_>, usual: bool, surroundings: &Surroundings) -> Enrichment {
    let mut enrichment = usual_headers(usual, surroundings);
    if let Some(identity) = section.read("identity") {
        enrichment.identity_headers = identity;
    }
    if let Some(country) = section.read("country") {
        enrichment.country = country;
        if country && !surroundings.has_countries {
            section.mistake("country", "needs a `country_database`");
        }
    }
    if let Some(forward) = section.read("forward_token") {
        enrichment.forward_token = forward;
    }
    enrichment.forward_overrides = section.read("forward_overrides").unwrap_or(false);
    enrichment.forward_host = section.read("forward_host").unwrap_or(false);
    enrichment.via = section.read("via").unwrap_or(true);
    let fixed = section.pairs("fixed").into_iter();
    enrichment.fixed = fixed.filter_map(|(name, value)| fixed_header(&section, &name, &value)).collect();
    let claims = section.pairs("claims").into_iter();
    enrichment.claims = claims.filter_map(|(name, claim)| claim_header(&section, &name, &claim)).collect();
    section.finish();
    enrichment
}

fn fixed_header(section: &Section<'_>, name: &str, text: &str) -> Option<(HeaderName, HeaderValue)> {
    let key = format!("fixed.{name}");
    let name = value::set_header(name).map_err(|error| section.mistake(&key, error)).ok();
    let value =
        HeaderValue::from_str(text).map_err(|_| section.mistake(&key, "must be the value of a header")).ok();
    name.zip(value)
}

fn claim_header(section: &Section<'_>, name: &str, claim: &str) -> Option<HeaderFrom> {
    let key = format!("claims.{name}");
    let header = value::set_header(name).map_err(|error| section.mistake(&key, error)).ok();
    let is_claim = !claim.is_empty() && claim.split('.').all(|part| !part.is_empty());
    if !is_claim {
        section.mistake(&key, "must be the name of a claim");
    }
    header.filter(|_| is_claim).map(|header| HeaderFrom { header, claim: claim.to_owned() })
}

fn phantom(mut section: Section<'_>) -> Option<Phantom> {
    if !section.has("audience") {
        section.mistake("audience", "is missing");
    }
    let header = section.parse("header", value::set_header);
    let audience = section.parse("audience", value::text);
    let lifetime = section.parse("lifetime", value::duration(SHORTEST_LIFETIME..=LONGEST_LIFETIME));
    section.finish();
    let header = header.unwrap_or(AUTHORIZATION);
    Some(Phantom { header, audience: audience?, lifetime: lifetime.unwrap_or(DEFAULT_LIFETIME) })
}

/// No header is set twice.
fn check_apart(section: &Section<'_>, enrichment: &Enrichment, sources: &TokenSources) {
    let fixed = enrichment.fixed.iter().map(|(name, _)| name);
    let claims = enrichment.claims.iter().map(|from| &from.header);
    let phantom = enrichment.phantom.iter().map(|phantom| &phantom.header);
    let mut seen: Vec<&HeaderName> = Vec::new();
    for name in fixed.chain(claims).chain(phantom) {
        if seen.contains(&name) {
            section.mistake("headers", format_args!("`{name}` is set twice"));
        }
        let carries_token =
            *name == AUTHORIZATION && sources.authorization || sources.header.as_ref() == Some(name);
        if carries_token && enrichment.forward_token {
            section.mistake(
                "headers",
                format_args!(
                    "`{name}` is set, and would be forwarded with the token: say `forward_token: false`"
                ),
            );
        }
        seen.push(name);
    }
}
