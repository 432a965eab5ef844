//! Login sessions: who is remembered, and for how long.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{
    Authorize, Backend, Browser, Page, TestClient, TestSluice, accept_consent, accept_login,
};

use crate::both_stores::on_both_stores;
use crate::legs::{consent_request, login_request, parameter, token};
use crate::requests::{push, pushed, request_uri};

on_both_stores! {
    only_a_remembered_login_is_skipped,
    remember_for_is_enforced_by_the_server,
    a_session_that_is_not_used_ends,
    a_session_can_be_extended,
    a_cookie_lives_as_long_as_its_session_is_to_be_remembered,
    the_cookie_of_who_stays_remembered_lives_as_long_as_there_are_tokens,
    an_extended_session_is_kept_by_its_browser,
    an_extended_session_ends_with_its_browser_only_if_it_was_to,
    a_session_that_was_to_end_with_its_browser_is_kept_once_a_page_says_for_how_long,
    a_skipped_login_is_of_the_session_s_user,
    another_user_than_that_of_the_session_logs_in,
    a_client_that_names_its_user_hears_of_no_other,
}

const DAY: u32 = 24 * 3600;

async fn log_in(sluice: &TestSluice, client: &TestClient, browser: &mut Browser, login: &Value) {
    browser.log_in_with(sluice, client, &Authorize::default(), login).await.expect("code");
}

async fn is_known(sluice: &TestSluice, client: &TestClient, browser: &mut Browser) -> bool {
    login_request(sluice, client, browser, &Authorize::default()).await["skip"] == json!(true)
}

async fn only_a_remembered_login_is_skipped(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    assert!(!is_known(&sluice, &client, &mut browser).await);
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    assert!(is_known(&sluice, &client, &mut browser).await);
    assert!(!is_known(&sluice, &client, &mut sluice.browser()).await);
    let other = sluice.second_node().await;
    assert!(is_known(&other, &client.at(&other), &mut browser.at(&other)).await, "on every node");
    let mut forged = browser.clone();
    for (name, value) in &mut forged.cookies {
        if !name.contains("binding") {
            value.replace_range(30..31, if &value[30..31] == "A" { "B" } else { "A" });
        }
    }
    assert_ne!(forged.cookies, browser.cookies);
    assert!(!is_known(&sluice, &client, &mut forged).await);
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn remember_for_is_enforced_by_the_server(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    // This one keeps its cookies whatever they say.
    let mut browser = Browser::of(sluice.public.clone());
    log_in(
        &sluice,
        &client,
        &mut browser,
        &json!({"subject": "alice", "remember": true, "remember_for": 60}),
    )
    .await;
    sluice.advance(Lifetime::secs(59));
    assert!(is_known(&sluice, &client, &mut browser).await);
    sluice.advance(Lifetime::secs(1));
    assert!(browser.cookies.keys().any(|name| !name.contains("binding")), "the browser still has its cookie");
    assert!(!is_known(&sluice, &client, &mut browser).await);
    let with = Authorize { more: &[("prompt", "none")], ..Authorize::default() };
    assert_eq!(browser.visit(&client.authorize_url(&with)).await.expect("error"), "login_required");
    sluice.node.stop().await;
}

async fn a_session_that_is_not_used_ends(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut idle, mut used) = (sluice.browser(), sluice.browser());
    let login = json!({"subject": "alice", "remember": true, "remember_for": 90 * DAY});
    log_in(&sluice, &client, &mut idle, &login).await;
    log_in(&sluice, &client, &mut used, &login).await;
    sluice.advance(Lifetime::secs(20 * DAY));
    log_in(&sluice, &client, &mut used, &json!({"subject": "alice", "remember": true})).await;
    sluice.advance(Lifetime::secs(20 * DAY));
    assert!(is_known(&sluice, &client, &mut used).await);
    assert!(!is_known(&sluice, &client, &mut idle).await);
    sluice.advance(Lifetime::secs(51 * DAY));
    assert!(!is_known(&sluice, &client, &mut used).await, "however often it is used");
    sluice.node.stop().await;
}

async fn a_session_can_be_extended(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true, "remember_for": 100});
    log_in(&sluice, &client, &mut browser, &login).await;
    sluice.advance(Lifetime::secs(90));
    log_in(&sluice, &client, &mut browser, &login).await;
    let extend =
        json!({"subject": "alice", "remember": true, "remember_for": 100, "extend_session_lifespan": true});
    log_in(&sluice, &client, &mut browser, &extend).await;
    sluice.advance(Lifetime::secs(99));
    assert!(is_known(&sluice, &client, &mut browser).await);
    log_in(&sluice, &client, &mut browser, &login).await;
    sluice.advance(Lifetime::secs(1));
    assert!(!is_known(&sluice, &client, &mut browser).await, "only when it is said so");
    sluice.node.stop().await;
}

