//! Name, address, password, and the end.

use axum::http::StatusCode;
use sluice_identity::Email;
use sluice_identity::identity::{Changed, IdentityChange, NewEmail, Removed};
use sluice_primitives::{AttemptId, Lifetime, OsRng};

use super::Visitor;
use crate::ui::tests::people::{mailed_code, mailed_link};
use crate::ui::tests::world::{ALICE, PASSWORD, World};

const NEW_PASSWORD: &str = "battery staple";
const NEW_EMAIL: &str = "alice@new.example";
/// An address whose mail some servers send to somebody else.
const ROUTED: &str = "alice%example.net@example.com";

#[tokio::test]
async fn a_name_is_changed_and_one_that_cannot_be_is_said_at_its_field() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let done = alice.fill_in("/ui/account/username", &[("username", "<i>Alice</i>")]).await;
    let shown = alice.follow(&done).await;
    assert!(shown.body.contains("Your name is changed.") && !shown.body.contains("<i>Alice"));
    assert_eq!(world.identity(id).await.username, "<i>Alice</i>");
    let long = alice.fill_in("/ui/account/username", &[("username", &"x".repeat(65))]).await;
    assert_eq!(long.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(long.body.contains("id=\"username-error\" role=\"alert\""));
}

#[tokio::test]
async fn an_address_is_verified_by_the_code_of_a_mail() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    world.mail.read().await;
    let overview = alice.get("/ui/account").await;
    assert!(overview.body.contains("Not verified"));
    let csrf = overview.field("csrf");
    let sent = alice.post("/ui/account/verification", &[("csrf", &csrf), ("send", "true")]).await;
    assert_eq!(sent.header("location"), "/ui/account/verification");
    let mails = world.mail.read().await;
    let wrong = alice.fill_in("/ui/account/verification", &[("code", "AAAA-AAAA")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let code = mailed_code(&mails[0]);
    let done = alice.fill_in("/ui/account/verification", &[("code", &code)]).await;
    let shown = alice.follow(&done).await;
    assert!(shown.body.contains("Your email address is verified.") && !shown.body.contains("Not verified"));
    assert!(world.identity(id).await.email_verified_at.is_some());
}

/// It is from a time when such addresses were given away.
#[tokio::test]
async fn whoever_has_an_address_that_no_mail_verifies_is_told_so_and_not_that_it_is_none() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let alice = world.identity(alice).await;
    let login_name = ROUTED.parse::<Email>().unwrap().login_name();
    let change = IdentityChange {
        email: Some(NewEmail { email: ROUTED.to_owned(), login_name }),
        ..IdentityChange::of(&alice, world.now(), AttemptId::generate(world.now(), &OsRng))
    };
    assert_eq!(world.ui.accounts.identities.change(&change).await.unwrap(), Changed::Done);
    let alice = Visitor::of(&world);
    alice.sign_in("/ui/account/login", ROUTED).await;
    world.mail.read().await;
    let csrf = alice.get("/ui/account").await.field("csrf");
    let answer = alice.post("/ui/account/verification", &[("csrf", &csrf), ("send", "true")]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(answer.body.contains("No mail can verify this address"), "{}", answer.body);
    assert!(!answer.body.contains("such as name@example.com"), "{}", answer.body);
    assert!(world.mail.read().await.is_empty());
}

#[tokio::test]
async fn another_address_needs_the_password_and_the_code_that_was_sent_there() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    world.mail.read().await;
    let page = "/ui/account/email";
    let wrong = alice.fill_in(page, &[("email", NEW_EMAIL), ("password", "another horse")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.body.contains("id=\"password-error\"") && wrong.body.contains(NEW_EMAIL));
    let sent = alice.fill_in(page, &[("email", NEW_EMAIL), ("password", PASSWORD)]).await;
    assert!(sent.header("location").starts_with("/ui/account/email/confirm?mailed="));
    let shown = alice.follow(&sent).await;
    let told = format!("a mail with a code is under way to {NEW_EMAIL}.");
    assert!(shown.body.contains(&told), "{}", shown.body);
    let wrong = alice.answer(&shown, "", &[("code", "AAAA-AAAA")]).await;
    assert!(wrong.body.contains(&told), "also after a mistake: {}", wrong.body);
    let other = Visitor::signed_in(&world).await.get(sent.header("location")).await;
    assert!(!other.body.contains(NEW_EMAIL), "no link puts it on the page of another session");
    let mails = world.mail.read().await;
    assert_eq!((mails[0].to.as_str(), world.identity(id).await.email.as_str()), (NEW_EMAIL, ALICE));
    let code = mailed_code(&mails[0]);
    let done = alice.fill_in("/ui/account/email/confirm", &[("code", &code)]).await;
    assert!(alice.follow(&done).await.body.contains("Your email address is changed."));
    assert_eq!(world.identity(id).await.email, NEW_EMAIL);
}

#[tokio::test]
async fn an_address_is_shown_as_it_was_typed_and_as_nothing_else() {
    const MARKED: &str = "a&b@new.example";
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    world.mail.read().await;
    let sent = alice.fill_in("/ui/account/email", &[("email", MARKED), ("password", PASSWORD)]).await;
    let link = mailed_link(&world.mail.read().await[0]);
    for page in [alice.follow(&sent).await, alice.get(&link).await] {
        assert!(page.body.contains("a&#38;b@new.example") && !page.body.contains(MARKED), "{}", page.body);
    }
}

#[tokio::test]
async fn the_link_of_a_mail_changes_nothing_before_somebody_confirms() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    world.mail.read().await;
    alice.fill_in("/ui/account/email", &[("email", NEW_EMAIL), ("password", PASSWORD)]).await;
    let link = mailed_link(&world.mail.read().await[0]);
    let (_, query) = link.split_once('?').unwrap();
    let reader = Visitor::of(&world).get(&link).await;
    assert_eq!(reader.header("location"), format!("/ui/account/login?then=email%2Fconfirm&{query}"));
    let shown = alice.get(&link).await;
    assert_eq!((shown.status, world.identity(id).await.email.as_str()), (StatusCode::OK, ALICE));
    let told = format!("It is {ALICE} now, and will be {NEW_EMAIL}.");
    assert!(shown.body.contains(&told), "{}", shown.body);
    let done = alice.answer(&shown, "", &[]).await;
    assert!(alice.follow(&done).await.body.contains("Your email address is changed."));
    assert_eq!(world.identity(id).await.email, NEW_EMAIL);
    let again = alice.answer(&shown, "", &[]).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY, "a link is good once");
    for spent in [link.as_str(), "/ui/account/email/confirm?token=garbage"] {
        let shown = alice.get(spent).await;
        assert_eq!(shown.status, StatusCode::GONE);
        assert!(shown.body.contains("This link was used already") && !shown.body.contains("name=\"token\""));
    }
}

