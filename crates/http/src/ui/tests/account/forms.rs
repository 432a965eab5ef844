//! Forms that are not this session's, and who is asked once more.

use axum::http::StatusCode;
use sluice_primitives::Lifetime;

use super::Visitor;
use crate::ui::tests::world::{ALICE, PASSWORD, World, form};

/// What each of them would do something with.
const DEED: [(&str, &str); 3] = [("username", "Mallory"), ("everything", "true"), ("confirmed", "true")];
const FORMS: [&str; 9] = [
    "/logout",
    "/confirm",
    "/username",
    "/email",
    "/verification",
    "/password",
    "/delete",
    "/sessions",
    "/applications",
];

#[tokio::test]
async fn a_form_of_another_site_or_session_is_refused_everywhere() {
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let other = Visitor::signed_in(&world).await;
    let foreign = other.get("/ui/account").await.field("csrf");
    let own = alice.get("/ui/account").await.field("csrf");
    for page in FORMS {
        let target = format!("/ui/account{page}");
        for fields in [vec![], vec![("csrf", foreign.as_str())], vec![("csrf", "AAAA")]] {
            let fields = [&fields[..], &DEED].concat();
            assert!(alice.post(&target, &fields).await.status.is_client_error(), "{page}");
        }
        let mut request = form(&target, &[&[("csrf", own.as_str())][..], &DEED].concat());
        request.headers_mut().insert("sec-fetch-site", "cross-site".parse().unwrap());
        assert!(alice.send(request).await.status.is_client_error(), "{page}");
    }
    assert!(alice.is_in().await && other.is_in().await);
    assert!(!alice.get("/ui/account").await.body.contains("Mallory"));
}

#[tokio::test]
async fn a_login_form_of_another_browser_is_refused() {
    let world = World::new().await;
    world.register_alice().await;
    let mallory = Visitor::of(&world);
    let csrf = mallory.get("/ui/account/login").await.field("csrf");
    let victim = Visitor::of(&world);
    let fields = [("email", ALICE), ("password", PASSWORD), ("csrf", &csrf)];
    for visited in [false, true] {
        if visited {
            victim.get("/ui/account/login").await;
        }
        let answer = victim.post("/ui/account/login", &fields).await;
        assert!(answer.status.is_client_error() && !victim.is_in().await);
    }
}

#[tokio::test]
async fn what_changes_how_one_signs_in_asks_again_after_ten_minutes() {
    let world = World::new().await;
    let alice_id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    assert_eq!(alice.get("/ui/account/factors/totp").await.status, StatusCode::OK);
    world.clock.advance(Lifetime::minutes(10));
    let before = alice.jar.borrow().clone();
    let asked = alice.get("/ui/account/factors/totp").await;
    assert_eq!(asked.header("location"), "/ui/account/confirm?then=factors%2Ftotp");
    let wrong = alice.fill_in(asked.header("location"), &[("password", "another horse")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.body.contains("This is not your password."));
    let right = alice.fill_in(asked.header("location"), &[("password", PASSWORD)]).await;
    assert_eq!(right.header("location"), "/ui/account/factors/totp");
    assert_eq!(alice.get("/ui/account/factors/totp").await.status, StatusCode::OK);
    assert_eq!(world.ui.accounts.sessions.list(alice_id).await.unwrap().len(), 1, "the former row is gone");
    let stale = Visitor::of(&world);
    *stale.jar.borrow_mut() = before;
    assert!(!stale.is_in().await, "the session goes on under another id");
}

#[tokio::test]
async fn a_link_cannot_make_a_page_say_that_something_was_done() {
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let done = alice.fill_in("/ui/account/username", &[("username", "Alice")]).await;
    assert!(alice.follow(&done).await.body.contains("Your name is changed."));
    let other = Visitor::signed_in(&world).await;
    for link in ["/ui/account?notice=username-changed", done.header("location")] {
        assert!(!other.get(link).await.body.contains("Your name is changed."), "{link}");
    }
}

#[tokio::test]
async fn whoever_signs_in_anew_in_a_browser_leaves_no_session_behind() {
    let world = World::new().await;
    let alice_id = world.register_alice().await;
    let alice = Visitor::of(&world);
    let form = alice.get("/ui/account/login").await;
    let fields = [("email", ALICE), ("password", PASSWORD)];
    for _ in 0..2 {
        let answer = alice.answer(&form, "", &fields).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    }
    assert!(alice.is_in().await);
    assert_eq!(world.ui.accounts.sessions.list(alice_id).await.unwrap().len(), 1);
}
