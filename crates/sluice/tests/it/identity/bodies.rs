//! Bodies that cannot be: each is refused as a problem with a code, and nothing is written.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Backend, TestSluice};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::people::{ALICE, Api, BOB, PASSWORD, Tokens, node};
use crate::answer::Answer;
use crate::both_stores::on_both_stores;

on_both_stores! {
    a_field_that_is_not_as_it_must_be_is_named,
    a_refusal_before_the_body_came_leaves_the_connection_to_the_next_request,
    passwords_may_be_in_any_language_and_are_typed_in_either_form,
    what_is_missing_is_named_by_every_endpoint,
    what_is_no_json_object_is_refused_by_every_endpoint,
    what_is_not_there_is_a_problem_too,
}

/// Every endpoint that anybody may send a body to.
const OPEN: &[&str] = &[
    "/auth/register",
    "/auth/login",
    "/auth/login/factor",
    "/auth/login/passkey",
    "/auth/login/passkey/finish",
    "/auth/refresh",
    "/auth/logout",
    "/auth/recovery",
    "/auth/recovery/check",
    "/auth/recovery/confirm",
    "/auth/verification/confirm",
];

/// And those that are for people who are signed in.
const OF_PEOPLE: &[(&str, &str)] = &[
    ("PATCH", "/auth/me"),
    ("DELETE", "/auth/me"),
    ("POST", "/auth/password"),
    ("POST", "/auth/email"),
    ("POST", "/auth/email/confirm"),
    ("POST", "/auth/factors/totp"),
    ("POST", "/auth/factors/totp/confirm"),
    ("POST", "/auth/factors/passkeys"),
    ("POST", "/auth/factors/passkeys/confirm"),
    ("POST", "/auth/factors/recovery-codes"),
];

async fn with_alice(backend: Backend) -> (TestSluice, Api, Tokens) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let tokens = api.tokens(ALICE).await;
    (sluice, api, tokens)
}

async fn a_field_that_is_not_as_it_must_be_is_named(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let table = [
        ("email", json!(""), "email_missing"),
        ("email", json!(null), "email_missing"),
        ("email", json!("alice"), "email_malformed"),
        ("email", json!("alice@localhost"), "email_malformed"),
        ("email", json!("alice%evil.example@example.com"), "email_malformed"),
        ("email", json!("evil.example!alice@example.com"), "email_malformed"),
        ("email", json!("alice@127.0.0.1"), "email_malformed"),
        ("email", json!("alice\u{0}@example.com"), "email_malformed"),
        ("email", json!("alice@example.com\r\nBcc: eve@example.com"), "email_malformed"),
        ("email", json!(format!("{}@example.com", "a".repeat(250))), "email_too_long"),
        ("email", json!(7), "email_malformed"),
        ("email", json!([ALICE]), "email_malformed"),
        ("username", json!("a".repeat(65)), "username_too_long"),
        ("username", json!("a\u{0}b"), "username_malformed"),
        ("username", json!(true), "username_malformed"),
        ("password", json!(null), "password_missing"),
        ("password", json!("1234567"), "password_too_short"),
        ("password", json!("🔑🔑🔑🔑🔑🔑🔑"), "password_too_short"),
        ("password", json!("🔑".repeat(1025)), "password_too_long"),
        ("password", json!("ALICE@example.com"), "password_is_email"),
        ("password", json!("alice liddell"), "password_is_username"),
        ("password", json!({"plain": PASSWORD}), "password_malformed"),
        ("proof_of_work", json!("solved"), "proof_of_work_malformed"),
    ];
    for (field, value, code) in table {
        let mut body = json!({"email": ALICE, "username": "Alice Liddell", "password": PASSWORD});
        body[field] = value;
        let refused = api.post("/auth/register", body).await;
        refused.is_about(field, code);
        assert!(!refused.body.contains("battery") && !refused.body.contains("eve@"), "{}", refused.body);
    }
    api.register(ALICE).await;
    sluice.node.stop().await;
}

