//! The second step of a login, and how well a flow wants to know who it is.

use axum::http::StatusCode;
use sluice_identity::factor::EnrolmentOutcome;
use sluice_oauth::authorization::SessionCookie;
use sluice_oauth::flow::{Decision, Request};
use sluice_primitives::{IdentityId, Lifetime, OsRng, SessionId};
use sluice_protocol::Prompt;
use sluice_store_contract::given;

use super::people::app_code;
use super::world::{ALICE, Answer, PASSWORD, World};

/// Alice, her app and one of her recovery codes.
pub(super) struct App {
    pub(super) alice: IdentityId,
    pub(super) secret: String,
    recovery_code: String,
}

impl World {
    pub(super) async fn alice_with_app(&self) -> App {
        let alice = self.verified_alice().await;
        let identity = self.identity(alice).await;
        let begun = self.ui.factors.begin_totp(&identity);
        let code = app_code(&begun.secret_base32, &self.clock);
        let done = self
            .ui
            .factors
            .confirm_totp(given::enroller(&identity), &begun.ticket, &code, "Phone")
            .await
            .unwrap();
        let EnrolmentOutcome::Enrolled(enrolled) = done else { panic!("{done:?}") };
        self.clock.advance(Lifetime::secs(60));
        let codes = enrolled.recovery_codes.unwrap();
        let recovery_code = codes.first().unwrap().grouped();
        App { alice, secret: begun.secret_base32, recovery_code }
    }

    pub(super) async fn after_password(&self, page: &str, more: &[(&str, &str)]) -> Answer {
        let asked = self.fill_in(page, &[&[("email", ALICE), ("password", PASSWORD)], more].concat()).await;
        assert_eq!(asked.status, StatusCode::OK, "{}", asked.body);
        asked
    }

    /// Fills in the second page.
    pub(super) async fn show(&self, asked: &Answer, fields: &[(&str, &str)]) -> Answer {
        let hidden: Vec<(&str, String)> = ["login_challenge", "csrf", "ticket", "offered"]
            .iter()
            .map(|name| (*name, asked.field(name)))
            .collect();
        let hidden: Vec<(&str, &str)> = hidden.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.post("/ui/login/factor", &[&hidden, fields].concat()).await
    }

    /// What the application hears by the link of the page that says that there is no second factor.
    pub(super) async fn rejected_behind(&self, page: &Answer) -> String {
        let next = page.after("<a class=\"button\" href=\"");
        let (_, verifier) = next.split_once("?login_verifier=").unwrap();
        match self.flows.open_login_verifier(verifier).await.unwrap().answer {
            Decision::Rejected(rejection) => rejection.error,
            Decision::Accepted(login) => panic!("{login:?}"),
        }
    }

    fn request_for(&self, acr_values: &str) -> Request {
        Request { acr_values: Some(acr_values.to_owned()), ..self.request() }
    }

