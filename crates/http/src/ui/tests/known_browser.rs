//! Browsers that somebody logged in with before: they do not wait for those who guess.

use axum::http::header::SET_COOKIE;
use axum::http::{Request, StatusCode};
use sluice_identity::identity::Removed;
use sluice_primitives::Lifetime;

use super::world::{ALICE, Answer, PASSWORD, World, form};

const BOB: &str = "bob@example.com";
const RIGHT: [(&str, &str); 2] = [("email", ALICE), ("password", PASSWORD)];
const WRONG: [(&str, &str); 2] = [("email", ALICE), ("password", "another horse")];

/// The cookie that an answer sets, with its attributes.
fn cookie(answer: &Answer) -> Option<&str> {
    let cookies = answer.headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap());
    cookies.into_iter().find(|cookie| cookie.starts_with("__Host-sluice_known="))
}

fn pair(answer: &Answer) -> String {
    cookie(answer).unwrap().split(';').next().unwrap().to_owned()
}

impl World {
    /// A world in which everybody is in one network, and the networks count.
    async fn of_one_network() -> Self {
        Self::of(|config| config.limits.exempt.clear()).await
    }

    /// Logs in with a cookie.
    async fn log_in_from(&self, cookie: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.at("/ui/login").await;
        let csrf = self.get(&page).await.field("csrf");
        let hidden = [("login_challenge", page.split_once('=').unwrap().1), ("csrf", &csrf)];
        self.send_with(form("/ui/login", &[&hidden, fields].concat()), cookie).await
    }

    async fn log_in_anew(&self, fields: &[(&str, &str)]) -> Answer {
        self.fill_in(&self.at("/ui/login").await, fields).await
    }

    /// Somebody else guesses until they are told to wait.
    async fn guess(&self) {
        for _ in 0..6 {
            self.log_in_anew(&WRONG).await;
        }
        assert_eq!(self.log_in_anew(&RIGHT).await.status, StatusCode::TOO_MANY_REQUESTS);
    }
}

#[tokio::test]
async fn who_guesses_in_the_same_network_does_not_hold_up_the_owners_browser() {
    let world = World::of_one_network().await;
    let alice = world.register_alice().await;
    let known = pair(&world.log_in_anew(&RIGHT).await);
    world.guess().await;
    let answer = world.log_in_from(&known, &RIGHT).await;
    assert_eq!(world.accepted(&answer).await.subject.as_str(), alice.to_string());
}

#[tokio::test]
async fn a_known_browser_is_slowed_down_by_its_own_guesses() {
    let world = World::of_one_network().await;
    world.register_alice().await;
    let known = pair(&world.log_in_anew(&RIGHT).await);
    for _ in 0..6 {
        assert!(cookie(&world.log_in_from(&known, &WRONG).await).is_none());
    }
    assert_eq!(world.log_in_from(&known, &RIGHT).await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_browser_is_known_to_the_accounts_that_it_logged_in_to_and_for_a_year() {
    let world = World::of_one_network().await;
    world.register_alice().await;
    world.register(BOB, "").await;
    let bobs = pair(&world.log_in_anew(&[("email", BOB), ("password", PASSWORD)]).await);
    let both = pair(&world.log_in_from(&bobs, &RIGHT).await);
    world.guess().await;
    assert_eq!(world.log_in_from(&bobs, &RIGHT).await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(world.log_in_from(&both, &RIGHT).await.status, StatusCode::OK);
    world.clock.advance(Lifetime::hours(365 * 24));
    world.guess().await;
    assert_eq!(world.log_in_from(&both, &RIGHT).await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_browser_is_not_known_any_more_when_its_owner_was_signed_out_everywhere() {
    let world = World::of_one_network().await;
    let alice = world.register_alice().await;
    let former = pair(&world.log_in_anew(&RIGHT).await);
    world.ui.accounts.sessions.end_all(alice).await.unwrap();
    let present = pair(&world.log_in_anew(&RIGHT).await);
    world.guess().await;
    assert_eq!(world.log_in_from(&former, &RIGHT).await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(world.log_in_from(&present, &RIGHT).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_browser_is_not_known_to_who_has_the_address_next() {
    let world = World::of_one_network().await;
    let alice = world.register_alice().await;
    let known = pair(&world.log_in_anew(&RIGHT).await);
    let now = world.now();
    let until = now + Lifetime::hours(1);
    let deleted = world.ui.accounts.identities.delete(alice, None, now, until, None).await.unwrap();
    assert_eq!(deleted, Removed::Done);
    world.guess().await;
    assert_eq!(world.log_in_from(&known, &RIGHT).await.status, StatusCode::TOO_MANY_REQUESTS);
    world.register_alice().await;
    assert_eq!(world.log_in_from(&known, &RIGHT).await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn the_cookie_of_a_known_browser_is_for_this_host_and_no_script_and_says_nothing() {
    let world = World::of_one_network().await;
    world.register_alice().await;
    let set = world.log_in_anew(&RIGHT).await;
    let cookie = cookie(&set).unwrap();
    for attribute in ["HttpOnly", "SameSite=Lax", "Secure", "Path=/", "Max-Age=31536000"] {
        assert!(cookie.contains(attribute), "{attribute}: {cookie}");
    }
    assert!(!cookie.contains("Domain") && !cookie.contains("alice"), "{cookie}");
    world.guess().await;
    for forged in ["__Host-sluice_known=AAAA".to_owned(), format!("{}A", pair(&set))] {
        assert_eq!(world.log_in_from(&forged, &RIGHT).await.status, StatusCode::TOO_MANY_REQUESTS);
    }
}

#[tokio::test]
async fn a_login_at_the_account_pages_makes_a_browser_known_and_is_spared_alike() {
    let world = World::of_one_network().await;
    world.register_alice().await;
    let log_in = async |cookie: &str| {
        let page = world.send_with(Request::get("/ui/account/login").body("".into()).unwrap(), "").await;
        let csrf = page.field("csrf");
        let fields = [&RIGHT[..], &[("csrf", csrf.as_str())]].concat();
        world.send_with(form("/ui/account/login", &fields), cookie).await
    };
    let known = pair(&log_in("").await);
    world.guess().await;
    assert_eq!(log_in("").await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(log_in(&known).await.status, StatusCode::SEE_OTHER);
}
