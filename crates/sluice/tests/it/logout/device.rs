//! A device is a session of its own: its code may have been approved in anybody's browser.

use reqwest::Method;
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestSluice};

use super::channels::Ear;
use super::{log_in, log_out};
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::legs::{change_client, token};
use crate::rfc8628::{begin, connect, poll, television};

on_both_stores! {
    who_signs_out_of_a_browser_does_not_sign_out_of_the_device_that_was_connected_in_it,
}

async fn who_signs_out_of_a_browser_does_not_sign_out_of_the_device_that_was_connected_in_it(
    backend: Backend,
) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let (television, shop) = (television(&sluice).await, sluice.client(&json!({})).await);
    change_client(&sluice, &television, "backchannel_logout_uri", json!(ear.uri)).await;
    let mut browser = sluice.browser();
    let given = begin(&television).await;
    connect(&sluice, &mut browser, &given, &json!({})).await;
    let connected = poll(&television, &given).await.ok();
    sluice.advance(Lifetime::secs(5));
    let in_browser = log_in(&sluice, &shop, &mut browser, &json!({"subject": "alice"})).await;
    let sid = |tokens| claims(token(tokens, "id_token"))["sid"].clone();
    assert_ne!(sid(&connected), sid(&in_browser));
    sluice.advance(Lifetime::secs(1));
    log_out(&sluice, &mut browser, &[("id_token_hint", token(&in_browser, "id_token"))]).await;
    assert!(!sluice.is_active(token(&in_browser, "access_token")).await);
    assert!(sluice.is_active(token(&connected, "access_token")).await, "it goes on");
    let connected = television.refresh(token(&connected, "refresh_token")).await.ok();
    let path = "/admin/oauth2/auth/sessions/login?subject=alice";
    assert_eq!(sluice.ask(Method::DELETE, path, None).await.status(), 204);
    assert_eq!(claims(&ear.next().await)["sid"], sid(&connected), "its client hears of its own session");
    assert!(!sluice.is_active(token(&connected, "access_token")).await, "an administrator ends it");
    sluice.node.stop().await;
}
