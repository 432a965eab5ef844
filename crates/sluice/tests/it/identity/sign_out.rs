//! A sign-out in a browser ends what its person did there: at applications, and on the account pages.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Page, TestClient, TestSluice};

use super::people::{ALICE, Api, BOB, PASSWORD, node};
use super::subject::{PAGES, typed};
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::jwt::claims;
use crate::legs::token;
use crate::logout::channels::Ear;

on_both_stores! {
    a_sign_out_of_applications_ends_the_session_of_the_account_pages,
    a_sign_out_that_asks_nobody_ends_the_session_of_the_account_pages,
    a_sign_out_of_the_account_pages_ends_what_applications_were_given_here,
    a_sign_out_that_finds_the_account_pages_alone_asks_before_it_ends_their_session,
    a_sign_out_leaves_what_another_person_does_in_the_same_browser,
}

const BACK: &str = "https://app.test/goodbye";
const OUT: &str = "/oauth2/sessions/logout";
const SIGNED_OUT: &str = "You are signed out";

/// A node with the built-in pages where Alice and Bob have accounts, and what its client hears of logouts.
async fn given(backend: Backend) -> (TestSluice, TestClient, Ear) {
    let sluice = node(backend, &[&PAGES[..], &[("urls.logout", "/ui/logout")]].concat()).await;
    for person in [ALICE, BOB] {
        Api::of(&sluice).register(person).await;
    }
    let ear = Ear::open(Vec::new()).await;
    let client = json!({
        "post_logout_redirect_uris": [BACK],
        "skip_consent": true,
        "skip_logout_consent": true,
        "backchannel_logout_uri": ear.uri,
    });
    let client = sluice.client(&client).await;
    (sluice, client, ear)
}

/// Alice signs in to the application; its tokens.
async fn sign_in(witness: &mut Witness, client: &TestClient, scope: &str) -> Value {
    let with = Authorize { scope, ..Authorize::default() };
    let back = typed(witness, client, &with, PASSWORD).await;
    client.redeem(&back.expect("code")).await.ok()
}

/// Signs in to the account pages.
async fn open_account(witness: &mut Witness, person: &str) {
    let page = witness.browser.visit("/ui/account/login").await;
    let account = witness.submit(&page, &[("email", person), ("password", PASSWORD)]).await;
    assert!(account.body.contains(person), "{}: {}", account.status, account.body);
}

/// Whether somebody is signed in to the account pages.
async fn has_account(witness: &mut Witness) -> bool {
    witness.browser.visit("/ui/account").await.status == 200
}

/// Whether an application learns silently that somebody is signed in.
async fn is_known(witness: &mut Witness, client: &TestClient) -> bool {
    let with = Authorize { more: &[("prompt", "none")], ..Authorize::default() };
    let begun = witness.browser.visit(&client.authorize_url(&with)).await;
    witness.land(begun).await.parameter("error").as_deref() != Some("login_required")
}

/// Goes to where one signs out; what is shown there.
async fn leave(witness: &mut Witness, query: &str) -> Page {
    let begun = witness.browser.visit(&format!("{OUT}{query}")).await;
    witness.land(begun).await
}

async fn a_sign_out_of_applications_ends_the_session_of_the_account_pages(backend: Backend) {
    let (sluice, client, _) = given(backend).await;
    let mut witness = Witness::of(sluice.browser());
    sign_in(&mut witness, &client, "openid").await;
    open_account(&mut witness, ALICE).await;
    sluice.advance(Lifetime::secs(1));
    let asked = leave(&mut witness, "").await;
    assert!(has_account(&mut witness).await && is_known(&mut witness, &client).await, "nothing is confirmed");
    let before = witness.browser.clone();
    let out = witness.submit(&asked, &[("decision", "accept")]).await;
    assert!(out.body.contains(SIGNED_OUT), "{}", out.body);
    assert!(witness.browser.cookies.keys().all(|name| !name.contains("account")), "it is taken away");
    assert!(!has_account(&mut Witness::of(before)).await, "and good for nothing");
    assert!(!has_account(&mut witness).await && !is_known(&mut witness, &client).await);
    sluice.node.stop().await;
}

