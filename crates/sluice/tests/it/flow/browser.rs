//! Cookies: one binds any number of flows to a browser, one is the login session.

use reqwest::Method;
use reqwest::header::SET_COOKIE;
use serde_json::json;
use sluice_testkit::{Authorize, Backend, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::{consent_challenge, login_request, login_verifier, token};

on_both_stores! {
    two_tabs_of_a_browser_log_in_at_once,
    tabs_that_began_with_one_cookie_all_end_however_many_they_are,
    tabs_from_before_a_login_and_from_after_it_all_end,
    a_tab_of_a_fresh_browser_that_lost_to_another_is_offered_to_start_again,
    the_binding_cookie_is_new_at_login_and_tabs_opened_before_go_on,
    frames_of_other_sites_get_no_cookie,
    a_login_in_a_frame_of_the_same_site_is_one_like_any_other,
    an_authorization_request_by_post_is_asked_for_again_by_get,
    cookies_are_kept_from_scripts_and_other_sites,
}

const BINDING: &str = "sluice_binding";
const VERIFY: &str = "/oauth2/device/verify?user_code=BCDF-GHJK";

async fn two_tabs_of_a_browser_log_in_at_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (one, other) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let mut browser = sluice.browser();
    let mut challenges = Vec::new();
    for client in [&one, &one, &other] {
        challenges.push(browser.begin(client, &Authorize::default()).await);
    }
    assert_eq!(browser.cookies.len(), 1, "one cookie, however many flows: {:?}", browser.cookies.keys());
    let mut consents = Vec::new();
    for challenge in challenges.iter().rev() {
        let verifier = accept_login(&sluice, challenge, &json!({"subject": "alice"})).await;
        consents.push(browser.visit(&verifier).await.expect("consent_challenge"));
    }
    assert_eq!(browser.cookies.len(), 2);
    let clients = [&other, &one, &one];
    for (challenge, client) in consents.iter().zip(clients) {
        let verifier = accept_consent(&sluice, challenge, &json!({})).await;
        client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    }
    sluice.node.stop().await;
}

/// Each login puts another key before those that are there, and the cookie holds eight.
async fn tabs_that_began_with_one_cookie_all_end_however_many_they_are(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let mut logins = Vec::new();
    for _ in 0..10 {
        logins.push(login_verifier(&sluice, &client, &mut browser, "alice").await);
    }
    let began = browser.cookies[BINDING].clone();
    let first = browser.visit(&logins.remove(0)).await.expect("consent_challenge");
    for login in logins {
        let challenge = browser.visit(&login).await.expect("consent_challenge");
        let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
        client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
        let keys: Vec<_> = browser.cookies[BINDING].split('.').collect();
        assert!(keys.len() <= 8 && keys[0] != began && keys[1] == began, "{keys:?}");
    }
    let verifier = accept_consent(&sluice, &first, &json!({})).await;
    client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    sluice.node.stop().await;
}

/// Logins of those that began with one key do not put out the key of the others.
async fn tabs_from_before_a_login_and_from_after_it_all_end(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let first = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let waiting = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let mut consents = vec![browser.visit(&first).await.expect("consent_challenge")];
    let mut logins = Vec::new();
    for _ in 0..3 {
        logins.push(login_verifier(&sluice, &client, &mut browser, "alice").await);
    }
    logins.push(waiting);
    for login in logins {
        consents.push(browser.visit(&login).await.expect("consent_challenge"));
    }
    for challenge in consents {
        let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
        client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    }
    sluice.node.stop().await;
}

/// Both ask before either answer has brought a cookie: the browser keeps the one that came last.
async fn a_tab_of_a_fresh_browser_that_lost_to_another_is_offered_to_start_again(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let lost = browser.clone().begin(&client, &Authorize::default()).await;
    let kept = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &lost, &json!({"subject": "alice"})).await;
    let page = browser.visit(&verifier).await;
    assert_eq!((page.status.as_u16(), &page.location), (400, &None));
    assert!(page.body.contains("Start again") && page.body.contains(&client.id), "{}", page.body);
    let verifier = accept_login(&sluice, &kept, &json!({"subject": "alice"})).await;
    browser.visit(&verifier).await.expect("consent_challenge");
    sluice.node.stop().await;
}

