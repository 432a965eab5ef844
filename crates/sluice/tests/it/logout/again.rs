//! Who logs in again in a browser has another session there: whoever signs out there signs out of all of them.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, TestClient, TestSluice, accept_consent, accept_login};

use super::channels::Ear;
use super::{log_in, log_out};
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::legs::{login_request, token};

on_both_stores! {
    a_sign_out_ends_the_sessions_of_former_logins_in_its_browser,
    a_sign_out_reaches_the_first_of_many_logins,
    a_hint_of_a_former_session_ends_the_present_one_too,
    who_was_remembered_still_is_after_a_second_login_that_says_nothing,
    who_is_not_to_be_remembered_after_a_second_login_is_not,
    who_is_not_to_be_remembered_is_not_where_the_browser_gets_no_cookie,
    a_sign_out_ends_no_session_of_somebody_else_or_elsewhere,
    a_verifier_that_is_sent_again_after_a_sign_out_signs_nobody_in,
}

const AGAIN: Authorize<'static> = Authorize {
    scope: "openid offline_access",
    state: "a-state-of-some-length",
    more: &[("prompt", "login")],
};

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
    let page = browser.log_in_with(sluice, client, &AGAIN, login).await;
    client.redeem(&page.expect("code")).await.ok()
}

async fn is_known(sluice: &TestSluice, client: &TestClient, browser: &mut Browser) -> Value {
    login_request(sluice, client, browser, &Authorize::default()).await["skip"].clone()
}

async fn a_sign_out_ends_the_sessions_of_former_logins_in_its_browser(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let first = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    let (silent, second) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    for (before, remember) in [(&first, false), (&first, true), (&silent, false), (&silent, true)] {
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": remember});
        let earlier = log_in(&sluice, before, &mut browser, &login).await;
        let mut copy = browser.clone();
        sluice.advance(Lifetime::secs(5));
        log_in_again(&sluice, &second, &mut browser, &login).await;
        sluice.advance(Lifetime::secs(5));
        let later = log_in_again(&sluice, &second, &mut browser, &login).await;
        assert_eq!(is_known(&sluice, &second, &mut copy).await, remember);
        sluice.advance(Lifetime::secs(1));
        log_out(&sluice, &mut browser, &[("id_token_hint", token(&later, "id_token"))]).await;
        if before.id == first.id {
            assert_eq!(claims(&ear.next().await)["sid"], sid(&earlier));
        }
        assert!(!sluice.is_active(token(&earlier, "access_token")).await, "{} {remember}", before.id);
        before.refresh(token(&earlier, "refresh_token")).await.refused_with("invalid_grant");
        assert_eq!(
            is_known(&sluice, &second, &mut copy).await,
            false,
            "a copy of the first cookie is worth nothing"
        );
    }
    sluice.node.stop().await;
}

async fn a_sign_out_reaches_the_first_of_many_logins(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, login) = (sluice.browser(), json!({"subject": "alice"}));
    let first = log_in(&sluice, &client, &mut browser, &login).await;
    let mut last = Value::Null;
    for _ in 0..12 {
        last = log_in_again(&sluice, &client, &mut browser, &login).await;
    }
    assert!(browser.cookies.values().all(|value| value.len() < 1_000));
    sluice.advance(Lifetime::secs(1));
    log_out(&sluice, &mut browser, &[("id_token_hint", token(&last, "id_token"))]).await;
    assert!(!sluice.is_active(token(&first, "access_token")).await);
    sluice.node.stop().await;
}

async fn a_hint_of_a_former_session_ends_the_present_one_too(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let clients = [sluice.client(&json!({})).await, sluice.client(&json!({})).await];
    let login = json!({"subject": "alice", "remember": true});
    let mut browser = sluice.browser();
    let former = log_in(&sluice, &clients[0], &mut browser, &login).await;
    let present = log_in_again(&sluice, &clients[1], &mut browser, &login).await;
    sluice.advance(Lifetime::secs(1));
    log_out(&sluice, &mut browser, &[("id_token_hint", token(&former, "id_token"))]).await;
    for tokens in [former, present] {
        assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    }
    assert_eq!(is_known(&sluice, &clients[0], &mut browser).await, false);
    sluice.node.stop().await;
}

async fn who_was_remembered_still_is_after_a_second_login_that_says_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let remembered = json!({"subject": "alice", "remember": true, "remember_for": 60});
    log_in(&sluice, &client, &mut browser, &remembered).await;
    sluice.advance(Lifetime::secs(30));
    log_in_again(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::secs(29));
    assert_eq!(is_known(&sluice, &client, &mut browser).await, true);
    sluice.advance(Lifetime::secs(1));
    assert_eq!(is_known(&sluice, &client, &mut browser).await, false, "for no longer than was said before");
    sluice.node.stop().await;
}

