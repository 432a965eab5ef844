//! Forms of a flow in another browser than the one that it is of, and in another tab of the same.

use axum::body::Body;
use axum::http::header::COOKIE;
use axum::http::{Request, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_oauth::device::DevicePoll;
use sluice_oauth::flow::{BindingKey, RequestDetails};
use sluice_primitives::{Lifetime, OsRng};

use super::device::CODE;
use super::world::{ALICE, Answer, PASSWORD, World, form};
use crate::ui::visit::encode_token;

/// What is filled in.
type Fields<'a> = &'a [(&'a str, &'a str)];

impl World {
    /// A request of a browser whose cookie holds these keys.
    pub(super) async fn send_with_keys(&self, mut request: Request<Body>, keys: &[&BindingKey]) -> Answer {
        let keys: Vec<_> = keys.iter().map(|key| URL_SAFE_NO_PAD.encode(key.expose())).collect();
        let cookie = format!("__Host-sluice_binding={}", keys.join("."));
        request.headers_mut().insert(COOKIE, cookie.parse().unwrap());
        self.send_without_cookie(request).await
    }
}

/// The name and the value of the challenge in the address of a page.
fn challenge(page: &str) -> (&str, &str) {
    page.split_once('?').unwrap().1.split('&').next().unwrap().split_once('=').unwrap()
}

/// Who knows a challenge and chooses the key of the cookie can make the token that goes with both.
#[tokio::test]
async fn who_makes_the_token_of_a_form_does_nothing_in_a_flow_of_another_browser() {
    let world = World::new().await;
    let alice = world.register_alice().await.to_string();
    let device = world.device().await;
    let pages = [
        world.at_consent(alice.parse().unwrap(), None, false).await,
        world.at("/ui/login").await,
        world.at_logout(alice.parse().unwrap()).await,
        world.at_device(),
    ];
    let [consent, login, logout, verification] = pages.each_ref().map(String::as_str);
    let own = [("email", ALICE), ("password", PASSWORD)];
    let new = [("email", "mallory@example.com"), ("password", PASSWORD)];
    let forms: [(&str, &str, Fields<'_>); 10] = [
        ("/ui/consent", consent, &[("decision", "accept"), ("grant_scope", "email")]),
        ("/ui/consent", consent, &[("decision", "reject")]),
        ("/ui/consent", consent, &[]),
        ("/ui/login", login, &own),
        ("/ui/login/factor", login, &[("ticket", ""), ("code", "123456")]),
        ("/ui/login/passkey", login, &[("passkey_state", ""), ("passkey", "{}")]),
        ("/ui/registration", login, &new),
        ("/ui/logout", logout, &[("decision", "accept")]),
        ("/ui/device", verification, &[("user_code", CODE)]),
        ("/ui/device", verification, &[("user_code", CODE), ("decision", "reject")]),
    ];
    let stranger = BindingKey::generate(&OsRng);
    for (path, page, fields) in forms {
        let (name, value) = challenge(page);
        let token = encode_token(&stranger, value);
        let hidden = [(name, value), ("csrf", token.as_str())];
        let posted = form(path, &[&hidden, fields].concat());
        let refused = world.send_with_keys(posted, &[&stranger]).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path} {fields:?}: {}", refused.body);
        assert!(refused.body.contains("It began in another browser"), "{path}: {}", refused.body);
        assert!(refused.header("refresh").is_empty() && !refused.body.contains(ALICE), "{path}");
    }
    let polled = world.ui.devices.devices.poll(device, world.now(), Lifetime::secs(5)).await.unwrap();
    assert_eq!(polled, DevicePoll::Pending);
    let goes_on: [(&str, Fields<'_>, &str); 4] = [
        (consent, &[("decision", "accept")], "consent_verifier"),
        (login, &own, "login_verifier"),
        (logout, &[("decision", "accept")], "logout_verifier"),
        (verification, &[("user_code", CODE), ("decision", "accept")], "device_verifier"),
    ];
    for (page, fields, verifier) in goes_on {
        let taken = world.fill_in(page, fields).await;
        assert!(!taken.sent_with(verifier).is_empty(), "the browser that it is of goes on: {page}");
    }
}

/// Nobody is asked, and what is sealed may be parked all the same.
#[tokio::test]
async fn a_consent_that_is_skipped_is_accepted_in_the_browser_that_it_is_of_alone() {
    let world = World::new().await;
    let page = world.at_consent("somebody".parse().unwrap(), None, true).await;
    let open = || Request::get(&page).body(Body::empty()).unwrap();
    let stranger = BindingKey::generate(&OsRng);
    for refused in [world.send_without_cookie(open()).await, world.send_with_keys(open(), &[&stranger]).await]
    {
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.body);
        assert!(refused.body.contains("It began in another browser"), "{}", refused.body);
        assert!(refused.header("location").is_empty() && refused.header("refresh").is_empty());
    }
    let own = world.send_with_keys(open(), &[&stranger, &world.key]).await;
    assert!(!own.sent_with("consent_verifier").is_empty());
}

/// Tabs that are opened at once are each given a cookie, of which the browser keeps the last.
#[tokio::test]
async fn a_login_that_began_with_another_cookie_begins_anew_with_the_present_one() {
    let world = World::new().await;
    let present = BindingKey::generate(&OsRng);
    for path in ["/ui/login", "/ui/registration"] {
        let page = world.at(path).await;
        let open = || Request::get(&page).body(Body::empty()).unwrap();
        let anew = world.send_with_keys(open(), &[&present]).await;
        assert_eq!(anew.status, StatusCode::SEE_OTHER, "{path}: {}", anew.body);
        let begins = anew.header("location").starts_with("https://id.example/oauth2/auth?client_id=shop&");
        assert!(begins, "{path}: {}", anew.header("location"));
        let own = world.send_with_keys(open(), &[&present, &world.key]).await;
        assert_eq!(own.status, StatusCode::OK, "{path}: {}", own.body);
    }
}

/// Such a browser would be sent around without end.
#[tokio::test]
async fn no_login_begins_anew_for_a_browser_that_presents_no_key() {
    let world = World::new().await;
    let page = world.at("/ui/login").await;
    for cookie in ["", "__Host-sluice_binding=", "__Host-sluice_binding=AAAA", "__Host-session=of-alice"] {
        let mut request = Request::get(&page).body(Body::empty()).unwrap();
        request.headers_mut().insert(COOKIE, cookie.parse().unwrap());
        let refused = world.send_without_cookie(request).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{cookie}: {}", refused.body);
    }
}

#[tokio::test]
async fn what_its_url_does_not_begin_does_not_begin_anew() {
    let changes: [fn(&mut RequestDetails); 3] =
        [|details| details.pushed = true, |details| details.signed = true, |details| details.device = true];
    let world = World::new().await;
    for change in changes {
        let mut request = world.request();
        change(&mut request.details);
        let page = world.at_with("/ui/login", request, None).await;
        let open = Request::get(&page).body(Body::empty()).unwrap();
        let refused = world.send_with_keys(open, &[&BindingKey::generate(&OsRng)]).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.body);
        assert!(
            refused.header("location").is_empty() && refused.body.contains("It began in another browser")
        );
    }
}

