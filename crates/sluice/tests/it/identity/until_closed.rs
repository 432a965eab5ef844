//! Who leaves the box "Keep me signed in on this device" alone is signed in to applications until the browser is closed.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Page, TestClient, TestSluice};

use super::people::{ALICE, Api, BOB, PASSWORD, node};
use super::subject::PAGES;
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::jwt::claims;
use crate::legs::{delete, token};
use crate::rfc8628::{begin, poll, television};

on_both_stores! {
    who_leaves_the_box_alone_is_signed_in_until_the_browser_is_closed,
    who_registers_is_signed_in_until_the_browser_is_closed,
    who_ticked_the_box_before_stays_signed_in,
    a_session_that_is_over_keeps_nobody_from_another,
    who_signs_in_once_more_is_signed_in_for_as_long_as_before,
    who_does_not_come_back_for_a_day_is_asked_again,
    another_person_is_signed_in_instead,
    the_browser_in_which_a_device_was_connected_is_signed_in_until_it_is_closed,
}

const PERSON: [(&str, &str); 3] = [("email", ALICE), ("password", PASSWORD), ("remember", "true")];

/// A node where Alice has an account, and a client that asks nobody.
async fn given(backend: Backend) -> (TestSluice, TestClient, String) {
    given_with(backend, &[]).await
}

/// The same, with these settings.
async fn given_with(backend: Backend, settings: &[(&str, &str)]) -> (TestSluice, TestClient, String) {
    let sluice = node(backend, &[&PAGES[..], settings].concat()).await;
    let alice = Api::of(&sluice).register(ALICE).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    (sluice, client, alice)
}

/// Fills in the page where this request leads to.
async fn fill_in(witness: &mut Witness, client: &TestClient, prompt: &str, filled: &[(&str, &str)]) {
    let asked = [("prompt", prompt)];
    let more: &[(&str, &str)] = if prompt.is_empty() { &[] } else { &asked };
    let begun =
        witness.browser.visit(&client.authorize_url(&Authorize { more, ..Authorize::default() })).await;
    let shown = witness.land(begun).await;
    witness.submit(&shown, filled).await.expect("code");
}

/// Where a client is sent back to that must not show a page.
async fn silently(witness: &mut Witness, client: &TestClient) -> Page {
    let with = Authorize { more: &[("prompt", "none")], ..Authorize::default() };
    let begun = witness.browser.visit(&client.authorize_url(&with)).await;
    witness.land(begun).await
}

/// Whom it learns of.
async fn who(witness: &mut Witness, client: &TestClient) -> Value {
    let code = silently(witness, client).await.expect("code");
    claims(token(&client.redeem(&code).await.ok(), "id_token"))["sub"].clone()
}

/// Whether it learns who is there.
async fn is_signed_in(witness: &mut Witness, client: &TestClient) -> bool {
    let back = silently(witness, client).await;
    let Some(error) = back.parameter("error") else { return !back.expect("code").is_empty() };
    assert_eq!(error, "login_required");
    false
}

async fn who_leaves_the_box_alone_is_signed_in_until_the_browser_is_closed(backend: Backend) {
    let (sluice, client, _) = given(backend).await;
    let other = sluice.client(&json!({"skip_consent": true})).await;
    let mut witness = Witness::of(sluice.browser());
    fill_in(&mut witness, &client, "", &PERSON[..2]).await;
    for application in [&client, &other] {
        assert!(is_signed_in(&mut witness, application).await);
    }
    assert!(!is_signed_in(&mut Witness::of(sluice.browser()), &client).await, "in another browser");
    witness.browser.close();
    assert!(!is_signed_in(&mut witness, &client).await);
    sluice.node.stop().await;
}

async fn who_registers_is_signed_in_until_the_browser_is_closed(backend: Backend) {
    let (sluice, client, _) = given(backend).await;
    let mut witness = Witness::of(sluice.browser());
    let bob = [("email", "bob@example.com"), ("username", "Bob"), ("password", PASSWORD)];
    fill_in(&mut witness, &client, "create", &bob).await;
    assert!(is_signed_in(&mut witness, &client).await);
    witness.browser.close();
    assert!(!is_signed_in(&mut witness, &client).await);
    sluice.node.stop().await;
}

async fn who_ticked_the_box_before_stays_signed_in(backend: Backend) {
    let (sluice, client, _) = given(backend).await;
    let mut witness = Witness::of(sluice.browser());
    fill_in(&mut witness, &client, "", &PERSON).await;
    sluice.advance(Lifetime::secs(60));
    fill_in(&mut witness, &client, "login", &PERSON[..2]).await;
    witness.browser.close();
    assert!(is_signed_in(&mut witness, &client).await);
    sluice.node.stop().await;
}

