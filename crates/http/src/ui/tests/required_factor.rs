//! A second factor that is required, on the way to an application.

use axum::http::StatusCode;
use sluice_identity::factor::FactorsRequired;
use sluice_oauth::flow::{Decision, Login, Request};
use sluice_primitives::{IdentityId, Lifetime};
use sluice_protocol::{Prompt, Subject};
use sluice_testkit::Authenticator;

use super::people::{ORIGIN, app_code, mailed_code, passkeys};
use super::world::{ALICE, Answer, PASSWORD, World};
use crate::ui::translations;

const TITLE: &str = "<h1>Set up a second factor</h1>";
const VERIFY: &str = "<h1>Verify your email address first</h1>";

impl World {
    async fn that_requires_factors() -> Self {
        Self::of(|config| {
            config.factors_required = FactorsRequired::Always;
            config.passkeys = Some(passkeys());
        })
        .await
    }

    /// Sends the form of a page that asks for a factor to be set up.
    pub(super) async fn set_up(&self, shown: &Answer, fields: &[(&str, &str)]) -> Answer {
        let names = ["login_challenge", "csrf", "ticket", "totp_ticket", "passkey_state"];
        let there = names.iter().filter(|name| shown.body.contains(&format!("name=\"{name}\"")));
        let hidden: Vec<(&str, String)> = there.map(|name| (*name, shown.field(name))).collect();
        let hidden: Vec<(&str, &str)> = hidden.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.post("/ui/login/enrolment", &[&hidden, fields].concat()).await
    }

    /// What the flow behind the page with the codes says.
    async fn behind(&self, codes: &Answer) -> Login {
        assert_eq!(codes.body.matches("<li><code>").count(), 10, "{}", codes.body);
        let next = codes.after("<a class=\"button button-primary\" href=\"");
        let (_, verifier) = next.split_once("?login_verifier=").unwrap();
        match self.flows.open_login_verifier(verifier).await.unwrap().answer {
            Decision::Accepted(login) => login,
            Decision::Rejected(rejection) => panic!("{rejection:?}"),
        }
    }

    /// Alice at this page, whose password was right.
    async fn led(&self, page: &str) -> Answer {
        let shown = self.after_password(page, &[]).await;
        assert!(shown.body.contains(TITLE) && shown.header("refresh").is_empty(), "{}", shown.body);
        shown
    }
}

/// The secret that a page shows.
pub(super) fn secret(shown: &Answer) -> String {
    let text = shown.body.split_once("exhibit-secret\">").unwrap().1;
    text.split('<').next().unwrap().replace(' ', "")
}

#[tokio::test]
async fn who_has_no_factor_sets_one_up_before_the_login_is_accepted() {
    let world = World::that_requires_factors().await;
    let alice = world.verified_alice().await;
    let page = world.at("/ui/login").await;
    let shown = world.after_password(&page, &[("remember", "true")]).await;
    assert!(shown.body.contains(TITLE) && !shown.body.contains("login_verifier"), "{}", shown.body);
    assert!(shown.body.contains("<svg") && shown.body.contains("data-passkey=\"create\""), "{}", shown.body);
    assert!(!shown.body.contains("account-menu"), "nobody is signed in: {}", shown.body);
    let wrong = world.set_up(&shown, &[("code", "000000"), ("name", "My “phone”")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.body.contains("value=\"My “phone”\""), "{}", wrong.body);
    assert!(wrong.body.contains("id=\"code-error\"") && !wrong.body.contains("login_verifier"));
    assert_eq!(secret(&wrong), secret(&shown), "for who scanned it badly");
    let code = app_code(&secret(&wrong), &world.clock);
    let done = world.set_up(&wrong, &[("code", &code), ("name", "Phone")]).await;
    assert_eq!(done.status, StatusCode::OK);
    assert!(!done.body.contains("account-menu") && done.header("refresh").is_empty(), "{}", done.body);
    let login = world.behind(&done).await;
    assert_eq!(login.subject.as_str(), alice.to_string());
    assert_eq!((login.amr.join(" ").as_str(), login.acr.as_deref()), ("pwd otp mfa", Some("aal2")));
    assert_eq!(login.remember, Some(Lifetime::hours(30 * 24)));
    let again = world.set_up(&wrong, &[("code", &code), ("name", "Phone")]).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY, "a page that is loaded again");
    assert!(again.body.contains("name=\"password\"") && !again.body.contains("<li><code>"), "{}", again.body);
    assert!(!again.body.contains("login_verifier"), "{}", again.body);
    world.clock.advance(Lifetime::secs(60));
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    assert!(asked.body.contains("Confirm that it is you"), "{}", asked.body);
}

