//! `POST /auth/register`

use std::future::ready;

use axum::Router;
use axum::routing::get;
use serde_json::json;
use sluice_primitives::Clock;
use sluice_testkit::Backend;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, node};
use crate::both_stores::on_both_stores;
use crate::keyed::{KeyedClient, MACHINE};

on_both_stores! {
    whoever_registers_is_told_the_record_and_nobody_keeps_it,
    an_address_is_taken_in_whatever_case_and_form,
    of_many_who_want_one_address_at_once_one_gets_it,
    where_registration_is_closed_nobody_registers,
    a_password_on_the_list_of_breached_ones_is_not_taken,
    a_list_within_the_network_is_asked_where_nothing_else_there_may_be,
}

async fn whoever_registers_is_told_the_record_and_nobody_keeps_it(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let body = json!({"email": " Alice@Example.com ", "username": "Älice 🐛", "password": PASSWORD});
    let made = api.post("/auth/register", body).await;
    assert_eq!((made.status, made.header("content-type")), (201, "application/json"));
    assert_eq!(made.header("cache-control"), "no-store");
    let said = made.json();
    let expected = json!({
        "id": said["id"],
        "email": ALICE,
        "email_verified": false,
        "username": "Älice 🐛",
        "status": "active",
        "created_at": said["created_at"],
        "updated_at": said["created_at"],
    });
    assert_eq!(said, expected);
    let created_at: jiff::Timestamp = said["created_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(created_at.as_millisecond(), sluice.clock.now().as_millis());
    let tokens = api.tokens(ALICE).await;
    assert_eq!(api.get("/auth/me", &tokens).await.ok(), said);
    let same_name = json!({"email": BOB, "username": "Älice 🐛", "password": PASSWORD});
    assert_eq!(api.post("/auth/register", same_name).await.status, 201, "a username is not unique");
    sluice.node.stop().await;
}

async fn an_address_is_taken_in_whatever_case_and_form(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let made = api.sign_up("José@Example.com", PASSWORD).await;
    assert_eq!((made.status, &made.json()["email"]), (201, &json!("josé@example.com")));
    for spelling in ["josé@example.com", "JOSE\u{301}@EXAMPLE.COM", "\t jose\u{301}@example.com"] {
        let refused = api.sign_up(spelling, ANOTHER).await;
        refused.is_problem(409, "email_taken");
        assert_eq!(refused.json()["field"], "email", "{spelling}");
        assert_eq!(api.log_in(spelling, ANOTHER).await.status, 401, "nothing was written");
        assert_eq!(api.log_in(spelling, PASSWORD).await.status, 200, "{spelling}");
    }
    assert_eq!(api.sign_up("josè@example.com", PASSWORD).await.status, 201, "another letter, another person");
    sluice.node.stop().await;
}

async fn of_many_who_want_one_address_at_once_one_gets_it(backend: Backend) {
    const MANY: usize = 24;
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let mut racing = JoinSet::new();
    for number in 0..MANY {
        let api = api.clone();
        // Among them somebody with an address of their own, who is not to suffer.
        racing.spawn(async move {
            let password = format!("the password of racer {number}");
            let own = format!("racer-{number}@example.com");
            let (contended, free) = tokio::join!(api.sign_up(ALICE, &password), api.sign_up(&own, &password));
            (password, contended, free.status)
        });
    }
    let all = racing.join_all().await;
    assert!(all.iter().all(|(_, _, free)| *free == 201), "one that is taken fails alone");
    let (won, lost): (Vec<_>, Vec<_>) = all.iter().partition(|(_, contended, _)| contended.status == 201);
    assert_eq!((won.len(), lost.len()), (1, MANY - 1));
    for (_, contended, _) in &lost {
        contended.is_problem(409, "email_taken");
    }
    let (password, made, _) = won[0];
    let tokens = super::people::Tokens::of(&api.log_in(ALICE, password).await);
    assert_eq!(api.get("/auth/me", &tokens).await.json()["id"], made.json()["id"]);
    sluice.node.stop().await;
}

async fn where_registration_is_closed_nobody_registers(backend: Backend) {
    let sluice = node(backend, &[("identity.registration.enabled", "false")]).await;
    let api = Api::of(&sluice);
    api.sign_up(ALICE, PASSWORD).await.is_problem(403, "registration_closed");
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    sluice.node.stop().await;
}

async fn a_password_on_the_list_of_breached_ones_is_not_taken(backend: Backend) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("breached.txt");
    let mut lines: Vec<_> = ["password123", "letmein99", PASSWORD]
        .map(|password| format!("{}:7", hex::encode_upper(sluice_crypto::digest::sha1(password.as_bytes()))))
        .to_vec();
    lines.sort();
    std::fs::write(&file, lines.join("\r\n")).unwrap();
    let sluice = node(backend, &[("identity.password.breached.file", file.to_str().unwrap())]).await;
    let api = Api::of(&sluice);
    for password in ["password123", "letmein99", PASSWORD] {
        api.sign_up(ALICE, password).await.is_about("password", "password_breached");
    }
    assert_eq!(api.sign_up(ALICE, ANOTHER).await.status, 201);
    let unanswered = super::people::metric(&sluice, "sluice_breached_list_unanswered_total").await;
    assert!(unanswered == 0.0, "{unanswered}");
    sluice.node.stop().await;
}

/// Answers for the one password that is on its list; the address of the list.
async fn list_of(password: &'static str) -> String {
    let digits = hex::encode_upper(sluice_crypto::digest::sha1(password.as_bytes()));
    let (prefix, rest) = digits.split_at(5);
    let (path, answer) = (format!("/range/{prefix}"), format!("{rest}:7\r\n"));
    let list = Router::new().route(&path, get(move || ready(answer))).fallback(|| ready(String::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/range", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, list).await });
    url
}

async fn a_list_within_the_network_is_asked_where_nothing_else_there_may_be(backend: Backend) {
    let url = list_of("password123").await;
    let settings = [
        ("clients.http.disallow_private_ip_ranges", "true"),
        ("identity.password.breached.url", url.as_str()),
        ("identity.password.breached.required", "true"),
    ];
    let sluice = node(backend, &settings).await;
    let api = Api::of(&sluice);
    api.sign_up(ALICE, "password123").await.is_about("password", "password_breached");
    assert_eq!(api.sign_up(ALICE, ANOTHER).await.status, 201);
    // What clients name there is not.
    let client = KeyedClient::on(&sluice, &json!({"jwks": null, "jwks_uri": url})).await;
    client.token(&sluice, MACHINE).await.refused_with(401, "invalid_client");
    sluice.node.stop().await;
}
