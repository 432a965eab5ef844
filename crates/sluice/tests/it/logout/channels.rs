//! Who hears of the end of a session: by frames in the browser, and by requests from this server.

use std::time::Duration;

use axum::Router;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::routing::post;
use reqwest::Method;
use serde_json::json;
use sluice_crypto::jwe::KeyManagement;
use sluice_primitives::{Clock, Lifetime, ManualClock};
use sluice_testkit::{Authorize, Backend, ISSUER, TestSluice, accept_consent};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{log_in, log_out};
use crate::both_stores::on_both_stores;
use crate::jwt::{header, verified};
use crate::legs::{consent_challenge, delete, token};
use crate::oidc_encryption::OwnKey;

on_both_stores! {
    clients_of_a_session_are_told_in_frames,
    a_session_that_is_not_remembered_tells_its_clients_by_the_back_channel,
    a_logout_token_says_by_its_type_what_it_is_unless_told_otherwise,
    a_logout_token_is_encrypted_as_the_id_tokens_of_its_client,
    a_client_that_begins_to_listen_while_its_user_consents_is_told,
    a_client_that_begins_to_listen_is_told_whatever_the_clocks_say,
    an_administrator_who_ends_sessions_tells_their_clients,
    a_session_that_is_over_tells_those_who_hold_its_tokens,
    whoever_refreshes_for_longer_than_a_browser_comes_by_is_told,
    a_notice_that_does_not_arrive_is_sent_again,
}

/// A client that listens at its back channel.
pub(crate) struct Ear {
    pub(crate) uri: String,
    heard: mpsc::UnboundedReceiver<String>,
}

#[derive(Clone)]
struct Answering {
    tell: mpsc::UnboundedSender<String>,
    answers: std::sync::Arc<parking_lot::Mutex<Vec<StatusCode>>>,
}

impl Ear {
    /// Answers with these, from the last to the first, and then with 200.
    pub(crate) async fn open(answers: Vec<StatusCode>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/logout", listener.local_addr().unwrap());
        let (tell, heard) = mpsc::unbounded_channel();
        let answering = Answering { tell, answers: std::sync::Arc::new(parking_lot::Mutex::new(answers)) };
        let router = Router::new().route("/logout", post(hear)).with_state(answering);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { uri, heard }
    }

    /// The logout token of the next notice.
    pub(crate) async fn next(&mut self) -> String {
        let next = tokio::time::timeout(Duration::from_secs(20), self.heard.recv()).await;
        next.expect("a notice arrives").expect("a notice")
    }
}

async fn hear(State(answering): State<Answering>, Form(form): Form<Vec<(String, String)>>) -> StatusCode {
    let token = form.iter().find(|(name, _)| name == "logout_token").map(|(_, value)| value.clone());
    let answer = answering.answers.lock().pop().unwrap_or(StatusCode::OK);
    answering.tell.send(token.unwrap_or_default()).unwrap();
    answer
}

async fn clients_of_a_session_are_told_in_frames(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"frontchannel_logout_uri": "https://app.test/out?x=1"})).await;
    let other = sluice.client(&json!({"frontchannel_logout_uri": "https://other.test/out"})).await;
    let silent = sluice.client(&json!({"redirect_uris": ["https://silent.test/callback"]})).await;
    let absent = sluice.client(&json!({"frontchannel_logout_uri": "https://absent.test/out"})).await;
    let hostile = sluice.client(&json!({"frontchannel_logout_uri": "https://a;sandbox/out"})).await;
    let (mut browser, mut elsewhere) = (sluice.browser(), sluice.browser());
    let login = json!({"subject": "alice", "remember": true});
    let tokens = log_in(&sluice, &client, &mut browser, &login).await;
    for client in [&other, &silent, &hostile] {
        log_in(&sluice, client, &mut browser, &json!({"subject": "alice"})).await;
    }
    log_in(&sluice, &absent, &mut elsewhere, &login).await;
    sluice.advance(Lifetime::secs(1));
    let page = log_out(&sluice, &mut browser, &[("id_token_hint", token(&tokens, "id_token"))]).await;
    assert_eq!(page.status, 200);
    let sid = crate::jwt::claims(token(&tokens, "id_token"))["sid"].as_str().unwrap().to_owned();
    for start in ["https://app.test/out?x=1", "https://other.test/out?iss="] {
        let frame = page.body.lines().find(|line| line.contains("<iframe") && line.contains(start));
        let frame = frame.unwrap_or_else(|| panic!("no frame of {start} in {}", page.body));
        assert!(frame.contains(&sid) && frame.contains("iss=http%3A%2F%2Fsluice.test%2F"), "{frame}");
    }
    assert_eq!(page.body.matches("<iframe").count(), 3, "{}", page.body);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    let (_, frames) = policy.split_once("; frame-src ").unwrap();
    assert!(frames.contains("https://app.test") && frames.contains("https://other.test"), "{policy}");
    assert!(!frames.contains(';'), "no client adds a directive: {policy}");
    sluice.node.stop().await;
}