#[tokio::test]
async fn a_passkey_may_be_made_instead() {
    let world = World::that_requires_factors().await;
    world.verified_alice().await;
    let shown = world.led(&world.at("/ui/login").await).await;
    let mut key = Authenticator::in_hardware(1, ORIGIN);
    let made = key.create(&serde_json::from_str(&shown.after("data-options=\"")).unwrap());
    let refused = world.set_up(&shown, &[("passkey", "{}")]).await;
    assert!(refused.body.contains("This passkey could not be added."), "{}", refused.body);
    let login = world.behind(&world.set_up(&shown, &[("passkey", &made)]).await).await;
    assert_eq!((login.amr.join(" ").as_str(), login.acr.as_deref()), ("pwd mfa", Some("aal2")));
}

#[tokio::test]
async fn options_that_are_too_old_are_asked_for_anew() {
    let world = World::that_requires_factors().await;
    world.verified_alice().await;
    let shown = world.led(&world.at("/ui/login").await).await;
    let hidden = ["login_challenge", "csrf", "ticket", "totp_ticket"].map(|name| (name, shown.field(name)));
    let fields: Vec<(&str, &str)> = hidden.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let anew = world.post("/ui/login/enrolment", &fields).await;
    assert_eq!(secret(&anew), secret(&shown));
    assert!(anew.body.contains("That took too long") && !anew.body.contains("code-error"), "{}", anew.body);
    let empty = world.set_up(&shown, &[]).await;
    assert!(empty.body.contains("id=\"code-error\""), "{}", empty.body);
}

#[tokio::test]
async fn a_registration_does_not_slip_past() {
    let world = World::that_requires_factors().await;
    let page = world.at("/ui/registration").await;
    let fields = [("email", ALICE), ("username", ""), ("password", PASSWORD)];
    let shown = world.fill_in(&page, &fields).await;
    assert!(shown.body.contains(VERIFY) && !shown.body.contains("login_verifier"), "{}", shown.body);
    assert!(!shown.body.contains("otpauth:"), "{}", shown.body);
    assert!(shown.body.contains(">Send a code</button>") && !shown.body.contains("that we have sent you"));
    let welcome = mailed_code(world.mail.read().await.first().unwrap());
    let wrong = world.set_up(&shown, &[("code", "ABCDEFGH")]).await;
    assert!(wrong.body.contains(VERIFY) && wrong.body.contains("id=\"code-error\""), "{}", wrong.body);
    let sent = world.set_up(&shown, &[("send", "true")]).await;
    assert!(sent.body.contains(VERIFY), "{}", sent.body);
    let newer = mailed_code(world.mail.read().await.first().unwrap());
    assert_ne!(newer, welcome);
    let asked = world.set_up(&sent, &[("code", &newer)]).await;
    assert!(asked.status == StatusCode::OK && asked.body.contains(TITLE), "{}", asked.body);
    let code = app_code(&secret(&asked), &world.clock);
    let login = world.behind(&world.set_up(&asked, &[("code", &code)]).await).await;
    assert_eq!(login.acr.as_deref(), Some("aal2"));
}

