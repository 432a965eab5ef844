//! Devices whose users answer twice, and devices that do not wait.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Backend, TestSluice, accept_consent, redirect_to};
use tokio_postgres::NoTls;

use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::legs::{consent_request, reject_consent, token};
use crate::rfc8628::{
    DEVICE_CODE, INTERVAL, begin, connect, consent_challenge, login_challenge, poll, television,
};

on_both_stores! {
    who_agreed_and_refuses_at_another_node_takes_it_back,
    what_a_device_holds_ends_when_its_user_refuses_after_all,
    a_decision_that_is_taken_back_is_not_remembered,
    who_refused_does_not_agree_after_all,
    nobody_takes_back_what_another_agreed_to,
    polls_that_come_too_fast_write_nothing,
    a_decision_is_told_at_once_where_it_was_made_and_within_an_interval_elsewhere,
    a_refusal_on_the_verification_page_is_told_at_once,
    however_short_the_interval_is_a_device_that_does_not_wait_is_slowed_down,
}

/// What the administrator sees that Alice has agreed to.
async fn agreed_to(sluice: &TestSluice) -> Value {
    sluice.ask_json(Method::GET, "/admin/oauth2/auth/sessions/consent?subject=alice", None, 200).await
}

/// The page stays open in the browser, or comes again with its back button.
async fn who_agreed_and_refuses_at_another_node_takes_it_back(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &mut browser, &given, &json!({"subject": "alice"})).await;
    let accepted = accept_consent(&sluice, &challenge, &json!({})).await;
    assert_eq!(browser.visit(&accepted).await.parameter("error"), None);
    assert_eq!(agreed_to(&other).await.as_array().unwrap().len(), 1);

    let rejected = reject_consent(&other, &challenge).await;
    for _ in 0..2 {
        assert_eq!(browser.at(&other).visit(&rejected).await.expect("error"), "access_denied");
    }
    poll(&client, &given).await.refused_with("invalid_grant");
    assert_eq!(agreed_to(&other).await, json!([]));
    assert_eq!(browser.visit(&accepted).await.status, 410, "it is over");
    sluice.node.stop().await;
    other.node.stop().await;
}

async fn what_a_device_holds_ends_when_its_user_refuses_after_all(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &mut browser, &given, &json!({"subject": "alice"})).await;
    let accepted = accept_consent(&sluice, &challenge, &json!({})).await;
    let rejected = reject_consent(&sluice, &challenge).await;
    browser.visit(&accepted).await;
    let tokens = poll(&client, &given).await.ok();
    assert_eq!(browser.visit(&rejected).await.expect("error"), "access_denied");
    for name in ["access_token", "refresh_token"] {
        assert!(!sluice.is_active(token(&tokens, name)).await, "{name}");
    }
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

/// Of a client that authenticates; of a public one it is asked each time.
async fn a_decision_that_is_taken_back_is_not_remembered(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({"grant_types": [DEVICE_CODE, "refresh_token"]})).await;
    let (mut browser, alice) = (sluice.browser(), json!({"subject": "alice"}));
    for is_revoked_before in [false, true] {
        let given = begin(&client).await;
        let challenge = consent_challenge(&sluice, &mut browser, &given, &alice).await;
        assert_eq!(consent_request(&sluice, &challenge).await["skip"], false);
        let accepted = accept_consent(&sluice, &challenge, &json!({"remember": true})).await;
        let rejected = reject_consent(&sluice, &challenge).await;
        browser.visit(&accepted).await;
        let tokens = poll(&client, &given).await.ok();
        if is_revoked_before {
            client.revoke(token(&tokens, "refresh_token")).await.ok();
        }
        sluice.advance(INTERVAL);
        assert_eq!(browser.at(&other).visit(&rejected).await.expect("error"), "access_denied");
        assert!(!other.is_active(token(&tokens, "access_token")).await);
        assert_eq!(agreed_to(&other).await, json!([]));
        sluice.advance(INTERVAL);
    }
    let given = begin(&client).await;
    let challenge = consent_challenge(&other, &mut other.browser(), &given, &alice).await;
    assert_eq!(consent_request(&other, &challenge).await["skip"], false);
    sluice.node.stop().await;
    other.node.stop().await;
}

