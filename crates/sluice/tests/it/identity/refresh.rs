//! `POST /auth/refresh`: one row for each session, and nobody uses a copy.

use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::Backend;

use super::people::{ALICE, Api, Tokens, node, node_on};
use crate::both_stores::on_both_stores;

on_both_stores! {
    two_tabs_that_refresh_one_after_the_other_get_the_same_pair,
    two_tabs_that_refresh_at_once_go_on,
    a_refresh_token_that_is_used_again_later_ends_the_session_everywhere,
    a_session_ends_when_it_is_not_used_and_in_the_end_in_any_case,
    what_is_no_refresh_token_is_refused_and_ends_nothing,
}

async fn two_tabs_that_refresh_one_after_the_other_get_the_same_pair(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let first = api.tokens(ALICE).await;
    sluice.advance(Lifetime::minutes(5));
    let answer = api.refresh(&first).await;
    assert_eq!((answer.header("cache-control"), &answer.ok()["expires_in"]), ("no-store", &json!(900)));
    let second = Tokens::of(&answer);
    assert_ne!((&second.access, &second.refresh), (&first.access, &first.refresh));
    assert_eq!(api.me(&first).await, 200, "the access token before holds until it expires");
    sluice.advance(Lifetime::secs(29));
    let same = Tokens::of(&api.refresh(&first).await);
    assert_eq!(same.access, second.access, "no third generation");
    let sessions = api.get("/auth/sessions", &second).await.ok();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "one row");
    let third = Tokens::of(&api.refresh(&same).await);
    assert_ne!(third.access, second.access);
    assert_eq!(Tokens::of(&api.refresh(&second).await).access, third.access, "of the same generation");
    api.refresh(&first).await.is_problem(401, "invalid_refresh_token");
    assert_eq!(api.refresh(&third).await.status, 200, "a slow tab ends nothing");
    assert_eq!(api.me(&third).await, 200);
    sluice.node.stop().await;
}

async fn two_tabs_that_refresh_at_once_go_on(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let mut tokens = api.tokens(ALICE).await;
    for _ in 0..10 {
        sluice.advance(Lifetime::minutes(1));
        let (one, other) = tokio::join!(api.refresh(&tokens), api.refresh(&tokens));
        let (one, other) = (Tokens::of(&one), Tokens::of(&other));
        assert_eq!(one.access, other.access);
        tokens = other;
    }
    assert_eq!(api.me(&tokens).await, 200);
    sluice.node.stop().await;
}

async fn a_refresh_token_that_is_used_again_later_ends_the_session_everywhere(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let other = node_on((sluice.database.clone(), sluice.clock.clone()), &[]).await;
    let (api, elsewhere) = (Api::of(&sluice), Api::of(&other));
    api.register(ALICE).await;
    let (stolen, untouched) = (api.tokens(ALICE).await, api.tokens(ALICE).await);
    let present = Tokens::of(&api.refresh(&stolen).await);
    sluice.advance(Lifetime::secs(30));
    api.refresh(&stolen).await.is_problem(401, "invalid_refresh_token");
    for ended in [&stolen, &present] {
        api.get("/auth/me", ended).await.is_problem(401, "invalid_token");
        api.refresh(ended).await.is_problem(401, "invalid_refresh_token");
        elsewhere.refresh(ended).await.is_problem(401, "invalid_refresh_token");
    }
    other.node.catch_up().await.unwrap();
    elsewhere.get("/auth/me", &present).await.is_problem(401, "invalid_token");
    assert_eq!((api.me(&untouched).await, elsewhere.me(&untouched).await), (200, 200));
    sluice.node.stop().await;
    other.node.stop().await;
}

async fn a_session_ends_when_it_is_not_used_and_in_the_end_in_any_case(backend: Backend) {
    let lives = [("identity.session.idle", "24h"), ("identity.session.lifetime", "72h")];
    let sluice = node(backend, &lives).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let (idle, mut used) = (api.tokens(ALICE).await, api.tokens(ALICE).await);
    for _ in 0..3 {
        sluice.advance(Lifetime::hours(23));
        used = Tokens::of(&api.refresh(&used).await);
    }
    api.refresh(&idle).await.is_problem(401, "invalid_refresh_token");
    assert_eq!(api.me(&used).await, 200);
    let listed = api.get("/auth/sessions", &used).await.ok();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    sluice.advance(Lifetime::hours(3));
    api.refresh(&used).await.is_problem(401, "invalid_refresh_token");
    sluice.advance(Lifetime::secs(1));
    assert!(sluice.node.tidy().await.unwrap() >= 2, "both rows go");
    sluice.node.stop().await;
}

async fn what_is_no_refresh_token_is_refused_and_ends_nothing(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let tokens = api.tokens(ALICE).await;
    let mut tampered = tokens.refresh.clone();
    let place = tampered.len() / 2;
    let other = if &tampered[place..=place] == "A" { "B" } else { "A" };
    tampered.replace_range(place..=place, other);
    for presented in ["x", &tokens.access, &tampered, &"a".repeat(10_000)] {
        let refused = api.post("/auth/refresh", json!({"refresh_token": presented})).await;
        refused.is_problem(401, "invalid_refresh_token");
        api.post("/auth/logout", json!({"refresh_token": presented})).await.is_done(204);
    }
    assert_eq!(api.me(&tokens).await, 200);
    assert_eq!(api.refresh(&tokens).await.status, 200);
    sluice.node.stop().await;
}
