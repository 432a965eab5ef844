//! Puzzles, where forms ask for one.

use std::sync::Arc;

use axum::http::StatusCode;
use sluice_identity::proof_of_work::Puzzle;
use sluice_oauth::Config;
use sluice_primitives::Lifetime;

use super::world::{ALICE, Answer, PASSWORD, World};
use crate::ui::puzzle::{SPENT, UNSOLVED};

const FIELDS: [(&str, &str); 2] = [("email", ALICE), ("password", PASSWORD)];

impl World {
    async fn with_puzzles() -> Self {
        Self::of(|config| {
            config.proof_of_work.registration_bits = 8;
            config.proof_of_work.login_bits = 4;
        })
        .await
    }

    /// Sends the form of a page with the puzzle that another one set.
    async fn solve(&self, page: &str, shown: &Answer) -> Answer {
        let (challenge, solution) = solved(shown);
        let solved = [("puzzle", challenge.as_str()), ("solution", solution.as_str())];
        self.fill_in(page, &[&FIELDS[..], &solved].concat()).await
    }

    /// The same of the form of the account pages.
    async fn sign_in(&self, shown: &Answer) -> Answer {
        let (csrf, (challenge, solution)) = (shown.field("csrf"), solved(shown));
        let solved = [("csrf", csrf.as_str()), ("puzzle", &challenge), ("solution", &solution)];
        self.post("/ui/account/login", &[&FIELDS[..], &solved].concat()).await
    }
}

/// The puzzle that a page sets, and its solution.
fn solved(shown: &Answer) -> (String, String) {
    let bits = shown.after("data-bits=\"").parse().unwrap();
    let challenge = shown.after("data-puzzle=\"");
    assert_eq!(challenge, shown.field("puzzle"));
    let solution = Puzzle { challenge: challenge.clone(), bits }.solve();
    (challenge, solution)
}

#[tokio::test]
async fn a_form_is_taken_with_its_puzzle_solved_once() {
    let world = World::with_puzzles().await;
    for page in ["/ui/registration", "/ui/login"] {
        let page = world.at(page).await;
        let shown = world.get(&page).await;
        assert!(
            shown.body.contains("<noscript>") && shown.body.contains("role=\"status\""),
            "{}",
            shown.body
        );
        let login = world.solve(&page, &shown).await;
        assert_eq!(world.accepted(&login).await.amr, ["pwd"]);
        let again = world.solve(&page, &shown).await;
        assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(again.body.contains(SPENT), "{}", again.body);
    }
}

#[tokio::test]
async fn an_unsolved_or_foreign_puzzle_is_told_and_set_anew() {
    let world = World::with_puzzles().await;
    let page = world.at("/ui/registration").await;
    let unsolved = world.fill_in(&page, &FIELDS).await;
    let foreign = world.solve(&page, &world.get(&world.at("/ui/login").await).await).await;
    for (refused, sentence) in [(&unsolved, UNSOLVED), (&foreign, SPENT)] {
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.body.contains(sentence), "{}", refused.body);
        assert!(refused.body.contains(&format!("value=\"{ALICE}\"")) && !refused.body.contains(PASSWORD));
        let password =
            refused.body.split_once("<input id=\"password\"").unwrap().1.split_once('>').unwrap().0;
        assert!(password.contains(" autofocus"), "it is to be typed again: {password}");
    }
    world.accepted(&world.solve(&page, &foreign).await).await;
}

#[tokio::test]
async fn a_mistake_in_a_field_is_told_before_the_puzzle_is_spent() {
    let world = World::with_puzzles().await;
    let page = world.at("/ui/registration").await;
    let shown = world.get(&page).await;
    let (challenge, solution) = solved(&shown);
    let short = [("email", ALICE), ("password", "short"), ("puzzle", &challenge), ("solution", &solution)];
    let refused = world.fill_in(&page, &short).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!refused.body.contains(SPENT) && !refused.body.contains(UNSOLVED), "{}", refused.body);
    world.accepted(&world.solve(&page, &shown).await).await;
}

#[tokio::test]
async fn a_page_that_was_open_for_long_is_sent_as_long_as_its_flow_lives() {
    let world = World::with_puzzles().await;
    for page in ["/ui/registration", "/ui/login"] {
        let page = world.at(page).await;
        let shown = world.get(&page).await;
        world.clock.advance(Lifetime::minutes(29));
        assert_eq!(world.accepted(&world.solve(&page, &shown).await).await.amr, ["pwd"]);
    }
}

#[tokio::test]
async fn a_form_is_taken_as_long_as_any_flow_lives_but_five_minutes_at_least_and_an_hour_at_most() {
    for (flow, device, until) in [(1, 1, 5), (1, 20, 20), (40, 10, 40), (120, 10, 60)] {
        let mut world = World::with_puzzles().await;
        world.register_alice().await;
        let mut config = Config::clone(&world.ui.config);
        config.lifetimes.flow = Lifetime::minutes(flow);
        config.policies.device.lifetime = Lifetime::minutes(device);
        world.ui.config = Arc::new(config);
        let [first, second] = [world.get("/ui/account/login").await, world.get("/ui/account/login").await];
        world.clock.advance(Lifetime::minutes(until - 1));
        let taken = world.sign_in(&first).await;
        assert_eq!(taken.status, StatusCode::SEE_OTHER, "{until}: {}", taken.body);
        world.clock.advance(Lifetime::minutes(1));
        let late = world.sign_in(&second).await;
        assert!(late.body.contains(SPENT), "{until}: {}", late.body);
    }
}

#[tokio::test]
async fn a_page_that_was_open_for_too_long_does_not_blame_the_browser() {
    let world = World::with_puzzles().await;
    world.register_alice().await;
    let shown = world.get("/ui/account/login").await;
    world.clock.advance(Lifetime::minutes(30));
    let late = world.sign_in(&shown).await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(late.body.contains(SPENT), "{}", late.body);
    let again = world.sign_in(&late).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER, "{}", again.body);
}

#[tokio::test]
async fn the_account_pages_ask_for_a_puzzle_too() {
    let world = World::with_puzzles().await;
    world.register_alice().await;
    let shown = world.get("/ui/account/login").await;
    let csrf = shown.field("csrf");
    let fields = [&FIELDS[..], &[("csrf", csrf.as_str())]].concat();
    let unsolved = world.post("/ui/account/login", &fields).await;
    assert_eq!(unsolved.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(unsolved.body.contains(UNSOLVED), "{}", unsolved.body);
    let signed_in = world.sign_in(&unsolved).await;
    assert_eq!(signed_in.status, StatusCode::SEE_OTHER, "{}", signed_in.body);
}

#[tokio::test]
async fn where_nothing_is_asked_for_there_is_no_puzzle() {
    let world = World::new().await;
    let shown = world.get(&world.at("/ui/registration").await).await;
    assert!(!shown.body.contains("puzzle") && !shown.body.contains("<noscript>"), "{}", shown.body);
}
