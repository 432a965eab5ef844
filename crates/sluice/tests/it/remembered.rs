//! For how long a revocation is remembered: for as long as a token may live that it ended, which none outlives.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestSluice};

use crate::both_stores::on_both_stores;
use crate::legs::{delete, token, tokens_of};

on_both_stores! {
    a_revocation_is_forgotten_when_no_token_of_it_can_hold,
    a_token_that_was_issued_for_longer_than_any_may_live_now_ends_with_those,
    what_a_node_of_a_shorter_span_revokes_is_revoked_at_one_of_a_longer,
}

const HOUR: (&str, &str) = ("ttl.longest_access_token", "1h");
const MACHINE: &[(&str, &str)] = &[("grant_type", "client_credentials")];

/// Another node on the same database, for which no token lives longer than an hour.
async fn another(sluice: &TestSluice) -> TestSluice {
    TestSluice::on(Arc::clone(&sluice.database), Arc::clone(&sluice.clock), &[HOUR]).await
}

/// How many revocations a node knows that starts now, after what is over was deleted.
async fn remembered(sluice: &TestSluice) -> u32 {
    for _ in 0..3 {
        sluice.node.tidy().await.unwrap();
    }
    let node = another(sluice).await;
    let text = node.ask(Method::GET, "/admin/metrics/prometheus", None).await.text().await.unwrap();
    node.node.stop().await;
    let number = text.lines().find_map(|line| line.strip_prefix("sluice_revocation_markers "));
    number.unwrap_or_else(|| panic!("no count in {text}")).trim_end_matches(".0").parse().unwrap()
}

async fn a_revocation_is_forgotten_when_no_token_of_it_can_hold(backend: Backend) {
    let sluice = TestSluice::with(backend, &[HOUR]).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    sluice.advance(Lifetime::hours(1));
    assert!(remembered(&sluice).await > 0, "clocks may differ");
    sluice.advance(Lifetime::minutes(6));
    assert_eq!(remembered(&sluice).await, 0);
    let late = another(&sluice).await;
    for name in ["access_token", "refresh_token"] {
        assert!(!late.is_active(token(&tokens, name)).await, "{name}");
    }
    client.at(&late).refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    late.node.stop().await;
    sluice.node.stop().await;
}

async fn a_token_that_was_issued_for_longer_than_any_may_live_now_ends_with_those(backend: Backend) {
    let before = TestSluice::with(backend, &[("ttl.access_token", "24h")]).await;
    let clients =
        [before.client(&json!({})).await, before.client(&json!({"access_token_strategy": "jwt"})).await];
    let mut tokens = Vec::new();
    for client in &clients {
        tokens.push(client.token(MACHINE).await.ok());
    }
    let after = another(&before).await;
    for tokens in &tokens {
        let access = token(tokens, "access_token");
        let life = async |sluice: &TestSluice| {
            let said = sluice.introspect(access).await;
            said["exp"].as_i64().unwrap() - said["iat"].as_i64().unwrap()
        };
        assert_eq!((life(&before).await, life(&after).await), (24 * 3600, 3600));
    }
    let hold = async || {
        let mut hold = Vec::new();
        for tokens in &tokens {
            hold.push(after.is_active(token(tokens, "access_token")).await);
        }
        hold
    };
    after.advance(Lifetime::minutes(59));
    assert_eq!(hold().await, [true, true]);
    after.advance(Lifetime::minutes(1));
    assert_eq!(hold().await, [false, false]);
    let renewed = clients[0].at(&after).token(MACHINE).await.ok();
    assert_eq!(renewed["expires_in"], 3600);
    before.node.stop().await;
    after.node.stop().await;
}

async fn what_a_node_of_a_shorter_span_revokes_is_revoked_at_one_of_a_longer(backend: Backend) {
    let before = TestSluice::with(backend, &[("ttl.access_token", "24h")]).await;
    let client = before.client(&json!({})).await;
    let old = client.token(MACHINE).await.ok();
    before.advance(Lifetime::hours(2));
    let young = client.token(MACHINE).await.ok();
    before.advance(Lifetime::minutes(59));
    let after = another(&before).await;
    for tokens in [&old, &young] {
        assert!(before.is_active(token(tokens, "access_token")).await);
        client.at(&after).revoke(token(tokens, "access_token")).await.ok();
    }
    before.advance(Lifetime::minutes(7));
    before.node.catch_up().await.unwrap();
    for tokens in [&old, &young] {
        assert!(!before.is_active(token(tokens, "access_token")).await);
    }
    before.node.stop().await;
    after.node.stop().await;
}
