//! Who gets in, and who is out.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_identity::IdentityStatus;
use sluice_identity::identity::{Changed, IdentityChange};
use sluice_oauth::flow::BindingKey;
use sluice_primitives::{AttemptId, Lifetime, OsRng};

use super::Visitor;
use super::factors::{with_app, with_passkey};
use crate::cookies::CookiePolicy;
use crate::ui::tests::people::{app_code, passkeys};
use crate::ui::tests::world::{ALICE, Answer, PASSWORD, World};

const LOGIN: &str = "/ui/account/login";

const PAGES: [&str; 11] = [
    "",
    "/username",
    "/email",
    "/email/confirm",
    "/verification",
    "/password",
    "/delete",
    "/factors",
    "/factors/totp",
    "/sessions",
    "/applications",
];

#[tokio::test]
async fn nobody_sees_the_account_before_signing_in_and_is_led_on_afterwards() {
    let world = World::new().await;
    world.register_alice().await;
    for page in PAGES {
        let answer = Visitor::of(&world).get(&format!("/ui/account{page}")).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{page}");
        assert!(answer.header("location").starts_with("/ui/account/login"), "{page}");
    }
    let visitor = Visitor::of(&world);
    let asked = visitor.get("/ui/account/sessions").await;
    assert_eq!(asked.header("location"), "/ui/account/login?then=sessions");
    let answer = visitor.sign_in(asked.header("location"), ALICE).await;
    assert_eq!(answer.header("location"), "/ui/account/sessions");
    let again = visitor.get("/ui/account/login?then=factors").await;
    assert_eq!(again.header("location"), "/ui/account/factors", "who is in is not asked again");
}

#[tokio::test]
async fn who_sends_a_form_after_having_signed_out_elsewhere_is_told_that_it_was_not_taken() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let shown = alice.get("/ui/account/username").await;
    world.ui.accounts.sessions.end_all(id).await.unwrap();
    let late = alice.answer(&shown, "/ui/account/username", &[("username", "Alice")]).await;
    assert_eq!(late.header("location"), "/ui/account/login?then=username&signed_out=meanwhile");
    let asked = alice.follow(&late).await;
    assert!(asked.body.contains("You were signed out meanwhile"), "{}", asked.body);
    let page = alice.get("/ui/account/username").await;
    assert_eq!(page.header("location"), "/ui/account/login?then=username", "nothing was sent");
}

#[tokio::test]
async fn what_a_link_brought_leads_on_to_its_own_page_only() {
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let link = "/ui/account/email/confirm?token=a.b";
    let again = alice.get("/ui/account/login?then=email/confirm&token=a.b").await;
    assert_eq!(again.header("location"), link);
    let elsewhere = alice.get("/ui/account/login?then=sessions&token=a.b").await;
    assert_eq!(elsewhere.header("location"), "/ui/account/sessions");
    let late = Visitor::of(&world).post("/ui/account/email/confirm", &[("token", "a.b")]).await;
    let asked = "/ui/account/login?then=email%2Fconfirm&token=a.b&signed_out=meanwhile";
    assert_eq!(late.header("location"), asked);
}

#[tokio::test]
async fn a_signed_in_person_sees_every_page() {
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    for page in PAGES {
        let answer = alice.get(&format!("/ui/account{page}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{page}");
        assert!(answer.body.contains(ALICE) && answer.body.contains("Sign out"), "{page}");
        assert_eq!(answer.header("cache-control"), "no-store", "{page}");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("form-action 'self'") && !policy.contains("unsafe"), "{page}: {policy}");
    }
}

#[tokio::test]
async fn where_the_password_is_asked_for_once_more_password_managers_are_told_whose() {
    let world = World::new().await;
    world.register_alice().await;
    let shown = Visitor::signed_in(&world).await.get("/ui/account/confirm?then=factors").await;
    assert!(shown.body.contains("autocomplete=\"current-password\""), "{}", shown.body);
    assert_eq!(shown.after("name=\"account\" type=\"text\" value=\""), ALICE);
}

