//! Somebody who has an account at a node with the built-in pages, which writes mail.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Backend, SmtpServer, TestSluice};

use super::people::{ALICE, ANOTHER, Api};
use super::postbox::{self, code};
use super::subject::PAGES;

/// [`ALICE`], who registered with [`PASSWORD`](super::people::PASSWORD).
pub(super) struct Holder {
    pub(super) sluice: TestSluice,
    pub(super) smtp: SmtpServer,
    pub(super) api: Api,
    pub(super) id: String,
}

impl Holder {
    /// Nobody knows whether she reads mail at the address.
    pub(super) async fn on(backend: Backend) -> Self {
        let smtp = SmtpServer::start().await;
        let quiet = ("identity.registration.verify_email", "false");
        let sluice = postbox::node(backend, &smtp, &[&PAGES[..], &[quiet]].concat()).await;
        let api = Api::of(&sluice);
        let id = api.register(ALICE).await;
        Self { sluice, smtp, api, id }
    }

    /// Asks the admin API about her.
    pub(super) async fn administer(&self, method: Method, path: &str, body: Option<&Value>) {
        let path = format!("/admin/identities/{}{path}", self.id);
        let answer = self.sluice.ask(method, &path, body).await;
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
    }

    /// From now on she is known to read mail at the address.
    pub(super) async fn verify(&self) {
        self.administer(Method::PATCH, "", Some(&json!({"email_verified": true}))).await;
    }

    /// She sets [`ANOTHER`] password with a code that she asks for.
    pub(super) async fn recover(&self) {
        self.api.post("/auth/recovery", json!({"email": ALICE})).await.is_done(202);
        self.take_another_password().await;
    }

    /// She sets [`ANOTHER`] password with the code that was mailed last.
    pub(super) async fn take_another_password(&self) {
        let mail = self.smtp.wait_for_mail_to(ALICE).await;
        let confirm = json!({"email": ALICE, "code": code(&mail), "new_password": ANOTHER});
        self.api.post("/auth/recovery/confirm", confirm).await.is_done(204);
    }
}
