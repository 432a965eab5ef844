//! Every mistake is told, with its place.

use super::*;

#[track_caller]
fn assert_mistake(text: &str, expected: &str) {
    let found = mistakes(text);
    assert!(matches!(&found[..], [one] if one.starts_with(expected)), "{found:#?}");
}

#[track_caller]
fn assert_beside_routes(text: &str, expected: &str) {
    assert_mistake(&beside_routes(text), expected);
}

#[track_caller]
fn assert_in_route(rest: &str, expected: &str) {
    let text = format!(
        "upstreams: {{u: {{servers: [http://h]}}}}\nroutes: [{{name: r, match: {{prefix: /}}{rest}}}]"
    );
    assert_mistake(&text, &format!("routes[0] (r){expected}"));
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = "
trusted_proxis: [10.0.0.0/8]
strip_headers: [X-User, 'X User', Host]
upstreams:
  shop: {servers: ['http://h/path', 'ftp://h', 'http://h:80'], retries: 4, retry_budget: {percent: 101}, timeouts: {connect: soon}}
  no name: {}
issuers:
  sluice: {issuer: https://other}
  other: {jwks_uri: 'http://other.example/keys'}
routes:
  - {name: a, match: {prefix: orders}, upstream: shup}
  - {name: a, match: {prefix: /a, path: /b}, auth: maybe}
  - {match: {pattern: '/a/x{id}'}, limits: [{by: subject, requests: 0, period: 1ms}]}
  - [1]";
    let expected = [
        "strip_headers[1]: must be the name of a header",
        "strip_headers[2]: this header belongs to the connection",
        "upstreams.no name: a name has 1 to 64",
        "issuers.other.jwks_uri: must be an https URL",
        "issuers.other.issuer: is missing",
        "issuers.sluice: `sluice` is this installation's own name",
        "upstreams.shop.servers[0].url: must be a URL such as",
        "upstreams.shop.servers[1].url: must be a URL such as",
        "upstreams.shop.timeouts.connect: must be a duration",
        "upstreams.shop.retries: must be 0 to 3",
        "upstreams.shop.retry_budget.percent: must be 0 to 100",
        "routes[3]: must be a mapping",
        "routes[0] (a).match.prefix: must begin with a slash",
        "routes[0] (a).upstream: no such upstream",
        "routes[1] (a).match: needs one of",
        "routes[1] (a).auth: unknown variant `maybe`, expected one of `required`, `optional`, `none`",
        "routes[2].name: is missing",
        "routes[2].match.pattern: a placeholder must be a whole segment",
        "routes[2].limits[0].requests: invalid value: integer `0`",
        "routes[2].limits[0].period: must be 1s to 30days",
        "trusted_proxis: is unknown; known here: trusted_proxies, strip_headers",
    ];
    let mut found = mistakes(text);
    for start in expected {
        let index = found.iter().position(|one| one.starts_with(start));
        let index = index.unwrap_or_else(|| panic!("nobody said {start}: {found:#?}"));
        found.remove(index);
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_is_no_yaml_is_told_with_its_line() {
    assert_mistake("routes:\n  - {name: a", "line 3 column 1: did not find");
    assert_mistake("routes: []\nroutes: []", "line 1 column 1: duplicate entry with key \"routes\"");
    assert_mistake("[]", "the file: must be a mapping");
}

#[test]
fn names_must_be_known_and_no_two_routes_have_the_same() {
    assert_in_route(", upstreams: {other: 1}", ".upstreams.other: no such upstream");
    assert_in_route(", upstreams: {u: 0}", ".upstreams.u: a weight is a number");
    assert_in_route(", upstream: u, upstreams: {u: 1}", ".upstreams: stands beside `upstream`");
    assert_in_route(", issuers: [sluice, other]", ".issuers[1]: no such issuer; there are sluice");
    for (name, place) in
        [("'-'", "routes[0] (-).name"), ("token_validation", "routes[0] (token_validation).name")]
    {
        let text = format!("routes: [{{name: {name}, match: {{prefix: /}}}}]");
        assert_mistake(&text, &format!("{place}: is what metrics and the access log call"));
    }
    let text = "routes: [{name: a, match: {prefix: /a}}, {name: a, match: {prefix: /b}}]";
    assert_mistake(text, "routes[1] (a).name: routes[0] is called the same");
}

/// What is left of a list whose last item was taken out would let through what the list kept out.
#[test]
fn a_list_that_narrows_a_route_is_not_empty() {
    for (key, otherwise) in
        [("scopes", "none"), ("any_scope", "none"), ("audience", "any"), ("issuers", "`sluice` alone")]
    {
        let expected = format!(".{key}: must name at least one; leave the key out for {otherwise}");
        assert_in_route(&format!(", {key}: []"), &expected);
    }
    for key in ["methods", "hosts"] {
        assert_mistake(
            &format!("routes: [{{name: r, match: {{prefix: /, {key}: []}}}}]"),
            &format!("routes[0] (r).match.{key}: must name at least one; leave the key out for all"),
        );
    }
    assert_beside_routes(
        "issuers: {i: {issuer: https://i, audience: []}}",
        "issuers.i.audience: must name at least one; leave the key out for any",
    );
    let cleared = "routes: [{name: r, match: {prefix: /, methods: ~}, scopes: ~}]";
    assert!(table(cleared).routes()[0].policy.scopes.is_empty(), "nothing stands there");
}

#[test]
fn a_header_has_a_name_and_no_pattern() {
    let why = "must be the name of a header; there are no patterns";
    assert_beside_routes("strip_headers: [X-User, 'X-*']", &format!("strip_headers[1]: {why}"));
    for (rest, place) in [
        ("headers: {fixed: {'X-*': a}}", "headers.fixed.X-*"),
        ("headers: {claims: {'*': a}}", "headers.claims.*"),
        ("phantom_token: {audience: a, header: 'X-*'}", "phantom_token.header"),
        ("token: {header: 'X-*'}", "token.header"),
    ] {
        assert_in_route(&format!(", {rest}"), &format!(".{place}: {why}"));
    }
}

#[test]
fn a_mistake_in_a_route_tells_its_name() {
    let text = "
routes:
  - {name: one, match: {prefix: /}}
  - {name: 'no name', match: {prefix: a}}
  - {name: payments, match: {prefix: a}, limits: [{by: route, requests: 1}]}";
    let found = read(text, Path::new("")).unwrap_err();
    let told: Vec<_> = found.iter().map(|one| (one.place.as_str(), one.route.as_deref())).collect();
    let expected = [
        ("routes[1].name", None),
        ("routes[1].match.prefix", None),
        ("routes[2].match.prefix", Some("payments")),
        ("routes[2].limits[0].period", Some("payments")),
    ];
    assert_eq!(told, expected);
    let shown: Vec<_> = found.iter().map(|one| one.shown_place().into_owned()).collect();
    let expected = [
        "routes[1].name",
        "routes[1].match.prefix",
        "routes[2] (payments).match.prefix",
        "routes[2] (payments).limits[0].period",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn what_would_have_no_effect_is_a_mistake() {
    assert_in_route(", auth: none, scopes: [a]", ".scopes: has no effect with `auth: none`");
    for (key, rest) in [
        ("stale", "stale: refuse"),
        ("phantom_token", "phantom_token: {audience: a}"),
        ("headers.claims", "headers: {claims: {X-Email: email}}"),
        ("token", "token: {cookie: session}"),
    ] {
        let expected = format!(".{key}: has no effect with `auth: none`");
        assert_in_route(&format!(", auth: none, {rest}"), &expected);
    }
    assert_in_route(
        ", auth: none, resource: {identifier: https://h/a}",
        ".resource: would have clients bring tokens, which `auth: none` does not look at",
    );
    assert_in_route(
        ", token: {header: X-Token, origins: [https://a]}",
        ".token.origins: has no effect without `cookie`",
    );
    assert_in_route(", headers: {country: true}", ".headers.country: needs a `country_database`");
    assert_in_route(", token: {authorization: false}", ".token: a token must be somewhere");
    assert_mistake(
        "routes: [{name: r, match: {path: /}, rewrite_prefix: /v1}]",
        "routes[0] (r).rewrite_prefix: needs `match.prefix`",
    );
    assert_beside_routes("upstreams: {u: {servers: [http://h], tls: {}}}", "upstreams.u.tls: no server");
    assert_beside_routes(
        "upstreams: {u: {servers: [http://h, 'http://h:80']}}",
        "upstreams.u.servers: h port 80 stands there twice",
    );
    assert_beside_routes("upstreams: {u: {}}", "upstreams.u.servers: is missing");
    assert_beside_routes("upstreams: {u: {servers: []}}", "upstreams.u.servers: must name at least one");
}

#[test]
fn what_replaces_a_prefix_is_a_path_that_is_read_in_one_way_as_it_is_written() {
    for path in ["v1", "/a/../b", "/a//b", "/a%2fb", "/a;b", "/a%3Bb", "/a?b", "/a#b", "/a b"] {
        let text = format!("routes: [{{name: r, match: {{prefix: /}}, rewrite_prefix: '{path}'}}]");
        assert_mistake(&text, "routes[0] (r).rewrite_prefix: must be a path such as /v1/");
    }
    for path in ["/v1", "/x%252Fy", "/x%2541", "/x%3Fy", "/%C3%A9"] {
        let table = route(&format!(", rewrite_prefix: '{path}'"));
        assert_eq!(table.routes()[0].rewrite_prefix.as_deref(), Some(path));
    }
}

#[test]
fn origins_are_written_as_browsers_write_them() {
    assert_in_route(", cors_credentials: 'https://a'", ".cors_credentials: has no effect without");
    for origin in ["https://a/", "https://A", "https://a:443", "a", "'*'", "'null'", "ftp://a"] {
        assert_in_route(
            &format!(", preflight: pass, cors_credentials: [https://a, {origin}]"),
            ".cors_credentials[1]: must be an origin",
        );
    }
}

#[test]
fn headers_that_are_the_gateways_own_cannot_be_set() {
    for name in ["OAuth-User-Id", "oauth-user-scope", "OAuth-Client-Id", "OAuth-Country", "oauth_user_id"] {
        assert_in_route(
            &format!(", headers: {{fixed: {{{name}: x}}}}"),
            &format!(".headers.fixed.{name}: this header says"),
        );
        assert_in_route(
            &format!(", headers: {{claims: {{{name}: x}}}}"),
            &format!(".headers.claims.{name}: this header says"),
        );
    }
    assert_in_route(
        ", headers: {fixed: {Content-Length: 5}}",
        ".headers.fixed.Content-Length: this header belongs",
    );
    assert_in_route(
        ", headers: {fixed: {X-A: \"a\\nb\"}}",
        ".headers.fixed.X-A: must be the value of a header",
    );
    assert_in_route(", headers: {claims: {X-A: a..b}}", ".headers.claims.X-A: must be the name of a claim");
    assert_in_route(", headers: {fixed: {X-A: a}, claims: {x-a: a}}", ".headers: `x-a` is set twice");
    assert_in_route(
        ", phantom_token: {audience: a}, headers: {forward_token: true}",
        ".headers: `authorization` is set, and would be forwarded",
    );
    assert_in_route(", phantom_token: {lifetime: 60s}", ".phantom_token.audience: is missing");
    assert_in_route(", token: {header: Authorization}", ".token.header: this is what");
    assert_in_route(", token: {cookie: 'a b'}", ".token.cookie: must be the name of a cookie");
}

#[test]
fn a_resource_is_an_https_url_and_says_one_thing() {
    assert_in_route(", resource: {identifier: 'http://h/a'}", ".resource.identifier: must be an https URL");
    assert_in_route(", resource: {identifier: 'https://h/a#b'}", ".resource.identifier: must have no query");
    assert_in_route(", resource: {identifier: 'https://h/a '}", ".resource.identifier: must have no spaces");
    assert_in_route(
        ", resource: {identifier: https://h/a, authorization_servers: [\"https://id.example\\n\"]}",
        ".resource.authorization_servers[0]: must have no spaces",
    );
    assert_in_route(", resource: {}", ".resource.identifier: is missing");
    let text = "
routes:
  - {name: a, match: {prefix: /a}, resource: {identifier: https://h/r, name: A}}
  - {name: b, match: {prefix: /b}, resource: {identifier: https://h/r, name: B}}";
    assert_mistake(text, "routes[1] (b).resource: routes[0] says something else");
}

#[test]
fn files_must_be_there_and_secrets_not_empty() {
    assert_beside_routes(
        "country_database: /nowhere/at.mmdb",
        "country_database: /nowhere/at.mmdb cannot be read: ",
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("empty"), "\n").unwrap();
    for (content, why) in
        [(&b"no database"[..], "the country database is no MMDB file: "), (&countries()[..], "")]
    {
        std::fs::write(directory.path().join("countries"), content).unwrap();
        let found = read(&beside_routes("country_database: countries"), directory.path());
        let found = found.map(|_| ()).map_err(|mistakes| mistakes.to_string());
        assert_eq!(found.is_err(), !why.is_empty(), "{found:?}");
        assert!(found.as_ref().err().is_none_or(|found| found.contains(why)), "{found:?}");
    }
    let text =
        "issuers: {i: {introspection: {endpoint: https://i, client_id: g, client_secret_file: empty}}}";
    let found = read(text, directory.path()).unwrap_err().to_string();
    assert!(found.contains("client_secret_file: ") && found.contains("is empty"), "{found}");
}

#[test]
fn certificates_must_be_some_and_go_with_their_key() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| std::fs::write(directory.path().join(name), content).unwrap();
    let (one, other) = (certificate(), certificate());
    write("none.pem", "no certificate");
    write("one.pem", &one.certificate);
    write("one.key", one.private_key.expose());
    write("other.key", other.private_key.expose());
    let read = |tls: &str| {
        let text = beside_routes(&format!("upstreams: {{u: {{servers: [https://h], tls: {{{tls}}}}}}}"));
        read(&text, directory.path()).map_err(|mistakes| mistakes.to_string())
    };
    assert!(read("ca_file: one.pem, certificate: one.pem, key: one.key").is_ok());
    for (tls, expected) in [
        ("ca_file: none.pem", "upstreams.u.tls.ca_file: the PEM text holds no certificate"),
        (
            "certificate: none.pem, key: one.key",
            "upstreams.u.tls.certificate: the PEM text holds no certificate",
        ),
        ("certificate: one.pem, key: one.pem", "upstreams.u.tls.certificate: the PEM text cannot be used: "),
        (
            "ca_file: one.pem, certificate: one.pem, key: other.key",
            "upstreams.u.tls.certificate: certificate and key cannot be used: ",
        ),
    ] {
        let found = read(tls).unwrap_err();
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn introspection_needs_what_its_authentication_needs() {
    let with = |rest: &str| format!("issuers: {{i: {{introspection: {{endpoint: https://i{rest}}}}}}}");
    assert_beside_routes(&with(", client_id: g"), "issuers.i.introspection.client_secret_file: is missing");
    assert_beside_routes(&with(", auth: bearer"), "issuers.i.introspection.token_file: is missing");
    assert_beside_routes(&with(", auth: digest"), "issuers.i.introspection.auth: must be one of");
    assert_beside_routes("issuers: {i: {introspection: {}}}", "issuers.i.introspection.endpoint: is missing");
    assert_beside_routes(
        "issuers: {i: {discovery: false, issuer: https://i}}",
        "issuers.i: without discovery",
    );
    assert_beside_routes(
        "issuers: {i: {issuer: https://i, algorithms: [HS256]}}",
        "issuers.i.algorithms[0]: must be one of RS256",
    );
}

#[test]
fn an_issuer_whose_keys_are_looked_for_is_an_https_url() {
    for issuer in ["http://login.example", "http://192.0.2.2:4444/", "urn:partner", "foo"] {
        for rest in ["", ", discovery: true", ", discovery: true, introspection: {endpoint: https://i}"] {
            let text = format!("issuers: {{i: {{issuer: '{issuer}'{rest}}}}}");
            assert_beside_routes(&text, "issuers.i.issuer: must be ");
        }
        for rest in ["jwks_uri: https://i/keys", "introspection: {endpoint: https://i}"] {
            let text = format!("issuers: {{i: {{issuer: '{issuer}', {rest}}}}}");
            assert!(read(&beside_routes(&text), Path::new("")).is_ok(), "{text}");
        }
    }
    for issuer in ["https://login.example/realms/x/", "http://localhost:4444/", "http://[::1]:4444"] {
        let table = table(&beside_routes(&format!("issuers: {{i: {{issuer: '{issuer}'}}}}")));
        assert_eq!(table.settings().issuers[0].issuer, issuer, "`iss` is compared as it is written");
    }
}

#[test]
fn what_marks_the_tokens_of_clients_is_a_claim() {
    assert_beside_routes(
        "issuers: {i: {issuer: https://i, clients: {prefix: service-}}}",
        "issuers.i.clients.claim: is missing",
    );
}

#[test]
fn what_may_come_at_once_is_given_back_within_500_years() {
    let with = |burst: u32| format!(", limits: [{{by: address, requests: 1, period: 30d, burst: {burst}}}]");
    for burst in [6_084, 10_000, u32::MAX] {
        assert_in_route(&with(burst), ".limits[0].burst: takes longer than 500 years");
    }
    assert_eq!(route(&with(6_083)).routes()[0].limits[0].burst.get(), 6_083);
}

#[test]
fn methods_and_hosts_are_told_from_nonsense() {
    let with = |rest: &str| format!("routes: [{{name: r, match: {{prefix: /, {rest}}}}}]");
    for method in ["get", "CONNECT", "TRACE", "'GET POST'"] {
        assert_mistake(
            &with(&format!("methods: [{method}]")),
            "routes[0] (r).match.methods[0]: must be a method",
        );
    }
    assert_mistake(&with("hosts: ['api.example.com:80']"), "routes[0] (r).match.hosts[0]: must be a host");
    assert_in_route(
        ", limits: [{by: route, requests: 1, period: 1s}, {by: route, requests: 9, period: 1m}]",
        ".limits[1].by: another limit",
    );
    assert_in_route(", max_body: much", ".max_body: must be a size");
}