async fn who_refused_does_not_agree_after_all(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &mut browser, &given, &json!({"subject": "alice"})).await;
    let accepted = accept_consent(&sluice, &challenge, &json!({})).await;
    let rejected = reject_consent(&sluice, &challenge).await;
    assert_eq!(browser.visit(&rejected).await.expect("error"), "access_denied");
    for node in [&other, &sluice] {
        let late = browser.at(node).visit(&accepted).await;
        assert_eq!((late.status.as_u16(), late.location), (410, None));
    }
    assert_eq!(agreed_to(&sluice).await, json!([]));
    poll(&client, &given).await.refused_with("access_denied");
    sluice.node.stop().await;
    other.node.stop().await;
}

/// A code is on a screen that others see, too.
async fn nobody_takes_back_what_another_agreed_to(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    let (mut alice, mut bob, mut somebody) = (sluice.browser(), sluice.browser(), sluice.browser());
    let of_bob = consent_challenge(&sluice, &mut bob, &given, &json!({"subject": "bob"})).await;
    let of_bob = reject_consent(&sluice, &of_bob).await;
    let of_somebody = login_challenge(&sluice, &mut somebody, &given).await;
    let path = format!("/admin/oauth2/auth/requests/login/reject?login_challenge={of_somebody}");
    let of_somebody = redirect_to(&sluice.ask_json(Method::PUT, &path, Some(&json!({})), 200).await);
    connect(&sluice, &mut alice, &given, &json!({})).await;
    assert_eq!(bob.visit(&of_bob).await.status, 410);
    assert_eq!(somebody.visit(&of_somebody).await.status, 410);
    let tokens = poll(&client, &given).await.ok();
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["sub"], "alice");
    sluice.node.stop().await;
}

async fn polls_that_come_too_fast_write_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    poll(&client, &given).await.refused_with("authorization_pending");
    let before = sluice.written();
    for _ in 0..50 {
        poll(&client, &given).await.refused_with("slow_down");
    }
    assert_eq!(sluice.written(), before);
    sluice.advance(INTERVAL);
    poll(&client, &given).await.refused_with("slow_down");
    assert!(sluice.written().rows > before.rows, "the store may have something else to tell");
    let another = begin(&client).await;
    poll(&client, &another).await.refused_with("authorization_pending");
    sluice.node.stop().await;
}

async fn a_decision_is_told_at_once_where_it_was_made_and_within_an_interval_elsewhere(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = television(&sluice).await;
    let (here, there) = (begin(&client).await, begin(&client).await);
    for given in [&here, &there] {
        poll(&client, given).await.refused_with("authorization_pending");
        poll(&client, given).await.refused_with("slow_down");
    }
    connect(&sluice, &mut sluice.browser(), &here, &json!({})).await;
    connect(&other, &mut other.browser(), &there, &json!({})).await;
    poll(&client, &here).await.ok();
    poll(&client, &there).await.refused_with("slow_down");
    sluice.advance(INTERVAL);
    poll(&client, &there).await.ok();
    sluice.node.stop().await;
    other.node.stop().await;
}

async fn a_refusal_on_the_verification_page_is_told_at_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    poll(&client, &given).await.refused_with("authorization_pending");
    poll(&client, &given).await.refused_with("slow_down");
    let mut witness = Witness::of(sluice.browser());
    let begun = witness.browser.visit(given["verification_uri_complete"].as_str().unwrap()).await;
    let asked = witness.land(begun).await;
    let end = witness.submit(&asked, &[("decision", "reject")]).await;
    assert!(end.body.contains("Your device is not connected"), "{}", end.body);
    poll(&client, &given).await.refused_with("access_denied");
    sluice.node.stop().await;
}

async fn however_short_the_interval_is_a_device_that_does_not_wait_is_slowed_down(backend: Backend) {
    let setting = ("oauth2.device_authorization.token_polling_interval", "1s");
    let sluice = TestSluice::with(backend, &[setting]).await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    poll(&client, &given).await.refused_with("authorization_pending");
    let before = sluice.written();
    poll(&client, &given).await.refused_with("slow_down");
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

/// Nothing was said to the device: it comes again, and has come too early no more than before.
#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_failed_slows_no_device_down() {
    let sluice = TestSluice::start(Backend::Postgres).await;
    let client = television(&sluice).await;
    let given = begin(&client).await;
    let (database, connection) = tokio_postgres::connect(&sluice.database.dsn, NoTls).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    database.batch_execute("BEGIN; LOCK TABLE device_code IN ACCESS EXCLUSIVE MODE").await.unwrap();
    poll(&client, &given).await.refused_with("temporarily_unavailable");
    database.batch_execute("COMMIT").await.unwrap();
    poll(&client, &given).await.refused_with("authorization_pending");
    sluice.advance(INTERVAL);
    poll(&client, &given).await.refused_with("authorization_pending");
    sluice.node.stop().await;
}
