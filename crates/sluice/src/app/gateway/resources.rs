//! Whether clients that no administrator registers can ask for tokens for what the gateway says that it protects (RFC 9728): its metadata
//! lead them here, where they ask for its identifier (RFC 8707).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_gateway::route::{Resource, RoutePolicy, RouteTable, RoutesFile};
use sluice_oauth::client::RegistrationRules;
use sluice_oauth::config::ScopeStrategy;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Warns of resources, and of scopes of resources, for which such clients get no tokens, now and whenever other routes come into force.
pub(crate) async fn tell_of_unreached(
    file: Arc<RoutesFile>,
    (rules, strategy): (RegistrationRules, ScopeStrategy),
    shutdown: CancellationToken,
) {
    let mut replaced = file.routes().subscribe();
    loop {
        tell(&file.routes().load(), &rules, strategy);
        let heard = shutdown.run_until_cancelled(replaced.changed()).await;
        if !matches!(heard, Some(Ok(()))) {
            return;
        }
    }
}

fn tell(table: &RouteTable, rules: &RegistrationRules, strategy: ScopeStrategy) {
    for resource in unreached(table, rules) {
        warn!(
            resource.identifier = resource,
            "clients that register themselves or that a document describes get no tokens for this resource: \
             oidc.dynamic_client_registration.default_audience does not have it"
        );
    }
    for (resource, scopes) in scopes_beyond(table, rules, strategy) {
        warn!(
            resource.identifier = resource,
            scope.missing = scopes.join(" "),
            "clients that register themselves or that a document describes may not ask for scopes that the metadata or the routes of \
             this resource name: oidc.dynamic_client_registration.default_scope does not have them"
        );
    }
}

/// Identifiers of routes that take tokens of this installation, for which such clients may not ask.
fn unreached<'a>(table: &'a RouteTable, rules: &RegistrationRules) -> BTreeSet<&'a str> {
    let identifiers = own_resources(table).map(|resource| resource.identifier.as_str());
    identifiers.filter(|identifier| !rules.permits_anybody(identifier)).collect()
}

/// Scopes that such clients are told of such resources, and for which they may not ask, by the identifier of the resource.
fn scopes_beyond<'a>(
    table: &'a RouteTable,
    rules: &RegistrationRules,
    strategy: ScopeStrategy,
) -> BTreeMap<&'a str, Vec<String>> {
    let mut beyond = BTreeMap::new();
    for resource in own_resources(table) {
        let is_beyond = |scope: &String| !rules.permits_anybody_scope(scope, strategy);
        let scopes: Vec<_> = announced_scopes(table, resource).into_iter().filter(is_beyond).collect();
        if !scopes.is_empty() {
            beyond.insert(resource.identifier.as_str(), scopes);
        }
    }
    beyond
}

/// What clients are told to ask for: by the metadata, and by the challenges of the routes, which those of the Model Context Protocol
/// prefer.
fn announced_scopes(table: &RouteTable, resource: &Resource) -> BTreeSet<String> {
    let document: Value = serde_json::from_str(&table.metadata(resource, None)).unwrap_or_default();
    let supported = document.get("scopes_supported").and_then(Value::as_array).into_iter().flatten();
    let is_for = |policy: &&RoutePolicy| {
        policy.resource.as_ref().is_some_and(|own| own.identifier == resource.identifier)
    };
    let demanded = own_policies(table)
        .filter(is_for)
        .flat_map(|policy| policy.scopes.iter().chain(&policy.any_scope))
        .map(String::as_str);
    supported.filter_map(Value::as_str).chain(demanded).map(str::to_owned).collect()
}

/// What routes are for that take tokens of this installation.
fn own_resources(table: &RouteTable) -> impl Iterator<Item = &Resource> {
    own_policies(table).filter_map(|policy| policy.resource.as_ref())
}

/// What such routes demand.
fn own_policies(table: &RouteTable) -> impl Iterator<Item = &RoutePolicy> {
    table.routes().iter().map(|route| &route.policy).filter(|policy| policy.takes_own_tokens())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sluice_gateway::route::file;

    use super::*;

    #[test]
    fn resources_that_registered_clients_cannot_ask_for_are_told_of_once() {
        let text = "
issuers: {partner: {issuer: https://partner.test, audience: [https://api.test/billing]}}
routes:
  - {name: a, match: {prefix: /a}, resource: {identifier: https://api.test/orders}}
  - {name: b, match: {prefix: /b}, resource: {identifier: https://api.test/orders}}
  - {name: c, match: {prefix: /c}, issuers: [partner, sluice], resource: {identifier: https://tools.test/mcp}}
  - {name: d, match: {prefix: /d}, issuers: [partner], resource: {identifier: https://api.test/billing}}
  - {name: e, match: {prefix: /e}}";
        let table = file::read(text, Path::new("")).unwrap().table;
        for (audience, expected) in [
            (&[][..], &["https://api.test/orders", "https://tools.test/mcp"][..]),
            (&["https://api.test"], &["https://tools.test/mcp"]),
            (&["https://api.test/orders", "https://tools.test/mcp"], &[]),
        ] {
            let self_registered_audience = audience.iter().map(|name| (*name).to_owned()).collect();
            let rules = RegistrationRules { self_registered_audience, ..RegistrationRules::default() };
            let told: Vec<_> = unreached(&table, &rules).into_iter().collect();
            assert_eq!(told, expected, "{audience:?}");
        }
    }

    #[test]
    fn scopes_of_resources_that_registered_clients_cannot_ask_for_are_told_of() {
        let text = "
issuers: {partner: {issuer: https://partner.test, audience: [https://api.test/billing]}}
routes:
  - {name: a, match: {prefix: /a}, scopes: [read], resource: {identifier: https://api.test/orders}}
  - {name: b, match: {prefix: /b}, any_scope: [write, openid], resource: {identifier: https://api.test/orders}}
  - {name: c, match: {prefix: /c}, scopes: [tools], resource: {identifier: https://tools.test/mcp, scopes_supported: [mcp]}}
  - {name: d, match: {prefix: /d}, issuers: [partner], scopes: [bill], resource: {identifier: https://api.test/billing}}
  - {name: e, match: {prefix: /e}, scopes: [admin]}
  - {name: f, match: {prefix: /f}, issuers: [partner], scopes: [theirs], resource: {identifier: https://tools.test/mcp, scopes_supported: [mcp]}}";
        let table = file::read(text, Path::new("")).unwrap().table;
        for (strategy, scope, expected) in [
            (
                ScopeStrategy::Exact,
                "openid read",
                &[("https://api.test/orders", "write"), ("https://tools.test/mcp", "mcp tools")][..],
            ),
            (
                ScopeStrategy::Exact,
                "openid",
                &[("https://api.test/orders", "read write"), ("https://tools.test/mcp", "mcp tools")],
            ),
            (ScopeStrategy::Exact, "openid read write mcp", &[("https://tools.test/mcp", "tools")]),
            (ScopeStrategy::Exact, "openid read write mcp tools", &[]),
            (ScopeStrategy::Wildcard, "*", &[]),
        ] {
            let self_registered_scope = scope.to_owned();
            let rules = RegistrationRules { self_registered_scope, ..RegistrationRules::default() };
            let told = scopes_beyond(&table, &rules, strategy);
            let told: Vec<_> = told.iter().map(|(resource, scopes)| (*resource, scopes.join(" "))).collect();
            let expected: Vec<_> =
                expected.iter().map(|(resource, scopes)| (*resource, (*scopes).to_owned())).collect();
            assert_eq!(told, expected, "{strategy:?} {scope}");
        }
    }
}
