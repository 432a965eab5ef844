//! A gateway in a process of its own, which reads the database as servers do.

use reqwest::StatusCode;
use sluice_testkit::Backend;

use super::{Routes, Seen, serves_health_alone, site};
use crate::process::{Process, Site, until};

/// Starts `serve gateway` on the database of a site.
pub(super) async fn gateway_on(site: &Site) -> Process {
    Process::listening_as(site.spawn_with(&["serve", "gateway"]), ["gateway", "health"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_with_the_database_says_how_old_its_knowledge_is_and_serves_no_link() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Postgres, &routes).await;
    let process = gateway_on(&site).await;
    until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
    serves_health_alone(&process).await;
    // Of a link it would have told before it told of its health.
    assert!(!process.listeners.contains_key("link"), "{:?}", process.listeners);
    process.logs(&[r#""message":"listening""#, r#""listener":"gateway""#, r#""tls":false"#]).await;
    assert_eq!(Seen::of(&process).status("/orders/7", "nobody").await, StatusCode::UNAUTHORIZED);
    process.tell_to_stop();
    assert!(process.ended().await.success());
}
