//! RP-Initiated Logout.

use reqwest::Method;
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, ISSUER, TestSluice};

use super::channels::Ear;
use super::{ask, confirm, log_in, log_out};
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::key_rotation::rotate;
use crate::legs::{login_request, parameter, token};

on_both_stores! {
    a_logout_ends_the_session_and_its_tokens,
    a_logout_ends_the_session_of_the_browser_that_confirmed_it,
    a_logout_signs_out_who_confirmed_it_also_if_another_user_is_named,
    a_logout_goes_back_only_to_a_registered_address_of_the_client_that_asks,
    a_logout_that_does_not_say_which_application_asks_leads_nowhere,
    a_logout_is_confirmed_once_in_its_own_browser_and_in_time,
    a_logout_that_is_sent_again_writes_nothing,
    a_logout_that_is_sent_again_leads_where_it_led_unless_its_user_is_back,
    a_logout_from_a_session_that_is_over_asks_nobody,
    a_cookie_of_a_session_that_is_over_ends_it_no_second_time,
    a_user_who_does_not_confirm_stays,
    another_site_cannot_end_a_session_without_the_user,
    a_program_of_a_client_that_skips_the_page_ends_a_session_by_its_id_token,
    a_program_without_cookies_comes_back_from_a_page_of_ones_own,
    a_program_of_a_client_whose_users_are_asked_keeps_its_cookie,
    a_program_of_another_client_ends_nothing,
    a_logout_whose_id_token_nobody_can_verify_any_more_asks_the_user,
    a_logout_page_of_ones_own_is_asked_whatever_the_client_skips,
    a_logout_without_a_session_asks_nobody,
    a_logout_page_is_shown_all_parameters_of_the_request,
}

const BACK: &str = "https://app.test/goodbye";

fn metadata() -> serde_json::Value {
    json!({"post_logout_redirect_uris": [BACK]})
}

fn skipping() -> serde_json::Value {
    json!({"post_logout_redirect_uris": [BACK], "skip_logout_consent": true})
}

async fn a_logout_ends_the_session_and_its_tokens(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&metadata()).await;
    for remember in [false, true] {
        let (mut browser, mut elsewhere) = (sluice.browser(), sluice.browser());
        let login = json!({"subject": "alice", "remember": remember});
        let tokens = log_in(&sluice, &client, &mut browser, &login).await;
        let other_session = log_in(&sluice, &client, &mut elsewhere, &login).await;
        sluice.advance(Lifetime::secs(1));
        let asked = [
            ("id_token_hint", token(&tokens, "id_token")),
            ("post_logout_redirect_uri", BACK),
            ("state", "a state & more"),
        ];
        let challenge = ask(&mut browser, &asked).await.expect("logout_challenge");
        let path = format!("/admin/oauth2/auth/requests/logout?logout_challenge={challenge}");
        let request = sluice.ask_json(Method::GET, &path, None, 200).await;
        assert_eq!((&request["subject"], &request["rp_initiated"]), (&json!("alice"), &json!(true)));
        assert_eq!(request["client"]["client_id"], client.id);
        assert!(sluice.is_active(token(&tokens, "access_token")).await, "asking ends nothing");
        let verifier = confirm(&sluice, &challenge).await;
        let page = browser.visit(&verifier).await;
        assert_eq!(page.location().as_str(), "https://app.test/goodbye?state=a%20state%20%26%20more");
        assert!(browser.cookies.keys().all(|name| name.contains("binding")), "{:?}", browser.cookies.keys());
        assert!(!sluice.is_active(token(&tokens, "access_token")).await, "remembered: {remember}");
        client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
        assert!(sluice.is_active(token(&other_session, "access_token")).await);
        client.refresh(token(&other_session, "refresh_token")).await.ok();
        let known =
            login_request(&sluice, &client, &mut browser, &sluice_testkit::Authorize::default()).await;
        assert_eq!(known["skip"], false);
    }
    sluice.node.stop().await;
}

