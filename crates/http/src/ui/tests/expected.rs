//! Whom a login page asks for.

use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use sluice_oauth::authorization::SessionCookie;
use sluice_oauth::flow::Request as FlowRequest;
use sluice_primitives::{IdentityId, OsRng, SessionId};
use sluice_protocol::{Prompt, Subject};

use super::world::{ALICE, Answer, PASSWORD, World, form};

const BOB: &str = "bob@example.com";
const CONFIRM: &str = "<h1>Confirm that it is you</h1>";
const NAMED: &str = "Sign in with the account that the application knows.";

fn subject(person: IdentityId) -> Subject {
    person.to_string().parse().unwrap()
}

/// The address that the page asks with, if it asks for somebody.
fn asks_for(shown: &Answer) -> Option<String> {
    let email = shown.after("name=\"email\" type=\"text\" value=\"");
    assert_eq!(shown.body.contains(CONFIRM), !email.is_empty(), "{}", shown.body);
    assert_eq!(shown.body.contains("Create an account"), email.is_empty(), "{}", shown.body);
    (!email.is_empty()).then_some(email)
}

impl World {
    /// The cookie of a browser in which this person is signed in, and the session.
    pub(super) async fn signed_in(&self, person: IdentityId) -> (String, SessionId) {
        let session = self.login_session(person).await;
        let cookie = SessionCookie {
            session,
            subject: subject(person),
            authenticated_at: self.now(),
            remembered: true,
            until_closed: Some(false),
            former: Vec::new(),
        };
        (format!("__Host-session={}", cookie.seal(&self.sealer, &OsRng)), session)
    }

    /// The cookie of a browser in which this person signed in before.
    async fn known(&self, email: &str) -> String {
        let page = self.at("/ui/login").await;
        let answer = self.fill_in(&page, &[("email", email), ("password", PASSWORD)]).await;
        let cookies = answer.headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap());
        let known = cookies.into_iter().find(|cookie| cookie.starts_with("__Host-sluice_known="));
        known.unwrap().split(';').next().unwrap().to_owned()
    }

    /// A request for this person, or for anybody.
    fn asked_for(&self, person: Option<IdentityId>) -> FlowRequest {
        let prompt = Prompt { login: true, ..Prompt::default() };
        FlowRequest { prompt, hinted_subject: person.map(subject), ..self.request() }
    }

    pub(super) async fn shown_to(&self, request: FlowRequest, cookie: &str) -> Answer {
        self.get_with(&self.at_with("/ui/login", request, None).await, cookie).await
    }
}

#[tokio::test]
async fn who_is_signed_in_and_is_to_sign_in_once_more_is_asked_by_name() {
    let world = World::new().await;
    let (alice, bob) = (world.register_alice().await, world.register(BOB, "").await);
    let (cookie, session) = world.signed_in(bob).await;
    let ask = async |request| asks_for(&world.shown_to(request, &cookie).await);
    assert_eq!(ask(world.asked_for(None)).await.as_deref(), Some(BOB));
    assert_eq!(ask(world.asked_for(Some(bob))).await.as_deref(), Some(BOB));
    let by_age = FlowRequest { max_age: Some(0), ..world.request() };
    assert_eq!(ask(by_age).await.as_deref(), Some(BOB));
    let other =
        FlowRequest { prompt: Prompt { select_account: true, ..Prompt::default() }, ..world.asked_for(None) };
    assert_eq!(ask(other).await, None, "somebody else may be meant");
    let shown = world.shown_to(world.asked_for(Some(alice)), &cookie).await;
    assert!(shown.body.contains(NAMED) && !shown.body.contains(BOB), "{}", shown.body);
    let hinted = FlowRequest { login_hint: Some(ALICE.to_owned()), ..world.asked_for(None) };
    let shown = world.shown_to(hinted, &cookie).await;
    assert!(shown.body.contains(ALICE) && !shown.body.contains(CONFIRM), "{}", shown.body);

    assert!(world.ui.login_sessions.end_of(&subject(bob), session).await.unwrap());
    assert_eq!(ask(world.asked_for(None)).await, None, "a cookie may be left of a session that has ended");
}

