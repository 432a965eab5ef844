//! The rows of REFERENCE §3 without a number, and F12: what a server costs over the years.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestSluice};

use crate::both_stores::on_both_stores;
use crate::legs::{token, tokens_of};

on_both_stores! {
    a_session_that_is_not_remembered_takes_part_in_logout,
    a_generated_secret_costs_no_slow_hash_and_a_chosen_one_costs_one,
    a_login_leaves_one_row_however_often_it_is_refreshed_and_that_goes_by_itself,
    a_new_signing_key_is_announced_before_it_signs,
}

/// F12: every `sid` counts. How the notice arrives is in `logout::channels`.
async fn a_session_that_is_not_remembered_takes_part_in_logout(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"frontchannel_logout_uri": "https://app.test/out"})).await;
    let mut browser = sluice.browser();
    let code = browser.log_in(&sluice, &client, "alice").await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    sluice.advance(Lifetime::secs(1));
    let url = format!("/oauth2/sessions/logout?id_token_hint={}", token(&tokens, "id_token"));
    let challenge = browser.visit(&url).await.expect("logout_challenge");
    let path = format!("/admin/oauth2/auth/requests/logout/accept?logout_challenge={challenge}");
    let verifier = sluice_testkit::redirect_to(&sluice.ask_json(Method::PUT, &path, None, 200).await);
    let page = browser.visit(&verifier).await;
    let sid = crate::jwt::claims(token(&tokens, "id_token"))["sid"].as_str().unwrap().to_owned();
    assert!(page.body.contains("https://app.test/out?iss=") && page.body.contains(&sid), "{}", page.body);
    sluice.node.stop().await;
}

async fn slow_hashes(sluice: &TestSluice) -> u32 {
    let answer = sluice.ask(Method::GET, "/admin/metrics/prometheus", None).await;
    let text = answer.text().await.unwrap();
    let line = text.lines().find(|line| line.starts_with("sluice_hash_pool_jobs_total"));
    let line = line.unwrap_or_else(|| panic!("no count of slow hashes in {text}"));
    let number = line.rsplit(' ').next().unwrap();
    number.trim_end_matches(".0").parse().unwrap()
}

async fn a_generated_secret_costs_no_slow_hash_and_a_chosen_one_costs_one(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let ask = [("grant_type", "client_credentials")];
    let generated = sluice.client(&json!({})).await;
    for _ in 0..3 {
        generated.token(&ask).await.ok();
    }
    assert_eq!(slow_hashes(&sluice).await, 0);
    let mut chosen = sluice.client(&json!({"client_secret": "a-secret-that-somebody-chose"})).await;
    chosen.secret = Some("a-secret-that-somebody-chose".into());
    assert_eq!(slow_hashes(&sluice).await, 1, "at its registration");
    for _ in 0..3 {
        chosen.token(&ask).await.ok();
    }
    assert_eq!(slow_hashes(&sluice).await, 2, "at its first use");
    chosen.secret = Some("a-secret-that-nobody-chose".into());
    for _ in 0..3 {
        chosen.token(&ask).await.refused_with("invalid_client");
    }
    assert_eq!(slow_hashes(&sluice).await, 3, "the same wrong secret is hashed once");
    sluice.node.stop().await;
}

async fn a_login_leaves_one_row_however_often_it_is_refreshed_and_that_goes_by_itself(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let before = sluice.written();
    let mut tokens = tokens_of(&sluice, &client, "alice").await;
    for _ in 0..5 {
        sluice.advance(Lifetime::hours(1));
        tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
    }
    let after = sluice.written();
    assert_eq!((after.grant_inserts - before.grant_inserts, after.rows - before.rows), (1, 7));
    sluice.advance(Lifetime::hours(719));
    assert_eq!(sluice.node.tidy().await.unwrap(), 0, "a living chain stays");
    sluice.advance(Lifetime::hours(2));
    assert_eq!(sluice.node.tidy().await.unwrap(), 1);
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

async fn a_new_signing_key_is_announced_before_it_signs(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({"id_token_signed_response_alg": "ES256"})).await;
    let signed_by = |tokens: &Value| crate::jwt::header(token(tokens, "id_token"))["kid"].clone();
    let first = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(1));
    let body = json!({"alg": "ES256", "use": "sig", "kid": "the-next-key"});
    let made = sluice.ask_json(Method::POST, "/admin/keys/hydra.openid.id-token", Some(&body), 201).await;
    assert_eq!(made["keys"][0]["kid"], "the-next-key");
    other.node.catch_up().await.unwrap();
    for node in [&sluice, &other] {
        let published = node.browser().visit("/.well-known/jwks.json").await.body;
        assert!(published.contains("the-next-key"), "{published}");
        let tokens = tokens_of(node, &client.at(node), "alice").await;
        assert_eq!(signed_by(&tokens), signed_by(&first), "others had no time to learn of the new key");
    }
    sluice.advance(Lifetime::hours(2));
    for node in [&sluice, &other] {
        let tokens = tokens_of(node, &client.at(node), "alice").await;
        assert_eq!(signed_by(&tokens), "the-next-key");
        crate::jwt::verified(node, token(&tokens, "id_token"), "ES256").await;
        crate::jwt::verified(node, token(&first, "id_token"), "ES256").await;
    }
    other.node.stop().await;
    sluice.node.stop().await;
}
