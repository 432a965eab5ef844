//! A session or a user that is signed out while a flow is under way.

use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestSluice, accept_consent};

use crate::both_stores::on_both_stores;
use crate::legs::{consent_challenge, consent_request, delete, login_request, login_verifier};

on_both_stores! {
    a_flow_whose_session_was_ended_is_refused_to_the_client,
    a_login_that_was_accepted_before_its_user_was_signed_out_does_not_count,
    a_session_that_was_ended_is_not_skipped_again,
    a_code_of_a_user_who_was_signed_out_is_refused,
}

async fn a_flow_whose_session_was_ended_is_refused_to_the_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    let session = consent_request(&sluice, &challenge).await["login_session_id"].clone();
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("/admin/oauth2/auth/sessions/login?sid={}", session.as_str().unwrap())).await;
    let before = sluice.written();
    let page = browser.visit(&verifier).await;
    assert_eq!(page.expect("error"), "login_required");
    let told = "The user has signed out meanwhile, and has to log in again.";
    assert_eq!(page.expect("error_description"), told, "nothing forbade to ask");
    assert_eq!(page.expect("state"), Authorize::default().state);
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

async fn a_login_that_was_accepted_before_its_user_was_signed_out_does_not_count(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let verifier = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    let consent = accept_consent(&sluice, &challenge, &json!({})).await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    let page = browser.visit(&verifier).await;
    assert_eq!((page.status.as_u16(), &page.location), (400, &None));
    assert!(page.body.contains("/oauth2/auth?client_id="), "there is a way out: {}", page.body);
    assert_eq!(browser.visit(&consent).await.expect("error"), "login_required");
    sluice.advance(Lifetime::secs(1));
    browser.log_in(&sluice, &client, "alice").await.expect("code");
    sluice.node.stop().await;
}

async fn a_session_that_was_ended_is_not_skipped_again(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let remember = json!({"subject": "alice", "remember": true, "remember_for": 3600});
    // As with Hydra a session counts more than a subject.
    for ended_by in ["subject=alice", "sid={sid}", "subject=nobody&sid={sid}"] {
        sluice.advance(Lifetime::secs(1));
        let mut browser = sluice.browser();
        browser.log_in_with(&sluice, &client, &Authorize::default(), &remember).await.expect("code");
        let known = login_request(&sluice, &client, &mut browser, &Authorize::default()).await;
        assert_eq!((&known["skip"], &known["subject"]), (&json!(true), &json!("alice")));
        let query = ended_by.replace("{sid}", known["session_id"].as_str().unwrap());
        sluice.advance(Lifetime::secs(1));
        delete(&sluice, &format!("/admin/oauth2/auth/sessions/login?{query}")).await;
        let known = login_request(&sluice, &client, &mut browser, &Authorize::default()).await;
        assert_eq!((&known["skip"], &known["subject"]), (&json!(false), &json!("")), "{ended_by}");
    }
    sluice.node.stop().await;
}

async fn a_code_of_a_user_who_was_signed_out_is_refused(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    client.redeem(&code).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}
