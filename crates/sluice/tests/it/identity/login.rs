//! `POST /auth/login`, and who may not.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestSluice};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, Tokens, node, shows};
use super::records::Records;
use crate::both_stores::on_both_stores;

on_both_stores! {
    whoever_logs_in_gets_a_token_that_opens_the_account_for_a_while,
    unknown_and_known_accounts_are_refused_in_the_same_bytes,
    whoever_is_disabled_is_out_at_once_and_back_when_enabled,
    another_password_ends_what_the_old_one_opened,
    whoever_deletes_the_account_is_gone,
    a_password_that_cannot_be_read_is_refused_like_a_wrong_one_and_counted,
    a_login_whose_client_left_while_it_waited_makes_no_session,
}

/// Sets the status of somebody.
pub(super) async fn set_status(sluice: &TestSluice, id: &str, status: &str) {
    let path = format!("/admin/identities/{id}");
    sluice.ask_json(Method::PATCH, &path, Some(&json!({"status": status})), 200).await;
}

async fn whoever_logs_in_gets_a_token_that_opens_the_account_for_a_while(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let id = api.register(ALICE).await;
    let answer = api.log_in(" ALICE@example.com", PASSWORD).await;
    let said = answer.ok();
    assert_eq!((&said["token_type"], &said["expires_in"]), (&json!("Bearer"), &json!(900)));
    assert_eq!(said.as_object().unwrap().len(), 4, "{said}");
    assert_eq!(
        (answer.header("cache-control"), answer.header("content-type")),
        ("no-store", "application/json")
    );
    let tokens = Tokens::of(&answer);
    assert!(tokens.access.starts_with("v4.public."), "PASETO: {}", tokens.access);
    assert_eq!(api.get("/auth/me", &tokens).await.ok()["id"], id);
    sluice.advance(Lifetime::secs(899));
    assert_eq!(api.me(&tokens).await, 200);
    sluice.advance(Lifetime::secs(1));
    let refused = api.get("/auth/me", &tokens).await;
    refused.is_problem(401, "token_expired");
    assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"sluice\", error=\"invalid_token\"");
    let mut tampered = tokens.clone();
    tampered.access.replace_range(20..21, if &tokens.access[20..21] == "A" { "B" } else { "A" });
    api.get("/auth/me", &tampered).await.is_problem(401, "invalid_token");
    sluice.node.stop().await;
}

async fn unknown_and_known_accounts_are_refused_in_the_same_bytes(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let id = api.register(ALICE).await;
    let wrong = api.log_in(ALICE, ANOTHER).await;
    wrong.is_problem(401, "invalid_credentials");
    assert_eq!(api.log_in(BOB, PASSWORD).await.essence(), wrong.essence());
    assert_eq!(api.log_in("no address", PASSWORD).await.essence(), wrong.essence());
    assert_eq!(api.log_in(ALICE, &"a".repeat(5000)).await.essence(), wrong.essence());
    set_status(&sluice, &id, "disabled").await;
    assert_eq!(api.log_in(ALICE, PASSWORD).await.essence(), wrong.essence(), "disabled");
    let no_password = json!({"email": "carol@example.com"});
    sluice.ask_json(Method::POST, "/admin/identities", Some(&no_password), 201).await;
    assert_eq!(api.log_in("carol@example.com", PASSWORD).await.essence(), wrong.essence(), "no password");
    sluice.node.stop().await;
}

async fn whoever_is_disabled_is_out_at_once_and_back_when_enabled(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let other = super::people::node_on((sluice.database.clone(), sluice.clock.clone()), &[]).await;
    let (api, elsewhere) = (Api::of(&sluice), Api::of(&other));
    let id = api.register(ALICE).await;
    let (tokens, more) = (api.tokens(ALICE).await, elsewhere.tokens(ALICE).await);
    set_status(&sluice, &id, "disabled").await;
    for tokens in [&tokens, &more] {
        api.get("/auth/me", tokens).await.is_problem(401, "invalid_token");
        api.refresh(tokens).await.is_problem(401, "invalid_refresh_token");
    }
    other.node.catch_up().await.unwrap();
    elsewhere.get("/auth/me", &more).await.is_problem(401, "invalid_token");
    elsewhere.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    sluice.advance(Lifetime::secs(1));
    set_status(&other, &id, "active").await;
    let fresh = api.tokens(ALICE).await;
    assert_eq!((api.me(&fresh).await, elsewhere.me(&fresh).await), (200, 200));
    api.get("/auth/me", &tokens).await.is_problem(401, "invalid_token");
    api.refresh(&tokens).await.is_problem(401, "invalid_refresh_token");
    sluice.node.stop().await;
    other.node.stop().await;
}

