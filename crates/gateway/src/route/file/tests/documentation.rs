//! The file in the documentation is one that works, and has every key that the documentation knows.

use std::fs;

use sluice_crypto::jwk::SigningAlgorithm;
use tempfile::TempDir;

use super::*;
use crate::authn::SubjectKind;
use crate::proxy::upstream::UpstreamProtocol;
use crate::validation::{IntrospectionClient, KeySource};

const PAGE: &str = include_str!("../../../../../../docs/gateway/routes.md");

fn example() -> &'static str {
    PAGE.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0
}

/// A directory with the files that the example names.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (own, countries) = (certificate(), countries());
    let files = [
        ("GeoLite2-Country.mmdb", countries.as_slice()),
        ("secrets/legacy", &b"s3cret\n"[..]),
        ("secrets/vendor", &b"t0ken"[..]),
        ("tls/ca.pem", own.certificate.as_bytes()),
        ("tls/gateway.pem", own.certificate.as_bytes()),
        ("tls/gateway.key", own.private_key.expose().as_bytes()),
    ];
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

fn documented() -> RouteTable {
    let checked = read(example(), directory().path()).unwrap();
    assert_eq!(checked.warnings, []);
    checked.table
}

#[test]
fn every_key_of_the_documentation_is_in_its_example() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    let keys: Vec<&str> =
        rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect();
    assert!(keys.len() > 70, "{}", keys.len());
    for key in keys {
        let last = key.rsplit('.').next().unwrap();
        let is_there = example().match_indices(last).any(|(at, _)| {
            let before = example()[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
                && example()[at + last.len()..].starts_with(':')
        });
        assert!(is_there, "{key} is not in the example");
    }
}

#[test]
fn the_documented_settings_are_read() {
    let table = documented();
    let settings = table.settings();
    assert!(settings.trusted_proxies.trusts("10.1.2.3".parse().unwrap()));
    assert!(!settings.trusted_proxies.trusts("192.0.2.1".parse().unwrap()));
    assert_eq!(settings.strip_headers[..2], ["x-user", "x-roles"]);
    let of_routes = &settings.strip_headers[2..];
    assert_eq!(of_routes, ["x-gateway", "oauth-email", "x-tenant"], "what one route sets is stripped on all");
    assert!(settings.country_database.as_ref().unwrap().ends_with("GeoLite2-Country.mmdb"));
    assert!(!settings.encoded_slash && !settings.ignore_case && !settings.ignore_suffix);
}

#[test]
fn the_documented_issuers_are_read() {
    let table = documented();
    let issuer = |name: &str| table.settings().issuers.iter().find(|one| &*one.name == name).unwrap().clone();
    let partner = issuer("partner");
    let jwt = partner.jwt.as_ref().unwrap();
    assert_eq!(jwt.algorithms, [SigningAlgorithm::RS256, SigningAlgorithm::ES256]);
    assert!(
        matches!(&jwt.keys, KeySource::JwksUri(uri) if uri.as_str() == "https://login.partner.example/keys.json")
    );
    assert_eq!(
        (partner.issuer.as_str(), partner.clock_skew),
        ("https://login.partner.example", Duration::from_secs(30))
    );
    let workforce = issuer("workforce");
    assert_eq!(workforce.jwt.as_ref().unwrap().keys, KeySource::Discovery);
    let mark = workforce.clients.as_ref().unwrap();
    assert_eq!((mark.claim.as_str(), mark.prefix.as_str()), ("preferred_username", "service-account-"));
    let legacy = issuer("legacy");
    let asked = legacy.introspection.as_ref().unwrap();
    assert_eq!((asked.cache, asked.negative_cache), (Duration::from_secs(30), Duration::from_secs(5)));
    assert!(legacy.jwt.is_none());
    let IntrospectionClient::Basic(id, secret) = &asked.client else { panic!("{:?}", asked.client) };
    assert_eq!((id.as_str(), secret.expose().as_str()), ("gateway", "s3cret"));
    let vendor = issuer("vendor");
    assert!(
        matches!(&vendor.introspection.as_ref().unwrap().client, IntrospectionClient::Bearer(token) if token.expose() == "t0ken")
    );
}

#[test]
fn the_documented_upstreams_are_read() {
    let table = documented();
    let [canary, shop] = table.upstreams() else { panic!("{:?}", table.upstreams()) };
    assert_eq!(shop.servers.iter().map(|server| server.weight.get()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(shop.active_health.as_ref().unwrap().path, "/health");
    assert_eq!((canary.protocol, canary.passive_health.is_none()), (UpstreamProtocol::Http2, true));
    assert_eq!(canary.tls.server_name.as_deref(), Some("shop.internal"));
    assert!(canary.tls.client.is_some());
    let budget = shop.retry_budget.as_ref().map(|budget| (budget.percent, budget.at_least));
    assert_eq!((budget, canary.retry_budget.is_none()), (Some((20, 100)), true));
}

#[test]
fn the_documented_routes_are_read() {
    let table = documented();
    let [orders, invoices, health] = table.routes() else { panic!("{:?}", table.routes()) };
    let shares: Vec<_> = orders.upstreams.iter().map(|one| (&*one.config.name, one.weight.get())).collect();
    assert_eq!(shares, [("canary", 1), ("shop", 9)]);
    assert_eq!(orders.upstream_path("/orders/7"), "/v1/7");
    assert_eq!(orders.client_path("/orders/7", "/v1/8?x").as_deref(), Some("/orders/8?x"));
    assert!(orders.rewrite_location && !health.rewrite_location);
    assert_eq!((orders.total_timeout, orders.max_body), (Some(Duration::from_mins(1)), Some(10 << 20)));
    let policy = &orders.policy;
    assert_eq!((policy.subject, policy.preflight), (Some(SubjectKind::User), Preflight::Pass));
    assert_eq!(policy.cors_credentials, ["https://app.example.com"]);
    assert_eq!(policy.any_scope, ["orders.basic", "orders.full"]);
    assert_eq!(policy.issuers.len(), 5);
    assert_eq!(policy.sources.cookie.as_deref(), Some("access_token"));
    assert_eq!(policy.sources.origins, ["https://account.example.com"]);
    let resource = policy.resource.as_ref().unwrap();
    assert_eq!(resource.metadata_path, "/.well-known/oauth-protected-resource/orders");
    let claims: Vec<_> =
        orders.enrichment.claims.iter().map(|from| (from.header.as_str(), from.claim.as_str())).collect();
    assert_eq!(claims, [("oauth-email", "email"), ("x-tenant", "tenant.id")]);
    assert!(orders.enrichment.forward_token && !orders.enrichment.forward_overrides);
    let limits: Vec<_> =
        orders.limits.iter().map(|limit| (limit.by, limit.requests.get(), limit.burst.get())).collect();
    assert_eq!(limits, [(LimitBy::Subject, 100, 20), (LimitBy::Address, 1000, 1000)]);
    assert_eq!(invoices.enrichment.phantom.as_ref().unwrap().audience, "invoices");
    assert_eq!(health.policy.auth, AuthMode::None);
}
