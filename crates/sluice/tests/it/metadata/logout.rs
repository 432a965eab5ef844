//! How clients hear of the end of a session (OpenID Connect Back-Channel Logout §2.1, Front-Channel Logout §3).

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Page, TestClient};

use super::Server;
use crate::jwt::{claims, verified};
use crate::legs::token;
use crate::logout::channels::Ear;
use crate::logout::{log_in, log_out};

/// Logs in and out; the session, and the page at the end.
async fn session(server: &Server, client: &TestClient) -> (Value, Page) {
    let mut browser = server.sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    let tokens = log_in(&server.sluice, client, &mut browser, &login).await;
    server.sluice.advance(Lifetime::secs(1));
    let hint = token(&tokens, "id_token");
    let page = log_out(&server.sluice, &mut browser, &[("id_token_hint", hint)]).await;
    (claims(hint)["sid"].clone(), page)
}

pub(super) async fn back(server: &Server, entry: &str) {
    assert!(server.flag(entry));
    let mut ear = Ear::open(Vec::new()).await;
    let metadata = json!({"backchannel_logout_uri": ear.uri, "backchannel_logout_session_required": true});
    let client = server.sluice.client(&metadata).await;
    let (sid, _) = session(server, &client).await;
    let told = verified(&server.sluice, &ear.next().await, "RS256").await;
    assert_eq!((sid.is_string(), &told["sid"], &told["sub"]), (true, &sid, &json!("alice")));
}

pub(super) async fn front(server: &Server, entry: &str) {
    assert!(server.flag(entry));
    let metadata = json!({"frontchannel_logout_uri": "https://app.test/out",
                          "frontchannel_logout_session_required": true});
    let client = server.sluice.client(&metadata).await;
    let (sid, page) = session(server, &client).await;
    let frame =
        page.body.lines().find(|line| line.contains("<iframe") && line.contains("https://app.test/out"));
    let frame = frame.unwrap_or_else(|| panic!("no frame in {}", page.body));
    assert!(
        frame.contains(sid.as_str().unwrap()) && frame.contains("iss=http%3A%2F%2Fsluice.test%2F"),
        "{frame}"
    );
}
