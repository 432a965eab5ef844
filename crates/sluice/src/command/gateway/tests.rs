use std::fs;

use sluice_primitives::{OsRng, SystemClock};

use super::*;
use crate::cli::{Cli, Commands};

const FILE: &str = "
upstreams: {shop: {servers: [http://127.0.0.1:8080]}}
routes:
  - {name: orders, match: {hosts: api.example.com, prefix: /orders, methods: [GET]}, scopes: [orders.read], upstream: shop, rewrite_prefix: /v1}
  - {name: rest, match: {prefix: /}, auth: none, upstream: shop}
  - {name: hidden, match: {prefix: /}, auth: none}
";

/// What a command line prints and says, and how it ends. `FILE` stands for a file with `text`.
fn ran(text: &str, line: &str) -> (String, String, Exit) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("routes.yaml");
    fs::write(&path, text).unwrap();
    let words = line.split(' ').map(|word| if word == "FILE" { path.to_str().unwrap() } else { word });
    let Commands::Gateway(command) =
        Cli::read(["sluice", "gateway"].into_iter().chain(words)).unwrap().command
    else {
        panic!("{line}");
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let variable = |_: &str| None;
    let mut console =
        Console { out: &mut out, err: &mut err, variable: &variable, clock: &SystemClock, rng: &OsRng };
    let exit = run(&command, &mut console);
    (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), exit)
}

#[test]
fn a_good_file_is_a_table_of_its_routes() {
    let (out, err, exit) = ran(FILE, "check FILE");
    assert_eq!(exit, Exit::Success);
    let expected = "\
ROUTE   HOSTS            PATH      METHODS  AUTH      SCOPES       UPSTREAMS  LIMITS
orders  api.example.com  /orders…  GET      required  orders.read  shop       0
rest    *                /…        all      none                   shop       0
hidden  *                /…        all      none                              0
";
    assert_eq!(out, expected);
    assert_eq!(
        err,
        "warning: routes[2] (hidden): no request comes to it: routes before it are for the same hosts, path and methods\n"
    );
}

#[test]
fn a_bad_file_is_all_of_its_mistakes() {
    let text = "routes: [{name: a, match: {prefix: a}}, {name: a b}]";
    let (out, _, exit) = ran(text, "check FILE");
    assert_eq!(exit, Exit::Failure);
    assert_eq!(out.lines().count(), 4, "{out}");
    assert!(out.contains("routes[0] (a).match.prefix  must begin with a slash"), "{out}");
    let (out, _, exit) = ran(text, "check FILE --format json");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((exit, &json["valid"]), (Exit::Failure, &Value::from(false)));
    assert_eq!(
        json["mistakes"][0],
        json!({ "place": "routes[0].match.prefix", "route": "a", "message": "must begin with a slash" })
    );
}

#[test]
fn programs_read_the_routes_as_json() {
    let (out, _, _) = ran(FILE, "check FILE --format json");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["valid"], true);
    assert_eq!(json["routes"][0]["upstreams"], json!({ "shop": 1 }));
    assert_eq!(json["warnings"][0]["place"], "routes[2]");
    assert_eq!(json["warnings"][0]["route"], "hidden");
}

#[test]
fn a_request_is_told_its_route() {
    let (out, _, exit) = ran(FILE, "match FILE GET https://API.example.com:8443/orders/7?x=1");
    assert_eq!(exit, Exit::Success);
    assert!(out.starts_with("ROUTE          orders\n"), "{out}");
    assert!(out.ends_with("UPSTREAM PATH  /v1/7\n"), "{out}");
    let (out, _, _) = ran(FILE, "match FILE GET https://other.example.com/orders/7 --quiet");
    assert_eq!(out, "rest\n");
}

#[test]
fn a_request_without_a_route_is_told_what_the_gateway_answers_and_why() {
    let refused = |line: &str| {
        let (out, err, exit) = ran(FILE, line);
        assert_eq!((out.as_str(), exit), ("", Exit::Failure), "{line}");
        err.lines().last().unwrap().to_owned()
    };
    let other = refused("match FILE POST https://api.example.com/orders/7");
    assert_eq!(other, "405: no route is for this method; there are routes for GET, HEAD");
    let ambiguous = refused("match FILE GET https://api.example.com/a/../orders");
    assert_eq!(ambiguous, "400: the path can be read in two ways");
    let orders = "routes: [{name: orders, match: {prefix: /orders}, auth: none}]";
    let (_, nowhere, _) = ran(orders, "match FILE GET https://api.example.com/elsewhere");
    assert_eq!(nowhere, "404: no route is for this host and path\n");
}

#[test]
fn what_the_gateway_answers_before_it_looks_for_a_route_is_told() {
    for (line, told) in [
        ("match FILE TRACE https://api.example.com/orders/7", "501: TRACE is not served"),
        ("match FILE CONNECT https://api.example.com/orders/7", "501: CONNECT is not served"),
        (
            "match FILE GET https://root@api.example.com/orders/7",
            "400: the request needs exactly one valid host",
        ),
        (
            "match FILE GET https://api.example.com../orders/7",
            "400: the request needs exactly one valid host",
        ),
        ("match FILE GET ftp://api.example.com/orders/7", "400: the request target cannot be used"),
    ] {
        let (out, err, exit) = ran(FILE, line);
        assert_eq!((out.as_str(), err.lines().last(), exit), ("", Some(told), Exit::Failure), "{line}");
    }
}

#[test]
fn what_the_gateway_serves_itself_is_told_though_a_route_is_for_it() {
    let text =
        "routes: [{name: all, match: {prefix: /}, resource: {identifier: https://api.example.com/orders}}]";
    let metadata = "https://api.example.com/.well-known/oauth-protected-resource/orders";
    let keys = "https://any.example/.well-known/sluice-gateway-jwks.json";
    for (line, what, status) in [
        (format!("match FILE GET {metadata}"), "the metadata of https://api.example.com/orders", 200),
        (format!("match FILE OPTIONS {metadata}/"), "the metadata of https://api.example.com/orders", 204),
        (
            format!("match FILE GET {keys}"),
            "the public keys of phantom tokens, unless gateway.phantom.jwks_path is set",
            200,
        ),
    ] {
        let (out, _, exit) = ran(text, &format!("{line} --format json"));
        let json: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((json, exit), (json!({ "document": what, "status": status }), Exit::Success), "{line}");
    }
    let (out, err, exit) = ran(text, &format!("match FILE POST {metadata}"));
    assert_eq!((out.as_str(), exit), ("", Exit::Failure));
    assert!(err.starts_with("405: the gateway itself serves the metadata of"), "{err}");
    let (out, _, _) = ran(
        text,
        "match FILE GET https://other.example.com/.well-known/oauth-protected-resource/orders --quiet",
    );
    assert_eq!(out, "all\n", "another host has no such document");
}

#[test]
fn a_file_that_is_not_there_is_a_failure() {
    let (out, err, exit) = ran(FILE, "check nowhere.yaml");
    assert_eq!((out.as_str(), exit), ("", Exit::Failure));
    assert!(err.starts_with("error: nowhere.yaml cannot be read: "), "{err}");
}
