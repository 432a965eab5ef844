//! Refresh tokens: one chain a grant, idempotent for a moment, revoked by theft.

use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::{change_client, delete, token, tokens_of};

on_both_stores! {
    a_refresh_repeated_within_the_window_is_answered_with_the_same_pair,
    simultaneous_refreshes_at_two_nodes_get_the_same_pair,
    an_old_refresh_token_after_the_window_revokes_the_grant,
    an_old_refresh_token_of_a_chain_that_went_on_revokes_the_grant_at_once,
    an_old_refresh_token_revokes_the_grant_whatever_it_asks_for,
    a_refresh_token_is_active_as_long_as_it_would_be_answered,
    the_slow_sibling_of_a_refresh_is_refused_and_revokes_nothing,
    a_retry_that_asks_for_another_scope_is_refused_and_revokes_nothing,
    a_refresh_may_ask_for_less_but_not_for_more,
    a_refresh_may_name_again_what_was_asked_for_in_vain,
    nobody_refreshes_what_was_revoked,
    a_refresh_token_belongs_to_its_client,
    a_refresh_token_expires_unless_it_is_used,
    there_is_no_refresh_token_without_offline_access,
    there_is_no_id_token_without_openid,
    a_client_that_may_not_be_offline_any_more_refreshes_nothing,
}

/// What makes two answers the same pair.
async fn identity_of(sluice: &TestSluice, tokens: &Value) -> [Value; 3] {
    let said = sluice.introspect(token(tokens, "access_token")).await;
    assert_eq!(said["active"], true, "{said}");
    ["jti", "iat", "exp"].map(|name| said[name].clone())
}

fn asking<'a>(refresh_token: &'a str, scope: &'a str) -> [(&'a str, &'a str); 3] {
    [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("scope", scope)]
}

async fn a_refresh_repeated_within_the_window_is_answered_with_the_same_pair(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(100));
    let first = client.refresh(token(&tokens, "refresh_token")).await.ok();
    let pair = identity_of(&sluice, &first).await;
    assert_ne!(identity_of(&sluice, &tokens).await, pair);
    let before = sluice.written();
    sluice.advance(Lifetime::millis(29_999));
    let second = client.refresh(token(&tokens, "refresh_token")).await.ok();
    assert_eq!(identity_of(&sluice, &second).await, pair);
    assert_eq!(sluice.written().grant_updates, before.grant_updates);
    let left = pair[2].as_i64().unwrap() - sluice.clock.now().as_secs();
    assert_eq!(second["expires_in"], left, "what is told counts from now");
    // Whichever of the two answers arrived, the chain goes on from it.
    let third = client.refresh(token(&second, "refresh_token")).await.ok();
    let fourth = client.refresh(token(&first, "refresh_token")).await.ok();
    assert_eq!(identity_of(&sluice, &third).await, identity_of(&sluice, &fourth).await);
    sluice.node.stop().await;
}

