//! What a hook says in the answer to a code comes to what the consent page said, as in Hydra.

use axum::http::StatusCode;
use serde_json::{Value, json};
use sluice_testkit::Backend;

use super::{Says, code_with, ext, has_members, is_a_session_of_hydras, replacing, vip, with_token_hook};
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::legs::token;
use crate::rfc8628::{DEVICE_CODE, begin, connect, poll, television};

on_both_stores! {
    what_a_hook_says_of_a_code_comes_to_what_the_consent_page_said,
}

async fn what_a_hook_says_of_a_code_comes_to_what_the_consent_page_said(backend: Backend) {
    let (sluice, service) = with_token_hook(backend).await;
    let page = json!({"access_token": {"plan": "none"}, "id_token": {"name": "Alice"}});
    for strategy in ["opaque", "jwt"] {
        let client = sluice.client(&json!({"access_token_strategy": strategy})).await;
        service.say(replacing(&json!({"plan": "gold", "seats": 2}), &json!({"name": "Eve", "vip": true})));
        let mut tokens = client.redeem(&code_with(&sluice, &client, &page).await).await.ok();
        service.say(Says::Status(StatusCode::NO_CONTENT));
        for _ in 0..2 {
            let said = (ext(&sluice, &tokens).await, vip(&client, &tokens).await);
            assert_eq!(said, (json!({"plan": "none", "seats": 2}), json!(true)), "{strategy}");
            assert_eq!(claims(token(&tokens, "id_token"))["name"], "Alice");
            tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
        }
        // Of a refresh it says all.
        service.say(Says::Json(json!(null)));
        let tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
        let said = (ext(&sluice, &tokens).await, vip(&client, &tokens).await);
        assert_eq!(said, (Value::Null, Value::Null), "{strategy}");
        assert_eq!(claims(token(&tokens, "id_token"))["name"], Value::Null);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_says_nothing_of_a_code_leaves_what_the_consent_page_said() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    // More than an opaque token carries.
    let plan = json!({"plan": "none", "long": "x".repeat(2_000)});
    let page = json!({"access_token": plan, "id_token": {"vip": "yes"}});
    for strategy in ["opaque", "jwt"] {
        let client = sluice.client(&json!({"access_token_strategy": strategy})).await;
        for answer in [
            json!({}),
            json!({"session": null}),
            json!({"session": {}}),
            json!({"session": {"access_token": null, "id_token": {}}}),
            json!({"session": {"access_token": {"plan": "gold"}}}),
            json!({"session": {"id_token": {"name": "Alice"}}}),
            json!(null),
        ] {
            service.say(Says::Json(answer.clone()));
            let tokens = client.redeem(&code_with(&sluice, &client, &page).await).await.ok();
            assert_eq!(ext(&sluice, &tokens).await, plan, "{strategy} {answer}");
            assert_eq!(vip(&client, &tokens).await, "yes", "{strategy} {answer}");
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hook_says_of_a_code_fits_into_a_token_with_what_the_consent_page_said() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let page = json!({"access_token": {"long": "x".repeat(3_000)}});
    let code = code_with(&sluice, &client, &page).await;
    service.say(replacing(&json!({"more": "x".repeat(5_500)}), &json!({})));
    client.redeem(&code).await.refused_with("server_error");
    // As much as the page may say without it.
    let more = "x".repeat(5_000);
    service.say(replacing(&json!({"more": more}), &json!({})));
    let tokens = client.redeem(&code).await.ok();
    let access_token = token(&tokens, "access_token");
    assert!(sluice.is_active(access_token).await);
    assert_eq!(claims(access_token)["ext"]["more"], more);
    assert_eq!(ext(&sluice, &tokens).await["more"], more);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hook_says_of_a_code_stands_in_the_token_beside_the_little_that_the_consent_page_said() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let page = json!({"access_token": {"plan": "none"}});
    let long = "x".repeat(2_000);
    service.say(replacing(&json!({"long": long}), &json!({})));
    // A signed token has it twice: for whoever reads it, and for this server.
    for (strategy, least) in [("opaque", 2_000), ("jwt", 6_000)] {
        let client = sluice.client(&json!({"access_token_strategy": strategy})).await;
        let tokens = client.redeem(&code_with(&sluice, &client, &page).await).await.ok();
        assert!(token(&tokens, "access_token").len() > least, "{strategy}");
        assert_eq!(ext(&sluice, &tokens).await, json!({"plan": "none", "long": long}), "{strategy}");
    }
    // With more than is there twice, a signed one has it for its readers alone.
    let longer = "x".repeat(6_000);
    service.say(replacing(&json!({"long": longer}), &json!({})));
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let tokens = client.redeem(&code_with(&sluice, &client, &page).await).await.ok();
    let all = json!({"plan": "none", "long": longer});
    assert_eq!(claims(token(&tokens, "access_token"))["ext"], all);
    assert_eq!(ext(&sluice, &tokens).await, all);
    service.say(Says::Status(StatusCode::NO_CONTENT));
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    assert_eq!(ext(&sluice, &refreshed).await, all);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_adds_to_as_much_as_a_consent_page_may_say_of_an_opaque_token() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    let grant_types = ["authorization_code", "refresh_token", exchange];
    let client = sluice.client(&json!({"grant_types": grant_types})).await;
    let long = "x".repeat(9 * 1024);
    let page = json!({"access_token": {"plan": "none", "long": long}});
    let all = json!({"plan": "none", "long": long, "seats": 2});
    let little = replacing(&json!({"seats": 2}), &json!({}));
    service.say(little.clone());
    let tokens = client.redeem(&code_with(&sluice, &client, &page).await).await.ok();
    let access_token = token(&tokens, "access_token");
    assert_eq!(ext(&sluice, &tokens).await, all);
    assert!(access_token.len() < 2_000, "the grant keeps them");
    service.say(Says::Status(StatusCode::NO_CONTENT));
    let form = [
        ("grant_type", exchange),
        ("subject_token", access_token),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:jwt"),
    ];
    let exchanged = client.token(&form).await.ok();
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    assert_eq!(claims(token(&exchanged, "access_token"))["ext"], all);
    assert_eq!(ext(&sluice, &refreshed).await, all);

    let code = code_with(&sluice, &client, &json!({"access_token": {"long": "x".repeat(60 * 1024)}})).await;
    service.say(replacing(&json!({"more": "x".repeat(5 * 1024)}), &json!({})));
    client.redeem(&code).await.refused_with("server_error");
    service.say(little);
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hook_says_of_a_device_code_comes_to_what_the_consent_page_said() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    let page = json!({"access_token": {"plan": "none"}, "id_token": {"name": "Alice"}});
    connect(&sluice, &mut sluice.browser(), &given, &json!({"session": page})).await;
    service.say(replacing(&json!({"plan": "gold", "seats": 2}), &json!({"name": "Eve", "vip": true})));
    let tokens = poll(&client, &given).await.ok();
    let said = (ext(&sluice, &tokens).await, vip(&client, &tokens).await);
    assert_eq!(said, (json!({"plan": "none", "seats": 2}), json!(true)));
    assert_eq!(claims(token(&tokens, "id_token"))["name"], "Alice");
    let asked = service.asked();
    let [(_, _, body)] = asked.as_slice() else { panic!("{} questions", asked.len()) };
    assert_eq!(body["request"]["grant_types"], json!([DEVICE_CODE]));
    is_a_session_of_hydras(&body["session"]);
    // No code came to the client through a browser.
    has_members(&body["session"]["id_token"]["expires_at"], "access_token refresh_token");
    sluice.node.stop().await;
}
