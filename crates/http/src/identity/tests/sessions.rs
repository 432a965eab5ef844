//! Refresh, logout, and who is signed in.

use axum::body::Body;
use http::Request;
use http::header::{ALLOW, AUTHORIZATION, WWW_AUTHENTICATE};
use serde_json::{Value, json};
use sluice_primitives::Lifetime;

use super::world::{ALICE, PASSWORD, Tokens, World};

async fn me(world: &World, tokens: &Tokens) -> u16 {
    world.ask("GET", "/auth/me", &tokens.access, Value::Null).await.status
}

#[tokio::test]
async fn a_session_goes_on_by_its_refresh_token_and_ends_with_a_stolen_one() {
    let (world, first) = World::with_alice().await;
    let refresh = async |token: &str| world.post("/auth/refresh", json!({"refresh_token": token})).await;
    world.clock.advance(Lifetime::minutes(5));
    let second = refresh(&first.refresh).await.tokens();
    assert_ne!(second.access, first.access);
    world.clock.advance(Lifetime::minutes(5));
    assert_eq!(refresh(&first.refresh).await.problem(), (401, "invalid_refresh_token"));
    assert_eq!(refresh(&second.refresh).await.problem(), (401, "invalid_refresh_token"));
    assert_eq!(me(&world, &second).await, 401);
    assert_eq!(world.post("/auth/refresh", json!({})).await.problem(), (400, "refresh_token_missing"));
    assert_eq!(refresh("none").await.problem(), (401, "invalid_refresh_token"));
}

#[tokio::test]
async fn a_session_is_left_by_either_token() {
    let (world, by_refresh) = World::with_alice().await;
    let by_access = world.log_in(PASSWORD).await.tokens();
    let left = world.post("/auth/logout", json!({"refresh_token": by_refresh.refresh})).await;
    assert_eq!((left.status, left.json), (204, Value::Null));
    assert_eq!((me(&world, &by_refresh).await, me(&world, &by_access).await), (401, 200));
    assert_eq!(world.ask("POST", "/auth/logout", &by_access.access, Value::Null).await.status, 204);
    assert_eq!(me(&world, &by_access).await, 401);
    assert_eq!(world.post("/auth/logout", Value::Null).await.problem(), (400, "refresh_token_missing"));
}

#[tokio::test]
async fn whoever_cannot_be_told_from_others_has_not_left() {
    let (world, tokens) = World::with_alice().await;
    let leave = async |access: &str| world.ask("POST", "/auth/logout", access, Value::Null).await;
    assert_eq!(leave("v4.public.x").await.problem(), (401, "invalid_token"));
    world.clock.advance(Lifetime::minutes(15));
    assert_eq!(leave(&tokens.access).await.problem(), (401, "token_expired"));
    let both = json!({"refresh_token": tokens.refresh});
    assert_eq!(world.ask("POST", "/auth/logout", &tokens.access, both).await.status, 204);
    let refreshed = world.post("/auth/refresh", json!({"refresh_token": tokens.refresh})).await;
    assert_eq!(refreshed.problem(), (401, "invalid_refresh_token"));
}

#[tokio::test]
async fn a_node_that_does_not_know_which_sessions_ended_lets_nobody_believe_that_theirs_did() {
    let world = World::deaf().await;
    world.register(ALICE).await;
    let tokens = world.log_in(PASSWORD).await.tokens();
    let left = world.ask("POST", "/auth/logout", &tokens.access, Value::Null).await;
    assert_eq!(left.problem(), (503, "temporarily_unavailable"));
    let by_refresh = json!({"refresh_token": tokens.refresh});
    assert_eq!(world.ask("POST", "/auth/logout", &tokens.access, by_refresh).await.status, 204);
}