/// What becomes of the session's cookie.
#[derive(Debug, PartialEq, Eq)]
enum Cookie {
    /// It is not set.
    AsItWas,
    /// It ends with the browser.
    OfTheBrowser,
    /// It lives for so many seconds.
    For(i64),
}

fn cookie_life(page: &Page) -> Cookie {
    let mut cookies = page.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
    let Some(cookie) = cookies.find(|cookie| !cookie.contains("binding=")) else { return Cookie::AsItWas };
    let age = cookie.split("; ").find_map(|part| part.strip_prefix("Max-Age="));
    age.map_or(Cookie::OfTheBrowser, |age| Cookie::For(age.parse().unwrap()))
}

/// As Hydra has it: 0 stands for the browser's own session, less for what is configured.
async fn a_cookie_lives_as_long_as_its_session_is_to_be_remembered(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for (login, expected) in [
        (json!({"subject": "alice"}), Cookie::OfTheBrowser),
        (json!({"subject": "alice", "remember": true}), Cookie::OfTheBrowser),
        (json!({"subject": "alice", "remember": true, "remember_for": 0}), Cookie::OfTheBrowser),
        (json!({"subject": "alice", "remember": true, "remember_for": 60}), Cookie::For(60)),
        (json!({"subject": "alice", "remember": true, "remember_for": -1}), Cookie::For(30 * i64::from(DAY))),
        // JavaScript's `Number.MAX_SAFE_INTEGER`: for as long as browsers keep a cookie.
        (
            json!({"subject": "alice", "remember": true, "remember_for": 9_007_199_254_740_991_i64}),
            Cookie::For(400 * i64::from(DAY)),
        ),
    ] {
        let mut browser = sluice.browser();
        let challenge = browser.begin(&client, &Authorize::default()).await;
        let page = browser.visit(&accept_login(&sluice, &challenge, &login).await).await;
        assert_eq!(cookie_life(&page), expected, "{login}");
        assert_eq!(is_known(&sluice, &client, &mut browser).await, login["remember"] == json!(true));
    }
    sluice.node.stop().await;
}

async fn the_cookie_of_who_stays_remembered_lives_as_long_as_there_are_tokens(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let again = Authorize { more: &[("prompt", "login")], ..Authorize::default() };
    for (remember_for, expected) in [
        // As long as a refresh token of the session may and an eighth of it, and not the half minute that is left.
        (60, Cookie::For(30 * i64::from(DAY) * 9 / 8)),
        (90 * DAY, Cookie::For(90 * i64::from(DAY) - 30)),
        (0, Cookie::OfTheBrowser),
    ] {
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": true, "remember_for": remember_for});
        log_in(&sluice, &client, &mut browser, &login).await;
        sluice.advance(Lifetime::secs(30));
        let challenge = browser.begin(&client, &again).await;
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
        assert_eq!(cookie_life(&browser.visit(&verifier).await), expected, "{remember_for}");
    }
    sluice.node.stop().await;
}

async fn an_extended_session_is_kept_by_its_browser(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true, "remember_for": 100});
    log_in(&sluice, &client, &mut browser, &login).await;
    let plain = json!({"subject": "alice", "remember_for": 200});
    let extend = json!({"subject": "alice", "remember_for": 200, "extend_session_lifespan": true});
    let (framed, none) = ([("sec-fetch-dest", "iframe")], [("prompt", "none")]);
    let silent = Authorize { more: &none, ..Authorize::default() };
    for (login, with, headers, expected) in [
        (&plain, &Authorize::default(), &[][..], Cookie::AsItWas),
        (&plain, &silent, &framed[..], Cookie::AsItWas),
        (&extend, &silent, &framed[..], Cookie::For(200)),
        (&extend, &Authorize::default(), &[][..], Cookie::For(200)),
        (&extend, &silent, &[][..], Cookie::For(200)),
    ] {
        let before = browser.cookies.clone();
        let challenge = browser.begin(&client, with).await;
        let verifier = accept_login(&sluice, &challenge, login).await;
        let page = browser.request(Method::GET, &verifier, None, headers).await;
        assert_eq!(cookie_life(&page), expected, "{login} {with:?}");
        assert_eq!(browser.cookies, before, "the same cookie");
    }
    sluice.advance(Lifetime::secs(199));
    assert!(is_known(&sluice, &client, &mut browser).await);
    sluice.advance(Lifetime::secs(1));
    assert!(!is_known(&sluice, &client, &mut browser).await);
    sluice.node.stop().await;
}

