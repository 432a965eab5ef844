//! Claims that a client asks for, one by one or by scope (OpenID Connect Core §5.4, §5.5), and the built-in pages, which know
//! an e-mail address.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_primitives::Clock;
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::jwt::claims;
use crate::legs::token;
use crate::userinfo::about_user;

on_both_stores! {
    the_built_in_pages_tell_what_is_asked_for_and_allowed,
}

/// What the scope `profile` tells of somebody who said how to be called.
const PROFILE: &[&str] = &["name", "preferred_username", "updated_at"];
const ALICE: &str = "alice@example.org";
const NAME: &str = "Alice Liddell";
const PASSWORD: &str = "correct horse battery staple";
/// The built-in pages.
const PAGES: [(&str, &str); 3] =
    [("urls.login", "/ui/login"), ("urls.consent", "/ui/consent"), ("urls.registration", "/ui/registration")];

pub(crate) async fn with_built_in_pages(backend: Backend) -> TestSluice {
    TestSluice::with(backend, &PAGES).await
}

/// What somebody who signs up and allows everything lets the client know, asked with these parameters.
pub(crate) async fn told(sluice: &TestSluice, with: &Authorize<'_>) -> (Value, Value) {
    let client = sluice.client(&json!({})).await;
    let mut witness = Witness::of(sluice.browser());
    let begun = witness.browser.visit(&client.authorize_url(with)).await;
    let registration = witness.land(begun).await;
    let person = [("email", ALICE), ("username", NAME), ("password", PASSWORD)];
    let consent = witness.submit(&registration, &person).await;
    let back = witness.submit(&consent, &[("decision", "accept")]).await;
    let tokens = client.redeem(&back.expect("code")).await.ok();
    let userinfo = client.userinfo(token(&tokens, "access_token")).await.1;
    (tokens, userinfo)
}

