//! Whether clients that no administrator registers can ask for tokens for what the gateway says that it protects (RFC 9728): its metadata
//! lead them here, where they ask for its identifier (RFC 8707).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_gateway::route::{Resource, RouteTable, RoutesFile};
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
            "clients that register themselves or that a document describes may not ask for scopes that the metadata of this \
             resource name: oidc.dynamic_client_registration.default_scope does not have them"
        );
    }
}

/// Identifiers of routes that take tokens of this installation, for which such clients may not ask.
fn unreached<'a>(table: &'a RouteTable, rules: &RegistrationRules) -> BTreeSet<&'a str> {
    let identifiers = own_resources(table).map(|resource| resource.identifier.as_str());
    identifiers.filter(|identifier| !rules.permits_anybody(identifier)).collect()
}

/// Scopes that the metadata of such resources name, and for which such clients may not ask, by the identifier of the resource.
fn scopes_beyond<'a>(
    table: &'a RouteTable,
    rules: &RegistrationRules,
    strategy: ScopeStrategy,
) -> BTreeMap<&'a str, Vec<String>> {
    let mut beyond = BTreeMap::new();
    for resource in own_resources(table) {
        let mut scopes = announced_scopes(table, resource);
        scopes.retain(|scope| !rules.permits_anybody_scope(scope, strategy));
        if !scopes.is_empty() {
            beyond.insert(resource.identifier.as_str(), scopes);
        }
    }
    beyond
}

fn announced_scopes(table: &RouteTable, resource: &Resource) -> Vec<String> {
    let document: Value = serde_json::from_str(&table.metadata(resource, None)).unwrap_or_default();
    let scopes = document.get("scopes_supported").and_then(Value::as_array).into_iter().flatten();
    scopes.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What routes are for that take tokens of this installation.
fn own_resources(table: &RouteTable) -> impl Iterator<Item = &Resource> {
    let routes = table.routes().iter().filter(|route| route.policy.takes_own_tokens());
    routes.filter_map(|route| route.policy.resource.as_ref())
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
  - {name: e, match: {prefix: /e}, scopes: [admin]}";
        let table = file::read(text, Path::new("")).unwrap().table;
        for (strategy, scope, expected) in [
            (
                ScopeStrategy::Exact,
                "openid read",
                &[("https://api.test/orders", "write"), ("https://tools.test/mcp", "mcp")][..],
            ),
            (
                ScopeStrategy::Exact,
                "openid",
                &[("https://api.test/orders", "read write"), ("https://tools.test/mcp", "mcp")],
            ),
            (ScopeStrategy::Exact, "openid read write mcp", &[]),
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