async fn a_session_that_is_not_remembered_tells_its_clients_by_the_back_channel(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    let mut browser = sluice.browser();
    let tokens =
        log_in(&sluice, &client, &mut browser, &json!({"subject": "alice", "remember": false})).await;
    sluice.advance(Lifetime::secs(1));
    log_out(&sluice, &mut browser, &[("id_token_hint", token(&tokens, "id_token"))]).await;
    let notice = ear.next().await;
    let said = verified(&sluice, &notice, "RS256").await;
    let now = sluice.clock.now().as_secs();
    assert_eq!((&said["iss"], &said["aud"], &said["iat"]), (&json!(ISSUER), &json!(client.id), &json!(now)));
    assert_eq!(said["sid"], crate::jwt::claims(token(&tokens, "id_token"))["sid"]);
    assert_eq!(said["events"], json!({"http://schemas.openid.net/event/backchannel-logout": {}}));
    assert!(said["jti"].is_string() && said.get("nonce").is_none(), "{said}");
    assert!(said["exp"].as_i64().unwrap() > now);
    // Back-Channel Logout §4: a logout token must not pass for an id token.
    let url = format!("/oauth2/sessions/logout?id_token_hint={notice}");
    assert_eq!(browser.visit(&url).await.status, 400);
    sluice.node.stop().await;
}

/// Whatever it calls itself, it must not pass for an id token (Back-Channel Logout §4).
async fn a_logout_token_says_by_its_type_what_it_is_unless_told_otherwise(backend: Backend) {
    for (settings, typ) in [(&[][..], "logout+jwt"), (&[("strategies.logout_token.typ", "JWT")][..], "JWT")] {
        let sluice = TestSluice::with(backend, settings).await;
        let mut ear = Ear::open(Vec::new()).await;
        let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": true});
        let tokens = log_in(&sluice, &client, &mut browser, &login).await;
        sluice.advance(Lifetime::secs(1));
        log_out(&sluice, &mut browser, &[("id_token_hint", token(&tokens, "id_token"))]).await;
        let notice = ear.next().await;
        assert_eq!(header(&notice)["typ"], typ);
        assert_eq!(verified(&sluice, &notice, "RS256").await["aud"], client.id);
        let hinted = Authorize { more: &[("id_token_hint", notice.as_str())], ..Authorize::default() };
        let page = browser.visit(&client.authorize_url(&hinted)).await;
        assert_eq!(page.expect("error"), "invalid_request", "{typ}");
        let url = format!("/oauth2/sessions/logout?id_token_hint={notice}");
        assert_eq!(browser.visit(&url).await.status, 400);
        sluice.node.stop().await;
    }
}

async fn a_logout_token_is_encrypted_as_the_id_tokens_of_its_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let key = OwnKey::new(KeyManagement::EcdhEs, "mine");
    let asked = json!({"backchannel_logout_uri": ear.uri, "jwks": key.set(),
                       "id_token_encrypted_response_alg": "ECDH-ES", "id_token_signed_response_alg": "ES256"});
    let client = sluice.client(&asked).await;
    let tokens = log_in(&sluice, &client, &mut sluice.browser(), &json!({"subject": "alice"})).await;
    let id_token = verified(&sluice, &key.nested(token(&tokens, "id_token")), "ES256").await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    let said = verified(&sluice, &key.nested(&ear.next().await), "ES256").await;
    assert_eq!((&said["sid"], &said["aud"]), (&id_token["sid"], &json!(client.id)));
    sluice.node.stop().await;
}

async fn a_client_that_begins_to_listen_while_its_user_consents_is_told(backend: Backend) {
    begins_to_listen(backend, |clock| clock.advance(Lifetime::secs(1))).await;
}

