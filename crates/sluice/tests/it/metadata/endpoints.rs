//! Endpoints that are announced answer to the methods of their specifications.

use serde_json::{Value, json};
use sluice_testkit::TestClient;
use url::Url;

use super::Server;
use crate::answer::{Answer, http};
use crate::authorization_errors::asked;
use crate::keyed::MACHINE;
use crate::legs::{token, tokens_of};
use crate::requests::{parameters, push, request_uri};
use crate::rfc7591::application;

pub(super) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

pub(super) async fn check(server: &Server, entry: &str) {
    let (sluice, path) = (&server.sluice, server.path(entry));
    let grants = json!(["authorization_code", "refresh_token", "client_credentials", DEVICE_CODE]);
    let client = sluice.client(&json!({"grant_types": grants})).await;
    match entry {
        "authorization_endpoint" => authorization(server, &client, path).await,
        "userinfo_endpoint" => userinfo(server, &client, path).await,
        "end_session_endpoint" => end_session(server, &client, path).await,
        "jwks_uri" => {
            let page = sluice.browser().visit(path).await;
            let keys: Value = serde_json::from_str(&page.body).unwrap();
            assert!(!keys["keys"].as_array().unwrap().is_empty(), "{keys}");
        }
        _ => only_by_post(server, &client, (entry, path)).await,
    }
}

/// OpenID Connect Core §3.1.2.1: both ways. A form is turned into an address, with which the browser's cookies come along.
async fn authorization(server: &Server, client: &TestClient, path: &str) {
    let url: Url = asked(client, &[]).parse().unwrap();
    assert_eq!(url.path(), path);
    server.sluice.browser().visit(url.as_str()).await.expect("login_challenge");
    let parameters = parameters(client, &[]);
    let form: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut browser = server.sluice.browser();
    let turned = browser.submit(path, &form).await;
    browser.visit(turned.location().as_str()).await.expect("login_challenge");
}

/// OpenID Connect Core §5.3: both ways.
async fn userinfo(server: &Server, client: &TestClient, path: &str) {
    let tokens = tokens_of(&server.sluice, client, "alice").await;
    let url = server.sluice.public.join(path).unwrap();
    for request in [http().get(url.clone()), http().post(url)] {
        let answer = Answer::to(request.bearer_auth(token(&tokens, "access_token"))).await;
        assert_eq!(answer.ok()["sub"], "alice");
    }
}

/// OpenID Connect RP-Initiated Logout §2: both ways.
async fn end_session(server: &Server, client: &TestClient, path: &str) {
    let mut browser = server.sluice.browser();
    let code = browser.log_in(&server.sluice, client, "alice").await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    let hint = token(&tokens, "id_token");
    browser.visit(&format!("{path}?id_token_hint={hint}")).await.expect("logout_challenge");
    let turned = browser.submit(path, &[("id_token_hint", hint)]).await;
    browser.visit(turned.location().as_str()).await.expect("logout_challenge");
}

async fn only_by_post(server: &Server, client: &TestClient, (entry, path): (&str, &str)) {
    let sluice = &server.sluice;
    let got = Answer::to(http().get(sluice.public.join(path).unwrap())).await;
    assert_eq!((got.status, got.header("allow")), (405, "POST"), "{entry}");
    let known = client.token(MACHINE).await.ok();
    let known = [("token", token(&known, "access_token"))];
    match entry {
        "token_endpoint" => assert!(client.post(path, MACHINE).await.ok()["access_token"].is_string()),
        "pushed_authorization_request_endpoint" => {
            assert_eq!(path, "/oauth2/par");
            request_uri(&push(client, &[]).await);
        }
        "device_authorization_endpoint" => {
            assert!(client.post(path, &[]).await.ok()["device_code"].is_string());
        }
        "introspection_endpoint" => assert_eq!(client.post(path, &known).await.ok()["active"], true),
        "revocation_endpoint" => {
            client.post(path, &known).await.ok();
            assert!(!sluice.is_active(known[0].1).await);
        }
        "registration_endpoint" => {
            let request = http().post(sluice.public.join(path).unwrap()).json(&application());
            assert_eq!(Answer::to(request).await.status, 201);
        }
        _ => panic!("how is {entry} asked?"),
    }
}
