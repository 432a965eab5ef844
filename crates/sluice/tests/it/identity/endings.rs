//! Whoever may no longer log in with what they had is signed out of the applications too: tokens, refresh tokens, the
//! browser that was remembered; and the applications hear of it.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestClient};

use super::holder::Holder;
use super::people::{ALICE, ANOTHER, PASSWORD, Tokens};
use super::subject::log_in;
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
    holder: Holder,
    mine: Tokens,
    client: TestClient,
    granted: Value,
    witness: Witness,
    ear: Ear,
}

impl SignedIn {
    async fn on(backend: Backend) -> Self {
        let holder = Holder::on(backend).await;
        holder.verify().await;
        let ear = Ear::open(Vec::new()).await;
        let client = holder.sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
        let mut witness = Witness::of(holder.sluice.browser());
        let granted = log_in(&mut witness, &client, "openid offline_access", PASSWORD).await;
        let mine = holder.api.tokens(ALICE).await;
        holder.sluice.advance(Lifetime::secs(1));
        let mut signed_in = Self { holder, mine, client, granted, witness, ear };
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
        assert!(self.holder.sluice.is_active(token(&self.granted, "access_token")).await);
        assert_eq!(self.holder.api.me(&self.mine).await, 200);
        assert_ne!(self.unasked().await, "login_required", "the browser is remembered");
    }

    async fn stays_signed_out(mut self) {
        assert!(!self.holder.sluice.is_active(token(&self.granted, "access_token")).await);
        assert_eq!(self.client.userinfo(token(&self.granted, "access_token")).await.0, 401);
        self.client.refresh(token(&self.granted, "refresh_token")).await.refused_with("invalid_grant");
        self.holder.api.get("/auth/me", &self.mine).await.is_problem(401, "invalid_token");
        assert_eq!(self.unasked().await, "login_required", "the browser is not remembered");
        let notice = verified(&self.holder.sluice, &self.ear.next().await, "RS256").await;
        let session = &crate::jwt::claims(token(&self.granted, "id_token"))["sid"];
        assert_eq!((&notice["aud"], &notice["sid"]), (&json!(self.client.id), session));
        self.holder.sluice.node.stop().await;
    }
}

async fn another_password_signs_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    let change = json!({"current_password": PASSWORD, "new_password": ANOTHER});
    let answer = signed_in.holder.api.post_as(&signed_in.mine, "/auth/password", change).await;
    let (api, resumed) = (signed_in.holder.api.clone(), Tokens::of(&answer));
    assert_eq!(api.me(&resumed).await, 200, "who changed it goes on");
    signed_in.stays_signed_out().await;
}

async fn a_recovered_password_signs_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.holder.recover().await;
    signed_in.stays_signed_out().await;
}

async fn whoever_is_disabled_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.holder.administer(Method::PATCH, "", Some(&json!({"status": "disabled"}))).await;
    signed_in.stays_signed_out().await;
}

async fn whoever_is_deleted_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.holder.administer(Method::DELETE, "", None).await;
    signed_in.stays_signed_out().await;
}

async fn whoever_deletes_the_account_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    let farewell = json!({"password": PASSWORD});
    signed_in.holder.api.ask(Method::DELETE, "/auth/me", Some(&signed_in.mine), farewell).await.is_done(204);
    let mail = signed_in.holder.smtp.wait_for_mail_to(ALICE).await;
    assert_eq!(mail.subject, "Your account at Sluice was deleted");
    signed_in.stays_signed_out().await;
}

async fn whoever_is_signed_out_everywhere_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.holder.administer(Method::DELETE, "/sessions", None).await;
    signed_in.stays_signed_out().await;
}

async fn whose_credentials_are_reset_is_signed_out_of_all_applications(backend: Backend) {
    let signed_in = SignedIn::on(backend).await;
    signed_in.holder.administer(Method::POST, "/credentials/reset", Some(&json!({}))).await;
    signed_in.stays_signed_out().await;
}

async fn whoever_ends_other_sessions_of_the_api_stays_signed_in_to_applications(backend: Backend) {
    let mut signed_in = SignedIn::on(backend).await;
    signed_in.holder.api.delete("/auth/sessions", &signed_in.mine).await.is_done(204);
    signed_in.is_signed_in().await;
    signed_in.holder.sluice.node.stop().await;
}