#[tokio::test]
async fn who_verifies_the_address_in_another_window_goes_on_with_the_factor() {
    let world = World::that_requires_factors().await;
    let page = world.at("/ui/registration").await;
    let fields = [("email", ALICE), ("username", ""), ("password", PASSWORD)];
    let shown = world.fill_in(&page, &fields).await;
    assert!(shown.body.contains(VERIFY), "{}", shown.body);
    let code = mailed_code(world.mail.read().await.first().unwrap());
    world.set_up(&shown, &[("code", &code)]).await;
    for pressed in [("code", code.as_str()), ("code", ""), ("send", "true")] {
        let asked = world.set_up(&shown, &[pressed]).await;
        assert_eq!(asked.status, StatusCode::OK, "{pressed:?}");
        assert!(asked.body.contains(TITLE) && !asked.body.contains("code-error"), "{}", asked.body);
    }
}

#[tokio::test]
async fn without_mail_no_address_is_verified_first() {
    let world = World::without_mail_that_requires_factors().await;
    world.register_alice().await;
    world.led(&world.at("/ui/login").await).await;
}

#[tokio::test]
async fn a_session_of_before_is_asked_once_more_and_is_none_where_no_page_may_be_shown() {
    let world = World::that_requires_factors().await;
    let alice = world.verified_alice().await;
    let page = world.at_known(world.request(), alice, &["pwd"]).await;
    let shown = world.get(&page).await;
    assert!(shown.body.contains("<h1>Confirm that it is you</h1>"), "{}", shown.body);
    let prompt = Prompt { none: true, ..Prompt::default() };
    let silent = Request { prompt, ..world.request() };
    let answer = world.get(&world.at_known(silent.clone(), alice, &["pwd"]).await).await;
    assert_eq!(world.rejected(&answer).await, "login_required");
    let answer = world.after_password(&world.at_with("/ui/login", silent, None).await, &[]).await;
    assert_eq!(world.rejected(&answer).await, "login_required");
    let shown = world.led(&page).await;
    let code = app_code(&secret(&shown), &world.clock);
    let login = world.behind(&world.set_up(&shown, &[("code", &code)]).await).await;
    let flow = world.flows.open_login_challenge(page.split_once('=').unwrap().1).await.unwrap();
    assert_eq!(login.session, flow.session, "the session goes on, and has shown more");
    let page = world.at_known(world.request(), alice, &["pwd", "otp", "mfa"]).await;
    assert!(world.accepted(&world.get(&page).await).await.skipped);
}

#[tokio::test]
async fn whoever_was_signed_in_by_another_page_is_asked_and_of_those_who_are_chosen_only_they_are() {
    let world = World::of(|config| config.factors_required = FactorsRequired::Chosen).await;
    let alice = world.verified_alice().await;
    let page = async |person: IdentityId| world.at_known(world.request(), person, &["pwd"]).await;
    assert!(world.accepted(&world.get(&page(alice).await).await).await.skipped);
    assert!(world.store_requires(alice).await);
    let shown = world.get(&page(alice).await).await;
    assert!(shown.body.contains("<h1>Confirm that it is you</h1>"), "{}", shown.body);
    let bob = world.register("bob@example.com", "").await;
    assert!(world.accepted(&world.get(&page(bob).await).await).await.skipped);
    let strangers: Option<Subject> = Some("somebody-elsewhere".parse().unwrap());
    let page = world.at_with("/ui/login", world.request(), strangers.clone()).await;
    assert!(world.accepted(&world.get(&page).await).await.skipped, "none of ours can be chosen");
    let everybody = World::that_requires_factors().await;
    let page = everybody.at_with("/ui/login", everybody.request(), strangers).await;
    assert_eq!(everybody.get(&page).await.status, StatusCode::OK);
    assert!(everybody.get(&page).await.body.contains("name=\"password\""));
}