/// A login elsewhere puts a new key before the old ones.
#[tokio::test]
async fn a_form_is_taken_in_a_tab_from_before_a_login_and_after_the_back_button() {
    let world = World::new().await;
    let page = world.at_consent("somebody".parse().unwrap(), None, false).await;
    let newer = BindingKey::generate(&OsRng);
    let keys = [&newer, &world.key];
    let before = world.get(&page).await;
    let after = world.send_with_keys(Request::get(&page).body(Body::empty()).unwrap(), &keys).await;
    for token in [before.field("csrf"), after.field("csrf")] {
        let fields = [challenge(&page), ("csrf", token.as_str()), ("decision", "accept")];
        for _ in 0..2 {
            let taken = world.send_with_keys(form("/ui/consent", &fields), &keys).await;
            assert!(!taken.sent_with("consent_verifier").is_empty());
        }
    }
}

/// Each login puts another key in front, and leaves that of the flow.
#[tokio::test]
async fn a_form_is_good_for_as_long_as_the_key_of_its_flow_is_there() {
    let world = World::new().await;
    let alice = world.register_alice().await.to_string();
    let [before, later] = [(); 2].map(|()| BindingKey::generate(&OsRng));
    let consent = world.at_consent(alice.parse().unwrap(), None, false).await;
    let login = world.at("/ui/login").await;
    let logout = world.at_logout(alice.parse().unwrap()).await;
    world.device().await;
    let device = world.at_device();
    let scanned = format!("{device}&user_code={CODE}");
    let known: Fields<'_> = &[("user_code", CODE), ("decision", "accept")];
    let forms: [(&str, Fields<'_>, &str); 5] = [
        (&consent, &[("decision", "accept")], "consent_verifier"),
        (&login, &[("email", ALICE), ("password", PASSWORD)], "login_verifier"),
        (&logout, &[("decision", "accept")], "logout_verifier"),
        (&device, known, "device_verifier"),
        (&scanned, known, "device_verifier"),
    ];
    for (page, typed, verifier) in forms {
        let path = page.split_once('?').unwrap().0;
        let open = Request::get(page).body(Body::empty()).unwrap();
        let token = world.send_with_keys(open, &[&before, &world.key]).await.field("csrf");
        let fields = [&[challenge(page), ("csrf", token.as_str())], typed].concat();
        let taken = world.send_with_keys(form(path, &fields), &[&later, &world.key]).await;
        assert!(!taken.sent_with(verifier).is_empty(), "{page}");
    }
}
