//! An address that was typed on one page is not typed again on the next.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use sluice_oauth::flow::BindingKey;
use sluice_primitives::{Lifetime, OsRng};

use super::people::mailed_code;
use super::world::{ALICE, Answer, PASSWORD, World};

const NEW: &str = "another horse";
const BOB: &str = "bob@example.com";

/// What stands in the field for the address.
fn email(shown: &Answer) -> String {
    shown.after("name=\"email\" type=\"text\" value=\"")
}

fn recovery_link(shown: &Answer) -> String {
    format!("/ui/recovery{}", shown.after("<a href=\"/ui/recovery"))
}

#[tokio::test]
async fn who_forgot_the_password_types_the_address_once_and_signs_in_with_it() {
    let world = World::new().await;
    world.register_alice().await;
    world.mail.read().await;
    let page = world.at("/ui/login").await;
    let wrong = world.fill_in(&page, &[("email", ALICE), ("password", NEW)]).await;
    let begun = world.get(&recovery_link(&wrong)).await;
    assert_eq!(email(&begun), ALICE);
    let back = world.get(&begun.after("Remember it after all? <a href=\"")).await;
    assert_eq!(email(&back), ALICE);

    let (csrf, challenge) = (begun.field("csrf"), begun.field("login_challenge"));
    let kept = [("csrf", csrf.as_str()), ("login_challenge", challenge.as_str())];
    let asked = world.post("/ui/recovery", &[&kept[..], &[("email", ALICE)]].concat()).await;
    let asked = world.follow(asked).await;
    assert_eq!(email(&world.get(&recovery_link(&asked)).await), ALICE, "for another mail");
    let code = mailed_code(world.mail.read().await.first().unwrap());
    let fields = [&kept[..], &[("email", ALICE), ("code", &code)]].concat();
    let ticket = world.post("/ui/recovery/code", &fields).await.field("ticket");
    let fields = [&kept[..], &[("ticket", &ticket), ("username", ALICE), ("password", NEW)]].concat();
    let set = world.post("/ui/recovery/password", &fields).await;
    let next = world.get(&set.after("<a class=\"button button-primary\" href=\"")).await;
    assert_eq!((email(&next).as_str(), next.field("login_challenge")), (ALICE, challenge));
}

#[tokio::test]
async fn the_address_goes_along_between_the_account_and_the_way_back_in() {
    let world = World::new().await;
    world.register_alice().await;
    world.mail.read().await;
    let csrf = world.get("/ui/account/login").await.field("csrf");
    let fields = [("csrf", csrf.as_str()), ("email", ALICE), ("password", NEW)];
    let wrong = world.post("/ui/account/login", &fields).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", wrong.body);
    let begun = world.get(&recovery_link(&wrong)).await;
    assert_eq!(email(&begun), ALICE);
    let back = world.get(&begun.after("Remember it after all? <a href=\"")).await;
    assert_eq!(email(&back), ALICE);
}

#[tokio::test]
async fn what_an_application_says_of_the_address_goes_along_too() {
    let world = World::new().await;
    let request = sluice_oauth::flow::Request { login_hint: Some(BOB.to_owned()), ..world.request() };
    let page = world.at_with("/ui/login", request, None).await;
    let shown = world.get(&page).await;
    assert_eq!(email(&shown), BOB);
    assert_eq!(email(&world.get(&recovery_link(&shown)).await), BOB);
    // From a login page that is somebody's own.
    let bare = page.replace("/ui/login", "/ui/recovery");
    assert_eq!(email(&world.get(&bare).await), BOB);
    assert_eq!(email(&world.get("/ui/recovery?login_challenge=abc").await), "");
    // To whoever has seen the challenge alone it is told nowhere.
    let stranger = Request::get(&bare).body(Body::empty()).unwrap();
    assert_eq!(email(&world.send_without_cookie(stranger).await), "");
}

#[tokio::test]
async fn who_has_an_account_already_signs_in_with_the_address_that_was_typed() {
    let world = World::new().await;
    world.register_alice().await;
    let page = world.at("/ui/registration").await;
    let taken = world.fill_in(&page, &[("email", ALICE), ("password", PASSWORD)]).await;
    assert!(taken.body.contains("Sign in instead."), "{}", taken.body);
    let login = world.get(&taken.after("Already have an account? <a href=\"")).await;
    assert_eq!(email(&login), ALICE);
}

#[tokio::test]
async fn what_was_typed_is_told_to_no_other_browser_on_no_other_page_and_not_for_ever() {
    let mut world = World::new().await;
    let page = world.at("/ui/login").await;
    let wrong = world.fill_in(&page, &[("email", BOB), ("password", NEW)]).await;
    let link = recovery_link(&wrong);
    assert!(!link.contains("bob") && !link.contains("example"), "{link}");
    let (_, sealed) = link.split_once("&mailed=").unwrap();
    assert_eq!(email(&world.get(&format!("{page}&mailed={sealed}")).await), "");
    let key = std::mem::replace(&mut world.key, BindingKey::generate(&OsRng));
    assert_eq!(email(&world.get(&link).await), "");
    world.key = key;
    assert_eq!(email(&world.get(&link).await), BOB);
    world.clock.advance(Lifetime::hours(1));
    assert_eq!(email(&world.get(&link).await), "");
}

#[tokio::test]
async fn who_types_an_address_into_a_form_that_has_expired_begins_anew_with_it() {
    let world = World::new().await;
    let page = world.at("/ui/login").await;
    let shown = world.get(&page).await;
    let (challenge, csrf) = (shown.field("login_challenge"), shown.field("csrf"));
    world.clock.advance(Lifetime::hours(1));
    let fields =
        [("login_challenge", challenge.as_str()), ("csrf", &csrf), ("email", ALICE), ("password", PASSWORD)];
    let expired = world.post("/ui/login", &fields).await;
    assert_eq!(expired.status, StatusCode::GONE, "{}", expired.body);
    let anew = expired.after("<a class=\"button button-primary\" href=\"");
    assert!(anew.ends_with("&login_hint=alice%40example.com"), "{anew}");
}
