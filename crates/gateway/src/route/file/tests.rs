mod documentation;
mod mistakes;

use std::time::Duration;

use ipnet::IpNet;
use mmdb_writer::{Value as Record, Writer};
use sluice_net::{SelfSigned, self_signed};
use sluice_primitives::Timestamp;

use crate::route::{AuthMode, LimitBy, Preflight, StalePolicy, TokenSources};

use super::*;

fn table(text: &str) -> RouteTable {
    read(text, Path::new("")).unwrap().table
}

/// What a file says beside its routes, of which it has none.
fn beside_routes(text: &str) -> String {
    format!("routes: []\n{text}")
}

fn route(rest: &str) -> RouteTable {
    table(&format!("routes: [{{name: r, match: {{prefix: /}}{rest}}}]"))
}

/// Places and messages of all that is wrong.
fn mistakes(text: &str) -> Vec<String> {
    let mistakes = read(text, Path::new("")).unwrap_err();
    mistakes.iter().map(ToString::to_string).collect()
}

fn warnings(text: &str) -> Vec<String> {
    read(text, Path::new("")).unwrap().warnings.iter().map(ToString::to_string).collect()
}

/// A file in which one network is in a country.
fn countries() -> Vec<u8> {
    let mut writer = Writer::new("Test-Country");
    let record = Record::map([("country", Record::map([("iso_code", Record::from("CZ"))]))]);
    writer.insert_value("192.0.2.0/24".parse::<IpNet>().unwrap(), record).unwrap();
    writer.to_bytes().unwrap()
}

fn certificate() -> SelfSigned {
    self_signed(&["gateway.example".to_owned()], Timestamp::from_secs(1_700_000_000)).unwrap()
}