#[tokio::test]
async fn whoever_leaves_with_a_wrong_refresh_token_leaves_the_session_of_the_access_token() {
    let (world, tokens) = World::with_alice().await;
    let body = json!({"refresh_token": "none"});
    assert_eq!(world.ask("POST", "/auth/logout", &tokens.access, body).await.status, 204);
    assert_eq!(me(&world, &tokens).await, 401);
}

#[tokio::test]
async fn people_see_their_sessions_and_end_them() {
    let (world, present) = World::with_alice().await;
    let other = world.log_in(PASSWORD).await.tokens();
    let third = world.log_in(PASSWORD).await.tokens();
    let listed = world.ask("GET", "/auth/sessions", &present.access, Value::Null).await;
    let sessions = listed.json["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 3);
    assert_eq!((&sessions[0]["device"], &sessions[0]["network"]), (&json!("test/1.0"), &json!("192.0.2.1")));
    let is_present: Vec<_> = sessions.iter().filter(|session| session["current"] == true).collect();
    assert_eq!(is_present.len(), 1);
    let stranger = json!({"email": "bob@example.com", "username": "", "password": PASSWORD});
    world.post("/auth/register", stranger.clone()).await;
    let stranger = world.post("/auth/login", stranger).await.tokens();
    let of_alice = format!("/auth/sessions/{}", is_present[0]["id"].as_str().unwrap());
    assert_eq!(
        world.ask("DELETE", &of_alice, &stranger.access, Value::Null).await.problem(),
        (404, "not_found")
    );
    let ended = sessions.iter().find(|session| session["current"] == false).unwrap();
    let ended = format!("/auth/sessions/{}", ended["id"].as_str().unwrap());
    assert_eq!(world.ask("DELETE", &ended, &present.access, Value::Null).await.status, 204);
    assert_eq!(me(&world, &other).await + me(&world, &third).await, 200 + 401);
    assert_eq!(world.ask("DELETE", "/auth/sessions", &present.access, Value::Null).await.status, 204);
    let all = [me(&world, &present).await, me(&world, &other).await, me(&world, &third).await];
    assert_eq!(all, [200, 401, 401]);
    assert_eq!(me(&world, &stranger).await, 200);
    let no_id = world.ask("DELETE", "/auth/sessions/x", &present.access, Value::Null).await;
    assert_eq!(no_id.problem(), (404, "not_found"));
}

#[tokio::test]
async fn without_a_token_that_holds_nothing_is_shown() {
    let (world, tokens) = World::with_alice().await;
    let ask = async |authorization: &str| {
        let request = Request::get("/auth/me").header(AUTHORIZATION, authorization);
        world.send(request.body(Body::empty()).unwrap()).await
    };
    let missing = world.ask("GET", "/auth/me", "", Value::Null).await;
    assert_eq!(missing.problem(), (401, "token_missing"));
    assert_eq!(missing.header(WWW_AUTHENTICATE), "Bearer realm=\"sluice\"");
    assert_eq!(ask("Basic YTpi").await.problem(), (401, "token_missing"));
    let wrong = ask("Bearer v4.public.x").await;
    assert_eq!(wrong.problem(), (401, "invalid_token"));
    assert_eq!(wrong.header(WWW_AUTHENTICATE), "Bearer realm=\"sluice\", error=\"invalid_token\"");
    assert_eq!(ask(&format!("Bearer {}", tokens.refresh)).await.problem(), (401, "invalid_token"));
    world.clock.advance(Lifetime::minutes(15));
    assert_eq!(ask(&format!("bearer {}", tokens.access)).await.problem(), (401, "token_expired"));
}

#[tokio::test]
async fn what_is_not_there_is_a_problem_too() {
    let world = World::new().await;
    world.register(ALICE).await;
    assert_eq!(world.ask("GET", "/auth/nothing", "", Value::Null).await.problem(), (404, "not_found"));
    let wrong_method = world.ask("GET", "/auth/register", "", Value::Null).await;
    assert_eq!((wrong_method.problem(), wrong_method.header(ALLOW)), ((405, "method_not_allowed"), "POST"));
}