async fn simultaneous_refreshes_at_two_nodes_get_the_same_pair(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let here = sluice.client(&json!({})).await;
    let there = here.at(&other);
    let mut tokens = tokens_of(&sluice, &here, "alice").await;
    for _ in 0..4 {
        sluice.advance(Lifetime::secs(60));
        let presented = token(&tokens, "refresh_token").to_owned();
        let (one, two, three) =
            tokio::join!(here.refresh(&presented), there.refresh(&presented), here.refresh(&presented));
        let answers = [one.ok(), two.ok(), three.ok()];
        let pair = identity_of(&sluice, &answers[0]).await;
        for answer in &answers {
            assert_eq!(identity_of(&sluice, answer).await, pair);
            assert_eq!(identity_of(&other, answer).await, pair);
        }
        tokens = answers[1].clone();
    }
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn an_old_refresh_token_after_the_window_revokes_the_grant(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    let first = tokens_of(&sluice, &client, "alice").await;
    let bystander = tokens_of(&sluice, &client, "alice").await;
    let second = client.refresh(token(&first, "refresh_token")).await.ok();
    sluice.advance(Lifetime::secs(30));
    client.at(&other).refresh(token(&first, "refresh_token")).await.refused_with("invalid_grant");
    for node in [&other, &sluice] {
        node.node.catch_up().await.unwrap();
        for name in ["access_token", "refresh_token"] {
            assert!(!node.is_active(token(&second, name)).await, "{name}");
        }
        assert!(!node.is_active(token(&first, "access_token")).await);
        assert!(node.is_active(token(&bystander, "access_token")).await);
    }
    client.refresh(token(&second, "refresh_token")).await.refused_with("invalid_grant");
    client.refresh(token(&bystander, "refresh_token")).await.ok();
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn an_old_refresh_token_of_a_chain_that_went_on_revokes_the_grant_at_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let first = tokens_of(&sluice, &client, "alice").await;
    let mut last = first.clone();
    for _ in 0..3 {
        last = client.refresh(token(&last, "refresh_token")).await.ok();
    }
    client.refresh(token(&first, "refresh_token")).await.refused_with("invalid_grant");
    assert!(!sluice.is_active(token(&last, "access_token")).await);
    client.refresh(token(&last, "refresh_token")).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

async fn an_old_refresh_token_revokes_the_grant_whatever_it_asks_for(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for (asked, value) in [("scope", "openid email"), ("resource", "https://api.test"), ("scope", "email")] {
        for rotations in [1, 3] {
            let first = tokens_of(&sluice, &client, "alice").await;
            let mut last = first.clone();
            for _ in 0..rotations {
                last = client.refresh(token(&last, "refresh_token")).await.ok();
            }
            sluice.advance(Lifetime::secs(if rotations == 1 { 30 } else { 1 }));
            let presented = token(&first, "refresh_token");
            let form = [("grant_type", "refresh_token"), ("refresh_token", presented), (asked, value)];
            client.token(&form).await.refused_with("invalid_grant");
            assert!(!sluice.is_active(token(&last, "access_token")).await, "{asked}, {rotations}");
            client.refresh(token(&last, "refresh_token")).await.refused_with("invalid_grant");
        }
    }
    // Its client lost what a refresh needs.
    let first = tokens_of(&sluice, &client, "alice").await;
    let second = client.refresh(token(&first, "refresh_token")).await.ok();
    sluice.advance(Lifetime::secs(30));
    change_client(&sluice, &client, "scope", json!("openid")).await;
    client.refresh(token(&first, "refresh_token")).await.refused_with("invalid_grant");
    assert!(!sluice.is_active(token(&second, "access_token")).await);
    sluice.node.stop().await;
}

async fn a_refresh_token_is_active_as_long_as_it_would_be_answered(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let first = tokens_of(&sluice, &client, "alice").await;
    let second = client.refresh(token(&first, "refresh_token")).await.ok();
    sluice.advance(Lifetime::millis(29_999));
    for tokens in [&first, &second] {
        assert!(sluice.is_active(token(tokens, "refresh_token")).await);
    }
    sluice.advance(Lifetime::millis(1));
    assert!(!sluice.is_active(token(&first, "refresh_token")).await);
    assert!(sluice.is_active(token(&second, "refresh_token")).await);
    let third = client.refresh(token(&second, "refresh_token")).await.ok();
    client.refresh(token(&third, "refresh_token")).await.ok();
    assert!(!sluice.is_active(token(&second, "refresh_token")).await, "two behind, in the window");
    sluice.node.stop().await;
}

async fn the_slow_sibling_of_a_refresh_is_refused_and_revokes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let first = tokens_of(&sluice, &client, "alice").await;
    let second = client.refresh(token(&first, "refresh_token")).await.ok();
    let third = client.refresh(token(&second, "refresh_token")).await.ok();
    client.refresh(token(&first, "refresh_token")).await.refused_with("invalid_grant");
    assert!(sluice.is_active(token(&third, "access_token")).await);
    sluice.advance(Lifetime::secs(29));
    client.refresh(token(&first, "refresh_token")).await.refused_with("invalid_grant");
    client.refresh(token(&third, "refresh_token")).await.ok();
    sluice.node.stop().await;
}

async fn a_retry_that_asks_for_another_scope_is_refused_and_revokes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let first = tokens_of(&sluice, &client, "alice").await;
    let presented = token(&first, "refresh_token");
    let second = client.refresh(presented).await.ok();
    client.token(&asking(presented, "openid")).await.refused_with("invalid_grant");
    let mut with_resource = asking(presented, Authorize::default().scope).to_vec();
    with_resource.push(("resource", "https://api.test"));
    let refused = client.token(&with_resource).await;
    assert_eq!(refused.status, 400);
    assert!(sluice.is_active(token(&second, "access_token")).await);
    client.refresh(presented).await.ok();
    client.refresh(token(&second, "refresh_token")).await.ok();
    sluice.node.stop().await;
}