async fn another_password_ends_what_the_old_one_opened(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let (present, other) = (api.tokens(ALICE).await, api.tokens(ALICE).await);
    let change = |current: &str, new: &str| json!({"current_password": current, "new_password": new});
    let refused = api.post_as(&present, "/auth/password", change(ANOTHER, ANOTHER)).await;
    refused.is_problem(403, "wrong_password");
    let refused = api.post_as(&present, "/auth/password", change(PASSWORD, "1234567")).await;
    refused.is_about("new_password", "password_too_short");
    assert_eq!((api.me(&present).await, api.me(&other).await), (200, 200));
    let resumed = Tokens::of(&api.post_as(&present, "/auth/password", change(PASSWORD, ANOTHER)).await);
    for ended in [&present, &other] {
        api.get("/auth/me", ended).await.is_problem(401, "invalid_token");
        api.refresh(ended).await.is_problem(401, "invalid_refresh_token");
    }
    assert_eq!(api.me(&resumed).await, 200);
    assert_eq!(api.me(&Tokens::of(&api.refresh(&resumed).await)).await, 200);
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    sluice.advance(Lifetime::secs(1));
    assert_eq!(api.me(&Tokens::of(&api.log_in(ALICE, ANOTHER).await)).await, 200);
    sluice.node.stop().await;
}

async fn whoever_deletes_the_account_is_gone(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let id = api.register(ALICE).await;
    let (present, other) = (api.tokens(ALICE).await, api.tokens(ALICE).await);
    let delete = async |password: &str| {
        api.ask(Method::DELETE, "/auth/me", Some(&present), json!({"password": password})).await
    };
    delete(ANOTHER).await.is_problem(403, "wrong_password");
    delete(PASSWORD).await.is_done(204);
    for ended in [&present, &other] {
        api.get("/auth/me", ended).await.is_problem(401, "invalid_token");
        api.refresh(ended).await.is_problem(401, "invalid_refresh_token");
    }
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    sluice.ask_json(Method::GET, &format!("/admin/identities/{id}"), None, 404).await;
    assert_ne!(api.register(ALICE).await, id, "an id is never given again");
    let sessions = api.ask(Method::GET, "/auth/sessions", Some(&present), Value::Null).await;
    sessions.is_problem(401, "invalid_token");
    sluice.node.stop().await;
}

async fn a_password_that_cannot_be_read_is_refused_like_a_wrong_one_and_counted(backend: Backend) {
    let sluice = node(backend, &[("identity.hardening.enabled", "false")]).await;
    let api = Api::of(&sluice);
    let id = api.register(ALICE).await;
    let wrong = api.log_in(ALICE, ANOTHER).await;
    shows(&sluice, "sluice_credentials_unreadable_total", 0).await;
    let records = Records::of(&sluice).await;
    records.spoil(&id).await;
    records.close().await;
    assert_eq!(api.log_in(ALICE, PASSWORD).await.essence(), wrong.essence());
    shows(&sluice, "sluice_credentials_unreadable_total", 1).await;
    sluice.node.stop().await;
}

/// The only thread hashes for somebody else while Alice's login waits, whose connection is reset meanwhile.
async fn a_login_whose_client_left_while_it_waited_makes_no_session(backend: Backend) {
    let slow = [
        ("identity.password_hash.memory", "65536"),
        ("identity.password_hash.passes", "10"),
        ("identity.hash_pool.threads", "1"),
        ("identity.hardening.enabled", "false"),
    ];
    let sluice = node(backend, &slow).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let other = api.clone();
    let before = tokio::spawn(async move { other.log_in(BOB, PASSWORD).await.status });
    shows(&sluice, "sluice_hash_pool_busy_threads", 1).await;

    let mut gone = TcpStream::connect(sluice.public.socket_addrs(|| None).unwrap()[0]).await.unwrap();
    let body = json!({"email": ALICE, "password": PASSWORD}).to_string();
    let (host, length) = (sluice.public.authority(), body.len());
    let head = format!("POST /auth/login HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json");
    let request = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
    gone.write_all(request.as_bytes()).await.unwrap();
    shows(&sluice, r#"sluice_hash_pool_queue_depth{priority="login"}"#, 1).await;
    gone.set_zero_linger().unwrap();
    drop(gone);

    assert_eq!(before.await.unwrap(), 401);
    let tokens = api.tokens(ALICE).await;
    let listed = api.get("/auth/sessions", &tokens).await.ok()["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    sluice.node.stop().await;
}
