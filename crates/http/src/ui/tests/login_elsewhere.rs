//! Beside a login page of somebody else's, without the account pages: no link leads to a page that is not there.

use axum::body::Body;
use axum::http::header::ACCEPT;
use axum::http::{Request, StatusCode};

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
async fn where_no_page_is_a_person_is_told_so_and_a_program_gets_the_status() {
    let person = |path: &str| {
        Request::get(path)
            .header(ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
            .body(Body::empty())
            .unwrap()
    };
    let world = World::new().await;
    for path in ["/ui/nonsense", "/ui/account/nonsense", "/ui/login/nonsense/deeper"] {
        let shown = world.send(person(path)).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{path}");
        assert!(shown.body.contains("This page is not there"), "{}", shown.body);
        assert!(shown.body.contains("href=\"https://id.example/ui/account\""), "{}", shown.body);
        assert_eq!(shown.header("cache-control"), "no-store");
        let told = world.get(path).await;
        assert_eq!((told.status, told.body.as_str()), (StatusCode::NOT_FOUND, ""), "{path}");
    }
    let elsewhere = World::beside_another_login_page().await;
    let shown = elsewhere.send(person("/ui/account")).await;
    assert!(shown.status == StatusCode::NOT_FOUND && !shown.body.contains("<a "), "{}", shown.body);
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