#[tokio::test]
async fn who_asks_for_two_factors_is_led_to_one_instead_of_being_told_that_there_is_none() {
    let world = World::that_requires_factors().await;
    world.verified_alice().await;
    let request = Request { acr_values: Some("aal2".to_owned()), ..world.request() };
    let shown = world.led(&world.at_with("/ui/login", request, None).await).await;
    let code = app_code(&secret(&shown), &world.clock);
    let login = world.behind(&world.set_up(&shown, &[("code", &code)]).await).await;
    assert_eq!(login.acr.as_deref(), Some("aal2"));
}

#[tokio::test]
async fn a_ticket_is_of_no_use_later_in_another_flow_or_beside_a_factor() {
    let world = World::that_requires_factors().await;
    world.verified_alice().await;
    let shown = world.led(&world.at("/ui/login").await).await;
    let other = world.led(&world.at("/ui/login").await).await;
    let code = app_code(&secret(&shown), &world.clock);
    let mixed = Answer {
        body: shown.body.replace(&shown.field("ticket"), &other.field("ticket")),
        status: shown.status,
        headers: shown.headers.clone(),
    };
    let refused = world.set_up(&mixed, &[("code", &code)]).await;
    assert!(refused.body.contains("name=\"password\""), "{}", refused.body);
    world.behind(&world.set_up(&shown, &[("code", &code)]).await).await;
    let code = app_code(&secret(&other), &world.clock);
    let refused = world.set_up(&other, &[("code", &code)]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("name=\"password\"") && !refused.body.contains("<li><code>"));
}

#[tokio::test]
async fn the_factor_is_asked_for_in_the_language_of_the_flow() {
    let world = World::of_with(
        |config| {
            config.factors_required = FactorsRequired::Always;
            config.passkeys = Some(passkeys());
        },
        |pages| pages.look.languages = translations::built_in(),
    )
    .await;
    let request = |tag: &str| Request { ui_locales: Some(tag.to_owned()), ..world.request() };
    let page = world.at_with("/ui/registration", request("de"), None).await;
    let fields = [("email", ALICE), ("username", ""), ("password", PASSWORD)];
    let unverified = world.fill_in(&page, &fields).await;
    let lead = format!("möchten wir sichergehen, dass Sie unter {ALICE} E-Mails lesen.</p>");
    assert!(unverified.body.contains(&lead), "{}", unverified.body);
    let code = mailed_code(world.mail.read().await.first().unwrap());
    let verified = world.set_up(&unverified, &[("code", &code)]).await;
    assert!(verified.body.contains("<h1>Richten Sie einen zweiten Faktor ein</h1>"), "{}", verified.body);
    let page = world.at_with("/ui/login", request("fr"), None).await;
    let shown = world.after_password(&page, &[]).await;
    assert!(shown.body.contains("<h1>Configurez un second facteur</h1>"), "{}", shown.body);
    assert!(shown.body.contains("dont le code vous sera demandé, ou créez une clé d’accès.</p>"));
    let wrong = world.set_up(&shown, &[("code", "000000")]).await;
    let mistake = "Ce n’est pas le code que votre application devrait afficher.";
    assert!(wrong.body.contains(mistake), "{}", wrong.body);
    let code = app_code(&secret(&wrong), &world.clock);
    let done = world.set_up(&wrong, &[("code", &code)]).await;
    assert!(done.body.contains("<h1>Vos codes de secours</h1>"), "{}", done.body);
    for answer in [shown, wrong, done] {
        assert_eq!(answer.header("content-language"), "fr");
    }
}

#[tokio::test]
async fn a_page_that_is_left_open_begins_anew() {
    let world = World::that_requires_factors().await;
    world.verified_alice().await;
    let shown = world.led(&world.at("/ui/login").await).await;
    world.clock.advance(Lifetime::minutes(15));
    let code = app_code(&secret(&shown), &world.clock);
    let late = world.set_up(&shown, &[("code", &code)]).await;
    assert!(
        late.body.contains("That took too long") && late.body.contains("name=\"password\""),
        "{}",
        late.body
    );
}
