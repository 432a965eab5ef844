//! Puzzles, where forms ask for one.

use axum::http::StatusCode;
use sluice_identity::proof_of_work::Puzzle;
use sluice_primitives::Lifetime;

use super::world::{ALICE, Answer, PASSWORD, World};

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
        let bits = shown.after("data-bits=\"").parse().unwrap();
        let challenge = shown.after("data-puzzle=\"");
        assert_eq!(challenge, shown.field("puzzle"));
        let solution = Puzzle { challenge: challenge.clone(), bits }.solve();
        let solved = [("puzzle", challenge.as_str()), ("solution", solution.as_str())];
        self.fill_in(page, &[&FIELDS[..], &solved].concat()).await
    }
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
    }
}

#[tokio::test]
async fn an_unsolved_late_or_foreign_puzzle_is_told_and_set_anew() {
    let world = World::with_puzzles().await;
    let page = world.at("/ui/registration").await;
    let unsolved = world.fill_in(&page, &FIELDS).await;
    let foreign = world.solve(&page, &world.get(&world.at("/ui/login").await).await).await;
    let shown = world.get(&page).await;
    world.clock.advance(Lifetime::minutes(5));
    let late = world.solve(&page, &shown).await;
    for refused in [&unsolved, &foreign, &late] {
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.body.contains("it needs JavaScript. Please send the form once more."));
        assert!(refused.body.contains(&format!("value=\"{ALICE}\"")) && !refused.body.contains(PASSWORD));
    }
    world.accepted(&world.solve(&page, &late).await).await;
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
    assert!(unsolved.body.contains(crate::ui::puzzle::UNSOLVED), "{}", unsolved.body);
    let challenge = unsolved.after("data-puzzle=\"");
    let bits = unsolved.after("data-bits=\"").parse().unwrap();
    let solution = Puzzle { challenge: challenge.clone(), bits }.solve();
    let solved = [("puzzle", challenge.as_str()), ("solution", solution.as_str())];
    let signed_in = world.post("/ui/account/login", &[&fields[..], &solved].concat()).await;
    assert_eq!(signed_in.status, StatusCode::SEE_OTHER, "{}", signed_in.body);
}

#[tokio::test]
async fn where_nothing_is_asked_for_there_is_no_puzzle() {
    let world = World::new().await;
    let shown = world.get(&world.at("/ui/registration").await).await;
    assert!(!shown.body.contains("puzzle") && !shown.body.contains("<noscript>"), "{}", shown.body);
}