/// Nobody says for how long.
async fn an_extended_session_ends_with_its_browser_only_if_it_was_to(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let extend = json!({"subject": "alice", "extend_session_lifespan": true});
    let configured = || Cookie::For(30 * i64::from(DAY));
    for (remember_for, expected) in [(100, configured()), (-1, configured()), (0, Cookie::AsItWas)] {
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": true, "remember_for": remember_for});
        log_in(&sluice, &client, &mut browser, &login).await;
        let before = browser.cookies.clone();
        let challenge = browser.begin(&client, &Authorize::default()).await;
        let page = browser.visit(&accept_login(&sluice, &challenge, &extend).await).await;
        assert_eq!(cookie_life(&page), expected, "{remember_for}");
        assert_eq!(browser.cookies, before, "the same cookie");
        sluice.advance(Lifetime::secs(101));
        assert!(is_known(&sluice, &client, &mut browser).await, "{remember_for}");
    }
    sluice.node.stop().await;
}

async fn a_session_that_was_to_end_with_its_browser_is_kept_once_a_page_says_for_how_long(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let mut browser = sluice.browser();
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    let unasked = json!({"subject": "alice", "extend_session_lifespan": true});
    let asked = json!({"subject": "alice", "extend_session_lifespan": true, "remember_for": 200});
    for (extend, expected) in [
        (&unasked, Cookie::AsItWas),
        (&asked, Cookie::For(200)),
        (&unasked, Cookie::For(30 * i64::from(DAY))),
    ] {
        let challenge = browser.begin(&client, &Authorize::default()).await;
        let page = browser.visit(&accept_login(&sluice, &challenge, extend).await).await;
        assert_eq!(cookie_life(&page), expected, "{extend}");
        let verifier = accept_consent(&sluice, &page.expect("consent_challenge"), &json!({})).await;
        browser.visit(&verifier).await.expect("code");
    }
    sluice.node.stop().await;
}

/// As Hydra has it: the request begins again, and nothing of it is skipped.
async fn another_user_than_that_of_the_session_logs_in(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let again = accept_login(&sluice, &challenge, &json!({"subject": "bob"})).await;
    assert_eq!(parameter(&again, "prompt"), "login");
    let challenge = browser.visit(&again).await.expect("login_challenge");
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    assert_eq!(sluice.ask_json(Method::GET, &path, None, 200).await["skip"], false);
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "bob"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    assert_eq!(consent_request(&sluice, &challenge).await["subject"], "bob");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let page = browser.visit(&verifier).await;
    assert_eq!(page.expect("state"), Authorize::default().state);
    client.redeem(&page.expect("code")).await.ok();
    // What cannot be rebuilt, or must not ask, has no such way.
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    let silent = Authorize { more: &[("prompt", "none")], ..Authorize::default() };
    let urls = [client.authorize_url(&silent), pushed(&client, &request_uri(&push(&client, &[]).await))];
    for url in urls {
        let challenge = browser.visit(&url).await.expect("login_challenge");
        let path = format!("/admin/oauth2/auth/requests/login/accept?login_challenge={challenge}");
        sluice.ask_json(Method::PUT, &path, Some(&json!({"subject": "bob"})), 400).await;
    }
    sluice.node.stop().await;
}

/// OpenID Connect Core §3.1.2.1.
async fn a_client_that_names_its_user_hears_of_no_other(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"id_token_signed_response_alg": "ES256"})).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    let page = browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    let hint = ("id_token_hint", token(&tokens, "id_token"));
    let by_claims = ("claims", r#"{"id_token":{"sub":{"value":"alice"}}}"#);
    let asked: [&[(&str, &str)]; 3] = [&[hint], &[hint, ("prompt", "none")], &[by_claims]];
    for more in asked {
        let challenge = browser.begin(&client, &Authorize { more, ..Authorize::default() }).await;
        let refused = accept_login(&sluice, &challenge, &json!({"subject": "bob"})).await;
        let page = browser.visit(&refused).await;
        assert_eq!((page.location().host_str(), page.parameter("code")), (Some("app.test"), None));
        assert_eq!(page.expect("error"), "login_required", "{more:?}");
        assert_eq!(page.expect("state"), Authorize::default().state);
    }
    assert!(is_known(&sluice, &client, &mut browser).await, "alice stays signed in");
    sluice.node.stop().await;
}

async fn a_skipped_login_is_of_the_session_s_user(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let path = format!("/admin/oauth2/auth/requests/login/accept?login_challenge={challenge}");
    sluice.ask_json(Method::PUT, &path, Some(&json!({})), 400).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    browser.visit(&verifier).await.expect("code");
    sluice.node.stop().await;
}
