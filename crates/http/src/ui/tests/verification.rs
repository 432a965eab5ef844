//! The proof that somebody reads mail at an address.

use axum::http::StatusCode;

use super::people::{mailed_code, mailed_link};
use super::world::{ALICE, World};

impl World {
    async fn is_verified(&self, alice: sluice_primitives::IdentityId) -> bool {
        self.identity(alice).await.email_verified_at.is_some()
    }
}

#[tokio::test]
async fn a_link_verifies_with_the_button_behind_it_and_not_by_being_looked_at() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let link = mailed_link(world.mail.read().await.first().unwrap());
    let shown = world.get(&link).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.body);
    assert!(!shown.body.contains(ALICE) && !world.is_verified(alice).await);
    let (csrf, token) = (shown.field("csrf"), shown.field("token"));
    let fields = [("csrf", csrf.as_str()), ("token", &token)];
    let verified = world.post("/ui/verification", &fields).await;
    assert!(verified.body.contains("Your address is confirmed") && world.is_verified(alice).await);
    let again = world.post("/ui/verification", &fields).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.body.contains("was used already, or is too old"), "{}", again.body);
}

#[tokio::test]
async fn a_code_verifies_if_it_is_that_of_the_address() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let code = mailed_code(world.mail.read().await.first().unwrap());
    let csrf = world.get("/ui/verification").await.field("csrf");
    for (email, code, id) in
        [("", code.as_str(), "email"), ("bob@example.com", &code, "code"), (ALICE, "AAAA-AAAA", "code")]
    {
        let fields = [("csrf", csrf.as_str()), ("email", email), ("code", code)];
        let wrong = world.post("/ui/verification", &fields).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(wrong.body.contains(&format!("id=\"{id}-error\" role=\"alert\"")), "{}", wrong.body);
    }
    assert!(!world.is_verified(alice).await);
    let fields = [("csrf", csrf.as_str()), ("email", ALICE), ("code", &code)];
    assert_eq!(world.post("/ui/verification", &fields).await.status, StatusCode::OK);
    assert!(world.is_verified(alice).await);
}
