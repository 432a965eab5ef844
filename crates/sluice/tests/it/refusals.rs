//! What an operator sees of what is refused: which client, at which endpoint, and why.

use serde_json::json;
use sluice_testkit::{Authorize, Backend, Browser, TestClient, redirect_to};

use crate::answer::{Answer, http};
use crate::authorization_errors::Change::With;
use crate::authorization_errors::asked;
use crate::process::{Process, Site};

const FOR_ITSELF: [(&str, &str); 1] = [("grant_type", "client_credentials")];

/// A server with these settings whose log has all that this module says, and a client of it.
async fn given(settings: &[(&str, &str)], told: &'static str) -> (Site, Process, TestClient) {
    let mut site = Site::fresh(Backend::Sqlite).await;
    site.set(settings);
    site.log(told);
    let server = site.start().await;
    let metadata = json!({
        "redirect_uris": ["https://app.test/callback"],
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "scope": "openid offline_access",
    });
    let made = Answer::to(http().post(server.admin.join("/admin/clients").unwrap()).json(&metadata)).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let client = TestClient::of(server.public.clone(), &made.json());
    (site, server, client)
}

/// Waits for the line that says that this client was refused there, and why.
async fn says(server: &Process, (endpoint, client): (&str, &str), why: &str) {
    let (endpoint, client) = (format!(r#""endpoint":"{endpoint}""#), format!(r#""client.id":"{client}""#));
    server.logs(&[&endpoint, &client, why]).await;
}

/// Where the browser goes whose user logged in.
async fn logged_in(server: &Process, challenge: &str) -> String {
    let path = format!("/admin/oauth2/auth/requests/login/accept?login_challenge={challenge}");
    let accept = http().put(server.admin.join(&path).unwrap()).json(&json!({"subject": "alice"}));
    redirect_to(&Answer::to(accept).await.ok())
}

async fn metrics(server: &Process) -> String {
    Answer::to(http().get(server.admin.join("/admin/metrics/prometheus").unwrap())).await.body
}

/// Each endpoint, with its error value and how often it is refused there.
async fn count(server: &Process, refused: &[(&str, &str, u32)]) {
    let metrics = metrics(server).await;
    for (endpoint, error, count) in refused {
        let line = format!("sluice_refusals_total{{endpoint=\"{endpoint}\",error=\"{error}\"}} {count}.0");
        assert!(metrics.lines().any(|told| told == line), "{line}\nis not in\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_endpoint_of_clients_says_whom_it_refuses() {
    let (_site, server, client) = given(&[], "sluice_http=info").await;
    let id = client.id.as_str();
    let (mut nobody, mut mistaken) = (client.clone(), client.clone());
    nobody.id = "nobody".to_owned();
    mistaken.secret = Some("another-secret-than-its-own".to_owned());
    nobody.token(&FOR_ITSELF).await.refused_with("invalid_client");
    says(&server, ("token", "nobody"), "there is no such client").await;
    mistaken.token(&FOR_ITSELF).await.refused_with("invalid_client");
    says(&server, ("token", id), "wrong client secret").await;
    let token = server.public.join("/oauth2/token").unwrap();
    let no_form = http().post(token).basic_auth(id, Some("secret")).json(&json!({}));
    Answer::to(no_form).await.refused_with(400, "invalid_request");
    says(&server, ("token", id), "the body is not application/x-www-form-urlencoded").await;
    client.post("/oauth2/device/auth", &[]).await.refused_with("unauthorized_client");
    says(&server, ("device authorization", id), "not registered for device codes").await;
    let pushed = [("response_type", "code"), ("redirect_uri", "https://evil.test/")];
    client.post("/oauth2/par", &pushed).await.refused_with("invalid_request");
    says(&server, ("pushed request", id), "the redirect URI is not registered").await;
    nobody.revoke("a-token").await.refused_with("invalid_client");
    says(&server, ("revocation", "nobody"), "there is no such client").await;
    mistaken.post("/oauth2/introspect", &[("token", "a-token")]).await.refused_with("invalid_client");
    says(&server, ("introspection", id), "wrong client secret").await;
    let refused = [
        ("token", "invalid_client", 2),
        ("token", "invalid_request", 1),
        ("device authorization", "unauthorized_client", 1),
        ("pushed request", "invalid_request", 1),
        ("revocation", "invalid_client", 1),
        ("introspection", "invalid_client", 1),
    ];
    count(&server, &refused).await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_leg_of_a_flow_says_whom_it_refuses() {
    let (_site, server, client) = given(&[], "sluice_http=info").await;
    let (id, browser) = (client.id.as_str(), || Browser::of(server.public.clone()));
    browser().visit(&asked(&client, &[With("redirect_uri", "https://evil.test/")])).await;
    says(&server, ("authorization", id), "the redirect URI is not registered").await;
    let too_long = "i".repeat(300);
    browser().visit(&asked(&client, &[With("client_id", &too_long)])).await;
    let cut = "i".repeat(255) + "…";
    says(&server, ("authorization", &cut), "the parameter `client_id` is missing or malformed").await;
    browser().visit(&asked(&client, &[With("prompt", "none")])).await;
    let told = format!(r#""client.id":"{id}""#);
    server.logs(&["authorization request refused", r#""error.code":"login_required""#, &told]).await;
    let challenge = browser().begin(&client, &Authorize::default()).await;
    browser().visit(&logged_in(&server, &challenge).await).await;
    says(&server, ("authorization", id), "the flow does not belong to this browser").await;
    count(&server, &[("authorization", "invalid_request", 3), ("authorization", "login_required", 1)]).await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_is_down_is_named_with_what_went_wrong() {
    let settings = [
        ("oauth2.refresh_token_hook", "http://127.0.0.1:2/"),
        ("oauth2.token_hook", "http://127.0.0.1:1/"),
        ("clients.http.disallow_private_ip_ranges", "false"),
    ];
    let (_site, server, client) = given(&settings, "sluice_http=info").await;
    client.token(&FOR_ITSELF).await.refused_with("server_error");
    let why = "oauth2.token_hook: the hook did not answer: the request failed: ";
    says(&server, ("token", &client.id), why).await;
    server.logs(&["oauth2.token_hook", "Connection refused"]).await;
    assert!(metrics(&server).await.contains("sluice_flows_total{step=\"hook_failures\"} 1.0\n"));
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_why_a_token_is_not_active_if_it_is_asked() {
    let (_site, server, client) = given(&[], "sluice_oauth::introspection=debug").await;
    let is_active = async |token: &str| {
        let url = server.admin.join("/admin/oauth2/introspect").unwrap();
        Answer::to(http().post(url).form(&[("token", token)])).await.ok()["active"] == true
    };
    assert!(!is_active("nonsense").await);
    server.logs(&["a token is not active", "no access token: not a sealed value; no refresh token: "]).await;
    let tokens = client.token(&FOR_ITSELF).await.ok();
    let token = tokens["access_token"].as_str().unwrap();
    assert!(is_active(token).await);
    assert_eq!(client.revoke(token).await.status, 200);
    assert!(!is_active(token).await);
    server.logs(&["a token is not active", "the access token was revoked"]).await;
    server.kill().await;
}