async fn a_sign_out_that_asks_nobody_ends_the_session_of_the_account_pages(backend: Backend) {
    let (sluice, client, mut ear) = given(backend).await;
    let mut witness = Witness::of(sluice.browser());
    let tokens = sign_in(&mut witness, &client, "openid").await;
    open_account(&mut witness, ALICE).await;
    sluice.advance(Lifetime::secs(1));
    let hint = token(&tokens, "id_token");
    let query = format!("?id_token_hint={hint}&post_logout_redirect_uri={BACK}&state=s");
    let back = leave(&mut witness, &query).await;
    assert_eq!(back.location().as_str(), format!("{BACK}?state=s"));
    assert!(!has_account(&mut witness).await && !is_known(&mut witness, &client).await);
    assert_eq!(claims(&ear.next().await)["sid"], claims(hint)["sid"]);
    open_account(&mut witness, ALICE).await;
    let again = leave(&mut witness, &query).await;
    assert!(again.body.contains("Sign out?"), "whoever is back there is asked: {}", again.body);
    let out = witness.submit(&again, &[("decision", "accept")]).await;
    assert_eq!(out.location().as_str(), format!("{BACK}?state=s"));
    assert!(!has_account(&mut witness).await);
    sluice.node.stop().await;
}

async fn a_sign_out_of_the_account_pages_ends_what_applications_were_given_here(backend: Backend) {
    let (sluice, client, mut ear) = given(backend).await;
    let (mut witness, mut elsewhere) = (Witness::of(sluice.browser()), Witness::of(sluice.browser()));
    let tokens = sign_in(&mut witness, &client, "openid offline_access").await;
    let others = sign_in(&mut elsewhere, &client, "openid").await;
    open_account(&mut witness, ALICE).await;
    sluice.advance(Lifetime::secs(1));
    let account = witness.browser.visit("/ui/account").await;
    let out = witness.submit(&account, &[]).await;
    assert!(out.body.contains("You are signed out."), "{}", out.body);
    assert!(out.body.contains("Sign in to your account"), "{}", out.body);
    assert!(!has_account(&mut witness).await && !is_known(&mut witness, &client).await);
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    assert_eq!(claims(&ear.next().await)["sid"], claims(token(&tokens, "id_token"))["sid"]);
    assert!(is_known(&mut elsewhere, &client).await, "in another browser");
    assert!(sluice.is_active(token(&others, "access_token")).await);
    sluice.node.stop().await;
}

/// No other site sends a browser there and back.
async fn a_sign_out_that_finds_the_account_pages_alone_asks_before_it_ends_their_session(backend: Backend) {
    let (sluice, ..) = given(backend).await;
    let mut witness = Witness::of(sluice.browser());
    open_account(&mut witness, ALICE).await;
    for (decision, stays) in [("reject", true), ("accept", false)] {
        let asked = leave(&mut witness, "").await;
        assert!(asked.body.contains("Sign out?") && asked.body.contains(ALICE), "{}", asked.body);
        assert!(has_account(&mut witness).await);
        let then = witness.submit(&asked, &[("decision", decision)]).await;
        assert_eq!(then.body.contains(SIGNED_OUT), !stays, "{}", then.body);
        assert_eq!(has_account(&mut witness).await, stays);
    }
    assert!(leave(&mut witness, "").await.body.contains(SIGNED_OUT), "nothing is left to be asked about");
    sluice.node.stop().await;
}

async fn a_sign_out_leaves_what_another_person_does_in_the_same_browser(backend: Backend) {
    let (sluice, client, _) = given(backend).await;
    let mut witness = Witness::of(sluice.browser());
    sign_in(&mut witness, &client, "openid").await;
    open_account(&mut witness, BOB).await;
    sluice.advance(Lifetime::secs(1));
    let account = witness.browser.visit("/ui/account").await;
    witness.submit(&account, &[]).await;
    assert!(!has_account(&mut witness).await && is_known(&mut witness, &client).await);
    open_account(&mut witness, BOB).await;
    let asked = leave(&mut witness, "").await;
    assert!(asked.body.contains(ALICE), "{}", asked.body);
    witness.submit(&asked, &[("decision", "accept")]).await;
    assert!(has_account(&mut witness).await && !is_known(&mut witness, &client).await);
    let asked = leave(&mut witness, "").await;
    assert!(asked.body.contains(BOB), "{}", asked.body);
    witness.submit(&asked, &[("decision", "accept")]).await;
    assert!(!has_account(&mut witness).await);
    sluice.node.stop().await;
}
