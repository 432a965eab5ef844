//! `sluice gateway check`: a routes file is judged before a gateway reads it.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ended, run};

const GOOD: &str = "
upstreams: {shop: {servers: [http://127.0.0.1:8080]}}
routes:
  - {name: orders, match: {prefix: /orders}, upstream: shop, scopes: [orders.read]}
  - {name: rest, match: {prefix: /}, auth: none, upstream: shop}
";
const BAD: &str = "
trusted_proxis: [10.0.0.0/8]
upstreams: {shop: {servers: ['ftp://127.0.0.1', http://127.0.0.1:8080], retries: 4}}
routes:
  - {name: orders, match: {prefix: orders}, upstream: shup}
  - {name: rest, match: {prefix: /}, auth: maybe}
";
/// Where something is wrong in it.
const PLACES: &[&str] = &[
    "routes[0].match.prefix",
    "routes[0].upstream",
    "routes[1].auth",
    "trusted_proxis",
    "upstreams.shop.retries",
    "upstreams.shop.servers[0].url",
];

fn file(text: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("routes.yaml");
    fs::write(&path, text).unwrap();
    (directory, path)
}

fn checked(text: &str, format: &str) -> Ended {
    let (_directory, path) = file(text);
    run(&["gateway", "check", path.to_str().unwrap(), "--format", format], &[])
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn a_good_file_ends_well_and_is_a_table_of_its_routes() {
    let ended = checked(GOOD, "json");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let said = json(&ended);
    let routes = said["routes"].as_array().unwrap().iter();
    let names: Vec<_> = routes.map(|route| route["name"].as_str().unwrap()).collect();
    assert_eq!((&said["valid"], names), (&Value::from(true), vec!["orders", "rest"]));
}

#[test]
fn a_bad_file_ends_with_1_and_every_mistake_is_named_at_its_place() {
    let ended = checked(BAD, "json");
    let said = json(&ended);
    assert_eq!((ended.code, &said["valid"]), (Some(1), &Value::from(false)));
    let mistakes = said["mistakes"].as_array().unwrap();
    let mut places: Vec<_> = mistakes.iter().map(|mistake| mistake["place"].as_str().unwrap()).collect();
    places.sort_unstable();
    assert_eq!(places, PLACES);
    let ended = checked(BAD, "table");
    assert_eq!(ended.code, Some(1));
    for mistake in mistakes {
        let [place, message] = ["place", "message"].map(|field| mistake[field].as_str().unwrap());
        let shown = match mistake["route"].as_str() {
            Some(route) => place.replacen(']', &format!("] ({route})"), 1),
            None => place.to_owned(),
        };
        let is_it = |line: &str| line.starts_with(&format!("{shown} ")) && line.trim_end().ends_with(message);
        assert!(!message.is_empty() && ended.stdout.lines().any(is_it), "{shown} in {}", ended.stdout);
    }
}

#[test]
fn a_file_that_cannot_be_read_ends_with_1() {
    let (directory, path) = file(GOOD);
    drop(directory);
    let ended = run(&["gateway", "check", path.to_str().unwrap()], &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("routes.yaml cannot be read"), "{}", ended.stderr);
}
