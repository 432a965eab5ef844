//! OpenID Connect Dynamic Client Registration, and logins that others begin (OpenID Connect Core §4).

use serde_json::json;
use sluice_testkit::{Backend, TestClient, TestSluice};

use crate::legs::tokens_of;
use crate::rfc7591::{ENABLED, application_with, register, registered};

/// Core §4: another party has the client begin a login; for this server it is a login like any other.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_says_where_others_have_it_begin_a_login() {
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED]).await;
    let uri = "https://app.test/login/initiate";
    let made = registered(&sluice, &application_with(&json!({"initiate_login_uri": uri}))).await;
    assert_eq!(made["initiate_login_uri"], uri);
    tokens_of(&sluice, &TestClient::of(sluice.public.clone(), &made), "alice").await;
    sluice.node.stop().await;
}

/// Registration §2: the scheme must be https; not so on the user's own machine, as for redirect URIs.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_others_begin_begins_with_https() {
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED]).await;
    for uri in ["http://127.0.0.1:3000/login", "http://localhost:3000/login", "http://[::1]/login"] {
        sluice.client(&json!({"initiate_login_uri": uri})).await;
    }
    for uri in ["http://app.test/login", "http://127.0.0.1.app.test/login", "app.own:/login", "login"] {
        let refused = register(&sluice, None, &application_with(&json!({"initiate_login_uri": uri}))).await;
        refused.refused_with(400, "invalid_client_metadata");
        assert!(refused.body.contains("initiate_login_uri"), "{}", refused.body);
    }
    sluice.node.stop().await;
}

/// Registration §2: what a client shows its users is shown, and never run.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_registers_what_it_shows_its_users() {
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED]).await;
    for field in ["logo_uri", "policy_uri", "tos_uri", "client_uri"] {
        let link = format!("https://app.test/{field}");
        let made = registered(&sluice, &application_with(&json!({field: link}))).await;
        assert_eq!(made[field], link);
        for hostile in ["javascript:alert(1)", "data:text/html,x", "not a link"] {
            let refused = register(&sluice, None, &application_with(&json!({field: hostile}))).await;
            refused.refused_with(400, "invalid_client_metadata");
        }
    }
    sluice.node.stop().await;
}
