mod readings;

use std::net::Ipv4Addr;
use std::path::Path;

use http::HeaderMap;

use super::*;
use crate::route::file;

/// A table of routes whose names are what `match` says.
fn table(matches: &[&str]) -> RouteTable {
    let rule = |(index, matched): (usize, &&str)| {
        format!("  - {{name: r{index}, match: {{{matched}}}, auth: none}}\n")
    };
    let rules: String = matches.iter().enumerate().map(rule).collect();
    file::read(&format!("routes:\n{rules}"), Path::new("")).unwrap().table
}

fn found<'a>(table: &'a RouteTable, request: &str) -> Result<&'a str, Unrouted> {
    let (method, url) = request.split_once(' ').unwrap();
    let (host, path) = url.split_at(url.find('/').unwrap());
    table.find(&method.parse().unwrap(), host, path).map(|route| &*route.name)
}

#[track_caller]
fn assert_found(matches: &[&str], expected: &[(&str, Result<&str, Unrouted>)]) {
    let table = table(matches);
    for (request, route) in expected {
        assert_eq!(found(&table, request), *route, "{request}");
    }
}

const NONE: Result<&str, Unrouted> = Err(Unrouted::NoRoute);
const OTHER: Result<&str, Unrouted> = Err(Unrouted::OtherMethods);
const AMBIGUOUS: Result<&str, Unrouted> = Err(Unrouted::AmbiguousPath);

#[test]
fn a_prefix_counts_by_segments() {
    let requests = [
        ("GET h/orders", Ok("r0")),
        ("GET h/orders/", Ok("r0")),
        ("GET h/orders/7", Ok("r0")),
        ("GET h/orders2", NONE),
        ("GET h/Orders", NONE),
        ("GET h/order", NONE),
        ("GET h/", NONE),
    ];
    assert_found(&["prefix: /orders"], &requests);
    assert_found(&["prefix: /orders/"], &requests);
}

#[test]
fn text_comes_before_a_placeholder_and_a_placeholder_before_a_prefix() {
    let matches = [
        "prefix: /",
        "prefix: /users",
        "pattern: '/users/{id}/orders'",
        "path: /users/me",
        "pattern: '/users/{id}'",
        "prefix: /users/me/orders/old",
        "pattern: '/files/{rest*}'",
    ];
    assert_found(
        &matches,
        &[
            ("GET h/", Ok("r0")),
            ("GET h/other/path", Ok("r0")),
            ("GET h/users", Ok("r1")),
            ("GET h/users/", Ok("r1")),
            ("GET h/users/7", Ok("r4")),
            ("GET h/users/7/", AMBIGUOUS),
            ("GET h/users/me", Ok("r3")),
            ("GET h/users/7/orders", Ok("r2")),
            ("GET h/users/7/other", Ok("r1")),
            ("GET h/users/me/orders", Ok("r2")),
            ("GET h/users/me/orders/old/1", Ok("r5")),
            ("GET h/users/me/orders/new", Ok("r1")),
            ("GET h/files", Ok("r6")),
            ("GET h/files/a/b", Ok("r6")),
        ],
    );
}

#[test]
fn an_exact_path_is_that_path_only() {
    assert_found(
        &["path: /health", "path: /dir/", "path: /"],
        &[
            ("GET h/health", Ok("r0")),
            ("GET h/health/", NONE),
            ("GET h/health/x", NONE),
            ("GET h/dir/", Ok("r1")),
            ("GET h/dir", NONE),
            ("GET h/", Ok("r2")),
            ("GET h/x", NONE),
        ],
    );
}

#[test]
fn a_host_comes_before_its_domain_and_that_before_all() {
    let matches = [
        "prefix: /, hosts: [api.example.com]",
        "prefix: /, hosts: ['*.example.com', example.com]",
        "prefix: /",
        "prefix: /only, hosts: [bare.example.com]",
    ];
    assert_found(
        &matches,
        &[
            ("GET API.example.com:8443/x", Ok("r0")),
            ("GET api.example.com./x", Ok("r0")),
            ("GET www.example.com/x", Ok("r1")),
            ("GET a.b.example.com/x", Ok("r1")),
            ("GET example.com/x", Ok("r1")),
            ("GET [::1]:80/x", Ok("r2")),
            ("GET example.org/x", Ok("r2")),
            ("GET bare.example.com/only", Ok("r3")),
            ("GET bare.example.com/other", Ok("r1")),
        ],
    );
}

#[test]
fn methods_choose_among_routes_of_a_path_and_never_lead_to_another_path() {
    let matches = [
        "prefix: /",
        "prefix: /orders, methods: [GET]",
        "prefix: /orders, methods: [POST, PUT]",
        "prefix: /users",
        "prefix: /users, methods: [DELETE]",
    ];
    assert_found(
        &matches,
        &[
            ("GET h/orders/1", Ok("r1")),
            ("HEAD h/orders/1", Ok("r1")),
            ("PUT h/orders/1", Ok("r2")),
            ("DELETE h/orders/1", OTHER),
            ("DELETE h/users/1", Ok("r4")),
            ("BREW h/users/1", Ok("r3")),
        ],
    );
    let table = table(&matches);
    let allowed: Vec<&str> = table.methods("h", "/orders/1").into_iter().map(Method::as_str).collect();
    assert_eq!(allowed, ["GET", "HEAD", "POST", "PUT"]);
}

