//! The flaws of REFERENCE §3 (F1 to F15) that Sluice does not have.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::{
    change_client, consent_challenge, consent_request, consent_verifier, delete, login_request,
    login_verifier, parameter, token,
};

on_both_stores! {
    a_leaked_verifier_neither_burns_the_flow_nor_records_a_grant,
    a_login_verifier_that_replays_makes_no_second_session,
    accepting_again_with_another_subject_changes_nothing,
    a_spent_consent_verifier_stays_spent_after_its_consent_is_revoked,
    a_spent_verifier_stays_spent_however_short_its_tokens_live,
    many_flows_of_a_browser_need_one_cookie,
    a_flow_carries_no_client_record,
    a_later_leg_reads_nothing_but_its_verifier,
    a_rotated_system_secret_still_opens_what_it_sealed,
    an_overlong_value_is_refused_and_costs_nothing,
    an_expired_challenge_tells_where_to_start_again,
    every_answer_with_a_sealed_value_is_kept_from_referrers_and_caches,
    a_remembered_login_ends_on_the_server_not_only_in_the_browser,
}

/// F1: the browser is checked before anything is written.
async fn a_leaked_verifier_neither_burns_the_flow_nor_records_a_grant(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let verifier = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let before = sluice.written();
    for _ in 0..3 {
        assert_eq!(sluice.browser().visit(&verifier).await.status, 400);
    }
    assert_eq!(sluice.written(), before);
    client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    sluice.node.stop().await;
}

/// F2: all replays belong to one session, and one that has ended does not come back by them.
async fn a_login_verifier_that_replays_makes_no_second_session(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let login = json!({"subject": "alice", "remember": true, "remember_for": 3600});
    let verifier = accept_login(&sluice, &challenge, &login).await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        sessions.push(consent_request(&sluice, &challenge).await["login_session_id"].clone());
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 1);
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("/admin/oauth2/auth/sessions/login?sid={}", sessions[0].as_str().unwrap()))
        .await;
    let page = browser.visit(&verifier).await;
    assert_eq!((page.status.as_u16(), page.location), (400, None));
    let asked = login_request(&sluice, &client, &mut browser, &Authorize::default()).await;
    assert_eq!(asked["skip"], false);
    sluice.node.stop().await;
}

/// F3: `accept` may be repeated, but the first consent verifier that comes back wins.
async fn accepting_again_with_another_subject_changes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let mut verifiers = Vec::new();
    for subject in ["alice", "mallory"] {
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": subject})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        verifiers.push(accept_consent(&sluice, &challenge, &json!({})).await);
    }
    let code = browser.visit(&verifiers[0]).await.expect("code");
    assert_eq!(browser.visit(&verifiers[1]).await.status, 410);
    let tokens = client.redeem(&code).await.ok();
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["sub"], "alice");
    sluice.node.stop().await;
}

/// F4: revoking does not free the flow.
async fn a_spent_consent_verifier_stays_spent_after_its_consent_is_revoked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    let paths = [
        "/admin/oauth2/auth/sessions/consent?subject=alice&all=true".to_owned(),
        format!("/admin/oauth2/tokens?client_id={}", client.id),
    ];
    for path in paths {
        sluice.advance(Lifetime::secs(1));
        let mut browser = sluice.browser();
        let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
        let verifier = accept_consent(&sluice, &challenge, &json!({"remember": true})).await;
        let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
        client.revoke(token(&tokens, "refresh_token")).await;
        sluice.advance(Lifetime::secs(1));
        delete(&sluice, &path).await;
        sluice.node.tidy().await.unwrap();
        for page in [browser.visit(&verifier).await, browser.at(&other).visit(&verifier).await] {
            assert_eq!((page.status.as_u16(), page.location), (410, None), "{path}");
        }
    }
    other.node.stop().await;
    sluice.node.stop().await;
}

/// F4: the grant outlives its flow, even if its tokens do not.
async fn a_spent_verifier_stays_spent_however_short_its_tokens_live(backend: Backend) {
    let settings =
        [("ttl.access_token", "1m"), ("ttl.refresh_token", "1m"), ("ttl.login_consent_request", "2h")];
    let sluice = TestSluice::with(backend, &settings).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let verifier = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    sluice.advance(Lifetime::minutes(119));
    sluice.node.tidy().await.unwrap();
    assert_eq!(browser.visit(&verifier).await.status, 410);
    sluice.node.stop().await;
}

/// F6: one cookie, and tabs that do not break each other.
async fn many_flows_of_a_browser_need_one_cookie(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut browser = sluice.browser();
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let client = sluice.client(&json!({})).await;
        waiting.push((login_verifier(&sluice, &client, &mut browser, "alice").await, client));
    }
    assert_eq!(browser.cookies.len(), 1);
    let mut consents = Vec::new();
    for (verifier, client) in waiting.iter().take(3) {
        consents.push((browser.visit(verifier).await.expect("consent_challenge"), client));
    }
    for (challenge, client) in consents {
        let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
        client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    }
    assert_eq!(browser.cookies.len(), 2, "and one for the session");
    sluice.node.stop().await;
}

/// F7: the client is read again at the last leg.
async fn a_flow_carries_no_client_record(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let verifier = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    change_client(&sluice, &client, "scope", json!("openid")).await;
    assert_eq!(browser.visit(&verifier).await.expect("error"), "unauthorized_client");
    change_client(&sluice, &client, "scope", json!("openid offline_access")).await;
    browser.visit(&verifier).await.expect("code");
    sluice.node.stop().await;
}

