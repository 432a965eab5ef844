//! `/auth/logout` and `/auth/sessions`: who is signed in where.

use reqwest::Method;
use reqwest::header::USER_AGENT;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::Backend;

use super::people::{ALICE, Api, BOB, PASSWORD, Tokens, node, node_on};
use crate::answer::Answer;
use crate::both_stores::on_both_stores;

on_both_stores! {
    whoever_logs_out_is_out_at_once,
    people_see_where_they_are_signed_in_and_end_it,
    nobody_ends_the_session_of_somebody_else,
}

async fn whoever_logs_out_is_out_at_once(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let other = node_on((sluice.database.clone(), sluice.clock.clone()), &[]).await;
    let (api, elsewhere) = (Api::of(&sluice), Api::of(&other));
    api.register(ALICE).await;
    let (by_refresh, by_access, by_both) =
        (api.tokens(ALICE).await, api.tokens(ALICE).await, api.tokens(ALICE).await);
    let stays = api.tokens(ALICE).await;
    let body = |tokens: &Tokens| json!({"refresh_token": tokens.refresh});
    api.post("/auth/logout", body(&by_refresh)).await.is_done(204);
    api.post_as(&by_access, "/auth/logout", Value::Null).await.is_done(204);
    api.post_as(&by_both, "/auth/logout", body(&by_both)).await.is_done(204);
    other.node.catch_up().await.unwrap();
    for ended in [&by_refresh, &by_access, &by_both] {
        api.get("/auth/me", ended).await.is_problem(401, "invalid_token");
        elsewhere.get("/auth/me", ended).await.is_problem(401, "invalid_token");
        api.refresh(ended).await.is_problem(401, "invalid_refresh_token");
        api.post("/auth/logout", body(ended)).await.is_done(204);
    }
    assert_eq!((api.me(&stays).await, elsewhere.me(&stays).await), (200, 200));
    api.post("/auth/logout", Value::Null).await.is_about("refresh_token", "refresh_token_missing");
    sluice.node.stop().await;
    other.node.stop().await;
}

/// Logs in with a device of this name.
async fn log_in_from(api: &Api, device: &str) -> Tokens {
    let request = api.request(Method::POST, "/auth/login").header(USER_AGENT, device);
    Tokens::of(&Answer::to(request.json(&json!({"email": ALICE, "password": PASSWORD}))).await)
}

async fn sessions(api: &Api, tokens: &Tokens) -> Vec<Value> {
    api.get("/auth/sessions", tokens).await.ok()["sessions"].as_array().unwrap().clone()
}

async fn people_see_where_they_are_signed_in_and_end_it(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let mut all = Vec::new();
    for device in ["Phone/1.0", "Laptop/2.0", "Fridge/3.0"] {
        all.push(log_in_from(&api, device).await);
        sluice.advance(Lifetime::secs(1));
    }
    let [phone, laptop, fridge] = &all[..] else { panic!("three") };
    let listed = sessions(&api, laptop).await;
    let devices: Vec<_> = listed.iter().map(|session| session["device"].as_str().unwrap()).collect();
    assert_eq!(devices, ["Fridge/3.0", "Laptop/2.0", "Phone/1.0"], "the newest first");
    let present: Vec<_> = listed.iter().map(|session| session["current"] == true).collect();
    assert_eq!(present, [false, true, false]);
    for session in &listed {
        assert_eq!((&session["network"], &session["acr"]), (&json!("127.0.0.1"), &json!("aal1")));
        assert_eq!(session["amr"], json!(["pwd"]));
        assert_eq!(session.as_object().unwrap().len(), 9, "nothing secret: {session}");
    }
    let of_phone = format!("/auth/sessions/{}", listed[2]["id"].as_str().unwrap());
    api.delete(&of_phone, laptop).await.is_done(204);
    api.delete(&of_phone, laptop).await.is_problem(404, "not_found");
    api.get("/auth/me", phone).await.is_problem(401, "invalid_token");
    api.refresh(phone).await.is_problem(401, "invalid_refresh_token");
    assert_eq!((api.me(laptop).await, api.me(fridge).await), (200, 200));
    api.delete("/auth/sessions", laptop).await.is_done(204);
    api.get("/auth/me", fridge).await.is_problem(401, "invalid_token");
    assert_eq!(sessions(&api, laptop).await.len(), 1);
    let of_laptop = format!("/auth/sessions/{}", listed[1]["id"].as_str().unwrap());
    api.delete(&of_laptop, laptop).await.is_done(204);
    api.get("/auth/me", laptop).await.is_problem(401, "invalid_token");
    sluice.node.stop().await;
}

async fn nobody_ends_the_session_of_somebody_else(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    api.register(BOB).await;
    let (alice, bob) = (api.tokens(ALICE).await, api.tokens(BOB).await);
    let of_alice = format!("/auth/sessions/{}", sessions(&api, &alice).await[0]["id"].as_str().unwrap());
    let refused = api.delete(&of_alice, &bob).await;
    refused.is_problem(404, "not_found");
    let nobody = api.delete("/auth/sessions/018f0000-0000-7000-8000-000000000000", &bob).await;
    assert_eq!(refused.essence(), nobody.essence());
    api.delete("/auth/sessions/x", &bob).await.is_problem(404, "not_found");
    api.delete("/auth/sessions", &bob).await.is_done(204);
    assert_eq!((api.me(&alice).await, api.me(&bob).await), (200, 200));
    sluice.node.stop().await;
}