async fn a_refresh_may_ask_for_less_but_not_for_more(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let before = sluice.written();
    let more = client.token(&asking(token(&tokens, "refresh_token"), "openid email")).await;
    more.refused_with("invalid_scope");
    assert_eq!(sluice.written(), before, "a refused request uses nothing up");
    let less = client.token(&asking(token(&tokens, "refresh_token"), "openid")).await.ok();
    assert_eq!(less["scope"], "openid");
    assert_eq!(sluice.introspect(token(&less, "access_token")).await["scope"], "openid");
    let all = client.refresh(token(&less, "refresh_token")).await.ok();
    assert_eq!(all["scope"], Authorize::default().scope, "RFC 6749 §6: what was granted stays granted");
    sluice.node.stop().await;
}

/// Clients repeat all that they asked for, whatever of it was granted.
async fn a_refresh_may_name_again_what_was_asked_for_in_vain(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let with = Authorize { scope: "openid offline_access email", ..Authorize::default() };
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &with).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let granted = json!({"grant_scope": ["openid", "offline_access"]});
    let verifier = accept_consent(&sluice, &challenge, &granted).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    let before = sluice.written();
    for asked in ["openid profile", "openid email profile", "email"] {
        let refused = client.token(&asking(token(&tokens, "refresh_token"), asked)).await;
        refused.refused_with("invalid_scope");
    }
    assert_eq!(sluice.written(), before, "a refused request uses nothing up");
    let all = client.token(&asking(token(&tokens, "refresh_token"), with.scope)).await.ok();
    assert_eq!((&all["scope"], all["id_token"].is_string()), (&json!("openid offline_access"), true));
    assert_eq!(sluice.introspect(token(&all, "access_token")).await["scope"], "openid offline_access");
    let less = client.token(&asking(token(&all, "refresh_token"), "email offline_access")).await.ok();
    assert_eq!((&less["scope"], less.get("id_token")), (&json!("offline_access"), None));
    sluice.node.stop().await;
}

async fn nobody_refreshes_what_was_revoked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    let bystander = tokens_of(&sluice, &client, "bystander").await;
    let admin = "/admin/oauth2/auth/sessions";
    let by_session = tokens_of(&sluice, &client, "alice").await;
    let said = sluice.introspect(token(&by_session, "access_token")).await;
    let revoked = [
        (format!("{admin}/login?sid={}", said["sid"].as_str().unwrap()), by_session),
        (format!("{admin}/login?subject=bob"), tokens_of(&sluice, &client, "bob").await),
        (format!("{admin}/consent?subject=carol&all=true"), tokens_of(&sluice, &client, "carol").await),
        (
            format!("{admin}/consent?subject=dave&client={}", client.id),
            tokens_of(&sluice, &client, "dave").await,
        ),
    ];
    for (path, tokens) in revoked {
        refused_everywhere(&sluice, (&client, &other), &path, &tokens).await;
    }
    client.refresh(token(&bystander, "refresh_token")).await.ok();
    let erin = tokens_of(&sluice, &client, "erin").await;
    refused_everywhere(
        &sluice,
        (&client, &other),
        &format!("/admin/oauth2/tokens?client_id={}", client.id),
        &erin,
    )
    .await;
    client.refresh(token(&bystander, "refresh_token")).await.refused_with("invalid_grant");
    other.node.stop().await;
    sluice.node.stop().await;
}