/// The browser has a cookie all the same.
async fn a_session_that_is_over_keeps_nobody_from_another(backend: Backend) {
    let (sluice, client, alice) = given(backend).await;
    let mut witness = Witness::of(sluice.browser());
    fill_in(&mut witness, &client, "", &PERSON).await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("/admin/oauth2/auth/sessions/login?subject={alice}")).await;
    sluice.advance(Lifetime::secs(1));
    assert!(!is_signed_in(&mut witness, &client).await);
    fill_in(&mut witness, &client, "", &PERSON[..2]).await;
    assert!(is_signed_in(&mut witness, &client).await);
    witness.browser.close();
    assert!(!is_signed_in(&mut witness, &client).await);
    sluice.node.stop().await;
}

async fn who_signs_in_once_more_is_signed_in_for_as_long_as_before(backend: Backend) {
    let (sluice, client, _) = given_with(backend, &[("ttl.authentication_session", "1h")]).await;
    let mut witness = Witness::of(sluice.browser());
    fill_in(&mut witness, &client, "", &PERSON[..2]).await;
    sluice.advance(Lifetime::minutes(50));
    fill_in(&mut witness, &client, "login", &PERSON[..2]).await;
    sluice.advance(Lifetime::minutes(20));
    assert!(is_signed_in(&mut witness, &client).await);
    sluice.advance(Lifetime::minutes(41));
    assert!(!is_signed_in(&mut witness, &client).await);
    sluice.node.stop().await;
}

/// As where a browser opens its tabs again, with its cookies.
async fn who_does_not_come_back_for_a_day_is_asked_again(backend: Backend) {
    let (sluice, client, _) = given(backend).await;
    let (mut unticked, mut ticked) = (Witness::of(sluice.browser()), Witness::of(sluice.browser()));
    fill_in(&mut unticked, &client, "", &PERSON[..2]).await;
    fill_in(&mut ticked, &client, "", &PERSON).await;
    for (hours, goes_on) in [(23, true), (23, true), (25, false)] {
        sluice.advance(Lifetime::hours(hours));
        assert_eq!(is_signed_in(&mut unticked, &client).await, goes_on);
    }
    assert!(is_signed_in(&mut ticked, &client).await, "for all this time");
    // A sign-in that says nothing of it is not shortened by this where the box was ticked before.
    fill_in(&mut ticked, &client, "login", &PERSON[..2]).await;
    sluice.advance(Lifetime::hours(25));
    assert!(is_signed_in(&mut ticked, &client).await);
    sluice.node.stop().await;
}

async fn another_person_is_signed_in_instead(backend: Backend) {
    let (sluice, client, alice) = given(backend).await;
    let bob = Api::of(&sluice).register(BOB).await;
    for of_alice in [&PERSON[..2], &PERSON[..]] {
        let mut witness = Witness::of(sluice.browser());
        fill_in(&mut witness, &client, "", of_alice).await;
        assert_eq!(who(&mut witness, &client).await, alice.as_str());
        sluice.advance(Lifetime::secs(1));
        fill_in(&mut witness, &client, "login", &[("email", BOB), ("password", PASSWORD)]).await;
        assert_eq!(who(&mut witness, &client).await, bob.as_str());
        witness.browser.close();
        assert!(!is_signed_in(&mut witness, &client).await, "neither of them");
    }
    sluice.node.stop().await;
}

async fn the_browser_in_which_a_device_was_connected_is_signed_in_until_it_is_closed(backend: Backend) {
    let (sluice, client, alice) = given(backend).await;
    let television = television(&sluice).await;
    let code = begin(&television).await;
    let mut witness = Witness::of(sluice.browser());
    let begun = witness.browser.visit(code["verification_uri_complete"].as_str().unwrap()).await;
    let asked = witness.land(begun).await;
    let login = witness.submit(&asked, &[("decision", "accept")]).await;
    let consent = witness.submit(&login, &PERSON[..2]).await;
    let end = witness.submit(&consent, &[("decision", "accept")]).await;
    assert!(end.body.contains("Your device is connected"), "{}", end.body);
    let connected = poll(&television, &code).await.ok();
    assert_eq!(who(&mut witness, &client).await, alice.as_str());
    witness.browser.close();
    assert!(!is_signed_in(&mut witness, &client).await);
    assert!(sluice.is_active(token(&connected, "access_token")).await, "it is not closed with the browser");
    sluice.node.stop().await;
}