#[tokio::test]
async fn the_link_of_a_mail_is_not_lost_by_signing_in() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    world.mail.read().await;
    alice.fill_in("/ui/account/email", &[("email", NEW_EMAIL), ("password", PASSWORD)]).await;
    let link = mailed_link(&world.mail.read().await[0]);
    let reader = Visitor::of(&world);
    let asked = reader.get(&link).await;
    let wrong = [("email", ALICE), ("password", "another horse")];
    let wrong = reader.fill_in(asked.header("location"), &wrong).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let right = reader.answer(&wrong, "", &[("email", ALICE), ("password", PASSWORD)]).await;
    assert_eq!(right.header("location"), link);
    let shown = reader.follow(&right).await;
    assert_eq!(world.identity(id).await.email, ALICE, "signing in confirms nothing");
    let done = reader.answer(&shown, "", &[]).await;
    assert!(reader.follow(&done).await.body.contains("Your email address is changed."));
    assert_eq!(world.identity(id).await.email, NEW_EMAIL);
}

#[tokio::test]
async fn another_password_signs_out_everybody_but_this_browser() {
    let world = World::new().await;
    world.register_alice().await;
    let (alice, other) = (Visitor::signed_in(&world).await, Visitor::signed_in(&world).await);
    let before = alice.jar.borrow().clone();
    let page = "/ui/account/password";
    let short = alice.fill_in(page, &[("password", PASSWORD), ("new_password", "short")]).await;
    assert!(short.body.contains("id=\"new_password-error\"") && !short.body.contains("\"short\""));
    let wrong = alice.fill_in(page, &[("password", "wrong"), ("new_password", NEW_PASSWORD)]).await;
    assert!(wrong.body.contains("This is not your password."));
    let done = alice.fill_in(page, &[("password", PASSWORD), ("new_password", NEW_PASSWORD)]).await;
    assert!(alice.follow(&done).await.body.contains("Your password is changed."));
    assert!(alice.is_in().await && !other.is_in().await);
    let copy = Visitor::of(&world);
    *copy.jar.borrow_mut() = before;
    assert!(!copy.is_in().await, "a copy of the former cookie is out");
    let old = other.sign_in("/ui/account/login", ALICE).await;
    assert_eq!(old.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn the_browser_that_another_password_was_set_with_is_the_only_one_that_is_still_known() {
    let world = World::of(|config| config.limits.exempt.clear()).await;
    world.register_alice().await;
    let (alice, other) = (Visitor::signed_in(&world).await, Visitor::signed_in(&world).await);
    alice.fill_in("/ui/account/password", &[("password", PASSWORD), ("new_password", NEW_PASSWORD)]).await;
    only_one_is_known((&alice, &other), [("email", ALICE), ("password", NEW_PASSWORD)]).await;
}

#[tokio::test]
async fn the_browser_that_another_address_was_set_with_is_the_only_one_that_is_still_known() {
    let world = World::of(|config| config.limits.exempt.clear()).await;
    world.register_alice().await;
    let (alice, other) = (Visitor::signed_in(&world).await, Visitor::signed_in(&world).await);
    world.mail.read().await;
    alice.fill_in("/ui/account/email", &[("email", NEW_EMAIL), ("password", PASSWORD)]).await;
    let code = mailed_code(&world.mail.read().await[0]);
    let done = alice.fill_in("/ui/account/email/confirm", &[("code", &code)]).await;
    assert!(alice.follow(&done).await.body.contains("Your email address is changed."));
    only_one_is_known((&alice, &other), [("email", NEW_EMAIL), ("password", PASSWORD)]).await;
}

/// Strangers guess at the account. Then one of these browsers signs in at once, and the other has to wait.
async fn only_one_is_known((known, other): (&Visitor<'_>, &Visitor<'_>), fields: [(&str, &str); 2]) {
    let stranger = Visitor::of(known.world);
    for _ in 0..6 {
        stranger.fill_in("/ui/account/login", &[fields[0], ("password", "a wrong guess")]).await;
    }
    known.world.clock.advance(Lifetime::millis(1));
    for (browser, status) in [(known, StatusCode::SEE_OTHER), (other, StatusCode::TOO_MANY_REQUESTS)] {
        browser.jar.borrow_mut().retain(|name, _| name.ends_with("_known"));
        assert_eq!(browser.fill_in("/ui/account/login", &fields).await.status, status);
    }
}

#[tokio::test]
async fn an_account_is_deleted_by_its_address_and_password_only() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let page = "/ui/account/delete";
    for (email, password) in [("bob@example.com", PASSWORD), ("", PASSWORD), (ALICE, "another horse")] {
        let answer = alice.fill_in(page, &[("email", email), ("password", password)]).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{email}");
    }
    assert!(alice.is_in().await);
    let answer = alice.fill_in(page, &[("email", " Alice@Example.com"), ("password", PASSWORD)]).await;
    assert!(answer.status == StatusCode::OK && answer.body.contains("Your account is deleted"));
    assert!(world.ui.identities.find(id).await.unwrap().is_none() && !alice.is_in().await);
}

#[tokio::test]
async fn without_mail_no_mail_is_promised() {
    let world = World::without_mail().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    assert!(!alice.get("/ui/account").await.body.contains("Send verification mail"));
    let answer = alice.fill_in("/ui/account/email", &[("email", NEW_EMAIL), ("password", PASSWORD)]).await;
    assert!(answer.body.contains("This server sends no mail"), "{}", answer.body);
}

#[tokio::test]
async fn a_deleted_person_may_not_go_on_in_another_browser() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let (alice, other) = (Visitor::signed_in(&world).await, Visitor::signed_in(&world).await);
    let now = world.now();
    let deleted = world.ui.accounts.identities.delete(id, None, now, now, None).await.unwrap();
    assert_eq!(deleted, Removed::Done);
    assert!(!alice.is_in().await && !other.is_in().await);
}
