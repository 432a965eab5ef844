//! A client is given the profile when it has codes and tokens: of these, too, no more holds than the profile lets.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Backend, TestSluice};

use crate::both_stores::on_both_stores;
use crate::keyed::{KeyedClient, code_from, redemption};
use crate::legs::token;

on_both_stores! {
    a_refresh_token_that_was_rotated_before_stays_old,
    a_code_without_a_challenge_is_of_no_use,
}

/// A client that could have the profile.
async fn ordinary_client(sluice: &TestSluice) -> KeyedClient {
    let grant_types = ["authorization_code", "refresh_token"];
    KeyedClient::on(sluice, &json!({"dpop_bound_access_tokens": true, "grant_types": grant_types})).await
}

async fn give_the_profile(sluice: &TestSluice, client: &KeyedClient) {
    let path = format!("/admin/clients/{}", client.client.id);
    let patch = json!([{"op": "add", "path": "/security_profile", "value": "fapi2"}]);
    let client = sluice.ask_json(Method::PATCH, &path, Some(&patch), 200).await;
    assert_eq!(client["security_profile"], "fapi2");
}

fn refresh(tokens: &Value) -> [(&str, &str); 2] {
    [("grant_type", "refresh_token"), ("refresh_token", token(tokens, "refresh_token"))]
}

async fn a_refresh_token_that_was_rotated_before_stays_old(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = ordinary_client(&sluice).await;
    let first = client.tokens(&sluice).await;
    let second = client.token(&sluice, &refresh(&first)).await.ok();
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    give_the_profile(&sluice, &client).await;
    client.token(&sluice, &refresh(&first)).await.refused_with(400, "invalid_grant");
    let third = client.token(&sluice, &refresh(&second)).await.ok();
    assert_eq!(third["refresh_token"], second["refresh_token"], "there is no rotation any more");
    sluice.node.stop().await;
}

/// Security Profile §5.3.2.2.
async fn a_code_without_a_challenge_is_of_no_use(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = ordinary_client(&sluice).await;
    let without = [("code_challenge", ""), ("code_challenge_method", "")];
    for has_profile in [false, true] {
        let code = code_from(&sluice, &client.pushed(&sluice, &without).await).await;
        if has_profile {
            give_the_profile(&sluice, &client).await;
        }
        let mut form = redemption(&client.client, &code);
        form.retain(|(name, _)| *name != "code_verifier");
        let answer = client.token(&sluice, &form).await;
        if has_profile {
            answer.refused_with(400, "invalid_grant");
        } else {
            answer.ok();
        }
    }
    sluice.node.stop().await;
}