async fn passwords_may_be_in_any_language_and_are_typed_in_either_form(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    // As it is typed first, and as another keyboard types the same (NFKC).
    let table = [
        ("Ångström und ﬁnster", "A\u{30a}ngstro\u{308}m und finster"),
        ("ｆｕｌｌ ｗｉｄｔｈ ①", "full width 1"),
        ("пароль из слов", "пароль из слов"),
        ("🔑🔑🔑🔑🔑🔑🔑🔑", "🔑🔑🔑🔑🔑🔑🔑🔑"),
        ("nul\u{0}nul\u{0}nul", "nul\u{0}nul\u{0}nul"),
        ("  spaces stay  ", "  spaces stay  "),
    ];
    for (number, (first, second)) in table.into_iter().enumerate() {
        let email = format!("person-{number}@example.com");
        assert_eq!(api.sign_up(&email, first).await.status, 201, "{first}");
        assert_eq!(api.log_in(&email, first).await.status, 200, "{first}");
        assert_eq!(api.log_in(&email, second).await.status, 200, "{second}");
        assert_eq!(api.log_in(&email, &format!("{first}.")).await.status, 401, "{first}");
    }
    let longest = "ü".repeat(1024);
    assert_eq!(api.sign_up(ALICE, &longest).await.status, 201);
    assert_eq!(api.log_in(ALICE, &longest).await.status, 200);
    assert_eq!(api.log_in(ALICE, &longest[2..]).await.status, 401, "no character is left out");
    sluice.node.stop().await;
}

async fn what_is_missing_is_named_by_every_endpoint(backend: Backend) {
    let (sluice, api, tokens) = with_alice(backend).await;
    let table = [
        ("/auth/register", json!({}), "email"),
        ("/auth/login", json!({}), "email"),
        ("/auth/login", json!({"email": ALICE}), "password"),
        ("/auth/login/factor", json!({}), "login_ticket"),
        ("/auth/refresh", json!({}), "refresh_token"),
        ("/auth/logout", json!({}), "refresh_token"),
        ("/auth/verification/confirm", json!({"email": ALICE}), "code"),
        ("/auth/verification/confirm", json!({"code": "ABCD-EFGH"}), "email"),
        ("/auth/recovery/check", json!({}), "code"),
        ("/auth/recovery/confirm", json!({"email": ALICE, "code": "ABCD-EFGH"}), "new_password"),
    ];
    for (path, body, field) in table {
        api.post(path, body).await.is_about(field, &format!("{field}_missing"));
    }
    let table = [
        ("POST", "/auth/password", json!({"current_password": PASSWORD}), "new_password"),
        ("POST", "/auth/email/confirm", json!({}), "code"),
    ];
    for (method, path, body, field) in table {
        let refused = api.ask(method.parse().unwrap(), path, Some(&tokens), body).await;
        refused.is_about(field, &format!("{field}_missing"));
    }
    assert_eq!(api.me(&tokens).await, 200);
    sluice.node.stop().await;
}

/// Sends a body as it is, where it is for people who are signed in as one of them.
async fn sent(
    api: &Api,
    (method, path): (&str, &str),
    tokens: &Tokens,
    content_type: &str,
    body: &str,
) -> Answer {
    let request = api.request(method.parse::<Method>().unwrap(), path).bearer_auth(&tokens.access);
    Answer::to(request.header("content-type", content_type).body(body.to_owned())).await
}

