//! Who logs in through the built-in pages is the identity: its id is the subject, its record the claims.

use serde_json::{Value, json};
use sluice_primitives::Clock;
use sluice_testkit::{Authorize, Backend, Page, SmtpServer, TestClient, TestSluice};

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, node};
use super::postbox::{self, code};
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::jwt::{claims, verified};
use crate::legs::token;
use crate::userinfo::about_user;

on_both_stores! {
    the_subject_is_the_identity_and_its_claims_go_by_scope,
    what_changes_in_the_record_changes_in_the_claims,
    people_are_called_as_configured_and_by_no_address_of_somebody_else,
    an_address_that_nobody_verified_is_told_unless_configured_otherwise,
    whoever_may_not_log_in_does_not_by_the_pages_either,
}

/// The built-in pages.
pub(super) const PAGES: [(&str, &str); 3] =
    [("urls.login", "/ui/login"), ("urls.consent", "/ui/consent"), ("urls.registration", "/ui/registration")];

/// What somebody typed into the login page of a flow that begins now leads to.
pub(super) async fn typed(
    witness: &mut Witness,
    client: &TestClient,
    with: &Authorize<'_>,
    password: &str,
) -> Page {
    let begun = witness.browser.visit(&client.authorize_url(with)).await;
    let login = witness.land(begun).await;
    witness.submit(&login, &[("email", ALICE), ("password", password), ("remember", "true")]).await
}

/// Logs in by the built-in pages and is remembered; the tokens.
pub(super) async fn log_in(witness: &mut Witness, client: &TestClient, scope: &str, password: &str) -> Value {
    let with = Authorize { scope, ..Authorize::default() };
    let consent = typed(witness, client, &with, password).await;
    let back = witness.submit(&consent, &[("decision", "accept"), ("remember", "true")]).await;
    client.redeem(&back.expect("code")).await.ok()
}

async fn the_subject_is_the_identity_and_its_claims_go_by_scope(backend: Backend) {
    let sluice = node(backend, &PAGES).await;
    let (id, since) = (Api::of(&sluice).register(ALICE).await, sluice.clock.now().as_secs());
    let client = sluice.client(&json!({})).await;
    let table = [
        ("openid", json!({})),
        ("openid email", json!({"email": ALICE, "email_verified": false})),
        (
            "openid profile",
            json!({"name": "Somebody", "preferred_username": "Somebody", "updated_at": since}),
        ),
    ];
    for (scope, expected) in table {
        let tokens = log_in(&mut Witness::of(sluice.browser()), &client, scope, PASSWORD).await;
        let said = verified(&sluice, token(&tokens, "id_token"), "RS256").await;
        assert_eq!((&said["sub"], &said["amr"], &said["acr"]), (&json!(id), &json!(["pwd"]), &json!("aal1")));
        assert_eq!(said["auth_time"], sluice.clock.now().as_secs());
        let (status, userinfo) = client.userinfo(token(&tokens, "access_token")).await;
        let mut all = expected.clone();
        all["sub"] = json!(id);
        assert_eq!((status, about_user(userinfo)), (200, all), "{scope}");
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&said[name], value, "{scope}");
        }
        for name in ["email", "email_verified", "name", "preferred_username", "updated_at"] {
            assert_eq!(said.get(name).is_some(), expected.get(name).is_some(), "{scope}: {name}");
        }
        assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["sub"], id);
    }
    sluice.node.stop().await;
}

async fn what_changes_in_the_record_changes_in_the_claims(backend: Backend) {
    let smtp = SmtpServer::start().await;
    let sluice = postbox::node(backend, &smtp, &PAGES).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let client = sluice.client(&json!({})).await;
    let scope = "openid offline_access email profile";
    let verify = json!({"email": ALICE, "code": code(&smtp.wait_for_mail_to(ALICE).await)});
    api.post("/auth/verification/confirm", verify).await.is_done(204);
    let mine = api.tokens(ALICE).await;
    let renamed =
        api.ask(reqwest::Method::PATCH, "/auth/me", Some(&mine), json!({"username": "Alice L."})).await;
    assert_eq!(renamed.ok()["username"], "Alice L.");
    let tokens = log_in(&mut Witness::of(sluice.browser()), &client, scope, PASSWORD).await;
    let said = claims(token(&tokens, "id_token"));
    let told = client.userinfo(token(&tokens, "access_token")).await.1;
    for said in [&said, &told] {
        assert_eq!((&said["email"], &said["email_verified"]), (&json!(ALICE), &json!(true)));
        assert_eq!(said["preferred_username"], "Alice L.");
    }
    sluice.node.stop().await;
}