/// F8: the request is rebuilt from what was sealed.
async fn a_later_leg_reads_nothing_but_its_verifier(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let verifier = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let url = url::Url::parse(&verifier).unwrap();
    assert_eq!(url.query_pairs().count(), 1, "{verifier}");
    let changed =
        format!("{verifier}&scope=openid+admin&state=another&redirect_uri=https%3A%2F%2Fevil.test%2F");
    let page = browser.visit(&changed).await;
    assert_eq!(
        (page.location().host_str(), page.expect("state").as_str()),
        (Some("app.test"), Authorize::default().state)
    );
    assert_eq!(page.expect("scope"), Authorize::default().scope);
    sluice.node.stop().await;
}

/// The version and the id of the key that a sealed value begins with.
fn key_of(sealed: &str) -> [u8; 2] {
    let bytes = URL_SAFE_NO_PAD.decode(sealed).unwrap();
    assert_eq!(bytes[0], 1, "the version");
    [bytes[0], bytes[1]]
}

/// F9: a sealed value names the key that made it; a secret that was taken away opens nothing.
async fn a_rotated_system_secret_still_opens_what_it_sealed(backend: Backend) {
    const OLD: &str = "the-old-system-secret-of-a-test";
    const NEW: &str = "the-new-system-secret-of-a-test";
    let storage = ("secrets.storage", "the-storage-secret-of-a-test");
    let sluice = TestSluice::with(backend, &[("secrets.system", OLD), storage]).await;
    let client = sluice.client(&json!({"token_endpoint_auth_method": "none"})).await;
    let mut browser = sluice.browser();
    let sealed_before = key_of(&browser.begin(&client, &Authorize::default()).await);
    assert_eq!(key_of(&browser.begin(&client, &Authorize::default()).await), sealed_before);
    let verifier = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let tokens = client.redeem(&browser.log_in(&sluice, &client, "alice").await.expect("code")).await.ok();
    let both = format!("[\"{NEW}\", \"{OLD}\"]");
    let (database, clock) = (&sluice.database, &sluice.clock);
    let rotated =
        TestSluice::on(database.clone(), clock.clone(), &[("secrets.system", both.as_str()), storage]).await;
    let (there, mut browser) = (client.at(&rotated), browser.at(&rotated));
    assert!(rotated.is_active(token(&tokens, "access_token")).await);
    there.refresh(token(&tokens, "refresh_token")).await.ok();
    there.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    assert_ne!(key_of(&browser.begin(&there, &Authorize::default()).await), sealed_before);
    let made = browser.log_in(&rotated, &there, "alice").await.expect("code");
    let forgotten =
        TestSluice::on(database.clone(), clock.clone(), &[("secrets.system", NEW), storage]).await;
    assert!(!forgotten.is_active(token(&tokens, "access_token")).await);
    client.at(&forgotten).redeem(&made).await.ok();
    for node in [forgotten, rotated, sluice] {
        node.node.stop().await;
    }
}

/// F10: caps on both sides; nothing is inflated.
async fn an_overlong_value_is_refused_and_costs_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let (state, garbage) = ("s".repeat(8193), "A".repeat(60_000));
    let before = sluice.written();
    let with = Authorize { state: &state, ..Authorize::default() };
    let page = browser.visit(&client.authorize_url(&with)).await;
    assert_eq!((page.status.as_u16(), page.location), (400, None));
    let page = browser.visit(&format!("/oauth2/auth?login_verifier={garbage}")).await;
    assert!(page.status.is_client_error(), "{}", page.status);
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={garbage}");
    assert!(sluice.ask(Method::GET, &path, None).await.status().is_client_error());
    client.redeem(&garbage).await.refused_with("invalid_grant");
    client.refresh(&garbage).await.refused_with("invalid_grant");
    assert!(!sluice.is_active(&garbage).await);
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

/// F11: the answer carries `redirect_to`.
async fn an_expired_challenge_tells_where_to_start_again(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    sluice.advance(Lifetime::minutes(30));
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    let gone = sluice.ask_json(Method::GET, &path, None, 410).await;
    let again = gone["redirect_to"].as_str().unwrap();
    assert_eq!(parameter(again, "client_id"), client.id);
    browser.visit(again).await.expect("login_challenge");
    sluice.node.stop().await;
}

/// F13: what is in an address stays there.
async fn every_answer_with_a_sealed_value_is_kept_from_referrers_and_caches(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let first = browser.visit(&client.authorize_url(&Authorize::default())).await;
    let verifier =
        accept_login(&sluice, &first.expect("login_challenge"), &json!({"subject": "alice"})).await;
    let second = browser.visit(&verifier).await;
    let verifier = accept_consent(&sluice, &second.expect("consent_challenge"), &json!({})).await;
    let last = browser.visit(&verifier).await;
    let replayed = browser.visit(&verifier).await;
    let damaged = browser.visit("/oauth2/auth?consent_verifier=damaged").await;
    for page in [first, second, last, replayed, damaged] {
        assert_eq!(page.headers["referrer-policy"], "no-referrer", "{page:?}");
        assert_eq!(page.headers["cache-control"], "no-store", "{page:?}");
    }
    sluice.node.stop().await;
}

/// F15: `remember_for` is the server's to enforce.
async fn a_remembered_login_ends_on_the_server_not_only_in_the_browser(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    // This one keeps its cookies whatever they say.
    let mut browser = Browser::of(sluice.public.clone());
    let login = json!({"subject": "alice", "remember": true, "remember_for": 60});
    browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await.expect("code");
    assert_eq!(login_request(&sluice, &client, &mut browser, &Authorize::default()).await["skip"], true);
    sluice.advance(Lifetime::secs(60));
    assert_eq!(login_request(&sluice, &client, &mut browser, &Authorize::default()).await["skip"], false);
    sluice.node.stop().await;
}