/// That of the node where it is written may be behind that of the login's.
async fn a_client_that_begins_to_listen_is_told_whatever_the_clocks_say(backend: Backend) {
    begins_to_listen(backend, |clock| clock.set(clock.now() - Lifetime::secs(5))).await;
}

/// A client begins to listen between login and consent, and after the clock was moved.
async fn begins_to_listen(backend: Backend, moves: impl FnOnce(&ManualClock)) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let client = sluice.client(&json!({})).await;
    sluice.advance(Lifetime::secs(10));
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    let at_login = sluice.clock.now();
    moves(&sluice.clock);
    let listens = json!([{"op": "add", "path": "/backchannel_logout_uri", "value": ear.uri}]);
    sluice.ask_json(Method::PATCH, &format!("/admin/clients/{}", client.id), Some(&listens), 200).await;
    sluice.clock.set(at_login + Lifetime::secs(1));
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let code = browser.visit(&verifier).await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    let said = verified(&sluice, &ear.next().await, "RS256").await;
    assert_eq!(said["sid"], crate::jwt::claims(token(&tokens, "id_token"))["sid"]);
    sluice.node.stop().await;
}

async fn an_administrator_who_ends_sessions_tells_their_clients(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    let login = json!({"subject": "alice"});
    let mut sids = Vec::new();
    for _ in 0..2 {
        let tokens = log_in(&sluice, &client, &mut sluice.browser(), &login).await;
        sids.push(crate::jwt::claims(token(&tokens, "id_token"))["sid"].as_str().unwrap().to_owned());
    }
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    let mut heard = Vec::new();
    for _ in 0..2 {
        let said = verified(&sluice, &ear.next().await, "RS256").await;
        heard.push(said["sid"].as_str().unwrap().to_owned());
    }
    sids.sort_unstable();
    heard.sort_unstable();
    assert_eq!(heard, sids);
    sluice.node.stop().await;
}

/// The browser is forgotten after a minute; what the client was given lives on, and ends with the logout.
async fn a_session_that_is_over_tells_those_who_hold_its_tokens(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    let login = json!({"subject": "alice", "remember": true, "remember_for": 60});
    let tokens = log_in(&sluice, &client, &mut sluice.browser(), &login).await;
    sluice.advance(Lifetime::hours(2));
    sluice.node.tidy().await.unwrap();
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    let said = verified(&sluice, &ear.next().await, "RS256").await;
    assert_eq!(said["sid"], crate::jwt::claims(token(&tokens, "id_token"))["sid"]);
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

/// For three months, by tokens that live thirty days.
async fn whoever_refreshes_for_longer_than_a_browser_comes_by_is_told(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(Vec::new()).await;
    let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    for remember in [false, true] {
        let login = json!({"subject": "alice", "remember": remember, "remember_for": 86400});
        let mut tokens = log_in(&sluice, &client, &mut sluice.browser(), &login).await;
        for days in [2, 2, 12, 20, 29, 1, 20] {
            sluice.advance(Lifetime::hours(24 * days));
            tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
            sluice.node.tidy().await.unwrap();
        }
        sluice.advance(Lifetime::secs(1));
        delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
        ear.next().await;
        assert!(!sluice.is_active(token(&tokens, "access_token")).await);
        sluice.advance(Lifetime::secs(1));
    }
    sluice.node.stop().await;
}

async fn a_notice_that_does_not_arrive_is_sent_again(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let mut ear = Ear::open(vec![StatusCode::BAD_GATEWAY]).await;
    let client = sluice.client(&json!({"backchannel_logout_uri": ear.uri})).await;
    let tokens = log_in(&sluice, &client, &mut sluice.browser(), &json!({"subject": "alice"})).await;
    let sid = crate::jwt::claims(token(&tokens, "id_token"))["sid"].clone();
    sluice.advance(Lifetime::secs(1));
    let path = format!("/admin/oauth2/auth/sessions/login?sid={}", sid.as_str().unwrap());
    assert_eq!(sluice.ask(Method::DELETE, &path, None).await.status(), 204);
    assert_eq!(verified(&sluice, &ear.next().await, "RS256").await["sid"], sid);
    sluice.advance(Lifetime::minutes(5));
    assert_eq!(verified(&sluice, &ear.next().await, "RS256").await["sid"], sid);
    sluice.node.stop().await;
}