/// An application may hold an id token of a session that its user has left since.
async fn a_logout_ends_the_session_of_the_browser_that_confirmed_it(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let client = sluice.client(&metadata()).await;
    let told = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    for remember in [false, true] {
        let mut browser = sluice.browser();
        let earlier = json!({"subject": "alice", "remember": remember});
        let earlier = log_in(&sluice, &client, &mut sluice.browser(), &earlier).await;
        let login = json!({"subject": "alice", "remember": true});
        let tokens = log_in(&sluice, &told, &mut browser, &login).await;
        sluice.advance(Lifetime::secs(1));
        let asked = [("id_token_hint", token(&earlier, "id_token")), ("post_logout_redirect_uri", BACK)];
        assert_eq!(log_out(&sluice, &mut browser, &asked).await.location().as_str(), BACK);
        for tokens in [&earlier, &tokens] {
            assert!(!sluice.is_active(token(tokens, "access_token")).await, "remembered: {remember}");
        }
        assert!(browser.cookies.keys().all(|name| name.contains("binding")), "{:?}", browser.cookies.keys());
        assert_eq!(claims(&ear.next().await)["sid"], claims(token(&tokens, "id_token"))["sid"]);
        let known =
            login_request(&sluice, &client, &mut browser, &sluice_testkit::Authorize::default()).await;
        assert_eq!(known["skip"], false);
    }
    sluice.node.stop().await;
}

/// An application may hold an id token of somebody who used this browser before, or send one of whomever it likes.
async fn a_logout_signs_out_who_confirmed_it_also_if_another_user_is_named(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let client = sluice.client(&metadata()).await;
    let told = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    for remember in [false, true] {
        let (mut browser, mut elsewhere) = (sluice.browser(), sluice.browser());
        let of_bob = log_in(&sluice, &client, &mut sluice.browser(), &json!({"subject": "bob"})).await;
        let login = json!({"subject": "alice", "remember": remember});
        let tokens = log_in(&sluice, &told, &mut browser, &login).await;
        let other_session = log_in(&sluice, &client, &mut elsewhere, &login).await;
        sluice.advance(Lifetime::secs(1));
        let asked = [("id_token_hint", token(&of_bob, "id_token")), ("post_logout_redirect_uri", BACK)];
        let challenge = ask(&mut browser, &asked).await.expect("logout_challenge");
        assert!(sluice.is_active(token(&tokens, "access_token")).await, "asking ends nothing");
        let verifier = confirm(&sluice, &challenge).await;
        assert_eq!(browser.visit(&verifier).await.location().as_str(), BACK);
        for tokens in [&of_bob, &tokens] {
            assert!(!sluice.is_active(token(tokens, "access_token")).await);
        }
        assert_eq!(claims(&ear.next().await)["sid"], claims(token(&tokens, "id_token"))["sid"]);
        assert!(browser.cookies.keys().all(|name| name.contains("binding")), "{:?}", browser.cookies.keys());
        assert!(sluice.is_active(token(&other_session, "access_token")).await);
        let silent = sluice_testkit::Authorize { more: &[("prompt", "none")], ..Default::default() };
        let known = browser.visit(&client.authorize_url(&silent)).await;
        assert_eq!(known.expect("error"), "login_required");
        // Used before, it ends nothing: whoever is signed in by now would take themselves for signed out.
        sluice.advance(Lifetime::secs(1));
        assert_eq!(browser.visit(&verifier).await.location().as_str(), BACK);
        let again = log_in(&sluice, &client, &mut browser, &login).await;
        assert_eq!(browser.visit(&verifier).await.status, 400);
        assert!(sluice.is_active(token(&again, "access_token")).await);
    }
    sluice.node.stop().await;
}

async fn a_logout_goes_back_only_to_a_registered_address_of_the_client_that_asks(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, other) = (sluice.client(&metadata()).await, sluice.client(&json!({})).await);
    let mut browser = sluice.browser();
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    let hint = token(&tokens, "id_token");
    let refused: [&[(&str, &str)]; 6] = [
        &[("id_token_hint", hint), ("post_logout_redirect_uri", "https://evil.test/")],
        &[("id_token_hint", hint), ("post_logout_redirect_uri", "https://app.test/goodbye/more")],
        &[("id_token_hint", hint), ("post_logout_redirect_uri", "not a URL")],
        &[("client_id", &other.id), ("post_logout_redirect_uri", BACK)],
        &[("id_token_hint", hint), ("client_id", &other.id), ("post_logout_redirect_uri", BACK)],
        &[("id_token_hint", token(&tokens, "access_token")), ("post_logout_redirect_uri", BACK)],
    ];
    for parameters in refused {
        let page = ask(&mut browser, parameters).await;
        assert_eq!((page.status.as_u16(), page.location), (400, None), "{parameters:?}");
        assert!(page.body.contains("This sign-out cannot go on"), "{}", page.body);
    }
    let page =
        log_out(&sluice, &mut browser, &[("client_id", &client.id), ("post_logout_redirect_uri", BACK)])
            .await;
    assert_eq!(page.location().as_str(), BACK);
    // An expired id token still tells whose session it was (RP-Initiated Logout §4).
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::hours(5));
    let asked = [("id_token_hint", token(&tokens, "id_token")), ("post_logout_redirect_uri", BACK)];
    assert_eq!(log_out(&sluice, &mut browser, &asked).await.location().as_str(), BACK);
    sluice.node.stop().await;
}