async fn the_built_in_pages_tell_what_is_asked_for_and_allowed(backend: Backend) {
    let create = [("prompt", "create")];
    for (scope, claims, names) in [
        ("openid email", None, &["email", "email_verified"][..]),
        ("openid profile", None, PROFILE),
        ("openid", None, &[]),
        ("openid", Some(r#"{"userinfo":{"email":{"essential":true}}}"#), &["email", "email_verified"]),
        ("openid", Some(r#"{"id_token":{"preferred_username":null}}"#), PROFILE),
    ] {
        let sluice = with_built_in_pages(backend).await;
        let more: Vec<_> = create.into_iter().chain(claims.map(|claims| ("claims", claims))).collect();
        let (tokens, userinfo) =
            told(&sluice, &Authorize { scope, more: &more, ..Authorize::default() }).await;
        assert_eq!(tokens["scope"], scope, "a claim grants no scope");
        let userinfo = about_user(userinfo);
        let said: BTreeSet<_> = userinfo.as_object().unwrap().keys().map(String::as_str).collect();
        let expected: BTreeSet<_> = names.iter().copied().chain(["sub"]).collect();
        assert_eq!(said, expected, "{scope} {claims:?}");
        for name in names {
            let known = match *name {
                "email" => json!(ALICE),
                "email_verified" => json!(false),
                "updated_at" => json!(sluice.clock.now().as_secs()),
                _ => json!(NAME),
            };
            assert_eq!(
                (&userinfo[name], &crate::jwt::claims(token(&tokens, "id_token"))[name]),
                (&known, &known)
            );
        }
        sluice.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_built_in_pages_know_is_announced_where_they_are_used() {
    let (own, others) =
        (with_built_in_pages(Backend::Sqlite).await, TestSluice::start(Backend::Sqlite).await);
    for (sluice, is_announced) in [(&own, true), (&others, false)] {
        let page = sluice.browser().visit("/.well-known/openid-configuration").await;
        let said: Value = serde_json::from_str(&page.body).unwrap();
        assert_eq!(said["claims_parameter_supported"], true);
        for (list, name) in [
            ("claims_supported", "email"),
            ("claims_supported", "email_verified"),
            ("claims_supported", "preferred_username"),
            ("claims_supported", "name"),
            ("claims_supported", "updated_at"),
            ("scopes_supported", "email"),
            ("scopes_supported", "profile"),
        ] {
            assert_eq!(said[list].as_array().unwrap().contains(&json!(name)), is_announced, "{name}");
        }
    }
    own.node.stop().await;
    others.node.stop().await;
}

/// Initiating User Registration via OpenID Connect 1.0 §4: what is announced leads to a page where people can sign up.
#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_may_register_no_registration_is_announced_and_people_log_in() {
    let pages = [("urls.login", "/ui/login"), ("urls.registration", "/ui/registration")];
    for (enabled, path) in [("true", "/ui/registration"), ("false", "/ui/login")] {
        let settings = [&pages[..], &[("identity.registration.enabled", enabled)]].concat();
        let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
        let page = sluice.browser().visit("/.well-known/openid-configuration").await;
        let said: Value = serde_json::from_str(&page.body).unwrap();
        let prompts = said["prompt_values_supported"].as_array().unwrap();
        assert_eq!(prompts.contains(&json!("create")), enabled == "true", "{prompts:?}");
        let client = sluice.client(&json!({})).await;
        let with = Authorize { more: &[("prompt", "create")], ..Authorize::default() };
        let mut witness = Witness::of(sluice.browser());
        let begun = witness.browser.visit(&client.authorize_url(&with)).await;
        assert_eq!(begun.location().path(), path);
        let shown = witness.land(begun).await;
        assert_eq!(shown.status.as_u16(), 200, "{}", shown.body);
        sluice.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_was_allowed_is_told_at_later_logins_too_and_another_is_asked_about() {
    let sluice = with_built_in_pages(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let mut witness = Witness::of(sluice.browser());
    let (email, more) =
        (r#"{"userinfo":{"email":{"essential":true}}}"#, r#"{"userinfo":{"email":null,"name":null}}"#);
    let asking = |asked: [(&'static str, &'static str); 2]| {
        client.authorize_url(&Authorize { scope: "openid", more: &asked, ..Authorize::default() })
    };
    let begun = witness.browser.visit(&asking([("claims", email), ("prompt", "create")])).await;
    let registration = witness.land(begun).await;
    let person = [("email", ALICE), ("username", NAME), ("password", PASSWORD)];
    let consent = witness.submit(&registration, &person).await;
    let ticked = [("decision", "accept"), ("grant_scope", "email"), ("remember", "true")];
    let mut back = witness.submit(&consent, &ticked).await;
    let signing_in = [("email", ALICE), ("password", PASSWORD)];
    for _ in 0..2 {
        let tokens = client.redeem(&back.expect("code")).await.ok();
        let told = client.userinfo(token(&tokens, "access_token")).await.1;
        assert_eq!(about_user(told)["email"], ALICE);
        let begun = witness.browser.visit(&asking([("claims", email), ("prompt", "login")])).await;
        let login = witness.land(begun).await;
        back = witness.submit(&login, &signing_in).await;
    }
    let begun = witness.browser.visit(&asking([("claims", more), ("prompt", "login")])).await;
    let login = witness.land(begun).await;
    let asked = witness.submit(&login, &signing_in).await;
    assert!(asked.body.contains("See your name and profile"), "{}", asked.body);
    sluice.node.stop().await;
}

/// Where addresses are told once they are verified: who allowed it before did not allow less.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_verified_later_is_told_by_the_decision_that_allowed_it() {
    let settings = [&PAGES[..], &[("identity.email_claim", "verified")]].concat();
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let client = sluice.client(&json!({})).await;
    let mut witness = Witness::of(sluice.browser());
    let asking = |prompt: &'static str| {
        let more = [("claims", r#"{"userinfo":{"email":null}}"#), ("prompt", prompt)];
        client.authorize_url(&Authorize { scope: "openid", more: &more, ..Authorize::default() })
    };
    let begun = witness.browser.visit(&asking("create")).await;
    let registration = witness.land(begun).await;
    let person = [("email", ALICE), ("username", NAME), ("password", PASSWORD)];
    let consent = witness.submit(&registration, &person).await;
    let ticked = [("decision", "accept"), ("grant_scope", "email"), ("remember", "true")];
    let first = witness.submit(&consent, &ticked).await;
    let tokens = client.redeem(&first.expect("code")).await.ok();
    let told = client.userinfo(token(&tokens, "access_token")).await.1;
    assert_eq!((told.get("email"), &told["email_verified"]), (None, &json!(false)));

    let path = format!("/admin/identities/{}", told["sub"].as_str().unwrap());
    sluice.ask_json(reqwest::Method::PATCH, &path, Some(&json!({"email_verified": true})), 200).await;
    let begun = witness.browser.visit(&asking("login")).await;
    let login = witness.land(begun).await;
    let later = witness.submit(&login, &[("email", ALICE), ("password", PASSWORD)]).await;
    let tokens = client.redeem(&later.expect("code")).await.ok();
    let told = client.userinfo(token(&tokens, "access_token")).await.1;
    assert_eq!((&told["email"], &told["email_verified"]), (&json!(ALICE), &json!(true)));
    sluice.node.stop().await;
}

/// Whether people are called by anything is another question than what they allowed.
#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_decision_holds_where_people_are_called_by_nothing_any_more() {
    let before = with_built_in_pages(Backend::Sqlite).await;
    let client = before.client(&json!({})).await;
    let asking = |client: &TestClient, prompt: &'static str| {
        let more = [("claims", r#"{"id_token":{"preferred_username":null}}"#), ("prompt", prompt)];
        client.authorize_url(&Authorize { scope: "openid", more: &more, ..Authorize::default() })
    };
    let mut witness = Witness::of(before.browser());
    let begun = witness.browser.visit(&asking(&client, "create")).await;
    let registration = witness.land(begun).await;
    let person = [("email", ALICE), ("username", NAME), ("password", PASSWORD)];
    let consent = witness.submit(&registration, &person).await;
    let ticked = [("decision", "accept"), ("grant_scope", "profile"), ("remember", "true")];
    let back = witness.submit(&consent, &ticked).await;
    let tokens = client.redeem(&back.expect("code")).await.ok();
    assert_eq!(claims(token(&tokens, "id_token"))["preferred_username"], NAME);

    let settings = [&PAGES[..], &[("identity.preferred_username", "none")]].concat();
    let after = TestSluice::on(Arc::clone(&before.database), Arc::clone(&before.clock), &settings).await;
    let client = client.at(&after);
    let mut witness = Witness::of(after.browser());
    let begun = witness.browser.visit(&asking(&client, "login")).await;
    let login = witness.land(begun).await;
    let back = witness.submit(&login, &[("email", ALICE), ("password", PASSWORD)]).await;
    let tokens = client.redeem(&back.expect("code")).await.ok();
    let said = claims(token(&tokens, "id_token"));
    assert_eq!((&said["name"], said.get("preferred_username")), (&json!(NAME), None));
    let page = after.browser().visit("/.well-known/openid-configuration").await;
    let announced: Value = serde_json::from_str(&page.body).unwrap();
    let announced = announced["claims_supported"].as_array().unwrap();
    assert!(announced.contains(&json!("name")) && !announced.contains(&json!("preferred_username")));
    before.node.stop().await;
    after.node.stop().await;
}

/// The tokens of a flow whose consent page knows these claims.
async fn tokens_with(sluice: &TestSluice, client: &TestClient, asked: &str, known: &Value) -> Value {
    let mut browser = sluice.browser();
    let with = Authorize { more: &[("claims", asked)], ..Authorize::default() };
    let challenge = browser.begin(client, &with).await;
    let verifier = accept_login(sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(sluice, &challenge, &json!({"session": {"id_token": known}})).await;
    client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_consent_page_knows_is_told_in_both_places_wherever_it_was_asked_for() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let known = json!({"name": "Alice"});
    for asked in [r#"{"userinfo":{"name":{"essential":true}}}"#, r#"{"id_token":{"name":null}}"#] {
        let tokens = tokens_with(&sluice, &client, asked, &known).await;
        assert_eq!(claims(token(&tokens, "id_token"))["name"], "Alice");
        let access_token = token(&tokens, "access_token");
        let told = client.userinfo(access_token).await.1;
        assert_eq!(about_user(told), json!({"sub": "alice", "name": "Alice"}));
        assert!(claims(access_token).get("name").is_none(), "never in an access token");
    }
    let unknown = r#"{"userinfo":{"shoe_size":{"essential":true}}}"#;
    let tokens = tokens_with(&sluice, &client, unknown, &known).await;
    let told = client.userinfo(token(&tokens, "access_token")).await.1;
    assert!(told.get("shoe_size").is_none(), "what nobody knows is left out (§5.5.1)");
    sluice.node.stop().await;
}
