//! The proof that somebody reads mail at an address.

use axum::http::StatusCode;
use sluice_primitives::Lifetime;

use super::people::{mailed_code, mailed_link};
use super::world::{ALICE, Answer, World};

impl World {
    /// Asks for another mail to this address.
    async fn ask_again(&self, email: &str) -> Answer {
        let csrf = self.get("/ui/verification").await.field("csrf");
        let fields = [("csrf", csrf.as_str()), ("email", email), ("code", ""), ("send", "true")];
        self.follow(self.post("/ui/verification", &fields).await).await
    }

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

#[tokio::test]
async fn the_page_of_a_link_says_whose_account_it_is_and_what_to_do_if_it_is_not_ones_own() {
    let world = World::new().await;
    let mallory = world.register(ALICE, "Mallory <b>").await;
    let link = mailed_link(world.mail.read().await.first().unwrap());
    let shown = world.get(&link).await;
    assert!(shown.body.contains("<bdi>Mallory &#60;b&#62;</bdi>"), "{}", shown.body);
    assert!(shown.body.contains("<time datetime=\"2025-06-15T15:06:40Z\">15 June 2025, 15:06 UTC</time>"));
    assert!(shown.body.contains("If it was not you who gave us this address, do nothing"));
    assert!(!world.is_verified(mallory).await, "looking spends nothing");
    let (csrf, token) = (shown.field("csrf"), shown.field("token"));
    world.post("/ui/verification", &[("csrf", &csrf), ("token", &token)]).await;
    let spent = world.get(&link).await;
    assert!(world.is_verified(mallory).await && !spent.body.contains("Mallory"), "{}", spent.body);
}

#[tokio::test]
async fn a_link_that_verifies_nothing_any_more_says_so_at_once() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let link = mailed_link(world.mail.read().await.first().unwrap());
    let shown = world.get(&link).await;
    world.clock.advance(Lifetime::hours(24));
    let late = world.get(&link).await;
    for shown in [&late, &world.get("/ui/verification?token=garbage").await] {
        assert_eq!(shown.status, StatusCode::GONE);
        assert!(shown.body.contains("was used already, or is too old"), "{}", shown.body);
        assert!(shown.body.contains("id=\"code\"") && !shown.body.contains("One click is left"));
        let on = shown.after("Confirmed already? <a href=\"");
        assert_eq!(on, "https://id.example/ui/account", "{}", shown.body);
    }
    assert!(shown.status == StatusCode::OK && !world.is_verified(alice).await);
    assert!(!shown.body.contains("Confirmed already?"), "{}", shown.body);
    let flow = world.at("/ui/verification").await;
    let login = world.get(&flow).await.after("Confirmed already? <a href=\"");
    assert_eq!(login, flow.replace("/ui/verification", "/ui/login"));
}

#[tokio::test]
async fn a_link_of_another_kind_names_nobody() {
    let world = World::new().await;
    world.register(ALICE, "Mallory").await;
    world.mail.read().await;
    let network = std::net::IpAddr::from([192, 0, 2, 1]).into();
    world.ui.accounts.begin_recovery(ALICE, network).await.unwrap();
    let link = mailed_link(world.mail.read().await.first().unwrap());
    let shown = world.get(&link.replace("/ui/recovery", "/ui/verification")).await;
    assert!(shown.status == StatusCode::GONE && !shown.body.contains("Mallory"), "{}", shown.body);
}

#[tokio::test]
async fn another_code_is_sent_to_whom_it_helps_and_nobody_learns_to_whom() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let first = mailed_code(world.mail.read().await.first().unwrap());
    let (known, unknown) = (world.ask_again(ALICE).await, world.ask_again("bob@example.com").await);
    assert_eq!((known.status, unknown.status), (StatusCode::OK, StatusCode::OK));
    assert!(
        known.body.contains("another mail is under way")
            && unknown.body.contains("another mail is under way")
    );
    let mails = world.mail.read().await;
    assert_eq!(mails.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(), [ALICE]);
    let csrf = known.field("csrf");
    let type_in = async |code: &str| {
        let fields = [("csrf", csrf.as_str()), ("email", ALICE), ("code", code)];
        world.post("/ui/verification", &fields).await.status
    };
    assert_eq!(type_in(&first).await, StatusCode::UNPROCESSABLE_ENTITY, "the latest is good");
    assert_eq!(type_in(&mailed_code(mails.first().unwrap())).await, StatusCode::OK);
    assert!(world.is_verified(alice).await);
    world.ask_again(ALICE).await;
    assert!(world.mail.read().await.is_empty(), "there is nothing left to verify");
}

#[tokio::test]
async fn the_page_that_says_so_is_loaded_again_and_sends_no_other_code() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    world.mail.read().await;
    let csrf = world.get("/ui/verification").await.field("csrf");
    let fields = [("csrf", csrf.as_str()), ("login_challenge", "abc"), ("email", ALICE), ("send", "true")];
    let asked = world.post("/ui/verification", &fields).await;
    assert_eq!(asked.status, StatusCode::SEE_OTHER, "{}", asked.body);
    for _ in 0..3 {
        let shown = world.get(asked.header("location")).await;
        assert!(shown.body.contains("another mail is under way"), "{}", shown.body);
        assert!(shown.body.contains(&format!("name=\"email\" type=\"text\" value=\"{ALICE}\"")));
        assert_eq!(shown.field("login_challenge"), "abc");
    }
    let mails = world.mail.read().await;
    assert_eq!(mails.len(), 1);
    let code = mailed_code(mails.first().unwrap());
    let fields = [("csrf", csrf.as_str()), ("email", ALICE), ("code", &code)];
    assert_eq!(world.post("/ui/verification", &fields).await.status, StatusCode::OK);
    assert!(world.is_verified(alice).await);
}

#[tokio::test]
async fn other_codes_are_not_sent_without_end() {
    let world = World::new().await;
    world.register_alice().await;
    let mut last = world.ask_again(ALICE).await;
    for _ in 0..20 {
        last = world.ask_again(ALICE).await;
    }
    assert_eq!(last.status, StatusCode::TOO_MANY_REQUESTS);
    let seconds: u64 = last.header("retry-after").parse().unwrap();
    let told =
        format!("There were too many tries. Please wait {} minutes and try again.", seconds.div_ceil(60));
    assert!(last.body.contains(&told), "{seconds}: {}", last.body);
    assert!(world.mail.read().await.len() < 20);
    let malformed = world.ask_again("alice").await;
    assert!(malformed.body.contains("id=\"email-error\" role=\"alert\""), "{}", malformed.body);
}
