//! How long sealed values are, and that nothing but them counts.

use serde_json::json;
use sluice_testkit::{Authorize, Backend, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::{consent_verifier, login_verifier, parameter, token};

on_both_stores! {
    challenges_and_verifiers_of_an_ordinary_request_have_at_most_512_characters,
    nothing_is_written_before_consent,
    parameters_beside_a_verifier_are_ignored,
    what_is_too_long_is_refused_at_the_first_leg,
}

const REDIRECT_URI: &str = "https://application.example.com/login/oauth2/callback/sluice";
/// What libraries draw: 32 random bytes in base64url.
const STATE: &str = "3q2-7wAAECAwQFBgcICQoLDA0ODwARITFBUWFxgZGhs";
const NONCE: &str = "XV8PLrjiQVJbYvVUQ1YHzz1G5sYtPLbSVWCqYVbTm0U";
const MOST: usize = 512;

async fn challenges_and_verifiers_of_an_ordinary_request_have_at_most_512_characters(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"redirect_uris": [REDIRECT_URI]})).await;
    assert_eq!((client.id.len(), REDIRECT_URI.len(), STATE.len(), NONCE.len()), (36, 60, 43, 43));
    let mut browser = sluice.browser();
    let with = Authorize { scope: "openid offline_access profile email", state: STATE, more: &[] };
    let url = client.authorize_url(&with).replace("a-nonce-of-some-length", NONCE);
    let login_challenge = browser.visit(&url).await.expect("login_challenge");
    let login =
        json!({"subject": "8f14e45f-ceea-467f-ab0c-1d8f3b2a9c77", "remember": true, "remember_for": 3600});
    let to = accept_login(&sluice, &login_challenge, &login).await;
    let login_verifier = parameter(&to, "login_verifier");
    let consent_challenge = browser.visit(&to).await.expect("consent_challenge");
    let to = accept_consent(&sluice, &consent_challenge, &json!({})).await;
    let consent_verifier = parameter(&to, "consent_verifier");
    let sealed = [login_challenge, login_verifier, consent_challenge, consent_verifier];
    let lengths = sealed.each_ref().map(String::len);
    assert!(lengths.iter().all(|length| *length <= MOST), "{lengths:?}");
    let page = browser.visit(&to).await;
    assert_eq!((page.expect("state").as_str(), page.expect("code").len() <= MOST), (STATE, true));
    sluice.node.stop().await;
}

async fn nothing_is_written_before_consent(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let before = sluice.written();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    assert_eq!(sluice.written(), before, "first leg");
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    assert_eq!(sluice.written(), before, "login accepted");
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    assert_eq!(sluice.written(), before, "second leg");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    assert_eq!(sluice.written(), before, "consent accepted");
    browser.visit(&verifier).await.expect("code");
    let after = sluice.written();
    assert_eq!((after.grant_inserts - before.grant_inserts, after.rows - before.rows), (1, 1));
    sluice.node.stop().await;
}

async fn parameters_beside_a_verifier_are_ignored(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let other = sluice.client(&json!({"redirect_uris": ["https://other.test/callback"]})).await;
    let mut browser = sluice.browser();
    let beside = format!(
        "&client_id={}&redirect_uri=https%3A%2F%2Fother.test%2Fcallback&state=changed-on-the-way&scope=openid+email\
         &response_mode=fragment&prompt=none&max_age=0&code_challenge=x&resource=https%3A%2F%2Fapi.test",
        other.id
    );
    let verifier = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let challenge = browser.visit(&format!("{verifier}{beside}")).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let page = browser.visit(&format!("{verifier}{beside}")).await;
    assert_eq!(page.location().host_str(), Some("app.test"));
    assert_eq!(page.expect("state"), Authorize::default().state);
    let tokens = client.redeem(&page.expect("code")).await.ok();
    assert_eq!(token(&tokens, "scope"), Authorize::default().scope);
    // Nor does the session's end depend on them: a repeated verifier is no verifier.
    let verifier = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let twice = format!("{verifier}&consent_verifier={}", parameter(&verifier, "consent_verifier"));
    assert_eq!(browser.visit(&twice).await.status, 400);
    sluice.node.stop().await;
}

async fn what_is_too_long_is_refused_at_the_first_leg(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let before = sluice.written();
    let long = "s".repeat(8193);
    let page =
        browser.visit(&client.authorize_url(&Authorize { state: &long, ..Authorize::default() })).await;
    assert_eq!((page.status.as_u16(), page.location), (400, None));
    let hint = "h".repeat(1025);
    let more = [("login_hint", hint.as_str())];
    let page = browser.visit(&client.authorize_url(&Authorize { more: &more, ..Authorize::default() })).await;
    assert_eq!(page.expect("error"), "invalid_request");
    let whole = "x".repeat(16 * 1024);
    let more = [("unknown", whole.as_str())];
    let page = browser.visit(&client.authorize_url(&Authorize { more: &more, ..Authorize::default() })).await;
    assert_eq!((page.status.as_u16(), page.location), (400, None));
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}