/// `logoutRedirect` of msal-browser asks so, unless it is given a hint. RP-Initiated Logout §2 recommends the hint, and §3 forbids no more
/// than to go back without it.
async fn a_logout_that_does_not_say_which_application_asks_leads_nowhere(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&skipping()).await;
    let mut browser = sluice.browser();
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::secs(1));
    for back in [BACK, "https://evil.test/", "not a URL"] {
        let asked = [("post_logout_redirect_uri", back), ("state", "s")];
        let challenge = ask(&mut browser, &asked).await.expect("logout_challenge");
        let path = format!("/admin/oauth2/auth/requests/logout?logout_challenge={challenge}");
        let request = sluice.ask_json(Method::GET, &path, None, 200).await;
        assert_eq!((&request["subject"], &request["rp_initiated"]), (&json!("alice"), &json!(false)));
        let url = request["request_url"].as_str().unwrap();
        assert!(!url.contains("post_logout_redirect_uri"), "{url}");
        assert!(request["client"].is_null() && sluice.is_active(token(&tokens, "access_token")).await);
    }
    let page = log_out(&sluice, &mut browser, &[("post_logout_redirect_uri", BACK)]).await;
    assert_eq!((page.status.as_u16(), page.location), (200, None), "{}", page.body);
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    let page = ask(&mut browser, &[("post_logout_redirect_uri", BACK)]).await;
    assert_eq!((page.status.as_u16(), page.location), (200, None), "nobody is there any more");
    sluice.node.stop().await;
}

async fn a_logout_is_confirmed_once_in_its_own_browser_and_in_time(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&metadata()).await;
    let mut browser = sluice.browser();
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::secs(1));
    let late = ask(&mut browser, &[]).await.expect("logout_challenge");
    let challenge = ask(&mut browser, &[]).await.expect("logout_challenge");
    let verifier = confirm(&sluice, &challenge).await;
    assert_eq!(sluice.browser().visit(&verifier).await.status, 400);
    assert_eq!(browser.visit(&verifier.replace("logout_verifier=", "logout_verifier=A")).await.status, 400);
    assert_eq!(
        browser.visit(&format!("/oauth2/sessions/logout?logout_verifier={challenge}")).await.status,
        400
    );
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    assert_eq!(browser.visit(&verifier).await.status, 200, "nowhere to go: a page says so");
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    let path = format!("/admin/oauth2/auth/requests/logout?logout_challenge={challenge}");
    let gone = sluice.ask_json(Method::GET, &path, None, 410).await;
    assert_eq!(gone["redirect_to"], format!("{ISSUER}oauth2/sessions/logout"), "as it was asked for");
    let late_verifier = confirm(&sluice, &late).await;
    sluice.advance(Lifetime::minutes(30));
    assert_eq!(browser.visit(&late_verifier).await.status, 400);
    let path = format!("/admin/oauth2/auth/requests/logout?logout_challenge={late}");
    let gone = sluice.ask_json(Method::GET, &path, None, 410).await;
    assert!(gone["redirect_to"].is_string(), "{gone}");
    sluice.node.stop().await;
}

/// Else whoever keeps one could write revocations without end.
async fn a_logout_that_is_sent_again_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&metadata()).await;
    for remember in [false, true] {
        let mut browser = sluice.browser();
        log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": remember})).await;
        sluice.advance(Lifetime::secs(1));
        let challenge = ask(&mut browser, &[]).await.expect("logout_challenge");
        let verifier = confirm(&sluice, &challenge).await;
        let mut before = browser.clone();
        assert_eq!(browser.visit(&verifier).await.status, 200);
        let written = sluice.written();
        for browser in [&mut browser, &mut before] {
            sluice.advance(Lifetime::minutes(2));
            let page = browser.visit(&verifier).await;
            assert_eq!((page.status.as_u16(), page.location), (200, None), "as the first time");
        }
        assert_eq!(sluice.written(), written, "remembered: {remember}");
    }
    sluice.node.stop().await;
}