async fn the_binding_cookie_is_new_at_login_and_tabs_opened_before_go_on(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let waiting = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let planted = browser.clone();
    let keys = |browser: &sluice_testkit::Browser| {
        browser.cookies[BINDING].split('.').map(str::to_owned).collect::<Vec<_>>()
    };
    let before = keys(&browser);
    browser.log_in(&sluice, &client, "alice").await.expect("code");
    let after = keys(&browser);
    assert_eq!((before.len(), after.len()), (1, 2));
    assert_eq!(after[1], before[0]);
    // A flow that begins after the login is not bound to what somebody may have planted before.
    let later = login_verifier(&sluice, &client, &mut browser, "alice").await;
    assert_eq!(planted.clone().visit(&later).await.status, 400);
    browser.visit(&waiting).await.expect("consent_challenge");
    browser.visit(&later).await.expect("consent_challenge");
    for _ in 0..8 {
        browser.log_in(&sluice, &client, "alice").await.expect("code");
    }
    assert_eq!(keys(&browser).len(), 8, "cookies do not pile up");
    assert_eq!(browser.visit(&waiting).await.status, 400, "nor are old keys kept for ever");
    sluice.node.stop().await;
}

async fn frames_of_other_sites_get_no_cookie(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let url = client.authorize_url(&Authorize::default());
    let framed = [("sec-fetch-dest", "iframe"), ("sec-fetch-site", "cross-site")];
    let mut browser = sluice.browser();
    for (url, headers) in [(&*url, &framed[..]), (&*url, &framed[..1]), (VERIFY, &framed[..])] {
        let page = browser.request(Method::GET, url, None, headers).await;
        assert_eq!((page.status.as_u16(), &page.location), (400, &None), "before anybody types a password");
        assert!(page.body.contains("in a frame on a page of another site"), "{}", page.body);
        assert!(!page.headers.contains_key(SET_COOKIE), "{:?}", page.headers);
        // It is seen there, and has nothing that a click could be led to.
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.ends_with("; frame-ancestors *"), "{policy}");
        assert!(!page.headers.contains_key("x-frame-options"), "{:?}", page.headers);
        let controls = ["<a ", "<form", "<button", "<script"];
        assert!(!controls.iter().any(|control| page.body.contains(control)), "{}", page.body);
    }
    let silent = Authorize { more: &[("prompt", "none")], ..Authorize::default() };
    let page = browser.request(Method::GET, &client.authorize_url(&silent), None, &framed).await;
    assert_eq!(page.expect("error"), "login_required");
    // Nor does a login within a frame change those of a browser that has some.
    let verifier = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let page = browser.request(Method::GET, &verifier, None, &framed).await;
    page.expect("consent_challenge");
    assert!(!page.headers.contains_key(SET_COOKIE), "{:?}", page.headers);
    sluice.node.stop().await;
}

async fn a_login_in_a_frame_of_the_same_site_is_one_like_any_other(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let url = client.authorize_url(&Authorize::default());
    for site in ["same-origin", "same-site"] {
        let framed = [("sec-fetch-dest", "iframe"), ("sec-fetch-site", site)];
        let mut browser = sluice.browser();
        let page = browser.request(Method::GET, &url, None, &framed).await;
        let login = json!({"subject": "alice", "remember": true});
        let verifier = accept_login(&sluice, &page.expect("login_challenge"), &login).await;
        let page = browser.request(Method::GET, &verifier, None, &framed).await;
        let verifier = accept_consent(&sluice, &page.expect("consent_challenge"), &json!({})).await;
        browser.request(Method::GET, &verifier, None, &framed).await.expect("code");
        let known = login_request(&sluice, &client, &mut browser, &Authorize::default()).await;
        assert_eq!(known["skip"], true, "{site}");
    }
    sluice.node.stop().await;
}

async fn an_authorization_request_by_post_is_asked_for_again_by_get(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let url = url::Url::parse(&client.authorize_url(&Authorize::default())).unwrap();
    let pairs: Vec<_> =
        url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    let form: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let page = browser.submit("/oauth2/auth", &form).await;
    assert_eq!(page.status, 303);
    assert!(!page.headers.contains_key(SET_COOKIE), "{:?}", page.headers);
    let again: Vec<_> = page.location().query_pairs().into_owned().collect();
    assert_eq!((page.location().path(), again), ("/oauth2/auth", pairs));
    let to = page.location().to_string();
    browser.visit(&to).await.expect("login_challenge");
    sluice.node.stop().await;
}

async fn cookies_are_kept_from_scripts_and_other_sites(backend: Backend) {
    let settings = [("urls.self.issuer", "https://sluice.test/"), ("serve.cookies.same_site_mode", "Lax")];
    let sluice = TestSluice::with(backend, &settings).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    assert!(browser.cookies.keys().all(|name| name.starts_with("__Host-")), "{:?}", browser.cookies.keys());
    let verifier = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let page = browser.visit(&verifier).await;
    let cookies: Vec<_> =
        page.headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap()).collect();
    assert_eq!(cookies.len(), 2);
    for cookie in cookies {
        for attribute in ["; HttpOnly", "; Secure", "; SameSite=Lax", "; Path=/"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        assert!(!cookie.contains("Domain") && !cookie.contains("alice"), "{cookie}");
    }
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}