#[test]
fn a_file_that_ends_before_its_routes_is_a_mistake() {
    let nothing = ["", " \n", "# all of it is a comment\n", "---\n"];
    let cut_off = ["trusted_proxies: [10.0.0.0/8]", "upstreams: {}\nroutes:", "upstreams: {}\nroutes: # [a"];
    for text in nothing.into_iter().chain(cut_off) {
        let expected = ["routes: is missing; `routes: []` says that there are none"];
        assert_eq!(mistakes(text), expected, "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_at_the_start_is_no_part_of_the_file() {
    assert!(table("\u{feff}routes: []").routes().is_empty());
    assert_eq!(table("\u{feff}# routes\nroutes: [{name: a, match: {prefix: /}}]").routes().len(), 1);
    assert_eq!(mistakes("\u{feff}"), mistakes(""));
}

#[test]
fn what_a_route_does_not_say_is_strict() {
    let table = route("");
    let route = &table.routes()[0];
    assert_eq!(route.policy.auth, AuthMode::Required);
    assert_eq!(route.policy.sources, TokenSources::default());
    assert_eq!((route.policy.preflight, route.policy.stale), (Preflight::Judge, StalePolicy::Ask));
    assert!(route.policy.issuers.is_empty() && route.policy.scopes.is_empty() && !route.policy.dpop_nonce);
    assert!(route.preserve_host && route.upstreams.is_empty() && route.rewrite_prefix.is_none());
    assert_eq!((route.total_timeout, route.max_body), (None, None));
    let told = &route.enrichment;
    assert!(told.identity_headers && told.forward_token && !told.country && told.phantom.is_none());
    assert!(!told.forward_overrides && !told.forward_host && told.via);
    assert!(!self::route(", headers: {via: false}").routes()[0].enrichment.via);
    assert!(self::route(", headers: {identity: false}").routes()[0].enrichment.via);
}

#[test]
fn a_phantom_token_takes_the_place_of_headers_and_of_the_token() {
    let with =
        |rest: &str| route(&format!(", phantom_token: {{audience: a}}{rest}")).routes()[0].enrichment.clone();
    let usual = with("");
    assert!(!usual.identity_headers && !usual.forward_token);
    let phantom = usual.phantom.unwrap();
    assert_eq!((phantom.header, phantom.lifetime), (http::header::AUTHORIZATION, Duration::from_mins(1)));
    assert!(with(", headers: {identity: true}").identity_headers);
}

#[test]
fn an_upstream_that_says_nothing_has_the_defaults_of_its_struct() {
    use crate::proxy::upstream::{Breaker, PassiveHealth, RetryBudget, Timeouts, UpstreamProtocol};
    let table = table(&beside_routes("upstreams: {u: {servers: ['http://[::1]:81', https://h]}}"));
    let upstream = &table.upstreams()[0];
    let servers: Vec<_> = upstream.servers.iter().map(|one| (one.host.as_str(), one.port, one.tls)).collect();
    assert_eq!(servers, [("::1", 81, false), ("h", 443, true)]);
    assert_eq!((upstream.protocol, upstream.retries), (UpstreamProtocol::Http1, 1));
    assert_eq!((&upstream.timeouts, &upstream.breaker), (&Timeouts::default(), &Breaker::default()));
    assert_eq!(upstream.passive_health, Some(PassiveHealth::default()));
    assert_eq!(upstream.retry_budget, Some(RetryBudget::default()));
    assert_eq!(upstream.active_health, None);
}

#[test]
fn an_upstream_whose_certificates_were_renewed_is_another_one() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| std::fs::write(directory.path().join(name), content).unwrap();
    let show = |own: &SelfSigned| {
        write("own.pem", &own.certificate);
        write("own.key", own.private_key.expose());
    };
    let tls = "{ca_file: ca.pem, certificate: own.pem, key: own.key}";
    let text = beside_routes(&format!("upstreams: {{u: {{servers: [https://h], tls: {tls}}}}}"));
    let upstream = || read(&text, directory.path()).unwrap().table.upstreams()[0].clone();
    write("ca.pem", &certificate().certificate);
    show(&certificate());
    let first = upstream();
    assert_eq!(upstream(), first, "nothing has changed");
    show(&certificate());
    let second = upstream();
    assert_ne!(second, first, "it is shown another certificate");
    write("ca.pem", &certificate().certificate);
    assert_ne!(upstream(), second, "it is trusted for another one");
}

#[test]
fn the_metadata_of_a_resource_is_where_the_standard_says() {
    let metadata = |identifier: &str| {
        let table = route(&format!(", resource: {{identifier: {identifier}}}"));
        let resource = table.routes()[0].policy.resource.clone().unwrap();
        (resource.identifier, resource.metadata_url, resource.metadata)
    };
    let well_known = "https://api.example.com/.well-known/oauth-protected-resource";
    let (identifier, url, document) = metadata("https://api.example.com/");
    assert_eq!((identifier.as_str(), url.as_str()), ("https://api.example.com/", well_known));
    assert_eq!(document, r#"{"bearer_methods_supported":["header"],"resource":"https://api.example.com/"}"#);
    assert_eq!(metadata("https://api.example.com/orders").1, format!("{well_known}/orders"));
    assert_eq!(metadata("https://api.example.com").1, well_known);
    assert_eq!(metadata("https://api.example.com/mcp/").1, format!("{well_known}/mcp/"));
    assert_eq!(
        metadata("https://api.example.com:8443/a/b").1,
        "https://api.example.com:8443/.well-known/oauth-protected-resource/a/b"
    );
}

#[test]
fn the_metadata_of_a_resource_name_authorization_servers_as_they_are_written() {
    let servers = [
        "https://a.example",
        "https://b.example/",
        "https://C.example:443/realms/x/",
        "http://localhost:4444/",
    ];
    let listed = serde_json::to_string(&servers).unwrap();
    let resource = format!("{{identifier: https://h/a, authorization_servers: {listed}}}");
    let table = route(&format!(", resource: {resource}"));
    let metadata = &table.routes()[0].policy.resource.as_ref().unwrap().metadata;
    let document: serde_json::Value = serde_json::from_str(metadata).unwrap();
    assert_eq!(document["authorization_servers"], serde_json::json!(servers));
}

#[test]
fn jwts_of_an_issuer_count_unless_it_is_only_asked() {
    let file = |rest: &str| table(&beside_routes(&format!("issuers: {{other: {{{rest}}}}}")));
    let issuer = |rest: &str| file(rest).settings().issuers[0].clone();
    let asked = "introspection: {endpoint: 'http://127.0.0.1/i'}";
    assert!(matches!(
        &issuer("issuer: https://o").jwt.as_ref().unwrap().keys,
        crate::validation::KeySource::Discovery
    ));
    assert!(issuer(asked).jwt.is_none());
    assert!(issuer(&format!("issuer: https://o, {asked}")).jwt.is_none());
    assert!(issuer(&format!("issuer: https://o, discovery: true, {asked}")).jwt.is_some());
    assert!(issuer(&format!("issuer: https://o, jwks_uri: https://o/k, {asked}")).jwt.is_some());
}

#[test]
fn a_single_value_stands_for_a_list_and_anchors_are_followed() {
    let text = "
routes:
  - &shared {name: one, match: {prefix: /one, hosts: h}, scopes: read, limits: [{by: route, requests: 5, period: 1s}]}
  - {<<: *shared, name: two, match: {prefix: /two}}";
    let table = table(text);
    let scopes: Vec<_> = table.routes().iter().map(|route| route.policy.scopes.join(" ")).collect();
    assert_eq!(scopes, ["read", "read"]);
    let limit = &table.routes()[1].limits[0];
    assert_eq!((limit.by, limit.burst.get()), (LimitBy::Route, 5));
}

#[test]
fn what_is_odd_is_warned_of() {
    let text = "
issuers: {other: {issuer: https://o}}
upstreams: {idle: {servers: http://h}, used: {servers: http://h}}
routes:
  - {name: a, match: {prefix: /a}, upstream: used}
  - {name: b, match: {pattern: '/a/{rest*}'}}
  - {name: c, match: {prefix: /a, methods: [GET]}, upstream: used}
  - {name: d, match: {prefix: /a, methods: [GET, HEAD]}, upstream: used}
  - {name: e, match: {prefix: /a, methods: [GET, PUT]}}";
    let expected = [
        "routes[1] (b): no request comes to it: routes before it are for the same hosts, path and methods",
        "routes[3] (d): no request comes to it: routes before it are for the same hosts, path and methods",
        "routes[4] (e): requests at the gateway get 404: it is for other proxies' questions only",
        "upstreams.idle: no route uses it",
        "issuers.other: no route uses it",
    ];
    assert_eq!(warnings(&text.replace("servers: http://h", "servers: [http://h]")), expected);
    assert_eq!(warnings("routes: []"), ["routes: there are none: every request is answered with 404"]);
    let for_others = "routes: [{name: a, match: {prefix: /a}}]";
    assert_eq!(warnings(for_others), [] as [&str; 0], "no route of the file is for the gateway");
}

#[test]
fn of_two_paths_that_differ_in_case_one_is_not_reached_where_case_is_ignored() {
    let text = "routes: [{name: a, match: {path: /Admin}}, {name: b, match: {path: /aDMIN}}]";
    assert_eq!(warnings(text), [] as [&str; 0]);
    let why = "no request comes to it: routes before it are for the same hosts, path and methods";
    assert_eq!(warnings(&format!("ignore_case: true\n{text}")), [format!("routes[1] (b): {why}")]);
}

#[test]
fn jwts_of_other_issuers_that_pass_whoever_they_are_for_are_warned_of() {
    let text = "
issuers:
  open: {issuer: https://open}
  bound: {issuer: https://bound, audience: orders}
  asked: {introspection: {endpoint: https://asked}}
routes:
  - {name: a, match: {prefix: /a}, issuers: [sluice, open, bound, asked]}
  - {name: b, match: {prefix: /b}, issuers: [open], audience: orders}";
    let why = "JWTs of `open` pass whoever they are for, and may be id tokens: name an audience here or in `issuers.open`";
    assert_eq!(warnings(text), [format!("routes[0] (a).audience: {why}")]);
}

#[test]
fn a_route_that_refuses_the_tokens_which_its_metadata_lead_to_is_warned_of() {
    let of = |audience: &str| {
        let resource = "resource: {identifier: https://h/orders}";
        warnings(&format!("routes: [{{name: a, match: {{prefix: /}}, {resource}{audience}}}]"))
    };
    let why = "does not have `https://h/orders`, the identifier of the resource: clients that read its metadata ask for tokens for \
               `https://h/orders`, and these are refused";
    assert_eq!(of(", audience: [https://h, orders]"), [format!("routes[0] (a).audience: {why}")]);
    for audience in ["", ", audience: https://h/orders", ", audience: [https://h, https://h/orders]"] {
        assert_eq!(of(audience), [] as [&str; 0], "{audience}");
    }
}

#[test]
fn an_issuer_whose_jwts_another_of_the_route_takes_is_warned_of() {
    let text = "
issuers:
  one: {issuer: https://o, audience: orders}
  asked: {introspection: {endpoint: https://asked}}
  vendor: {introspection: {endpoint: https://vendor}}
  two: {issuer: https://o, audience: billing}
routes:
  - {name: a, match: {prefix: /a}, issuers: [asked, two, vendor, one]}
  - {name: b, match: {prefix: /b}, issuers: [one]}";
    let why = "JWTs of `https://o` are checked as `issuers.two` says, never as `issuers.one` does";
    assert_eq!(warnings(text), [format!("routes[0] (a).issuers: {why}")]);
}