async fn a_logout_that_is_sent_again_leads_where_it_led_unless_its_user_is_back(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&metadata()).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    let tokens = log_in(&sluice, &client, &mut browser, &login).await;
    sluice.advance(Lifetime::secs(1));
    let asked = [
        ("id_token_hint", token(&tokens, "id_token")),
        ("post_logout_redirect_uri", BACK),
        ("state", "a-state"),
    ];
    let challenge = ask(&mut browser, &asked).await.expect("logout_challenge");
    let verifier = confirm(&sluice, &challenge).await;
    for _ in 0..2 {
        let page = browser.visit(&verifier).await;
        assert_eq!(page.location().as_str(), "https://app.test/goodbye?state=a-state");
    }
    sluice.advance(Lifetime::secs(1));
    let tokens = log_in(&sluice, &client, &mut browser, &login).await;
    let page = browser.visit(&verifier).await;
    assert_eq!((page.status.as_u16(), page.location), (400, None), "she is not signed out");
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    let known = login_request(&sluice, &client, &mut browser, &sluice_testkit::Authorize::default()).await;
    assert_eq!(known["skip"], true);
    sluice.node.stop().await;
}

/// Nothing is ended by it, so nobody has to confirm it.
async fn a_logout_from_a_session_that_is_over_asks_nobody(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&metadata()).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    let tokens = log_in(&sluice, &client, &mut browser, &login).await;
    let mut copy = browser.clone();
    sluice.advance(Lifetime::secs(1));
    let asked = [
        ("id_token_hint", token(&tokens, "id_token")),
        ("post_logout_redirect_uri", BACK),
        ("state", "a-state"),
    ];
    log_out(&sluice, &mut browser, &asked).await;
    let mut of_bob = sluice.browser();
    let bobs = log_in(&sluice, &client, &mut of_bob, &json!({"subject": "bob", "remember": true})).await;
    let written = sluice.written();
    for browser in [&mut browser, &mut copy, &mut of_bob, &mut sluice.browser()] {
        let page = ask(browser, &asked).await;
        assert_eq!(page.location().as_str(), "https://app.test/goodbye?state=a-state");
    }
    assert_eq!(sluice.written(), written);
    assert!(sluice.is_active(token(&bobs, "access_token")).await);
    assert!(copy.cookies.keys().all(|name| name.contains("binding")), "{:?}", copy.cookies.keys());
    // Where she has signed in again she is asked: that session would end.
    let mut again = sluice.browser();
    let present = log_in(&sluice, &client, &mut again, &login).await;
    ask(&mut again, &asked).await.expect("logout_challenge");
    assert!(sluice.is_active(token(&present, "access_token")).await);
    sluice.node.stop().await;
}

/// The same of a client whose users need not confirm.
async fn a_cookie_of_a_session_that_is_over_ends_it_no_second_time(backend: Backend) {
    let built_in = format!("{ISSUER}ui/logout");
    let sluice = TestSluice::with(backend, &[("urls.logout", built_in.as_str())]).await;
    let client = sluice.client(&skipping()).await;
    for remember in [false, true] {
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": remember});
        let tokens = log_in(&sluice, &client, &mut browser, &login).await;
        sluice.advance(Lifetime::secs(1));
        let mut before = browser.clone();
        let asked = [("id_token_hint", token(&tokens, "id_token")), ("post_logout_redirect_uri", BACK)];
        assert_eq!(ask(&mut browser, &asked).await.location().as_str(), BACK);
        assert!(!sluice.is_active(token(&tokens, "access_token")).await);
        let written = sluice.written();
        sluice.advance(Lifetime::minutes(2));
        assert_eq!(ask(&mut before, &asked).await.location().as_str(), BACK);
        assert_eq!(sluice.written(), written, "remembered: {remember}");
    }
    sluice.node.stop().await;
}