    fn request_for_claim(&self, acr: &str) -> Request {
        let mut request = self.request();
        request.details.claims = Some(format!(r#"{{"id_token":{{"acr":{acr}}}}}"#));
        request
    }
}

#[tokio::test]
async fn whoever_has_an_app_is_asked_for_its_code_and_logs_in_with_it_once() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let page = world.at("/ui/login").await;
    let asked = world.after_password(&page, &[("remember", "true")]).await;
    assert!(asked.body.contains(r#"autocomplete="one-time-code" inputmode="numeric""#), "{}", asked.body);
    assert!(asked.header("refresh").is_empty() && !asked.body.contains(PASSWORD));
    let code = app_code(&app.secret, &world.clock);
    let login = world.accepted(&world.show(&asked, &[("code", &code)]).await).await;
    assert_eq!(
        (login.subject.as_str(), login.amr.as_slice()),
        (app.alice.to_string().as_str(), ["pwd", "otp", "mfa"].map(str::to_owned).as_slice())
    );
    assert_eq!((login.acr.as_deref(), login.remember), (Some("aal2"), Some(Lifetime::hours(30 * 24))));
    let again = world.show(&asked, &[("code", &code)]).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_wrong_code_is_told_at_its_field_and_the_next_may_be_right() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    for (fields, error) in [
        (&[("code", "000000")][..], "code-error"),
        (&[], "code-error"),
        (&[("recovery_code", "AAAA-AAAA")], "recovery-error"),
    ] {
        let wrong = world.show(&asked, fields).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(wrong.body.contains(&format!("id=\"{error}\" role=\"alert\"")), "{}", wrong.body);
        assert!(wrong.body.contains(&format!("aria-describedby=\"{error} ")), "{}", wrong.body);
    }
    let code = app_code(&app.secret, &world.clock);
    let right = world.show(&asked, &[("code", &code)]).await;
    let login = world.accepted(&right).await;
    assert_eq!((login.remember, login.at_least_until_closed), (None, true));
}

#[tokio::test]
async fn whoever_shows_a_code_that_was_used_is_told_to_wait_for_the_next_one() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    let code = app_code(&app.secret, &world.clock);
    world.accepted(&world.show(&asked, &[("code", &code)]).await).await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    for _ in 0..15 {
        let used = world.show(&asked, &[("code", &code)]).await;
        assert_eq!(used.status, StatusCode::UNPROCESSABLE_ENTITY);
        let told = "This code was used already. Wait until your app shows the next one.";
        assert!(used.body.contains(told) && used.body.contains("id=\"code-error\""), "{}", used.body);
    }
    world.clock.advance(Lifetime::secs(30));
    let next = app_code(&app.secret, &world.clock);
    world.accepted(&world.show(&asked, &[("code", &next)]).await).await;
}

#[tokio::test]
async fn a_recovery_code_stands_in_for_the_app_once() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    let fields = [("recovery_code", app.recovery_code.as_str())];
    let login = world.accepted(&world.show(&asked, &fields).await).await;
    assert_eq!((login.amr.join(" ").as_str(), login.acr.as_deref()), ("pwd mfa", Some("aal2")));
    assert_eq!(world.show(&asked, &fields).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_recovery_code_has_a_form_of_its_own() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    let forms = asked.body.split("<form").skip(1).map(|form| form.split("</form>").next().unwrap());
    let forms: Vec<&str> = forms.collect();
    let [of_app, of_recovery] = forms.as_slice() else { panic!("{}", asked.body) };
    assert!(of_app.contains("name=\"code\"") && !of_app.contains("name=\"recovery_code\""), "{of_app}");
    assert!(of_recovery.contains("name=\"recovery_code\""), "{of_recovery}");
    assert!(!of_recovery.contains("name=\"code\"") && !of_recovery.contains("passkey"), "{of_recovery}");
    for name in ["login_challenge", "csrf", "ticket", "offered"] {
        let field = format!("type=\"hidden\" name=\"{name}\" value=\"{}\"", asked.field(name));
        assert!(of_app.contains(&field) && of_recovery.contains(&field), "{field}: {}", asked.body);
    }
    let fields = [("recovery_code", app.recovery_code.as_str())];
    world.accepted(&world.show(&asked, &fields).await).await;
}

#[tokio::test]
async fn whoever_guesses_codes_is_told_when_to_come_again() {
    let world = World::new().await;
    world.alice_with_app().await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    let mut last = world.show(&asked, &[("code", "000000")]).await;
    for _ in 0..11 {
        last = world.show(&asked, &[("code", "000000")]).await;
    }
    assert_eq!(last.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(!last.header("retry-after").is_empty() && last.body.contains("too many wrong codes"));
}

#[tokio::test]
async fn a_ticket_is_of_no_use_later_or_in_another_flow() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let (page, other) = (world.at("/ui/login").await, world.at("/ui/login").await);
    let asked = world.after_password(&page, &[]).await;
    let elsewhere = world.after_password(&other, &[]).await;
    let mixed =
        Answer { body: asked.body.replace(&asked.field("ticket"), &elsewhere.field("ticket")), ..asked };
    let code = app_code(&app.secret, &world.clock);
    let refused = world.show(&mixed, &[("code", &code)]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        refused.body.contains("That took too long, or something about this account was changed."),
        "{}",
        refused.body
    );
    world.clock.advance(Lifetime::minutes(10));
    let code = app_code(&app.secret, &world.clock);
    let late = world.show(&elsewhere, &[("code", &code)]).await;
    assert!(late.body.contains("name=\"password\"") && late.header("refresh").is_empty(), "{}", late.body);
}

#[tokio::test]
async fn a_client_that_asks_for_two_factors_is_told_that_there_is_one_after_its_user_has_read_so() {
    let world = World::new().await;
    world.register_alice().await;
    let requests =
        [world.request_for("aal2"), world.request_for_claim(r#"{"essential":true,"value":"aal2"}"#)];
    for request in requests {
        let page = world.at_with("/ui/login", request, None).await;
        let told = world.after_password(&page, &[]).await;
        assert!(told.header("refresh").is_empty(), "it does not move on by itself");
        for sentence in ["&#60;b&#62;Shop&#60;/b&#62;</bdi> asks for more", ">Back to the application</a>"] {
            assert!(told.body.contains(sentence), "{sentence}: {}", told.body);
        }
        let set_up = told.after("<a class=\"button button-primary\" href=\"");
        assert_eq!(set_up, "/ui/account/factors");
        assert_eq!(world.rejected_behind(&told).await, "unmet_authentication_requirements");
    }
    let page = world.at_with("/ui/login", world.request_for("aal1 aal2"), None).await;
    let answer = world.after_password(&page, &[]).await;
    assert_eq!(world.accepted(&answer).await.acr.as_deref(), Some("aal1"));
}

#[tokio::test]
async fn a_device_hears_at_once_that_there_is_no_second_factor() {
    let world = World::new().await;
    world.register_alice().await;
    let mut request = world.request_for("aal2");
    request.details.device = true;
    let answer = world.after_password(&world.at_with("/ui/login", request, None).await, &[]).await;
    assert_eq!(world.rejected(&answer).await, "unmet_authentication_requirements");
}

#[tokio::test]
async fn where_no_page_may_be_shown_a_client_hears_at_once_that_there_is_no_second_factor() {
    let world = World::new().await;
    world.register_alice().await;
    let prompt = Prompt { none: true, ..Prompt::default() };
    let page = world.at_with("/ui/login", Request { prompt, ..world.request_for("aal2") }, None).await;
    let answer = world.after_password(&page, &[]).await;
    assert_eq!(world.rejected(&answer).await, "unmet_authentication_requirements");
}

#[tokio::test]
async fn a_session_of_one_factor_is_asked_for_the_second_and_one_of_two_is_not() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let page = world.at_known(world.request_for("aal2"), app.alice, &["pwd", "otp", "mfa"]).await;
    let login = world.accepted(&world.get(&page).await).await;
    assert_eq!((login.skipped, login.acr.as_deref(), login.amr.len()), (true, Some("aal2"), 3));

    let page = world.at_known(world.request_for("aal2"), app.alice, &["pwd"]).await;
    let shown = world.get(&page).await;
    assert!(shown.body.contains("<h1>Confirm that it is you</h1>"), "{}", shown.body);
    assert!(!shown.body.contains("Create an account"), "there is one: {}", shown.body);
    assert!(world.get(&world.at("/ui/login").await).await.body.contains("Create an account"));
    assert!(shown.body.contains(&format!("value=\"{ALICE}\"")) && shown.body.contains(" checked"));
    let asked = world.after_password(&page, &[]).await;
    let code = app_code(&app.secret, &world.clock);
    let login = world.accepted(&world.show(&asked, &[("code", &code)]).await).await;
    assert_eq!((login.skipped, login.acr.as_deref()), (false, Some("aal2")));
    assert_eq!(login.authenticated_at, world.now());
    let flow = world.flows.open_login_challenge(page.split_once('=').unwrap().1).await.unwrap();
    assert_eq!(login.session, flow.session, "the session goes on");
}

#[tokio::test]
async fn who_proves_more_finds_the_box_as_the_browser_keeps_the_session() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let page = world.at_known(world.request_for("aal2"), alice, &["pwd"]).await;
    for (until_closed, is_ticked) in [(Some(true), false), (Some(false), true), (None, true)] {
        let cookie = SessionCookie {
            session: SessionId::generate(world.now(), &OsRng),
            subject: alice.to_string().parse().unwrap(),
            authenticated_at: world.now(),
            remembered: true,
            until_closed,
            former: Vec::new(),
        };
        let cookie = format!("__Host-session={}", cookie.seal(&world.sealer, &OsRng));
        let shown = world.get_with(&page, &cookie).await;
        assert_eq!(shown.body.contains(" checked>"), is_ticked, "{until_closed:?}: {}", shown.body);
    }
}

#[tokio::test]
async fn who_proves_to_be_somebody_else_than_the_session_is_of_begins_another() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let bob = world.register("bob@example.com", "").await;
    let page = world.at_known(world.request_for("aal2"), bob, &["pwd"]).await;
    let asked = world.after_password(&page, &[]).await;
    let code = app_code(&app.secret, &world.clock);
    let login = world.accepted(&world.show(&asked, &[("code", &code)]).await).await;
    let flow = world.flows.open_login_challenge(page.split_once('=').unwrap().1).await.unwrap();
    assert_eq!(login.subject.as_str(), app.alice.to_string());
    assert_ne!(login.session, flow.session);
}

#[tokio::test]
async fn where_no_page_may_be_shown_a_session_that_is_not_enough_is_none() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let prompt = Prompt { none: true, ..Prompt::default() };
    let page = world.at_known(Request { prompt, ..world.request_for("aal2") }, alice, &["pwd"]).await;
    assert_eq!(world.rejected(&world.get(&page).await).await, "login_required");
}

#[tokio::test]
async fn a_session_is_recognised_with_what_it_proved() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let page = world.at_known(world.request(), alice, &["pwd"]).await;
    let login = world.accepted(&world.get(&page).await).await;
    assert_eq!((login.acr.as_deref(), login.amr), (Some("aal1"), vec!["pwd".to_owned()]));
}

#[tokio::test]
async fn a_client_that_cannot_do_without_a_class_is_told_in_its_own_words() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    for (asked, told) in [
        (r#"{"essential":true,"values":["aal1"]}"#, "aal1"),
        (
            r#"{"essential":true,"value":"http://idmanagement.gov/ns/assurance/aal/2"}"#,
            "http://idmanagement.gov/ns/assurance/aal/2",
        ),
        (r#"{"value":"aal1"}"#, "aal2"),
    ] {
        let page = world.at_known(world.request_for_claim(asked), alice, &["hwk", "user", "mfa"]).await;
        let login = world.accepted(&world.get(&page).await).await;
        assert_eq!(login.acr.as_deref(), Some(told), "{asked}");
    }
}
