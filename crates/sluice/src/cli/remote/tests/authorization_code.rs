use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};
use sluice_crypto::digest::sha256;
use url::Url;

use super::stub::{Outcome, Stub};
use crate::cli::Exit;

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Sends one request, and gives what comes back; waits until somebody listens.
fn browse(port: u16, request: &str) -> String {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = loop {
        if let Ok(stream) = TcpStream::connect(address) {
            break stream;
        }
        std::thread::yield_now();
    };
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(port: u16, path: &str) -> String {
    browse(port, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

/// Where the first page leads to: the authorization request.
fn authorization_request(port: u16) -> Url {
    let answer = get(port, "/");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    Url::parse(location).unwrap()
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(candidate, _)| candidate == name).map(|(_, value)| value.into_owned())
}

/// Performs the flow with a browser that does as told.
async fn perform<B: Send + 'static>(
    stub: &Stub,
    flags: &str,
    browser: impl FnOnce(u16) -> B + Send + 'static,
) -> (Outcome, B) {
    let port = free_port();
    let browser = tokio::task::spawn_blocking(move || browser(port));
    let line =
        format!("sluice perform authorization-code --no-open --client-id photos --port {port} {flags}");
    let outcome = stub.run(&line).await;
    (outcome, browser.await.unwrap())
}

fn tokens() -> Value {
    json!({ "access_token": "at", "refresh_token": "rt", "id_token": "it", "expires_in": 3600 })
}

#[tokio::test]
async fn the_code_that_the_browser_brings_is_exchanged() {
    let stub = Stub::answering(200, tokens()).await;
    let (outcome, (request, page)) = perform(&stub, "--prompt login --max-age 60 --audience a,b", |port| {
        let request = authorization_request(port);
        let state = parameter(&request, "state").unwrap();
        let page = get(port, &format!("/callback?code=c0de&state={state}"));
        (request, page)
    })
    .await;
    assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
    let expected = "\
ACCESS TOKEN   at
REFRESH TOKEN  rt
ID TOKEN       it
EXPIRY         2025-01-01T01:00:00Z
";
    assert_eq!(outcome.out, expected);
    assert!(outcome.err.contains(request.as_str()));
    assert!(page.contains("You are signed in") && !page.contains(">at<"));
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "photos"),
        ("scope", "offline openid"),
        ("audience", "a b"),
        ("prompt", "login"),
        ("max_age", "60"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(parameter(&request, name).as_deref(), Some(value));
    }
    let asked = stub.only();
    assert_eq!(asked.line, "POST /oauth2/token");
    let form: Vec<(String, String)> = form_urlencoded::parse(asked.body.as_bytes()).into_owned().collect();
    let sent = |name: &str| form.iter().find(|(key, _)| key == name).unwrap().1.clone();
    assert_eq!((sent("grant_type").as_str(), sent("code").as_str()), ("authorization_code", "c0de"));
    assert_eq!((sent("client_id").as_str(), asked.header("authorization")), ("photos", ""));
    assert_eq!(Some(sent("redirect_uri")), parameter(&request, "redirect_uri"));
    let challenge = parameter(&request, "code_challenge").unwrap();
    let hash = sha256(sent("code_verifier").as_bytes());
    assert_eq!(base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, hash), challenge);
}

#[tokio::test]
async fn an_answer_with_another_state_is_ignored() {
    let stub = Stub::answering(200, tokens()).await;
    let (outcome, foreign) = perform(&stub, "--state mine --client-secret s", |port| {
        let foreign = get(port, "/callback?code=forged&state=theirs");
        get(port, "/callback?code=real&state=mine");
        foreign
    })
    .await;
    assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
    assert!(foreign.contains("belongs to another request"));
    let asked = stub.only();
    assert!(asked.body.contains("code=real"));
    assert!(asked.header("authorization").starts_with("Basic "));
}

#[tokio::test]
async fn an_answer_may_come_back_as_a_form() {
    let stub = Stub::answering(200, tokens()).await;
    let redirect = "--redirect http://localhost:9/cb --state mine --response-mode form_post";
    let (outcome, _) = perform(&stub, redirect, |port| {
        let body = "code=c0de&state=mine";
        let head = "POST /cb HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 20\r\n\r\n";
        browse(port, &format!("{head}{body}"))
    })
    .await;
    assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
    assert!(stub.only().body.contains("redirect_uri=http%3A%2F%2Flocalhost%3A9%2Fcb"));
}

/// Servers compare it as a text (RFC 6749 §3.1.2.3).
#[tokio::test]
async fn a_redirect_uri_is_sent_as_it_is_written() {
    let stub = Stub::answering(200, tokens()).await;
    let redirect = "http://LocalHost:80/cb";
    let (outcome, request) = perform(&stub, &format!("--redirect {redirect} --state mine"), |port| {
        let request = authorization_request(port);
        get(port, "/cb?code=c0de&state=mine");
        request
    })
    .await;
    assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
    assert_eq!(parameter(&request, "redirect_uri").as_deref(), Some(redirect));
    assert!(stub.only().body.contains("redirect_uri=http%3A%2F%2FLocalHost%3A80%2Fcb"));
}

#[tokio::test]
async fn a_refusal_that_the_browser_brings_is_told() {
    let stub = Stub::answering(200, tokens()).await;
    let (outcome, page) = perform(&stub, "--state mine", |port| {
        get(port, "/callback?error=access_denied&error_description=No+%3Cb%3E%1B&state=mine")
    })
    .await;
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, ""));
    assert!(outcome.err.ends_with("error: access_denied: No <b>\\u{1b}\n"), "{}", outcome.err);
    assert!(page.contains("That did not work") && !page.contains("<b>"));
    assert!(stub.asked().is_empty());
}

#[tokio::test]
async fn a_port_that_is_taken_is_a_failure_before_a_browser_is_sent_anywhere() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let stub = Stub::answering(200, tokens()).await;
    let port = taken.local_addr().unwrap().port();
    let outcome = stub.run(&format!("sluice perform authorization-code --client-id c --port {port}")).await;
    assert_eq!(outcome.exit, Exit::Failure);
    assert!(
        outcome.err.starts_with(&format!("error: cannot listen at 127.0.0.1:{port}: ")),
        "{}",
        outcome.err
    );
}
