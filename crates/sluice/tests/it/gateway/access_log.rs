//! The access log in a file that is rotated, and what the log says beside it.

use std::fs;
use std::path::Path;

use reqwest::StatusCode;
use rustix::process::Signal;
use serde_json::Value;
use sluice_testkit::Backend;

use super::{Routes, Seen, site};
use crate::process::until;

/// The paths of the requests that a log tells of.
fn paths(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.map(|line| line["path"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_moved_away_begins_anew_on_sighup() {
    let routes = Routes::fresh().await;
    let mut site = site(Backend::Sqlite, &routes).await;
    let directory = tempfile::tempdir().unwrap();
    let (log, moved) = (directory.path().join("access.log"), directory.path().join("access.log.1"));
    site.set(&[("gateway.access_log", log.to_str().unwrap())]);
    let server = site.start().await;
    let gateway = Seen::of(&server);
    assert_eq!(gateway.status("/orders/1", "nobody").await, StatusCode::UNAUTHORIZED);
    until("a line", async || !paths(&log).is_empty()).await;
    fs::rename(&log, &moved).unwrap();
    server.signal(Signal::HUP);
    until("opened anew", async || log.exists()).await;
    assert_eq!(gateway.status("/orders/2", "nobody").await, StatusCode::UNAUTHORIZED);
    until("another line", async || !paths(&log).is_empty()).await;
    assert_eq!((paths(&moved), paths(&log)), (vec!["/orders/1".to_owned()], vec!["/orders/2".to_owned()]));
    server.tell_to_stop();
    assert!(server.ended().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_why_the_gateway_refuses_plain_http() {
    let routes = Routes::fresh().await;
    for (networks, level, reason) in [
        ("127.0.0.0/8", "WARN", "neither X-Forwarded-Proto nor Forwarded says how the proxy was asked"),
        ("192.0.2.0/24", "INFO", "the peer is in none of the networks that may terminate TLS"),
    ] {
        let mut site = site(Backend::Sqlite, &routes).await;
        site.set(&[("serve.gateway.tls.allow_termination_from", networks)]);
        site.log("sluice_gateway=info");
        let server = site.start().await;
        assert_eq!(Seen::of(&server).status("/orders/1", "nobody").await, StatusCode::BAD_GATEWAY);
        let line = "request refused: this port is reached over TLS only";
        server.logs(&[level, line, "127.0.0.1", reason]).await;
        server.tell_to_stop();
        assert!(server.ended().await.success());
    }
}
