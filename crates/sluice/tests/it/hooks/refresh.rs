//! At a refresh: a hook does not stand in the way of revoking what was stolen, hears of nothing that was revoked, and may say again what
//! stands.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestSluice};

use super::{BUSY, Says, code, code_with, ext, replacing, vip, with_token_hook};
use crate::both_stores::on_both_stores;
use crate::keyed::changed;
use crate::legs::{delete, token, tokens_of};

on_both_stores! {
    a_refresh_token_that_comes_again_revokes_whatever_the_hook_says,
    a_hook_does_not_hear_of_what_was_revoked,
}

async fn a_refresh_token_that_comes_again_revokes_whatever_the_hook_says(backend: Backend) {
    let (sluice, service) = with_token_hook(backend).await;
    let client = sluice.client(&json!({})).await;
    for (status, error) in [(BUSY, "server_error"), (StatusCode::FORBIDDEN, "access_denied")] {
        service.say(Says::Status(StatusCode::NO_CONTENT));
        let first = tokens_of(&sluice, &client, "alice").await;
        let second = client.refresh(token(&first, "refresh_token")).await.ok();
        service.say(Says::Status(status));
        // One that may be a retry is a question as good as any.
        sluice.advance(Lifetime::millis(29_999));
        client.refresh(token(&first, "refresh_token")).await.refused_with(error);
        assert!(sluice.is_active(token(&second, "access_token")).await, "{error}");
        assert_eq!(service.asked().len(), 3, "{error}");
        sluice.advance(Lifetime::millis(1));
        client.refresh(token(&first, "refresh_token")).await.refused_with("invalid_grant");
        for name in ["access_token", "refresh_token"] {
            assert!(!sluice.is_active(token(&second, name)).await, "{error}: {name}");
        }
        client.refresh(token(&second, "refresh_token")).await.refused_with("invalid_grant");
        assert_eq!(service.asked().len(), 0, "{error}");
    }
    sluice.node.stop().await;
}

async fn a_hook_does_not_hear_of_what_was_revoked(backend: Backend) {
    let (sluice, service) = with_token_hook(backend).await;
    let url = service.url("token");
    let hook = [("oauth2.token_hook", url.as_str())];
    let other = TestSluice::on(Arc::clone(&sluice.database), Arc::clone(&sluice.clock), &hook).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let unredeemed = code(&sluice, &client).await;
    assert_eq!(service.asked().len(), 1);
    service.say(Says::Status(StatusCode::FORBIDDEN));
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/consent?subject=alice&all=true").await;
    // Whether or not a node has heard of it yet.
    for node in [&other, &sluice] {
        let client = client.at(node);
        client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
        client.redeem(&unredeemed).await.refused_with("invalid_grant");
    }
    assert_eq!(service.asked().len(), 0);
    other.node.stop().await;
    sluice.node.stop().await;
}

/// It may be more than a hook may say of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_may_say_again_at_a_refresh_what_stands_however_long_that_is() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let long = |bytes: usize| "x".repeat(bytes);
    let cases = [
        ("opaque", json!({"long": long(9 * 1024)}), json!({"more": long(2_000)})),
        ("jwt", json!({"long": long(3_000)}), json!({"more": long(4_000)})),
        ("jwt", json!({"long": long(5_000)}), json!({})),
    ];
    for (strategy, page, hook) in cases {
        let client = sluice.client(&json!({"access_token_strategy": strategy})).await;
        service.say(replacing(&hook, &json!({})));
        let code = code_with(&sluice, &client, &json!({"access_token": page})).await;
        let mut tokens = client.redeem(&code).await.ok();
        let all = changed(page, &hook);
        for word in ["silver", "gold"] {
            service.say(replacing(&all, &json!({"vip": word})));
            tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
            let said = (ext(&sluice, &tokens).await, vip(&client, &tokens).await);
            assert_eq!(said, (all.clone(), json!(word)), "{strategy}");
        }
        let is_short = token(&tokens, "access_token").len() < 2_000;
        assert_eq!(is_short, strategy == "opaque", "the grant keeps them");
        service.say(replacing(&changed(all, &json!({"one": 1})), &json!({})));
        client.refresh(token(&tokens, "refresh_token")).await.refused_with("server_error");
    }
    sluice.node.stop().await;
}
