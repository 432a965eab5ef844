//! Tokens of the identity API.

use reqwest::StatusCode;
use serde_json::{Value, json};
use sluice_testkit::Backend;

use super::installation::Installation;
use crate::application::http_client;
use crate::both_stores::on_both_stores;
use crate::process::Process;

on_both_stores! { tokens_of_people_pass_and_end_with_their_session }

/// Asks the identity API of a server; the status and the answer.
async fn ask(server: &Process, path: &str, body: &Value, token: &str) -> (StatusCode, Value) {
    let request = http_client().post(server.public.join(path).unwrap()).bearer_auth(token).json(body);
    let answer = request.send().await.unwrap();
    (answer.status(), answer.json().await.unwrap_or_default())
}

fn access(pair: &Value) -> &str {
    pair["access_token"].as_str().unwrap()
}

async fn tokens_of_people_pass_and_end_with_their_session(backend: Backend) {
    let installation = Installation::start(backend).await;
    let [one, other] = &installation.servers;
    let who = json!({"email": "a@example.com", "username": "A", "password": "a long pass phrase"});
    let (created, person) = ask(one, "/auth/register", &who, "").await;
    assert_eq!(created, StatusCode::CREATED);
    let id = person["id"].as_str().unwrap();
    let (_, ended) = ask(one, "/auth/login", &who, "").await;
    let (_, lasting) = ask(other, "/auth/login", &who, "").await;
    for pair in [&ended, &lasting] {
        assert!(access(pair).starts_with("v4.public."), "PASETO: {pair}");
        installation.passes_everywhere(access(pair), id).await;
    }
    let (logged_out, _) = ask(one, "/auth/logout", &ended, access(&ended)).await;
    assert_eq!(logged_out, StatusCode::NO_CONTENT);
    installation.is_refused_everywhere(access(&ended), 0).await;
    installation.passes_everywhere(access(&lasting), id).await;
    installation.stop().await;
}
