//! The metadata of protected resources (RFC 9728), by where they are asked for.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::rule::{Resource, RoutePolicy};
use super::table::RouteTable;

/// What the paths of metadata begin with (RFC 9728 §3).
pub const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

impl RouteTable {
    /// The resource whose metadata are at this path of this host.
    pub fn resource(&self, host: &str, path: &str) -> Option<&Resource> {
        let of_host =
            || self.resources().filter(move |resource| is_host(authority(&resource.metadata_url), host));
        let is_it = |resource: &&Resource| resource.metadata_path == path;
        let is_nearly_it =
            |resource: &&Resource| without_slash(&resource.metadata_path) == without_slash(path);
        // Some clients leave a slash at the end out. Of two identifiers that differ in it each has its own document.
        of_host().find(is_it).or_else(|| of_host().find(is_nearly_it))
    }

    /// The metadata of a resource of this table. What the file does not say is told as far as it is known: `issuer` as the server where
    /// tokens of this installation count, and the scopes that routes for the resource demand.
    pub fn metadata(&self, resource: &Resource, issuer: Option<String>) -> String {
        let Ok(mut document) = serde_json::from_str::<Map<String, Value>>(&resource.metadata) else {
            return resource.metadata.clone();
        };
        let takes_own = self.policies(resource).any(RoutePolicy::takes_own_tokens);
        if let Some(issuer) = issuer.filter(|_| takes_own) {
            document.entry("authorization_servers").or_insert_with(|| vec![issuer].into());
        }
        let demanded =
            self.policies(resource).flat_map(|policy| policy.scopes.iter().chain(&policy.any_scope));
        let scopes: BTreeSet<&str> = demanded.map(String::as_str).collect();
        if !scopes.is_empty() {
            let scopes: Vec<&str> = scopes.into_iter().collect();
            document.entry("scopes_supported").or_insert_with(|| scopes.into());
        }
        Value::Object(document).to_string()
    }

    fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.routes().iter().filter_map(|route| route.policy.resource.as_ref())
    }

    /// Who may pass the routes for a resource.
    fn policies<'a>(&'a self, resource: &'a Resource) -> impl Iterator<Item = &'a RoutePolicy> {
        let is_for = move |policy: &&'a RoutePolicy| {
            policy.resource.as_ref().is_some_and(|own| own.metadata_url == resource.metadata_url)
        };
        self.routes().iter().map(|route| &route.policy).filter(is_for)
    }
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

fn authority(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    after_scheme.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Whether two authorities are the same host; the port of https needs no mention.
fn is_host(left: &str, right: &str) -> bool {
    let bare = |authority: &'_ str| authority.len() - if authority.ends_with(":443") { 4 } else { 0 };
    let bare_of = |authority| str::get(authority, ..bare(authority)).unwrap_or(authority);
    bare_of(left).eq_ignore_ascii_case(bare_of(right))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::route::file;

    const ISSUER: &str = "https://id.example";

    /// What is told of the resource of routes with these keys, by a gateway that knows its issuer.
    fn told(routes: &[&str]) -> Value {
        let resource = "resource: {identifier: https://h/r";
        let routes = routes.iter().enumerate().map(|(index, rest)| {
            let rest = rest.replace("resource: {", &format!("{resource}, "));
            let rest = if rest.contains(resource) { rest } else { format!("{resource}}}, {rest}") };
            format!("  - {{name: r{index}, match: {{prefix: /{index}}}, {rest}}}\n")
        });
        let issuers = "issuers: {other: {issuer: https://o, audience: r}}\n";
        let text = format!("{issuers}routes:\n{}", routes.collect::<String>());
        let table = file::read(&text, Path::new("")).unwrap().table;
        let resource = table.resource("h", "/.well-known/oauth-protected-resource/r").unwrap();
        serde_json::from_str(&table.metadata(resource, Some(ISSUER.to_owned()))).unwrap()
    }

    #[test]
    fn metadata_that_name_no_server_name_this_installation_where_its_tokens_count() {
        let servers = |route: &str| told(&[route])["authorization_servers"].clone();
        assert_eq!(servers("scopes: a"), serde_json::json!([ISSUER]));
        assert_eq!(servers("issuers: [other, sluice]"), serde_json::json!([ISSUER]));
        assert_eq!(servers("issuers: other"), Value::Null);
        let named = "resource: {authorization_servers: https://login.example}";
        assert_eq!(servers(named), serde_json::json!(["https://login.example"]));
    }

    #[test]
    fn metadata_that_name_no_scopes_name_those_that_the_routes_of_the_resource_demand() {
        let scopes = |routes: &[&str]| told(routes)["scopes_supported"].clone();
        let demanding = ["scopes: [write, read]", "any_scope: [admin, read]"];
        assert_eq!(scopes(&demanding), serde_json::json!(["admin", "read", "write"]));
        assert_eq!(scopes(&["subject: user"]), Value::Null);
        let named = "scopes: read, resource: {scopes_supported: [all]}";
        assert_eq!(scopes(&[named]), serde_json::json!(["all"]));
    }
}
