//! Who logs in again in a browser goes on in the session that is there: whoever signs out there signs out of all of it.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, TestClient, TestSluice, accept_consent, accept_login};

use super::channels::Ear;
use super::{log_in, log_out};
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::legs::{login_request, token};

on_both_stores! {
    a_second_login_goes_on_in_the_session_of_its_browser,
    a_session_that_was_remembered_still_is_after_a_second_login_that_is_not,
    a_second_login_begins_another_session_where_there_is_none_to_go_on_in,
    a_verifier_that_is_sent_again_after_a_sign_out_signs_nobody_in,
}

fn sid(tokens: &Value) -> Value {
    claims(token(tokens, "id_token"))["sid"].clone()
}

/// Logs in although the browser may be known.
async fn log_in_again(
    sluice: &TestSluice,
    client: &TestClient,
    browser: &mut Browser,
    login: &Value,
) -> Value {
    let with = Authorize { more: &[("prompt", "login")], ..Authorize::default() };
    let page = browser.log_in_with(sluice, client, &with, login).await;
    client.redeem(&page.expect("code")).await.ok()
}

async fn is_known(sluice: &TestSluice, client: &TestClient, browser: &mut Browser) -> Value {
    login_request(sluice, client, browser, &Authorize::default()).await["skip"].clone()
}

async fn a_second_login_goes_on_in_the_session_of_its_browser(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let first = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    let (silent, second) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    for (before, remember) in [(&first, false), (&first, true), (&silent, false), (&silent, true)] {
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": remember});
        let earlier = log_in(&sluice, before, &mut browser, &login).await;
        sluice.advance(Lifetime::secs(5));
        let later = log_in_again(&sluice, &second, &mut browser, &login).await;
        assert_eq!(sid(&later), sid(&earlier), "{} {remember}", before.id);
        let at = |tokens: &Value| claims(token(tokens, "id_token"))["auth_time"].as_i64().unwrap();
        assert_eq!(at(&later) - at(&earlier), 5);
        sluice.advance(Lifetime::secs(1));
        log_out(&sluice, &mut browser, &[("id_token_hint", token(&later, "id_token"))]).await;
        if before.id == first.id {
            assert_eq!(claims(&ear.next().await)["sid"], sid(&earlier));
        }
        assert!(!sluice.is_active(token(&earlier, "access_token")).await);
        before.refresh(token(&earlier, "refresh_token")).await.refused_with("invalid_grant");
    }
    sluice.node.stop().await;
}

async fn a_session_that_was_remembered_still_is_after_a_second_login_that_is_not(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let remembered = json!({"subject": "alice", "remember": true, "remember_for": 60});
    log_in(&sluice, &client, &mut browser, &remembered).await;
    let before = browser.clone();
    sluice.advance(Lifetime::secs(30));
    log_in_again(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::secs(29));
    assert_eq!(is_known(&sluice, &client, &mut browser).await, true);
    assert_eq!(
        is_known(&sluice, &client, &mut before.clone()).await,
        false,
        "a cookie of before is worth no more"
    );
    sluice.advance(Lifetime::secs(1));
    assert_eq!(is_known(&sluice, &client, &mut browser).await, false, "nor does it last longer");
    sluice.node.stop().await;
}

async fn a_second_login_begins_another_session_where_there_is_none_to_go_on_in(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for remember in [false, true] {
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": remember});
        let alice = log_in(&sluice, &client, &mut browser, &login).await;
        let mut copy = browser.clone();
        let bob = log_in_again(&sluice, &client, &mut browser.clone(), &json!({"subject": "bob"})).await;
        assert_ne!(sid(&bob), sid(&alice), "it is somebody else's");
        sluice.advance(Lifetime::secs(1));
        log_out(&sluice, &mut browser, &[("id_token_hint", token(&alice, "id_token"))]).await;
        sluice.advance(Lifetime::secs(1));
        let again = log_in_again(&sluice, &client, &mut copy, &login).await;
        assert_ne!(sid(&again), sid(&alice), "it has ended");
        assert!(sluice.is_active(token(&again, "access_token")).await);
    }
    sluice.node.stop().await;
}

async fn a_verifier_that_is_sent_again_after_a_sign_out_signs_nobody_in(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let again = Authorize { more: &[("prompt", "login")], ..Authorize::default() };
    let by_administrator = "/admin/oauth2/auth/sessions/login?sid=";
    for remember in [false, true] {
        let login = json!({"subject": "alice", "remember": remember});
        let mut browser = sluice.browser();
        // A tab that was opened before there was a session.
        let early = browser.begin(&client, &again).await;
        let (mut verifiers, mut last) = (Vec::new(), None);
        for challenge in [None, Some(early), None] {
            let challenge = match challenge {
                Some(early) => early,
                None => browser.begin(&client, &again).await,
            };
            let verifier = accept_login(&sluice, &challenge, &login).await;
            let consent = browser.visit(&verifier).await.expect("consent_challenge");
            if verifiers.len() == 2 {
                browser.visit(&verifier).await.expect("consent_challenge");
            }
            let consented = accept_consent(&sluice, &consent, &json!({})).await;
            let tokens = client.redeem(&browser.visit(&consented).await.expect("code")).await.ok();
            assert!(last.is_none_or(|last| last == sid(&tokens)), "all are of one session");
            last = Some(sid(&tokens));
            verifiers.push(verifier);
            sluice.advance(Lifetime::secs(1));
        }
        let mut elsewhere = browser.clone();
        let path = format!("{by_administrator}{}", last.unwrap().as_str().unwrap());
        assert_eq!(sluice.ask(reqwest::Method::DELETE, &path, None).await.status(), 204);
        sluice.advance(Lifetime::secs(1));
        for verifier in &verifiers {
            let page = elsewhere.visit(verifier).await;
            assert_eq!(page.parameter("consent_challenge"), None, "with its cookie: {remember}");
        }
        browser.cookies.retain(|name, _| name.contains("binding"));
        for verifier in &verifiers {
            let page = browser.visit(verifier).await;
            assert_eq!(page.parameter("consent_challenge"), None, "without it: {remember}");
        }
        assert_eq!(is_known(&sluice, &client, &mut browser).await, false);
    }
    sluice.node.stop().await;
}
