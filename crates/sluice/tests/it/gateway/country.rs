//! `OAuth-Country`: by a file that is replaced, for the address that a trusted proxy tells.

use std::fs;

use ipnet::IpNet;
use mmdb_writer::{Value as Record, Writer};
use reqwest::StatusCode;
use serde_json::{Value, json};
use sluice_testkit::Backend;

use super::{Routes, Seen, site};
use crate::process::until;

const TRUSTED: &str = "trusted_proxies: [127.0.0.1/32, 10.0.0.0/8]\n";

/// Puts a file of these networks and countries where the routes look for it, as what updates such files does.
fn put(routes: &Routes, of: &[(&str, &str)]) {
    let mut writer = Writer::new("Test-Country");
    for (network, country) in of {
        let record = Record::map([("country", Record::map([("iso_code", Record::from(*country))]))]);
        writer.insert_value(network.parse::<IpNet>().unwrap(), record).unwrap();
    }
    let beside = routes.directory.path().join("new");
    fs::write(&beside, writer.to_bytes().unwrap()).unwrap();
    fs::rename(beside, routes.directory.path().join("country.mmdb")).unwrap();
}

/// Routes for everybody, behind these proxies.
fn behind(routes: &Routes, proxies: &str) {
    let shop = "  - {name: shop, match: {prefix: /shop/}, upstream: echo, auth: none}\n";
    routes.rewrite(&format!("{proxies}country_database: country.mmdb\n"), shop);
}

/// Where the upstream is told that a client is who came this way, and says that it is elsewhere.
async fn told(gateway: &Seen, forwarded_for: Option<&str>) -> Value {
    let mut request = gateway.http.get(gateway.url.join("/shop/7").unwrap());
    for name in ["OAuth-Country", "OAuth_Country"] {
        request = request.header(name, "XX");
    }
    if let Some(addresses) = forwarded_for {
        request = request.header("X-Forwarded-For", addresses);
    }
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let seen: Value = answer.json().await.unwrap();
    assert!(seen.get("oauth_country").is_none(), "{seen}");
    seen["oauth-country"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_is_told_in_which_country_a_client_is_and_nothing_where_nobody_knows() {
    let routes = Routes::fresh().await;
    put(&routes, &[("192.0.2.0/24", "CZ"), ("2001:db8:1::/48", "SE")]);
    behind(&routes, TRUSTED);
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let gateway = Seen::of(&server);
    for (forwarded_for, country) in [
        (Some("192.0.2.7"), json!("CZ")),
        (Some("2001:db8:1::7"), json!("SE")),
        (Some("203.0.113.9, 192.0.2.7, 10.1.2.3"), json!("CZ")),
        (Some("192.0.2.7, 203.0.113.9"), Value::Null),
        (Some("203.0.113.9"), Value::Null),
        (None, Value::Null),
    ] {
        assert_eq!(told(&gateway, forwarded_for).await, country, "{forwarded_for:?}");
    }
    put(&routes, &[("192.0.2.0/24", "SK"), ("203.0.113.0/24", "PL")]);
    until("the new file", async || told(&gateway, Some("192.0.2.7")).await == "SK").await;
    assert_eq!(told(&gateway, Some("203.0.113.9")).await, "PL");
    assert_eq!(told(&gateway, Some("2001:db8:1::7")).await, Value::Null);
    behind(&routes, "");
    until("no word of others", async || told(&gateway, Some("192.0.2.7")).await.is_null()).await;
    server.kill().await;
}
