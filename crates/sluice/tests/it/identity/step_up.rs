//! Who proves more than they had goes on in the session that is there.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, Page, TestClient};

use super::admin_credentials::{enrol, shown};
use super::people::{ALICE, Api, PASSWORD, node};
use super::subject::{PAGES, typed};
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::jwt::claims;
use crate::legs::token;

on_both_stores! {
    a_step_up_goes_on_in_the_session_that_is_there,
    whoever_unticks_the_box_at_a_step_up_is_remembered_until_the_browser_is_closed,
    a_step_up_keeps_nobody_who_did_not_tick_the_box,
}

const SECOND_FACTOR: Authorize<'_> =
    Authorize { scope: "openid", state: "a-state-of-some-length", more: &[("acr_values", "aal2")] };

/// What a client learns that must not show a page.
async fn silently(browser: &mut Browser, client: &TestClient) -> Page {
    let more = [("acr_values", "aal2"), ("prompt", "none")];
    let mut page = browser.visit(&client.authorize_url(&Authorize { more: &more, ..SECOND_FACTOR })).await;
    while page.location().host_str() != Some("app.test") {
        page = browser.visit(page.location().clone().as_str()).await;
    }
    page
}

fn said(tokens: &Value) -> Value {
    claims(token(tokens, "id_token"))
}

async fn a_step_up_goes_on_in_the_session_that_is_there(backend: Backend) {
    let sluice = node(backend, &PAGES).await;
    let api = Api::of(&sluice);
    let id = api.register(ALICE).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let mut witness = Witness::of(sluice.browser());
    let first = {
        let back = typed(&mut witness, &client, &Authorize { more: &[], ..SECOND_FACTOR }, PASSWORD).await;
        client.redeem(&back.expect("code")).await.ok()
    };
    let mut copied = witness.browser.clone();
    let secret = enrol(&sluice, &api.tokens(ALICE).await).await;
    sluice.advance(Lifetime::secs(30));

    let asked = typed(&mut witness, &client, &SECOND_FACTOR, PASSWORD).await;
    let back = witness.submit(&asked, &[("code", &shown(&sluice, &secret))]).await;
    let second = client.redeem(&back.expect("code")).await.ok();

    let (former, present) = (said(&first), said(&second));
    assert_eq!((&former["acr"], &present["acr"]), (&json!("aal1"), &json!("aal2")));
    assert_eq!((&present["sub"], &present["sid"]), (&json!(id), &former["sid"]));
    assert!(present["auth_time"].as_i64() > former["auth_time"].as_i64());
    assert_eq!(
        silently(&mut copied, &client).await.expect("error"),
        "login_required",
        "a copy is worth less"
    );
    let again = client.redeem(&silently(&mut witness.browser, &client).await.expect("code")).await.ok();
    assert_eq!((&said(&again)["sid"], &said(&again)["acr"]), (&present["sid"], &json!("aal2")));

    let session = format!("/admin/oauth2/auth/sessions/login?sid={}", present["sid"].as_str().unwrap());
    assert_eq!(sluice.ask(Method::DELETE, &session, None).await.status(), 204);
    for tokens in [&first, &second, &again] {
        assert!(!sluice.is_active(token(tokens, "access_token")).await, "it was one session");
    }
    assert_eq!(silently(&mut witness.browser, &client).await.expect("error"), "login_required");
    sluice.node.stop().await;
}

async fn whoever_unticks_the_box_at_a_step_up_is_remembered_until_the_browser_is_closed(backend: Backend) {
    let sluice = node(backend, &PAGES).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let first = Authorize { more: &[], ..SECOND_FACTOR };
    let (mut staying, mut leaving) = (Witness::of(sluice.browser()), Witness::of(sluice.browser()));
    for witness in [&mut staying, &mut leaving] {
        typed(witness, &client, &first, PASSWORD).await.expect("code");
    }
    let secret = enrol(&sluice, &api.tokens(ALICE).await).await;
    for (witness, stays) in [(&mut staying, true), (&mut leaving, false)] {
        // A code of an authenticator counts once.
        sluice.advance(Lifetime::secs(30));
        let begun = witness.browser.visit(&client.authorize_url(&SECOND_FACTOR)).await;
        let login = witness.land(begun).await;
        assert!(login.body.contains(r#"value="true" checked>"#), "ticked beforehand: {}", login.body);
        let person = [("email", ALICE), ("password", PASSWORD)];
        let unticked = if stays { "" } else { "remember" };
        let asked = witness.submit_without(unticked, &login, &person).await;
        witness.submit(&asked, &[("code", &shown(&sluice, &secret))]).await.expect("code");
        silently(&mut witness.browser, &client).await.expect("code");
        witness.browser.close();
        let page = silently(&mut witness.browser, &client).await;
        assert_eq!(page.parameter("code").is_some(), stays, "{:?}", page.location);
    }
    sluice.node.stop().await;
}

async fn a_step_up_keeps_nobody_who_did_not_tick_the_box(backend: Backend) {
    let sluice = node(backend, &PAGES).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let mut witness = Witness::of(sluice.browser());
    let person = [("email", ALICE), ("password", PASSWORD)];
    let begun = witness.browser.visit(&client.authorize_url(&Authorize { more: &[], ..SECOND_FACTOR })).await;
    let login = witness.land(begun).await;
    witness.submit(&login, &person).await.expect("code");
    let secret = enrol(&sluice, &api.tokens(ALICE).await).await;
    sluice.advance(Lifetime::secs(30));
    let begun = witness.browser.visit(&client.authorize_url(&SECOND_FACTOR)).await;
    let login = witness.land(begun).await;
    assert!(login.body.contains("Confirm that it is you"), "there is a session: {}", login.body);
    let asked = witness.submit(&login, &person).await;
    witness.submit(&asked, &[("code", &shown(&sluice, &secret))]).await.expect("code");
    silently(&mut witness.browser, &client).await.expect("code");
    witness.browser.close();
    assert_eq!(silently(&mut witness.browser, &client).await.expect("error"), "login_required");
    sluice.node.stop().await;
}