async fn a_user_who_does_not_confirm_stays(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&metadata()).await;
    let mut browser = sluice.browser();
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    sluice.advance(Lifetime::secs(1));
    let challenge = ask(&mut browser, &[]).await.expect("logout_challenge");
    let path = format!("/admin/oauth2/auth/requests/logout/reject?logout_challenge={challenge}");
    sluice.ask_json(Method::PUT, &path, None, 204).await;
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    let known = login_request(&sluice, &client, &mut browser, &sluice_testkit::Authorize::default()).await;
    assert_eq!(known["skip"], true);
    sluice.node.stop().await;
}

/// RP-Initiated Logout §2: without an id token of this session the user must be asked, whatever the client skips.
async fn another_site_cannot_end_a_session_without_the_user(backend: Backend) {
    let built_in = format!("{ISSUER}ui/logout");
    let sluice = TestSluice::with(backend, &[("urls.logout", built_in.as_str())]).await;
    let client = sluice.client(&skipping()).await;
    let (mut browser, mut of_mallory) = (sluice.browser(), sluice.browser());
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    let foreign = log_in(&sluice, &client, &mut of_mallory, &json!({"subject": "mallory"})).await;
    sluice.advance(Lifetime::secs(1));
    let forged: [&[(&str, &str)]; 3] = [
        &[],
        &[("client_id", &client.id), ("post_logout_redirect_uri", BACK)],
        &[("id_token_hint", token(&foreign, "id_token")), ("post_logout_redirect_uri", BACK)],
    ];
    for parameters in forged {
        ask(&mut browser, parameters).await.expect("logout_challenge");
        assert!(sluice.is_active(token(&tokens, "access_token")).await, "{parameters:?}");
    }
    let own = [("id_token_hint", token(&tokens, "id_token")), ("post_logout_redirect_uri", BACK)];
    assert_eq!(ask(&mut browser, &own).await.location().as_str(), BACK, "the client vouches for its user");
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}

/// A proxy that signs its users in asks for the logout itself, with no cookies of any browser (oauth2-proxy's `--backend-logout-url`).
async fn a_program_of_a_client_that_skips_the_page_ends_a_session_by_its_id_token(backend: Backend) {
    let built_in = format!("{ISSUER}ui/logout");
    let sluice = TestSluice::with(backend, &[("urls.logout", built_in.as_str())]).await;
    let client = sluice.client(&skipping()).await;
    for back in [None, Some(BACK)] {
        let (mut browser, mut of_bob) = (sluice.browser(), sluice.browser());
        let login = |subject| json!({"subject": subject, "remember": true});
        let tokens = log_in(&sluice, &client, &mut browser, &login("alice")).await;
        let bobs = log_in(&sluice, &client, &mut of_bob, &login("bob")).await;
        sluice.advance(Lifetime::secs(1));
        let mut asked = vec![("id_token_hint", token(&tokens, "id_token"))];
        asked.extend(back.map(|back| ("post_logout_redirect_uri", back)));
        // Somebody else who is sent here is asked, and so is a browser that began something here without a session.
        let mut begun = sluice.browser();
        login_request(&sluice, &client, &mut begun, &sluice_testkit::Authorize::default()).await;
        assert!(!begun.cookies.is_empty());
        for other in [&mut of_bob, &mut begun] {
            ask(other, &asked).await.expect("logout_challenge");
            assert!(sluice.is_active(token(&tokens, "access_token")).await);
        }
        // So is one that keeps its cookies back, as those of others in a frame, or `Strict` ones where a link leads here.
        for said in [("sec-fetch-mode", "navigate"), ("sec-fetch-site", "cross-site")] {
            let url = format!("/oauth2/sessions/logout?id_token_hint={}", token(&tokens, "id_token"));
            let page = sluice.browser().request(Method::GET, &url, None, &[said]).await;
            page.expect("logout_challenge");
            assert!(sluice.is_active(token(&tokens, "access_token")).await, "{said:?}");
        }
        let page = ask(&mut sluice.browser(), &asked).await;
        let status = if back.is_some() { 302 } else { 200 };
        let to = page.location.as_ref().map(ToString::to_string);
        assert_eq!((page.status.as_u16(), to.as_deref()), (status, back), "{}", page.body);
        assert!(!sluice.is_active(token(&tokens, "access_token")).await);
        client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
        assert!(sluice.is_active(token(&bobs, "access_token")).await);
        let silent = sluice_testkit::Authorize { more: &[("prompt", "none")], ..Default::default() };
        let known = browser.visit(&client.authorize_url(&silent)).await;
        assert_eq!(known.expect("error"), "login_required");
    }
    sluice.node.stop().await;
}