/// As with Hydra, where the page says so; a sign-out ends what was before all the same.
async fn who_is_not_to_be_remembered_after_a_second_login_is_not(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for again in [("prompt", "login"), ("max_age", "0")] {
        let mut browser = sluice.browser();
        let remembered = json!({"subject": "alice", "remember": true, "remember_for": 60});
        let first = log_in(&sluice, &client, &mut browser, &remembered).await;
        let mut copy = browser.clone();
        sluice.advance(Lifetime::secs(1));
        let between = log_in_again(&sluice, &client, &mut browser, &remembered).await;
        assert_eq!(is_known(&sluice, &client, &mut copy).await, true);
        sluice.advance(Lifetime::secs(1));
        let with = Authorize { more: &[again], ..Authorize::default() };
        let login = json!({"subject": "alice", "remember": false});
        let page = browser.log_in_with(&sluice, &client, &with, &login).await;
        let second = client.redeem(&page.expect("code")).await.ok();
        assert_eq!(is_known(&sluice, &client, &mut browser).await, false, "{again:?}");
        assert_eq!(is_known(&sluice, &client, &mut copy).await, false, "{again:?}: nor by a copy");
        let third = log_in_again(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
        assert_eq!(is_known(&sluice, &client, &mut browser).await, false, "there is nothing to go on");
        sluice.advance(Lifetime::secs(1));
        log_out(&sluice, &mut browser, &[("id_token_hint", token(&third, "id_token"))]).await;
        for tokens in [first, between, second, third] {
            assert!(!sluice.is_active(token(&tokens, "access_token")).await, "{again:?}");
        }
    }
    sluice.node.stop().await;
}

/// In a frame of another site the browser keeps its cookie, which is of a session that counts no more. One of a later login does.
async fn who_is_not_to_be_remembered_is_not_where_the_browser_gets_no_cookie(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let framed = [("sec-fetch-dest", "iframe"), ("sec-fetch-site", "cross-site")];
    let remembered = json!({"subject": "alice", "remember": true});
    log_in(&sluice, &client, &mut browser, &remembered).await;
    sluice.advance(Lifetime::secs(1));
    let challenge = browser.begin(&client, &AGAIN).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice", "remember": false})).await;
    browser.request(Method::GET, &verifier, None, &framed).await.expect("consent_challenge");
    assert_eq!(is_known(&sluice, &client, &mut browser).await, false);
    sluice.advance(Lifetime::secs(1));
    log_in_again(&sluice, &client, &mut browser, &remembered).await;
    browser.request(Method::GET, &verifier, None, &framed).await.expect("consent_challenge");
    assert_eq!(is_known(&sluice, &client, &mut browser).await, true, "that verifier is of before");
    sluice.node.stop().await;
}

async fn a_sign_out_ends_no_session_of_somebody_else_or_elsewhere(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, mut elsewhere) = (sluice.browser(), sluice.browser());
    let login = json!({"subject": "alice", "remember": true});
    let others = log_in(&sluice, &client, &mut elsewhere, &login).await;
    let alice = log_in(&sluice, &client, &mut browser, &login).await;
    let bob = log_in_again(&sluice, &client, &mut browser, &json!({"subject": "bob"})).await;
    sluice.advance(Lifetime::secs(1));
    log_out(&sluice, &mut browser, &[("id_token_hint", token(&bob, "id_token"))]).await;
    assert!(!sluice.is_active(token(&bob, "access_token")).await);
    for tokens in [others, alice] {
        assert!(sluice.is_active(token(&tokens, "access_token")).await);
    }
    sluice.node.stop().await;
}

async fn a_verifier_that_is_sent_again_after_a_sign_out_signs_nobody_in(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for remember in [false, true] {
        let login = json!({"subject": "alice", "remember": remember});
        let mut browser = sluice.browser();
        // A tab that was opened before there was a session.
        let early = browser.begin(&client, &AGAIN).await;
        let (mut verifiers, mut last) = (Vec::new(), Value::Null);
        for challenge in [None, Some(early), None] {
            let challenge = match challenge {
                Some(early) => early,
                None => browser.begin(&client, &AGAIN).await,
            };
            let verifier = accept_login(&sluice, &challenge, &login).await;
            let consent = browser.visit(&verifier).await.expect("consent_challenge");
            let consented = accept_consent(&sluice, &consent, &json!({})).await;
            last = client.redeem(&browser.visit(&consented).await.expect("code")).await.ok();
            verifiers.push(verifier);
            sluice.advance(Lifetime::secs(1));
        }
        let mut copy = browser.clone();
        log_out(&sluice, &mut browser, &[("id_token_hint", token(&last, "id_token"))]).await;
        sluice.advance(Lifetime::secs(1));
        for (browser, what) in [(&mut copy, "with its cookie"), (&mut browser, "without it")] {
            for verifier in &verifiers {
                let page = browser.visit(verifier).await;
                assert_eq!(page.parameter("consent_challenge"), None, "{what}: {remember}");
            }
            assert_eq!(is_known(&sluice, &client, browser).await, false, "{what}");
        }
    }
    sluice.node.stop().await;
}
