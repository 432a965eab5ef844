//! Passkeys at the login page: alone, and as a second factor.

use axum::http::StatusCode;
use serde_json::Value;
use sluice_identity::factor::{EnrolmentOutcome, NewPasskey};
use sluice_primitives::{IdentityId, Lifetime};
use sluice_store_contract::given;
use sluice_testkit::Authenticator;

use super::people::{ORIGIN, passkeys};
use super::world::{ALICE, Answer, PASSWORD, World};

impl World {
    async fn with_passkey() -> (Self, IdentityId, Authenticator) {
        let world = Self::of(|config| config.passkeys = Some(passkeys())).await;
        let alice = world.verified_alice().await;
        let identity = world.identity(alice).await;
        let mut authenticator = Authenticator::in_hardware(1, ORIGIN);
        let context = b"enrolment";
        let begun = world.ui.factors.begin_passkey_enrolment(&identity, context).await.unwrap().unwrap();
        let response = authenticator.create(&begun.options);
        let new = NewPasskey { state: &begun.state, response: &response, name: "Key", context };
        let done = world.ui.factors.finish_passkey_enrolment(given::enroller(&identity), new).await.unwrap();
        assert!(matches!(done, EnrolmentOutcome::Enrolled(_)), "{done:?}");
        world.clock.advance(Lifetime::secs(60));
        (world, alice, authenticator)
    }

    /// What the script makes of the button on a page.
    async fn press(
        &self,
        shown: &Answer,
        authenticator: &mut Authenticator,
        more: &[(&str, &str)],
    ) -> Answer {
        let action = shown.after("formaction=\"");
        let options: Value = serde_json::from_str(&shown.after("data-options=\"")).unwrap();
        let (challenge, csrf) = (shown.field("login_challenge"), shown.field("csrf"));
        let (state, passkey) = (shown.field("passkey_state"), authenticator.get(&options));
        let fields = [
            ("login_challenge", challenge.as_str()),
            ("csrf", &csrf),
            ("passkey_state", &state),
            ("passkey", &passkey),
        ];
        self.post(&action, &[&fields, more].concat()).await
    }
}

#[tokio::test]
async fn a_passkey_alone_logs_in_with_two_factors() {
    let (world, alice, mut authenticator) = World::with_passkey().await;
    let shown = world.get(&world.at("/ui/login").await).await;
    assert!(shown.body.contains(r#"autocomplete="username webauthn""#), "{}", shown.body);
    assert!(shown.body.contains("&#34;userVerification&#34;:&#34;required&#34;"), "{}", shown.body);
    let login = world.accepted(&world.press(&shown, &mut authenticator, &[("remember", "true")]).await).await;
    assert_eq!(login.subject.as_str(), alice.to_string());
    assert_eq!((login.amr.join(" ").as_str(), login.acr.as_deref()), ("hwk user mfa", Some("aal2")));
    assert!(login.remember.is_some());
}

#[tokio::test]
async fn an_answer_is_right_once_and_in_its_flow_only() {
    let (world, _, mut authenticator) = World::with_passkey().await;
    let shown = world.get(&world.at("/ui/login").await).await;
    let other = world.get(&world.at("/ui/login").await).await;
    let mixed = Answer {
        body: shown.body.replace(&shown.field("passkey_state"), &other.field("passkey_state")),
        ..shown
    };
    for _ in 0..2 {
        let refused = world.press(&mixed, &mut authenticator, &[("email", ALICE)]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.body.contains("This passkey did not work."), "{}", refused.body);
        assert!(refused.body.contains(&format!("value=\"{ALICE}\"")));
        let address = refused.after("formaction=\"");
        assert!(address.starts_with("/ui/login/passkey?"), "{address}");
        assert_eq!(world.get(&address).await.status, StatusCode::OK, "what it was posted to can be opened");
    }
    world.accepted(&world.press(&other, &mut authenticator, &[]).await).await;
    world.clock.advance(Lifetime::secs(1));
    let replayed = world.press(&other, &mut authenticator, &[]).await;
    assert_eq!(replayed.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn whoever_has_a_passkey_is_asked_for_it_after_the_password() {
    let (world, _, mut authenticator) = World::with_passkey().await;
    let page = world.at("/ui/login").await;
    let fields = [("email", ALICE), ("password", PASSWORD)];
    let asked = world.fill_in(&page, &fields).await;
    assert!(asked.body.contains("Use a passkey") && !asked.body.contains("id=\"code\""), "{}", asked.body);
    let (ticket, offered) = (asked.field("ticket"), asked.field("offered"));
    let step = [("ticket", ticket.as_str()), ("offered", offered.as_str())];
    let mut stranger = Authenticator::in_hardware(2, ORIGIN);
    let refused = world.press(&asked, &mut stranger, &step).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("This passkey did not work. Please try again."), "{}", refused.body);
    let login = world.accepted(&world.press(&refused, &mut authenticator, &step).await).await;
    assert_eq!((login.amr.join(" ").as_str(), login.acr.as_deref()), ("pwd hwk mfa", Some("aal2")));
}

#[tokio::test]
async fn nothing_asks_for_a_passkey_in_the_form_of_the_recovery_code() {
    let (world, ..) = World::with_passkey().await;
    let page = world.at("/ui/login").await;
    let asked = world.fill_in(&page, &[("email", ALICE), ("password", PASSWORD)]).await;
    let (of_passkey, of_recovery) = asked.body.split_once("</form>").unwrap();
    assert!(of_passkey.contains("data-passkey=") && !of_passkey.contains("name=\"recovery_code\""));
    assert!(of_recovery.contains("name=\"recovery_code\"") && !of_recovery.contains("data-passkey="));
}

#[tokio::test]
async fn who_took_too_long_is_told_so_and_asked_anew() {
    let (world, _, mut authenticator) = World::with_passkey().await;
    let shown = world.get(&world.at("/ui/login").await).await;
    world.clock.advance(Lifetime::minutes(6));
    let late = world.press(&shown, &mut authenticator, &[]).await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(late.body.contains("That took too long. Please try again."), "{}", late.body);
    world.accepted(&world.press(&late, &mut authenticator, &[]).await).await;
}

#[tokio::test]
async fn a_second_factor_that_took_too_long_is_asked_for_anew() {
    let (world, _, mut authenticator) = World::with_passkey().await;
    let page = world.at("/ui/login").await;
    let asked = world.fill_in(&page, &[("email", ALICE), ("password", PASSWORD)]).await;
    let (ticket, offered) = (asked.field("ticket"), asked.field("offered"));
    let step = [("ticket", ticket.as_str()), ("offered", offered.as_str())];
    world.clock.advance(Lifetime::minutes(6));
    let late = world.press(&asked, &mut authenticator, &step).await;
    assert!(late.body.contains("That took too long. Please try again."), "{}", late.body);
    world.accepted(&world.press(&late, &mut authenticator, &step).await).await;
}

#[tokio::test]
async fn where_passkeys_are_not_offered_there_is_no_button() {
    let world = World::new().await;
    let shown = world.get(&world.at("/ui/login").await).await;
    assert!(!shown.body.contains("passkey") && !shown.body.contains("webauthn"), "{}", shown.body);
}
