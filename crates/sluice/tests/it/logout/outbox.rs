//! What an operator sees of back-channel notices.

use reqwest::{Method, StatusCode};
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestClient, TestSluice};

use super::channels::Ear;
use super::log_in;
use crate::both_stores::on_both_stores;
use crate::legs::delete;
use crate::process::until;

on_both_stores! {
    a_notice_is_seen_to_wait_until_it_arrives,
    a_notice_that_never_arrives_is_seen_among_the_dead,
}

/// How many notices there are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Notices {
    waiting: u64,
    dead: u64,
    delivered: u64,
    failed: u64,
}

impl Notices {
    async fn at(sluice: &TestSluice) -> Self {
        let answer = sluice.ask(Method::GET, "/admin/metrics/prometheus", None).await;
        let text = answer.text().await.unwrap();
        let read = |name: &str| -> u64 {
            let sample = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let sample = sample.unwrap_or_else(|| panic!("no {name} in {text}"));
            sample.trim_end_matches(".0").parse().unwrap()
        };
        Self {
            waiting: read(r#"sluice_logout_outbox{state="waiting"}"#),
            dead: read(r#"sluice_logout_outbox{state="dead"}"#),
            delivered: read(r#"sluice_logout_deliveries_total{outcome="delivered"}"#),
            failed: read(r#"sluice_logout_deliveries_total{outcome="failed"}"#),
        }
    }
}

/// A try is counted a moment after the client has heard of it, the outbox after that.
async fn shows(sluice: &TestSluice, expected: Notices) {
    until(&format!("{expected:?}"), async || Notices::at(sluice).await == expected).await;
}

/// `alice` logs in and is logged out by an administrator.
async fn ends_a_session(sluice: &TestSluice, client: &TestClient) {
    log_in(sluice, client, &mut sluice.browser(), &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::secs(1));
    delete(sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
}

async fn a_notice_is_seen_to_wait_until_it_arrives(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    assert_eq!(Notices::at(&sluice).await, Notices::default());
    let mut ear = Ear::open(vec![StatusCode::BAD_GATEWAY]).await;
    let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    ends_a_session(&sluice, &client).await;
    ear.next().await;
    // Time stands still, so the next try is not due.
    shows(&sluice, Notices { waiting: 1, failed: 1, ..Notices::default() }).await;
    sluice.advance(Lifetime::minutes(5));
    ear.next().await;
    shows(&sluice, Notices { failed: 1, delivered: 1, ..Notices::default() }).await;
    sluice.node.stop().await;
}

/// After about a day nobody tries any more.
async fn a_notice_that_never_arrives_is_seen_among_the_dead(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(vec![StatusCode::NOT_FOUND; 12]).await;
    let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    ends_a_session(&sluice, &client).await;
    for failed in 1..12 {
        ear.next().await;
        shows(&sluice, Notices { waiting: 1, failed, ..Notices::default() }).await;
        sluice.advance(Lifetime::hours(4));
    }
    ear.next().await;
    shows(&sluice, Notices { dead: 1, failed: 12, ..Notices::default() }).await;
    sluice.node.stop().await;
}
