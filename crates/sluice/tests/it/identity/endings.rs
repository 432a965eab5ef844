//! Whoever may no longer log in with what they had is signed out of the applications too: tokens, refresh tokens, the
//! browser that was remembered; and the applications hear of it.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, SmtpServer, TestClient, TestSluice};

use super::people::{ALICE, ANOTHER, Api, PASSWORD, Tokens};
use super::postbox::{self, code};
use super::subject::{PAGES, log_in};
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::jwt::verified;
use crate::legs::token;
use crate::logout::channels::Ear;

on_both_stores! {
    another_password_signs_out_of_all_applications,
    a_recovered_password_signs_out_of_all_applications,
    whoever_is_disabled_is_signed_out_of_all_applications,
    whoever_is_deleted_is_signed_out_of_all_applications,
    whoever_deletes_the_account_is_signed_out_of_all_applications,
    whoever_is_signed_out_everywhere_is_signed_out_of_all_applications,
    whose_credentials_are_reset_is_signed_out_of_all_applications,
    whoever_ends_other_sessions_of_the_api_stays_signed_in_to_applications,
}

/// Somebody who is signed in to the identity API and, through a remembered browser, to an application.
struct SignedIn {
    sluice: TestSluice,
    smtp: SmtpServer,
    api: Api,
    id: String,
    mine: Tokens,
    client: TestClient,
    granted: Value,
    witness: Witness,
    ear: Ear,
}

impl SignedIn {
    async fn on(backend: Backend) -> Self {
        let smtp = SmtpServer::start().await;
        let quiet = ("identity.registration.verify_email", "false");
        let sluice = postbox::node(backend, &smtp, &[&PAGES[..], &[quiet]].concat()).await;
        let api = Api::of(&sluice);
        let id = api.register(ALICE).await;
        let verified = json!({"email_verified": true});
        let path = format!("/admin/identities/{id}");
        sluice.ask_json(Method::PATCH, &path, Some(&verified), 200).await;
        let ear = Ear::open(Vec::new()).await;
        let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
        let mut witness = Witness::of(sluice.browser());
        let granted = log_in(&mut witness, &client, "openid offline_access", PASSWORD).await;
        let mine = api.tokens(ALICE).await;
        sluice.advance(Lifetime::secs(1));
        let mut signed_in = Self { sluice, smtp, api, id, mine, client, granted, witness, ear };
        signed_in.is_signed_in().await;
        signed_in
    }

    /// What the server answers this browser if it is to ask nobody.
    async fn unasked(&mut self) -> String {
        let with = Authorize { more: &[("prompt", "none")], ..Authorize::default() };
        let begun = self.witness.browser.visit(&self.client.authorize_url(&with)).await;
        let back = self.witness.land(begun).await;
        back.parameter("error").unwrap_or_default()
    }

    async fn is_signed_in(&mut self) {
        assert!(self.sluice.is_active(token(&self.granted, "access_token")).await);
        assert_eq!(self.api.me(&self.mine).await, 200);
        assert_ne!(self.unasked().await, "login_required", "the browser is remembered");
    }

    async fn stays_signed_out(mut self) {
        assert!(!self.sluice.is_active(token(&self.granted, "access_token")).await);
        assert_eq!(self.client.userinfo(token(&self.granted, "access_token")).await.0, 401);
        self.client.refresh(token(&self.granted, "refresh_token")).await.refused_with("invalid_grant");
        self.api.get("/auth/me", &self.mine).await.is_problem(401, "invalid_token");
        assert_eq!(self.unasked().await, "login_required", "the browser is not remembered");
        let notice = verified(&self.sluice, &self.ear.next().await, "RS256").await;
        let session = &crate::jwt::claims(token(&self.granted, "id_token"))["sid"];
        assert_eq!((&notice["aud"], &notice["sid"]), (&json!(self.client.id), session));
        self.sluice.node.stop().await;
    }

    /// Asks the admin API about this identity.
    async fn administer(&self, method: Method, path: &str, body: Option<&Value>) {
        let path = format!("/admin/identities/{}{path}", self.id);
        let answer = self.sluice.ask(method, &path, body).await;
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
    }
}

async fn another_password_signs_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    let change = json!({"current_password": PASSWORD, "new_password": ANOTHER});
    let answer = signed_in.api.post_as(&signed_in.mine, "/auth/password", change).await;
    let (api, resumed) = (signed_in.api.clone(), Tokens::of(&answer));
    assert_eq!(api.me(&resumed).await, 200, "who changed it goes on");
    signed_in.stays_signed_out().await;
}

async fn a_recovered_password_signs_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.api.post("/auth/recovery", json!({"email": ALICE})).await.is_done(202);
    let mail = signed_in.smtp.wait_for_mail_to(ALICE).await;
    let confirm = json!({"email": ALICE, "code": code(&mail), "new_password": ANOTHER});
    signed_in.api.post("/auth/recovery/confirm", confirm).await.is_done(204);
    signed_in.stays_signed_out().await;
}

async fn whoever_is_disabled_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.administer(Method::PATCH, "", Some(&json!({"status": "disabled"}))).await;
    signed_in.stays_signed_out().await;
}

async fn whoever_is_deleted_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.administer(Method::DELETE, "", None).await;
    signed_in.stays_signed_out().await;
}

async fn whoever_deletes_the_account_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    let farewell = json!({"password": PASSWORD});
    signed_in.api.ask(Method::DELETE, "/auth/me", Some(&signed_in.mine), farewell).await.is_done(204);
    let mail = signed_in.smtp.wait_for_mail_to(ALICE).await;
    assert_eq!(mail.subject, "Your account at Sluice was deleted");
    signed_in.stays_signed_out().await;
}

async fn whoever_is_signed_out_everywhere_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.administer(Method::DELETE, "/sessions", None).await;
    signed_in.stays_signed_out().await;
}

async fn whose_credentials_are_reset_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.administer(Method::POST, "/credentials/reset", Some(&json!({}))).await;
    signed_in.stays_signed_out().await;
}

async fn whoever_ends_other_sessions_of_the_api_stays_signed_in_to_applications(backend: Backend) {
    let mut signed_in = SignedIn::on(backend).await;
    signed_in.api.delete("/auth/sessions", &signed_in.mine).await.is_done(204);
    signed_in.is_signed_in().await;
    signed_in.sluice.node.stop().await;
}