#[test]
fn a_method_in_small_letters_leads_to_no_route() {
    let small = Err(Unrouted::SmallLetters);
    let matches = ["prefix: /", "prefix: /orders, methods: [DELETE]", "prefix: /orders"];
    assert_found(
        &matches,
        &[
            ("DELETE h/orders/1", Ok("r1")),
            ("delete h/orders/1", small),
            ("Delete h/orders/1", small),
            ("DELETe h/orders/1", small),
            ("get h/", small),
            ("get h/orders/../x", small),
            ("M-SEARCH h/", Ok("r0")),
        ],
    );
    assert_eq!(table(&matches).refusal(Unrouted::SmallLetters, "h", "/orders/1"), Refusal::SmallLetters);
}

#[test]
fn who_asks_for_the_methods_of_a_path_is_told_those_that_its_routes_name_if_none_is_for_all() {
    let table = table(&[
        "prefix: /orders, methods: [GET]",
        "prefix: /orders, methods: [POST, OPTIONS]",
        "prefix: /users, methods: [DELETE]",
        "prefix: /users",
    ]);
    let methods = |path| table.only_methods("h", path).map(|methods| methods.to_str().unwrap().to_owned());
    assert_eq!(methods("/orders/1").as_deref(), Some("GET, HEAD, POST, OPTIONS"));
    for path in ["/users/1", "/nowhere", "*"] {
        assert_eq!(methods(path), None, "{path}");
    }
}

#[test]
fn a_path_that_routes_know_with_other_methods_is_refused_with_those_that_they_have() {
    let table = table(&["prefix: /orders, methods: [GET]", "prefix: /orders, methods: [POST]", "path: /all"]);
    let refusal = |method: &Method, path| {
        let asked = Asked {
            method,
            https: true,
            host: "h",
            path,
            query: None,
            headers: &HeaderMap::new(),
            has_body: false,
            client: Ipv4Addr::LOCALHOST.into(),
            certificate: None,
            last: None,
        };
        table.route(&asked).err()
    };
    let allowed = HeaderValue::from_static("GET, HEAD, POST");
    assert_eq!(refusal(&Method::DELETE, "/orders/1"), Some(Refusal::OtherMethods(allowed)));
    assert_eq!(refusal(&Method::DELETE, "/elsewhere"), Some(Refusal::NoRoute));
    assert_eq!(refusal(&Method::DELETE, "/orders/../x"), Some(Refusal::AmbiguousPath));
    assert_eq!(refusal(&Method::TRACE, "/all"), Some(Refusal::Trace), "whatever routes say");
    assert_eq!(refusal(&Method::CONNECT, "/all"), Some(Refusal::Connect), "whatever routes say");
    assert_eq!(refusal(&Method::HEAD, "/orders/1").or_else(|| refusal(&Method::DELETE, "/all")), None);
}

#[test]
fn preflights_that_pass_are_among_the_methods() {
    let text = "routes: [{name: a, match: {prefix: /a, methods: [POST]}, preflight: pass}, {name: b, match: {prefix: /b, methods: [POST]}}]";
    let table = file::read(text, Path::new("")).unwrap().table;
    assert_eq!(found(&table, "OPTIONS h/a"), Ok("a"));
    assert_eq!(found(&table, "OPTIONS h/b"), OTHER);
}

#[test]
fn what_is_no_path_falls_under_no_route() {
    let table = table(&["prefix: /"]);
    for path in ["*", "", "orders", "http://h/orders"] {
        assert!(table.find(&Method::OPTIONS, "h", path).is_err(), "{path}");
    }
}

#[test]
fn a_prefix_is_replaced_also_where_it_is_written_with_escapes() {
    let rewritten = |rule: &str, path: &str| {
        let text = format!("routes: [{{name: r, match: {{prefix: {rule}}}, rewrite_prefix: REPLACED}}]");
        let text = text.replace("REPLACED", if rule.len() > 1 { "/v1/" } else { "/" });
        let table = file::read(&text, Path::new("")).unwrap().table;
        table.find(&Method::GET, "h", path).unwrap().upstream_path(path).into_owned()
    };
    assert_eq!(rewritten("/orders/", "/orders/7"), "/v1/7");
    assert_eq!(rewritten("/orders", "/orders"), "/v1");
    assert_eq!(rewritten("/orders", "/%6frders/%41"), "/v1/%41");
    assert_eq!(rewritten("/a/b", "/a/b/c/"), "/v1/c/");
    assert_eq!(rewritten("/", "/a"), "/a");
}

#[test]
fn a_rewrite_to_the_root_leaves_a_path() {
    let text = "routes: [{name: r, match: {prefix: /api}, rewrite_prefix: /}]";
    let table = file::read(text, Path::new("")).unwrap().table;
    let route = &table.routes()[0];
    assert_eq!((route.upstream_path("/api"), route.upstream_path("/api/x")), ("/".into(), "/x".into()));
}