/// The same where the logout page is one's own, and accepts: a program keeps none of the cookies that bind a browser to its logout.
async fn a_program_without_cookies_comes_back_from_a_page_of_ones_own(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&skipping()).await;
    let mut browser = sluice.browser();
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": true})).await;
    sluice.advance(Lifetime::secs(1));
    let begin = format!("/oauth2/sessions/logout?id_token_hint={}", token(&tokens, "id_token"));
    let of_browsers = [("sec-fetch-site", "cross-site")];
    // What a browser began no program ends: whether it says that it is one, or has a cookie.
    for (mut began, said) in [(sluice.browser(), of_browsers.as_slice()), (browser.clone(), &[])] {
        let page = began.request(Method::GET, &begin, None, said).await;
        let to = confirm(&sluice, &page.expect("logout_challenge")).await;
        assert_eq!(sluice.browser().visit(&to).await.status, 400);
    }
    let mut program = sluice.browser();
    let page = program.request(Method::GET, &begin, None, &[]).await;
    assert!(program.cookies.is_empty());
    let to = confirm(&sluice, &page.expect("logout_challenge")).await;
    // What a program began no browser ends.
    for (mut other, said) in [(sluice.browser(), of_browsers.as_slice()), (browser.clone(), &[])] {
        assert_eq!(other.request(Method::GET, &to, None, said).await.status, 400);
    }
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    let page = program.visit(&to).await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}

/// It is bound as a browser is: to the cookie that it was given.
async fn a_program_of_a_client_whose_users_are_asked_keeps_its_cookie(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&metadata()).await;
    let tokens = log_in(&sluice, &client, &mut sluice.browser(), &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::secs(1));
    let mut program = sluice.browser();
    let page = ask(&mut program, &[("id_token_hint", token(&tokens, "id_token"))]).await;
    let to = confirm(&sluice, &page.expect("logout_challenge")).await;
    assert_eq!(sluice.browser().visit(&to).await.status, 400);
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    assert_eq!(program.visit(&to).await.status, 200);
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}

async fn a_program_of_another_client_ends_nothing(backend: Backend) {
    let built_in = format!("{ISSUER}ui/logout");
    let sluice = TestSluice::with(backend, &[("urls.logout", built_in.as_str())]).await;
    let (asking, skipping) = (sluice.client(&metadata()).await, sluice.client(&skipping()).await);
    let tokens = log_in(&sluice, &asking, &mut sluice.browser(), &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::secs(1));
    let hint = ("id_token_hint", token(&tokens, "id_token"));
    ask(&mut sluice.browser(), &[hint]).await.expect("logout_challenge");
    let named = [hint, ("client_id", skipping.id.as_str())];
    assert_eq!(ask(&mut sluice.browser(), &named).await.status, 400);
    assert_eq!(ask(&mut sluice.browser(), &named[1..]).await.status, 200, "nothing says whose session it is");
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}

/// A key may leak, and an id token may be kept for longer than any key. RP-Initiated Logout §4 forbids no more than to go back on
/// the strength of it.
async fn a_logout_whose_id_token_nobody_can_verify_any_more_asks_the_user(backend: Backend) {
    let built_in = format!("{ISSUER}ui/logout");
    let sluice = TestSluice::with(backend, &[("urls.logout", built_in.as_str())]).await;
    let client = sluice.client(&skipping()).await;
    for is_named in [false, true] {
        let mut browser = sluice.browser();
        let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
        sluice.advance(Lifetime::secs(1));
        rotate(&sluice, &json!({"at_once": true, "revoke": true})).await;
        let hint = ("id_token_hint", token(&tokens, "id_token"));
        let mut asked = vec![hint, ("post_logout_redirect_uri", BACK)];
        asked.extend(is_named.then_some(("client_id", client.id.as_str())));
        let challenge = ask(&mut browser, &asked).await.expect("logout_challenge");
        assert!(sluice.is_active(token(&tokens, "access_token")).await, "named: {is_named}");
        let page = browser.visit(&confirm(&sluice, &challenge).await).await;
        let back = page.location.as_ref().map(ToString::to_string);
        assert_eq!(back.as_deref(), is_named.then_some(BACK), "{}", page.body);
        assert!(!sluice.is_active(token(&tokens, "access_token")).await, "named: {is_named}");
        // Who names itself says whose address it is.
        let elsewhere = ("post_logout_redirect_uri", "https://evil.test/");
        let named = ("client_id", client.id.as_str());
        assert_eq!(ask(&mut browser, &[hint, named, elsewhere]).await.status, 400);
    }
    sluice.node.stop().await;
}