#[tokio::test]
async fn the_address_that_a_browser_shows_after_a_mistake_still_says_what_comes_next() {
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let wrong = alice.fill_in("/ui/account/confirm?then=factors%2Ftotp", &[("password", "wrong")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", wrong.body);
    let address = wrong.after("<form class=\"stack\" method=\"post\" action=\"");
    assert_eq!(alice.get(&address).await.field("then"), "factors/totp");
    let plain = alice.get("/ui/account/confirm").await;
    assert_eq!(plain.after("<form class=\"stack\" method=\"post\" action=\""), "/ui/account/confirm");
}

#[tokio::test]
async fn an_address_that_a_form_was_sent_to_leads_back_to_where_it_began() {
    let world = World::new().await;
    world.register_alice().await;
    let visitor = Visitor::of(&world);
    let asked = visitor.get("/ui/account/login/factor").await;
    assert_eq!((asked.status, asked.header("location")), (StatusCode::SEE_OTHER, "/ui/account/login"));
    let alice = Visitor::signed_in(&world).await;
    let codes = alice.get("/ui/account/factors/recovery-codes").await;
    assert_eq!((codes.status, codes.header("location")), (StatusCode::SEE_OTHER, "/ui/account/factors"));
}

#[tokio::test]
async fn the_cookie_is_for_this_host_and_no_script() {
    for (start, secure) in [("__Host-sluice_account=", true), ("sluice_account=", false)] {
        let mut world = World::new().await;
        world.ui.cookies = Arc::new(CookiePolicy { secure, ..CookiePolicy::clone(&world.ui.cookies) });
        world.register_alice().await;
        let visitor = Visitor::of(&world);
        let answer = visitor.fill_in(LOGIN, &typed(true)).await;
        let cookie = answer.headers.get_all(SET_COOKIE).iter().next().unwrap().to_str().unwrap();
        assert!(cookie.starts_with(start), "{cookie}");
        for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=7776000"] {
            assert!(cookie.contains(attribute), "{attribute}: {cookie}");
        }
        assert_eq!(cookie.contains("Secure"), secure);
        assert!(!cookie.contains("Domain") && visitor.is_in().await);
    }
}

/// What is typed to sign in, with the box ticked or not.
fn typed(remember: bool) -> Vec<(&'static str, &'static str)> {
    [("email", ALICE), ("password", PASSWORD)].into_iter().chain(ticked(remember)).collect()
}

fn ticked(remember: bool) -> Option<(&'static str, &'static str)> {
    remember.then_some(("remember", "true"))
}

/// Whether the browser keeps the cookie that it is given when it is closed.
fn is_kept(answer: &Answer) -> bool {
    let mut cookies = answer.headers.get_all(SET_COOKIE).iter().map(|cookie| cookie.to_str().unwrap());
    let cookie = cookies.find(|cookie| cookie.starts_with("__Host-sluice_account="));
    let cookie = cookie.unwrap_or_else(|| panic!("{}: {}", answer.status, answer.body));
    assert!(!cookie.contains("Expires"), "{cookie}");
    cookie.contains("Max-Age=")
}

#[tokio::test]
async fn a_browser_keeps_who_is_signed_in_only_if_the_person_ticks_the_box() {
    let world = World::new().await;
    world.register_alice().await;
    for page in [LOGIN, "/ui/account/login?remember=true"] {
        let shown = Visitor::of(&world).get(page).await;
        assert!(shown.body.contains("name=\"remember\" type=\"checkbox\" value=\"true\">"), "{page}");
    }
    for remember in [false, true] {
        let visitor = Visitor::of(&world);
        let without_password: Vec<_> =
            typed(remember).into_iter().filter(|(name, _)| *name != "password").collect();
        let again = visitor.fill_in(LOGIN, &without_password).await;
        assert_eq!(again.body.contains("value=\"true\" checked>"), remember);
        let done = visitor.answer(&again, "", &typed(remember)).await;
        assert_eq!(is_kept(&done), remember);
        assert!(visitor.is_in().await);
    }
}

#[tokio::test]
async fn the_box_counts_for_a_passkey_and_for_a_second_step_too() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    world.verify(world.register_alice().await).await;
    let mut authenticator = with_passkey(&Visitor::signed_in(&world).await).await;
    for remember in [false, true] {
        let visitor = Visitor::of(&world);
        let shown = visitor.get(LOGIN).await;
        let fields: Vec<_> = ticked(remember).into_iter().collect();
        let done = visitor.press(&shown, &mut authenticator, &fields).await;
        assert_eq!(is_kept(&done), remember);
        world.clock.advance(Lifetime::secs(1));
        let visitor = Visitor::of(&world);
        let asked = visitor.fill_in(LOGIN, &typed(remember)).await;
        let wrong = visitor.answer(&asked, "", &[("recovery_code", "wrong")]).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        let done = visitor.press(&wrong, &mut authenticator, &[]).await;
        assert_eq!(is_kept(&done), remember);
        world.clock.advance(Lifetime::secs(1));
    }
}

#[tokio::test]
async fn a_session_that_goes_on_under_another_cookie_is_kept_if_it_was() {
    for remember in [false, true] {
        let world = World::new().await;
        world.register_alice().await;
        let alice = Visitor::of(&world);
        alice.fill_in(LOGIN, &typed(remember)).await;
        let confirmed = alice.fill_in("/ui/account/confirm", &[("password", PASSWORD)]).await;
        assert_eq!(is_kept(&confirmed), remember);
        let fields = [("password", PASSWORD), ("new_password", "battery staple")];
        let changed = alice.fill_in("/ui/account/password", &fields).await;
        assert_eq!(is_kept(&changed), remember);
        assert!(alice.is_in().await);
    }
}

