//! Resource Indicators for OAuth 2.0 (RFC 8707).

use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, VERIFIER};

use crate::authorization_errors::Change::{Twice, With};
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::legs::{change_client, token};
use crate::requests::is_refused;

on_both_stores! {
    a_code_yields_tokens_for_the_resources_that_are_named_when_it_is_redeemed,
    a_refresh_token_yields_tokens_for_each_resource_in_turn,
    a_refresh_token_yields_nothing_for_a_resource_that_its_client_lost,
    a_client_may_ask_for_what_is_below_its_resources,
}

const A: &str = "https://a.test/api";
const B: &str = "https://b.test/api";

async fn client(sluice: &TestSluice) -> TestClient {
    sluice.client(&json!({"audience": [A, B, "urn:example:c"]})).await
}

/// A code for A and B.
async fn code(sluice: &TestSluice, client: &TestClient) -> String {
    let with = Authorize { more: &[("resource", A), ("resource", B)], ..Authorize::default() };
    let page = sluice.browser().log_in_with(sluice, client, &with, &json!({"subject": "alice"})).await;
    page.expect("code")
}

fn redemption<'a>(
    client: &'a TestClient,
    code: &'a str,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", client.redirect_uri.as_str()),
        ("code_verifier", VERIFIER),
    ];
    [&form, more].concat()
}

/// §2: a resource is an absolute URI without a fragment, and one that the client may ask for.
#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_is_none_is_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice).await;
    for wrong in
        ["api", "/api", "//a.test/api", "https://a.test/api#x", "https://a.test/api#", "https://c.test/"]
    {
        let url = asked(&client, &[With("resource", wrong)]);
        is_refused(&mut sluice.browser(), &url, "invalid_target").await;
        let url = asked(&client, &[With("resource", A), Twice("resource", wrong)]);
        is_refused(&mut sluice.browser(), &url, "invalid_target").await;
        let form = [("grant_type", "client_credentials"), ("resource", A), ("resource", wrong)];
        client.token(&form).await.refused_with("invalid_target");
    }
    let form = [("grant_type", "client_credentials"), ("resource", A), ("resource", "urn:example:c")];
    let tokens = client.token(&form).await.ok();
    let told = sluice.introspect(token(&tokens, "access_token")).await;
    assert_eq!(told["aud"], json!([A, "urn:example:c"]));
    sluice.node.stop().await;
}

/// §2.2.
async fn a_code_yields_tokens_for_the_resources_that_are_named_when_it_is_redeemed(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice).await;
    let first = code(&sluice, &client).await;
    for beyond in ["urn:example:c", "https://evil.test/"] {
        let form = redemption(&client, &first, &[("resource", A), ("resource", beyond)]);
        client.token(&form).await.refused_with("invalid_target");
    }
    // What was refused so has not spent the code.
    let tokens = client.token(&redemption(&client, &first, &[("resource", B)])).await.ok();
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["aud"], json!([B]));
    // The grant is for both all the same.
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    assert_eq!(sluice.introspect(token(&refreshed, "access_token")).await["aud"], json!([A, B]));
    let second = code(&sluice, &client).await;
    let tokens = client.redeem(&second).await.ok();
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["aud"], json!([A, B]));
    sluice.node.stop().await;
}

/// §2.2, figure 5.
async fn a_refresh_token_yields_tokens_for_each_resource_in_turn(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice).await;
    let mut tokens = client.redeem(&code(&sluice, &client).await).await.ok();
    for resource in [A, B] {
        let refresh_token = token(&tokens, "refresh_token").to_owned();
        let form = |resource| {
            [
                ("grant_type", "refresh_token"),
                ("refresh_token", refresh_token.as_str()),
                ("resource", resource),
            ]
        };
        client.token(&form("urn:example:c")).await.refused_with("invalid_target");
        client.token(&form("not a resource")).await.refused_with("invalid_target");
        tokens = client.token(&form(resource)).await.ok();
        assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["aud"], json!([resource]));
    }
    sluice.node.stop().await;
}

/// As with Hydra: applications name there what they asked for, whether they got it or not.
#[tokio::test(flavor = "multi_thread")]
async fn an_audience_beside_a_code_or_a_refresh_token_means_nothing() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice).await;
    let first = code(&sluice, &client).await;
    let evil = [("audience", "https://evil.test")];
    let tokens = client.token(&redemption(&client, &first, &evil)).await.ok();
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["aud"], json!([A, B]));
    let mut refresh_token = token(&tokens, "refresh_token").to_owned();
    for named in ["https://evil.test", B] {
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*refresh_token), ("audience", named)];
        let tokens = client.token(&form).await.ok();
        assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["aud"], json!([A, B]), "{named}");
        refresh_token = token(&tokens, "refresh_token").to_owned();
    }
    sluice.node.stop().await;
}

async fn a_refresh_token_yields_nothing_for_a_resource_that_its_client_lost(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice).await;
    let tokens = client.redeem(&code(&sluice, &client).await).await.ok();
    sluice.advance(Lifetime::secs(1));
    change_client(&sluice, &client, "audience", json!([B])).await;
    let fewer = client.refresh(token(&tokens, "refresh_token")).await.ok();
    assert_eq!(sluice.introspect(token(&fewer, "access_token")).await["aud"], json!([B]));
    change_client(&sluice, &client, "audience", json!(["urn:example:c"])).await;
    let before = sluice.written();
    client.refresh(token(&fewer, "refresh_token")).await.refused_with("invalid_target");
    assert_eq!(sluice.written(), before, "a refused request uses nothing up");
    change_client(&sluice, &client, "audience", json!([A])).await;
    let again = client.refresh(token(&fewer, "refresh_token")).await.ok();
    assert_eq!(sluice.introspect(token(&again, "access_token")).await["aud"], json!([A]));
    sluice.node.stop().await;
}

/// As with Hydra.
async fn a_client_may_ask_for_what_is_below_its_resources(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice).await;
    let below = "https://a.test/api/orders";
    let with = Authorize { more: &[("resource", below)], ..Authorize::default() };
    let page = sluice.browser().log_in_with(&sluice, &client, &with, &json!({"subject": "alice"})).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    // What was granted is this one, and neither what is above it nor what is below.
    let refresh_token = token(&tokens, "refresh_token");
    for other in [A, "https://a.test/api/orders/1"] {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("resource", other)];
        client.token(&form).await.refused_with("invalid_target");
    }
    let refreshed = client.refresh(refresh_token).await.ok();
    let own = client.token(&[("grant_type", "client_credentials"), ("audience", below)]).await.ok();
    for tokens in [&tokens, &refreshed, &own] {
        assert_eq!(sluice.introspect(token(tokens, "access_token")).await["aud"], json!([below]));
    }
    for beside in ["https://a.test/apis", "https://a.test/api/../admin", "https://a.test:8443/api/orders"] {
        let url = asked(&client, &[With("audience", beside)]);
        is_refused(&mut sluice.browser(), &url, "invalid_target").await;
        let form = [("grant_type", "client_credentials"), ("audience", beside)];
        client.token(&form).await.refused_with("invalid_target");
    }
    sluice.node.stop().await;
}
