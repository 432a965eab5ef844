//! Servers with a gateway each: what they hear of each other, what they read again, what their link gives away.

use std::time::Duration;

use reqwest::StatusCode;
use sluice_testkit::Backend;

use super::installation::Installation;
use super::{LINK_TOKEN, Routes, Seen, site};
use crate::application::{Application, http_client};
use crate::both_stores::on_both_stores;
use crate::process::until;

/// How many tokens are revoked, at the one and the other server in turn.
const REVOCATIONS: usize = 20;
/// In this time half of them are refused everywhere, however busy the machine is.
const HALF_REFUSED: Duration = Duration::from_secs(2);

on_both_stores! { what_one_server_revokes_every_gateway_refuses }

/// Two servers on one database, and gateways of every kind: revoked at either, refused by all.
async fn what_one_server_revokes_every_gateway_refuses(backend: Backend) {
    let installation = Installation::start(backend).await;
    let [one, other] = &installation.servers;
    let application = Application::register(&[one, other]).await;
    let log_in = async || application.redeem(&application.log_in("alice").await.unwrap()).await.unwrap();
    let lasting = log_in().await;
    let mut took = Vec::new();
    for turn in 0..REVOCATIONS {
        let revoked = log_in().await;
        installation.passes_everywhere(&revoked.access, "alice").await;
        let server = turn % installation.servers.len();
        application.at(&[&installation.servers[server]]).revoke(&revoked).await.unwrap();
        took.push(installation.is_refused_everywhere(&revoked.access, server).await);
        installation.passes_everywhere(&lasting.access, "alice").await;
    }
    installation.stop().await;
    took.sort_unstable();
    println!("{backend:?}: all gateways refused after {took:.1?}");
    assert!(took[REVOCATIONS / 2] < HALF_REFUSED, "{took:.1?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_are_read_again_and_a_bad_file_changes_nothing() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let gateway = Seen::of(&server);
    assert_eq!(gateway.status("/orders/7", "nobody").await, StatusCode::UNAUTHORIZED);
    routes.write("none");
    gateway.until("/orders/7", "nobody", StatusCode::OK).await;
    routes.write("sometimes");
    let metrics = || async {
        let url = server.admin.join("/admin/metrics/prometheus").unwrap();
        http_client().get(url).send().await.unwrap().text().await.unwrap()
    };
    until("told of", async || metrics().await.contains("\nsluice_gateway_routes_in_force 0")).await;
    assert_eq!(gateway.status("/orders/7", "nobody").await, StatusCode::OK);
    assert!(
        metrics()
            .await
            .contains(r#"sluice_gateway_requests_total{route="orders",code="200",verdict="anonymous"}"#)
    );
    routes.write("required");
    gateway.until("/orders/7", "nobody", StatusCode::UNAUTHORIZED).await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_answers_those_who_bear_its_token_and_gives_no_other_key() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let url = server.listeners["link"].join("/link/v1/keys").unwrap();
    let ask = |token: &str| http_client().post(url.clone()).bearer_auth(token).json(&()).send();
    for token in ["", "the link of these tests, which is lon", "the link of these tests, which is long."] {
        assert_eq!(ask(token).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    }
    let keys: serde_json::Value = ask(LINK_TOKEN).await.unwrap().json().await.unwrap();
    let purposes: Vec<_> = keys["sealed"].as_array().unwrap().iter().map(|keys| keys[0].clone()).collect();
    assert_eq!(purposes, [14, 8], "the facts in JWTs, access tokens");
    let secret = |key: &serde_json::Value| key.get("d").is_some();
    assert!(!keys["jwks"]["keys"].as_array().unwrap().iter().any(secret));
    assert!(!keys["persons"].as_array().unwrap().iter().any(secret));
    let admin = server.listeners["link"].join("/admin/clients").unwrap();
    let answer = http_client().get(admin).bearer_auth(LINK_TOKEN).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND, "the link is no admin port");
    server.kill().await;
}