#[tokio::test]
async fn a_wrong_pair_is_told_alike_and_guessing_is_slowed_down() {
    let world = World::new().await;
    world.register_alice().await;
    let visitor = Visitor::of(&world);
    for email in [ALICE, "bob@example.com"] {
        let fields = [("email", email), ("password", "another horse")];
        let answer = visitor.fill_in("/ui/account/login", &fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(answer.body.contains("The email address or the password is wrong."));
        assert!(!answer.body.contains("another horse") && !visitor.is_in().await);
    }
    let missing = visitor.fill_in("/ui/account/login", &[("email", ALICE)]).await;
    assert!(missing.body.contains("Enter your password."));
    for _ in 0..6 {
        visitor.fill_in("/ui/account/login", &[("email", ALICE), ("password", "wrong")]).await;
    }
    let answer = visitor.sign_in("/ui/account/login", ALICE).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(!answer.header("retry-after").is_empty());
}

#[tokio::test]
async fn who_signs_out_is_out_at_once_whatever_the_browser_keeps() {
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let kept = alice.jar.borrow().clone();
    let csrf = alice.get("/ui/account").await.field("csrf");
    let out = alice.post("/ui/account/logout", &[("csrf", &csrf)]).await;
    let shown = alice.follow(&out).await;
    assert!(shown.body.contains("You are signed out."), "{}", shown.body);
    assert!(!alice.jar.borrow().contains_key("__Host-sluice_account"));
    *alice.jar.borrow_mut() = kept;
    assert!(!alice.is_in().await);
}

#[tokio::test]
async fn a_disabled_person_is_out_at_once() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let identity = world.identity(id).await;
    let attempt = AttemptId::generate(world.now(), &OsRng);
    let change = IdentityChange {
        status: Some(IdentityStatus::Disabled),
        ..IdentityChange::of(&identity, world.now(), attempt)
    };
    assert_eq!(world.ui.accounts.identities.change(&change).await.unwrap(), Changed::Done);
    assert!(!alice.is_in().await);
    let answer = alice.sign_in("/ui/account/login", ALICE).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_session_goes_on_while_it_is_used_and_not_for_ever() {
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    for _ in 0..3 {
        world.clock.advance(Lifetime::hours(29 * 24));
        assert!(alice.is_in().await, "it was used within 30 days");
    }
    world.clock.advance(Lifetime::hours(4 * 24));
    assert!(!alice.is_in().await, "it is 91 days old");
    let idle = Visitor::signed_in(&world).await;
    world.clock.advance(Lifetime::hours(31 * 24));
    assert!(!idle.is_in().await, "it was not used for 31 days");
}

/// In another tab somebody signs in to an application: the browser has one more key, in front of the others.
fn sign_in_to_an_application(visitor: &Visitor<'_>) {
    let key = URL_SAFE_NO_PAD.encode(BindingKey::generate(&OsRng).expose());
    let mut jar = visitor.jar.borrow_mut();
    let keys = jar.get_mut("__Host-sluice_binding").unwrap();
    *keys = format!("{key}.{keys}");
}

#[tokio::test]
async fn a_second_step_goes_on_after_a_login_to_an_application_in_another_tab() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let (secret, _) = with_app(&Visitor::signed_in(&world).await).await;
    let visitor = Visitor::of(&world);
    let asked = visitor.sign_in("/ui/account/login", ALICE).await;
    sign_in_to_an_application(&visitor);
    let wrong = visitor.answer(&asked, "", &[("code", "000000")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    sign_in_to_an_application(&visitor);
    let right = visitor.answer(&wrong, "", &[("code", &app_code(&secret, &world.clock))]).await;
    assert_eq!(right.header("location"), "/ui/account", "{}", right.body);
}

#[tokio::test]
async fn a_passkey_signs_in_after_a_login_to_an_application_in_another_tab() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    world.verify(world.register_alice().await).await;
    let mut authenticator = with_passkey(&Visitor::signed_in(&world).await).await;
    let visitor = Visitor::of(&world);
    let shown = visitor.get("/ui/account/login").await;
    sign_in_to_an_application(&visitor);
    let done = visitor.press(&shown, &mut authenticator, &[]).await;
    assert_eq!(done.header("location"), "/ui/account", "{}", done.body);
}

#[tokio::test]
async fn a_link_chooses_no_token_for_the_form_of_the_sign_in() {
    let world = World::new().await;
    world.register_alice().await;
    let answer = Visitor::of(&world).sign_in("/ui/account/login?csrf=AAAA", ALICE).await;
    assert_eq!(answer.header("location"), "/ui/account", "{}", answer.body);
}
