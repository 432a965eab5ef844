//! Flows too long for a URL: their request is kept in the store, once, and the URL carries a handle.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestSluice, accept_consent, accept_login, redirect_to};

use crate::answer::{Answer, http};
use crate::both_stores::on_both_stores;
use crate::legs::{parameter, token};

on_both_stores! {
    a_flow_too_long_for_a_url_is_parked_once,
    a_parked_flow_that_expired_has_a_way_out,
    large_claims_of_the_consent_page_are_parked,
    a_network_that_parks_too_many_flows_is_turned_away_for_a_while,
    many_log_in_with_long_states_behind_a_proxy_of_this_machine,
    who_contradicts_a_proxy_of_this_machine_parks_no_more_than_a_network,
}

const SHORT: usize = 512;

fn long_state() -> String {
    "0123456789".repeat(180)
}

async fn a_flow_too_long_for_a_url_is_parked_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, state) = (sluice.browser(), long_state());
    let before = sluice.written();
    let with = Authorize { state: &state, ..Authorize::default() };
    let login_challenge = browser.begin(&client, &with).await;
    let parked = sluice.written();
    assert!(parked.rows > before.rows && parked.grant_inserts == before.grant_inserts, "{parked:?}");
    let verifier = accept_login(&sluice, &login_challenge, &json!({"subject": "alice"})).await;
    let login_verifier = parameter(&verifier, "login_verifier");
    let consent_challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &consent_challenge, &json!({})).await;
    assert_eq!(sluice.written(), parked, "once per flow");
    let consent_verifier = parameter(&verifier, "consent_verifier");
    let sealed = [login_challenge, login_verifier, consent_challenge, consent_verifier];
    let lengths = sealed.each_ref().map(String::len);
    assert!(lengths.iter().all(|length| *length <= SHORT), "{lengths:?}");
    let page = browser.visit(&verifier).await;
    assert_eq!(page.expect("state"), state);
    client.redeem(&page.expect("code")).await.ok();
    assert_eq!(browser.visit(&verifier).await.status, 410, "works once, like any other");
    sluice.node.stop().await;
}

async fn a_parked_flow_that_expired_has_a_way_out(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, state) = (sluice.browser(), long_state());
    let challenge = browser.begin(&client, &Authorize { state: &state, ..Authorize::default() }).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::minutes(30));
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    let gone = sluice.ask_json(Method::GET, &path, None, 410).await;
    assert_eq!(parameter(gone["redirect_to"].as_str().unwrap(), "state"), state);
    let page = browser.visit(&verifier).await;
    assert_eq!(page.status, 410);
    assert!(page.body.contains(&state), "{}", page.body);
    // Once the row is gone too, there is no way out to tell, but it is still an expired flow.
    sluice.advance(Lifetime::hours(2));
    assert_eq!(sluice.node.tidy().await.unwrap(), 1);
    assert_eq!(browser.visit(&verifier).await.status, 410);
    sluice.ask_json(Method::GET, &path, None, 404).await;
    sluice.node.stop().await;
}

async fn large_claims_of_the_consent_page_are_parked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let groups: Vec<Value> = (0..400).map(|number| json!(format!("group-{number}"))).collect();
    let session = json!({"session": {"id_token": {"groups": groups}, "access_token": {"groups": groups}}});
    let verifier = accept_consent(&sluice, &challenge, &session).await;
    assert!(parameter(&verifier, "consent_verifier").len() <= SHORT);
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    let access_token = token(&tokens, "access_token");
    assert!(access_token.len() <= SHORT, "claims that are too large stay in the grant");
    let (_, userinfo) = client.userinfo(access_token).await;
    assert_eq!(userinfo["groups"].as_array().unwrap().len(), groups.len());
    assert_eq!(
        sluice.introspect(access_token).await["ext"]["groups"].as_array().unwrap().len(),
        groups.len()
    );
    let too_large = json!({"session": {"id_token": {"blob": "x".repeat(64 * 1024)}}});
    let path = format!("/admin/oauth2/auth/requests/consent/accept?consent_challenge={challenge}");
    let over = sluice.ask_json(Method::PUT, &path, Some(&too_large), 200).await;
    assert_eq!(parameter(&redirect_to(&over), "client_id"), client.id, "it begins again");
    sluice.node.stop().await;
}

async fn a_network_that_parks_too_many_flows_is_turned_away_for_a_while(backend: Backend) {
    let counted = [("identity.limits.exempt", "192.0.2.0/24"), ("oauth2.long_requests.per_network", "5")];
    let sluice = TestSluice::with(backend, &counted).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, state) = (sluice.browser(), long_state());
    let long = client.authorize_url(&Authorize { state: &state, ..Authorize::default() });
    for _ in 0..5 {
        browser.visit(&long).await.expect("login_challenge");
    }
    let full = sluice.written();
    let page = browser.visit(&long).await;
    assert_eq!((page.status.as_u16(), page.location), (503, None));
    let wait = page.headers.get("retry-after").map(|wait| wait.to_str().expect("text"));
    assert_eq!(wait, Some("600"), "until the first of them do not count any more");
    assert_eq!(sluice.written(), full);
    browser.log_in(&sluice, &client, "alice").await.expect("code");
    sluice.advance(Lifetime::minutes(10));
    browser.visit(&long).await.expect("login_challenge");
    sluice.node.stop().await;
}

/// Whom nobody can tell apart is not counted: `identity.limits.exempt` has this machine.
async fn many_log_in_with_long_states_behind_a_proxy_of_this_machine(backend: Backend) {
    let sluice = TestSluice::with(backend, &[("oauth2.long_requests.per_network", "5")]).await;
    let client = sluice.client(&json!({})).await;
    let state = "0123456789".repeat(100);
    let with = Authorize { state: &state, ..Authorize::default() };
    let before = sluice.written();
    for _ in 0..150 {
        let page = sluice.browser().log_in_with(&sluice, &client, &with, &json!({"subject": "alice"})).await;
        assert_eq!((page.expect("code").is_empty(), page.expect("state")), (false, state.clone()));
    }
    let after = sluice.written();
    let (rows, grants) = (after.rows - before.rows, after.grant_inserts - before.grant_inserts);
    assert!(grants == 150 && rows >= 300, "each flow was kept: {after:?}");
    sluice.node.stop().await;
}

async fn who_contradicts_a_proxy_of_this_machine_parks_no_more_than_a_network(backend: Backend) {
    let settings = [("serve.trusted_proxies", "127.0.0.0/8"), ("oauth2.long_requests.per_network", "5")];
    let sluice = TestSluice::with(backend, &settings).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, state) = (sluice.browser(), long_state());
    let long = client.authorize_url(&Authorize { state: &state, ..Authorize::default() });
    let forged = async |last: i32| {
        let request = http().get(&long).header("x-forwarded-for", format!("192.0.2.{last}"));
        Answer::to(request.header("forwarded", "for=_x")).await
    };
    for last in 0..5 {
        let begun = forged(last).await;
        assert!(begun.header("location").contains("login_challenge="), "{}", begun.body);
    }
    assert_eq!(forged(5).await.status, 503);
    browser.visit(&long).await.expect("login_challenge");
    sluice.node.stop().await;
}
