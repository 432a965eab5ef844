//! Beside a login page of somebody else's, without the account pages: no link leads to a page that is not there.

use axum::http::StatusCode;

use super::people::mailed_link;
use super::world::{ALICE, Answer, World};

impl World {
    async fn beside_another_login_page() -> Self {
        Self::with("https://id.example/", |pages| pages.login = "https://login.example/".parse().unwrap())
            .await
    }

    /// Opens the link of the latest mail and sends its form.
    async fn follow_mail(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let shown = self.get(&mailed_link(self.mail.read().await.last().unwrap())).await;
        let (csrf, token) = (shown.field("csrf"), shown.field("token"));
        let hidden = [("csrf", csrf.as_str()), ("token", &token)];
        self.post(path, &[&hidden, fields].concat()).await
    }
}

#[tokio::test]
async fn what_a_mail_began_ends_without_a_button_to_sign_in() {
    let world = World::beside_another_login_page().await;
    world.register_alice().await;
    let verified = world.follow_mail("/ui/verification", &[]).await;
    assert!(verified.body.contains("Your address is confirmed"), "{}", verified.body);
    let csrf = world.get("/ui/recovery").await.field("csrf");
    world.post("/ui/recovery", &[("csrf", csrf.as_str()), ("email", ALICE)]).await;
    let set = world.follow_mail("/ui/recovery/password", &[("password", "another horse")]).await;
    assert!(set.body.contains("Your password is set"), "{}", set.body);
    for settled in [verified, set] {
        assert!(!settled.body.contains("<a "), "{}", settled.body);
    }
}

#[tokio::test]
async fn the_link_to_another_address_leads_to_a_page_that_says_where_the_code_belongs() {
    let world = World::beside_another_login_page().await;
    let page = world.ui.accounts.config.links.change_email.path();
    let shown = world.get(&format!("{page}?token=abc")).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.body);
    assert!(shown.body.contains("enter the code of the mail there"), "{}", shown.body);
    assert!(!shown.body.contains("<form") && !shown.body.contains("<a "), "{}", shown.body);
    assert_eq!(world.get("/ui/account").await.status, StatusCode::NOT_FOUND);
    assert_eq!(world.post(page, &[("token", "abc")]).await.status, StatusCode::METHOD_NOT_ALLOWED);
}
