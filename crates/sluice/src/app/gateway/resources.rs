//! Whether clients that no administrator registers can ask for tokens for what the gateway says that it protects (RFC 9728): its metadata
//! lead them here, where they ask for its identifier (RFC 8707).

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_gateway::route::{RouteTable, RoutesFile};
use sluice_oauth::client::RegistrationRules;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Warns of resources for which such clients get no tokens, now and whenever other routes come into force.
pub(crate) async fn tell_of_unreached(
    file: Arc<RoutesFile>,
    rules: RegistrationRules,
    shutdown: CancellationToken,
) {
    let mut replaced = file.routes().subscribe();
    loop {
        for resource in unreached(&file.routes().load(), &rules) {
            warn!(
                resource.identifier = resource,
                "clients that register themselves or that a document describes get no tokens for this resource: \
                 oidc.dynamic_client_registration.default_audience does not have it"
            );
        }
        let heard = shutdown.run_until_cancelled(replaced.changed()).await;
        if !matches!(heard, Some(Ok(()))) {
            return;
        }
    }
}

/// Identifiers of routes that take tokens of this installation, for which such clients may not ask.
fn unreached<'a>(table: &'a RouteTable, rules: &RegistrationRules) -> BTreeSet<&'a str> {
    let resources = table.routes().iter().filter(|route| route.policy.takes_own_tokens());
    let identifiers = resources.filter_map(|route| Some(route.policy.resource.as_ref()?.identifier.as_str()));
    identifiers.filter(|identifier| !rules.permits_anybody(identifier)).collect()
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
}