async fn what_is_no_json_object_is_refused_by_every_endpoint(backend: Backend) {
    const JSON: &str = "application/json";
    let (sluice, api, tokens) = with_alice(backend).await;
    let twice = r#"{"email": "a@example.com", "email": "b@example.com", "password": "12345678"}"#;
    let large = json!({"more": "a".repeat(16 * 1024)}).to_string();
    let deep = format!("{{\"x\": {}", "[".repeat(10_000));
    let all = OPEN.iter().map(|path| ("POST", *path)).chain(OF_PEOPLE.iter().copied());
    for endpoint in all {
        for body in ["[]", "null", "7", "\"a\"", "{", "{\"email\": \"a", "{} {}", "\u{feff}{}"] {
            sent(&api, endpoint, &tokens, JSON, body).await.is_problem(400, "malformed_body");
        }
        sent(&api, endpoint, &tokens, JSON, &deep).await.is_problem(400, "malformed_body");
        sent(&api, endpoint, &tokens, JSON, &large).await.is_problem(413, "body_too_large");
        for content_type in
            ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "multipart/form-data"]
        {
            sent(&api, endpoint, &tokens, content_type, "{}").await.is_problem(415, "unsupported_media_type");
        }
    }
    for path in ["/auth/register", "/auth/login", "/auth/recovery"] {
        let refused = api.post_raw(path, JSON, twice).await;
        refused.is_problem(400, "repeated_member");
        assert!(!refused.body.contains("12345678"), "{}", refused.body);
    }
    // Half a character is none.
    let half = r#"{"email": "alice\ud83d@example.com", "password": "12345678"}"#;
    api.post_raw("/auth/register", JSON, half).await.is_problem(400, "malformed_body");
    let with_charset = json!({"email": BOB, "password": PASSWORD, "more": {"x": [1]}}).to_string();
    let made = api.post_raw("/auth/register", "Application/JSON; charset=utf-8", &with_charset).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(api.me(&tokens).await, 200);
    sluice.node.stop().await;
}

/// Sends head and body apart, as many clients do, and reads the answer; the connection stays open.
async fn asked_apart(stream: &mut TcpStream, line: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nhost: sluice\r\n{fields}content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&answer).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
            if body.len() >= length.parse::<usize>().unwrap() {
                return text;
            }
        }
        assert!(
            stream.read_buf(&mut answer).await.unwrap() > 0,
            "{line}: the connection ended after {text:?}"
        );
    }
}

/// Of a client that keeps its connection: its access token is over, and it asks for another.
async fn a_refusal_before_the_body_came_leaves_the_connection_to_the_next_request(backend: Backend) {
    let (sluice, _, tokens) = with_alice(backend).await;
    let public = sluice.public.socket_addrs(|| None).unwrap()[0];
    let mut stream = TcpStream::connect(public).await.unwrap();
    for (line, fields, status) in [
        ("PATCH /auth/me", "authorization: Bearer over\r\n", 401),
        ("POST /auth/password", "", 401),
        ("POST /auth/nothing", "", 404),
        ("PUT /auth/register", "", 405),
        ("POST /userinfo", "authorization: Bearer over\r\n", 401),
    ] {
        let refused = asked_apart(&mut stream, line, fields, "{\"username\": \"Alice\"}").await;
        assert!(refused.starts_with(&format!("http/1.1 {status} ")), "{line}: {refused}");
        assert!(!refused.contains("connection: close"), "{line}: {refused}");
    }
    let body = json!({"refresh_token": tokens.refresh}).to_string();
    let refreshed = asked_apart(&mut stream, "POST /auth/refresh", "", &body).await;
    assert!(refreshed.starts_with("http/1.1 200 ") && refreshed.contains("access_token"), "{refreshed}");
    sluice.node.stop().await;
}

async fn what_is_not_there_is_a_problem_too(backend: Backend) {
    let (sluice, api, tokens) = with_alice(backend).await;
    api.get("/auth/nothing", &tokens).await.is_problem(404, "not_found");
    api.get("/auth/register", &tokens).await.is_problem(405, "method_not_allowed");
    for (method, path) in OF_PEOPLE.iter().copied().chain([("GET", "/auth/me"), ("GET", "/auth/sessions")]) {
        let refused = api.ask(method.parse().unwrap(), path, None, Value::Null).await;
        refused.is_problem(401, "token_missing");
        assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"sluice\"", "{path}");
        let stranger = Tokens { access: tokens.refresh.clone(), refresh: String::new() };
        let refused = api.ask(method.parse().unwrap(), path, Some(&stranger), Value::Null).await;
        refused.is_problem(401, "invalid_token");
    }
    assert_eq!(api.get("/health", &tokens).await.status, 200);
    sluice.node.stop().await;
}