/// Its own session would go on if it did not hear of the logout.
async fn a_logout_page_of_ones_own_is_asked_whatever_the_client_skips(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&skipping()).await;
    let mut browser = sluice.browser();
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    sluice.advance(Lifetime::secs(1));
    let asked = [("id_token_hint", token(&tokens, "id_token")), ("post_logout_redirect_uri", BACK)];
    let page = ask(&mut browser, &asked).await;
    assert!(page.location().as_str().starts_with("http://login.test/logout?"), "{}", page.location());
    let challenge = page.expect("logout_challenge");
    let path = format!("/admin/oauth2/auth/requests/logout?logout_challenge={challenge}");
    let request = sluice.ask_json(Method::GET, &path, None, 200).await;
    assert_eq!(request["client"]["skip_logout_consent"], true, "the page decides");
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    let verifier = confirm(&sluice, &challenge).await;
    assert_eq!(browser.visit(&verifier).await.location().as_str(), BACK);
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}

async fn a_logout_without_a_session_asks_nobody(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&metadata()).await;
    let mut browser = sluice.browser();
    assert_eq!(ask(&mut browser, &[]).await.status, 200);
    let asked = [("client_id", client.id.as_str()), ("post_logout_redirect_uri", BACK), ("state", "s")];
    assert_eq!(ask(&mut browser, &asked).await.location().as_str(), "https://app.test/goodbye?state=s");
    let page = browser.submit("/oauth2/sessions/logout", &asked).await;
    assert_eq!((page.status.as_u16(), page.location().path()), (303, "/oauth2/sessions/logout"));
    sluice.node.stop().await;
}

async fn a_logout_page_is_shown_all_parameters_of_the_request(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut metadata = metadata();
    metadata["id_token_signed_response_alg"] = json!("ES256");
    let client = sluice.client(&metadata).await;
    let mut browser = sluice.browser();
    let tokens = log_in(&sluice, &client, &mut browser, &json!({"subject": "alice"})).await;
    let asked = [
        ("post_logout_redirect_uri", BACK),
        ("state", "a state & more"),
        ("ui_locales", "cs en"),
        ("tenant", "acme & sons"),
    ];
    let hinted = [asked.as_slice(), &[("id_token_hint", token(&tokens, "id_token"))]].concat();
    let challenge = ask(&mut browser, &hinted).await.expect("logout_challenge");
    let path = format!("/admin/oauth2/auth/requests/logout?logout_challenge={challenge}");
    let request = sluice.ask_json(Method::GET, &path, None, 200).await;
    let url = request["request_url"].as_str().unwrap();
    assert!(url.starts_with("http://sluice.test/oauth2/sessions/logout?"), "{url}");
    for (name, value) in hinted {
        assert_eq!(parameter(url, name), value);
    }
    // Whoever has the challenge is shown the way out, and not the id token.
    sluice.advance(Lifetime::minutes(30));
    let gone = sluice.ask_json(Method::GET, &path, None, 410).await;
    let again = gone["redirect_to"].as_str().unwrap();
    assert!(!again.contains("id_token_hint"), "{again}");
    for (name, value) in asked {
        assert_eq!(parameter(again, name), value);
    }
    browser.visit(again).await.expect("logout_challenge");
    // What would make the challenge too long for a URL is left out of it.
    let long = "x".repeat(1_500);
    let asked = [("client_id", client.id.as_str()), ("state", "s"), ("long", long.as_str())];
    let challenge = ask(&mut browser, &asked).await.expect("logout_challenge");
    assert!(challenge.len() <= 1_500, "{}", challenge.len());
    let path = format!("/admin/oauth2/auth/requests/logout?logout_challenge={challenge}");
    let request = sluice.ask_json(Method::GET, &path, None, 200).await;
    let url = request["request_url"].as_str().unwrap();
    assert_eq!((parameter(url, "state").as_str(), url.contains("long")), ("s", false), "{url}");
    sluice.node.stop().await;
}