/// That would be read for each browser that is turned away.
#[tokio::test]
async fn a_busy_server_looks_for_nobody_by_name() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let (cookie, _) = world.signed_in(alice).await;
    let page = world.at_with("/ui/login", world.asked_for(None), None).await;
    let shown = world.get_with(&page, &cookie).await;
    assert_eq!(asks_for(&shown).as_deref(), Some(ALICE));
    let (challenge, token) = (page.split_once('=').unwrap().1, shown.field("csrf"));
    let fields = [("login_challenge", challenge), ("csrf", &token), ("email", BOB), ("password", PASSWORD)];
    world.pool.shutdown();
    let busy = world.send_with(form("/ui/login", &fields), &cookie).await;
    assert_eq!(busy.status, StatusCode::SERVICE_UNAVAILABLE, "{}", busy.body);
    assert!(busy.body.contains(BOB) && !busy.body.contains(CONFIRM), "{}", busy.body);
}

#[tokio::test]
async fn who_guessed_too_often_is_turned_away_without_a_look_for_a_name() {
    let world = World::of(|config| config.limits.exempt.clear()).await;
    world.register_alice().await;
    let (cookie, _) = world.signed_in(world.register(BOB, "").await).await;
    let page = world.at_with("/ui/login", world.asked_for(None), None).await;
    let shown = world.get_with(&page, &cookie).await;
    let (challenge, token) = (page.split_once('=').unwrap().1, shown.field("csrf"));
    let fields =
        [("login_challenge", challenge), ("csrf", &token), ("email", ALICE), ("password", "another horse")];
    let guess = async || world.send_with(form("/ui/login", &fields), &cookie).await;
    for _ in 0..6 {
        let wrong = guess().await;
        assert!(wrong.body.contains(CONFIRM), "{}", wrong.body);
    }
    let last = guess().await;
    assert_eq!(last.status, StatusCode::TOO_MANY_REQUESTS, "{}", last.body);
    assert!(last.body.contains(ALICE) && !last.body.contains(CONFIRM), "{}", last.body);
}

#[tokio::test]
async fn a_browser_names_nobody_who_is_not_signed_in_any_more() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let cookie = world.known(ALICE).await;
    let shown = world.shown_to(world.asked_for(Some(alice)), &cookie).await;
    assert!(shown.body.contains(NAMED) && !shown.body.contains(ALICE), "{}", shown.body);
    assert_eq!(asks_for(&world.shown_to(world.asked_for(None), &cookie).await), None);
    let (session, id) = world.signed_in(alice).await;
    let both = format!("{cookie}; {session}");
    let shown = world.shown_to(world.asked_for(Some(alice)), &both).await;
    assert_eq!(asks_for(&shown).as_deref(), Some(ALICE));
    assert!(world.ui.login_sessions.end_of(&subject(alice), id).await.unwrap());
    let shown = world.shown_to(world.asked_for(Some(alice)), &both).await;
    assert!(shown.body.contains(NAMED) && !shown.body.contains(ALICE), "{}", shown.body);
}

#[tokio::test]
async fn an_id_token_alone_puts_no_address_on_the_page_and_the_page_says_that_somebody_is_asked_for() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let page = world.at_with("/ui/login", world.asked_for(Some(alice)), None).await;
    let shown = world.get(&page).await;
    assert_eq!(asks_for(&shown), None);
    assert!(shown.body.contains(NAMED), "{}", shown.body);
    let wrong = world.fill_in(&page, &[("email", BOB), ("password", "another horse")]).await;
    assert!(wrong.body.contains(NAMED) && !wrong.body.contains(ALICE), "{}", wrong.body);
}