async fn people_are_called_as_configured_and_by_no_address_of_somebody_else(backend: Backend) {
    for (configured, verified, username, called) in [
        ("username", true, "Somebody", Some("Somebody")),
        ("username", false, BOB, None),
        ("username", true, BOB, Some(ALICE)),
        ("email", true, "Somebody", Some(ALICE)),
        ("email", false, "Somebody", None),
        ("none", true, "Somebody", None),
    ] {
        let settings = [&PAGES[..], &[("identity.preferred_username", configured)]].concat();
        let sluice = node(backend, &settings).await;
        let api = Api::of(&sluice);
        let id = api.register(ALICE).await;
        let mine = api.tokens(ALICE).await;
        api.ask(reqwest::Method::PATCH, "/auth/me", Some(&mine), json!({"username": username})).await.ok();
        if verified {
            let path = format!("/admin/identities/{id}");
            sluice.ask_json(reqwest::Method::PATCH, &path, Some(&json!({"email_verified": true})), 200).await;
        }
        let client = sluice.client(&json!({})).await;
        let mut witness = Witness::of(sluice.browser());
        let tokens = log_in(&mut witness, &client, "openid email profile", PASSWORD).await;
        let told = client.userinfo(token(&tokens, "access_token")).await.1;
        for said in [claims(token(&tokens, "id_token")), told] {
            assert_eq!((&said["name"], &said["email_verified"]), (&json!(username), &json!(verified)));
            let told = said.get("preferred_username").and_then(Value::as_str);
            assert_eq!(told, called, "{configured} {verified} {username}");
        }
        sluice.node.stop().await;
    }
}

async fn an_address_that_nobody_verified_is_told_unless_configured_otherwise(backend: Backend) {
    for (configured, verified) in [("always", false), ("verified", false), ("verified", true)] {
        let settings = [&PAGES[..], &[("identity.email_claim", configured)]].concat();
        let sluice = node(backend, &settings).await;
        let id = Api::of(&sluice).register(ALICE).await;
        if verified {
            let path = format!("/admin/identities/{id}");
            sluice.ask_json(reqwest::Method::PATCH, &path, Some(&json!({"email_verified": true})), 200).await;
        }
        let client = sluice.client(&json!({})).await;
        let mut witness = Witness::of(sluice.browser());
        let tokens = log_in(&mut witness, &client, "openid email profile", PASSWORD).await;
        let told = client.userinfo(token(&tokens, "access_token")).await.1;
        let introspected = sluice.introspect(token(&tokens, "access_token")).await;
        for said in [claims(token(&tokens, "id_token")), told] {
            let email = said.get("email").and_then(Value::as_str);
            assert_eq!(email, (verified || configured == "always").then_some(ALICE), "{configured} {said}");
            assert_eq!(said["email_verified"], verified, "{configured}");
        }
        assert!(!introspected.to_string().contains(ALICE), "{introspected}");
        sluice.node.stop().await;
    }
}

/// The page says that it is wrong, and leads nowhere.
#[track_caller]
fn is_refused(sluice: &TestSluice, page: &Page) {
    assert_eq!(
        (page.status.as_u16(), page.location.as_ref()),
        (422, None),
        "{} {}",
        sluice.public,
        page.body
    );
}

async fn whoever_may_not_log_in_does_not_by_the_pages_either(backend: Backend) {
    let sluice = node(backend, &PAGES).await;
    let id = Api::of(&sluice).register(ALICE).await;
    let client = sluice.client(&json!({})).await;
    let with = Authorize::default();
    let mut witness = Witness::of(sluice.browser());
    is_refused(&sluice, &typed(&mut witness, &client, &with, ANOTHER).await);
    super::login::set_status(&sluice, &id, "disabled").await;
    is_refused(&sluice, &typed(&mut witness, &client, &with, PASSWORD).await);
    super::login::set_status(&sluice, &id, "active").await;
    sluice.advance(sluice_primitives::Lifetime::secs(1));
    let tokens = log_in(&mut witness, &client, "openid", PASSWORD).await;
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}