/// Revokes by `DELETE path`; at both nodes and at once the refresh token is refused, and the access token does not hold.
async fn refused_everywhere(
    sluice: &TestSluice,
    (client, other): (&TestClient, &TestSluice),
    path: &str,
    tokens: &Value,
) {
    sluice.advance(Lifetime::secs(1));
    delete(sluice, path).await;
    assert!(!sluice.is_active(token(tokens, "access_token")).await, "{path}");
    assert!(!sluice.is_active(token(tokens, "refresh_token")).await, "{path}");
    let refresh_token = token(tokens, "refresh_token");
    client.at(other).refresh(refresh_token).await.refused_with("invalid_grant");
    client.refresh(refresh_token).await.refused_with("invalid_grant");
    other.node.catch_up().await.unwrap();
    assert!(!other.is_active(token(tokens, "access_token")).await, "{path}");
}

async fn a_refresh_token_belongs_to_its_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, other) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let presented = token(&tokens, "refresh_token");
    let before = sluice.written();
    other.refresh(presented).await.refused_with("invalid_grant");
    other.refresh(token(&tokens, "access_token")).await.refused_with("invalid_grant");
    client.refresh(token(&tokens, "access_token")).await.refused_with("invalid_grant");
    client.redeem(presented).await.refused_with("invalid_grant");
    client.refresh(&presented[..presented.len() - 2]).await.refused_with("invalid_grant");
    assert_eq!(sluice.written(), before);
    client.refresh(presented).await.ok();
    sluice.node.stop().await;
}

async fn a_refresh_token_expires_unless_it_is_used(backend: Backend) {
    let sluice = TestSluice::with(backend, &[("ttl.refresh_token", "10h")]).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::hours(9));
    let tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
    sluice.advance(Lifetime::hours(9));
    let tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
    sluice.advance(Lifetime::hours(10));
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    assert!(!sluice.is_active(token(&tokens, "refresh_token")).await);
    sluice.node.stop().await;
}

async fn there_is_no_refresh_token_without_offline_access(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let with = Authorize { scope: "openid", ..Authorize::default() };
    let page = sluice.browser().log_in_with(&sluice, &client, &with, &json!({"subject": "alice"})).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    assert_eq!(tokens.get("refresh_token"), None);
    let never = sluice.client(&json!({"grant_types": ["authorization_code"]})).await;
    let tokens = tokens_of(&sluice, &never, "alice").await;
    assert_eq!(tokens.get("refresh_token"), None);
    sluice.node.stop().await;
}

async fn there_is_no_id_token_without_openid(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    // For one that asks for less, this once.
    let less = client.token(&asking(token(&tokens, "refresh_token"), "offline_access")).await.ok();
    assert_eq!((less.get("id_token"), &less["scope"]), (None, &json!("offline_access")));
    let all = client.refresh(token(&less, "refresh_token")).await.ok();
    assert!(all["id_token"].is_string());
    // For one that lost it, until it has it again.
    sluice.advance(Lifetime::secs(1));
    change_client(&sluice, &client, "scope", json!("offline_access email")).await;
    let without = client.refresh(token(&all, "refresh_token")).await.ok();
    assert_eq!((without.get("id_token"), &without["scope"]), (None, &json!("offline_access")));
    change_client(&sluice, &client, "scope", json!("openid offline_access")).await;
    let again = client.refresh(token(&without, "refresh_token")).await.ok();
    assert!(again["id_token"].is_string());
    sluice.node.stop().await;
}

async fn a_client_that_may_not_be_offline_any_more_refreshes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(1));
    change_client(&sluice, &client, "scope", json!("openid")).await;
    let before = sluice.written();
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_scope");
    assert_eq!(sluice.written(), before, "a refused request uses nothing up");
    change_client(&sluice, &client, "scope", json!("openid offline_access")).await;
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    sluice.node.stop().await;
}
