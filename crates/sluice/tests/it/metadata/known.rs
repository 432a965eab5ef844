//! What clients get to know of users, and who is a client.

use std::collections::BTreeSet;

use serde_json::json;
use sluice_testkit::{Authorize, TestClient, accept_consent, accept_login};

use super::Server;
use super::authentication::refuses_to_register;
use crate::authorization_errors::Change::With;
use crate::authorization_errors::asked;
use crate::jwt;
use crate::legs::{login_request, token, tokens_of};
use crate::response::{Response, client_for};

/// Each scope does something by itself.
pub(super) async fn scopes(server: &Server, entry: &str) {
    let client = server.sluice.client(&json!({"scope": server.names(entry).join(" ")})).await;
    for scope in server.names(entry) {
        let with = Authorize { scope, ..Authorize::default() };
        let login = json!({"subject": "alice"});
        let page = server.sluice.browser().log_in_with(&server.sluice, &client, &with, &login).await;
        let tokens = client.redeem(&page.expect("code")).await.ok();
        let expected = match scope {
            "openid" => (true, false),
            "offline_access" | "offline" => (false, true),
            _ => panic!("what does {scope} do?"),
        };
        let has = |name: &str| tokens.get(name).is_some();
        assert_eq!((has("id_token"), has("refresh_token")), expected, "{scope}");
    }
}

/// Each claim is told where everything is known of a user.
pub(super) async fn claims(server: &Server, entry: &str) {
    let sluice = &server.sluice;
    let client = client_for(sluice, &["code id_token token"], json!({})).await;
    let mut browser = sluice.browser();
    let url = asked(&client, &[With("response_type", "code id_token token")]);
    let challenge = browser.visit(&url).await.expect("login_challenge");
    let login = json!({"subject": "alice", "acr": "urn:level:2", "amr": ["pwd"]});
    let verifier = accept_login(sluice, &challenge, &login).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(sluice, &challenge, &json!({})).await;
    let answer = Response::of(&browser.visit(&verifier).await);
    let told = jwt::verified(sluice, answer.get("id_token"), "RS256").await;
    let told: BTreeSet<_> = told.as_object().unwrap().keys().map(String::as_str).collect();
    for claim in server.names(entry) {
        assert!(told.contains(claim), "{claim} is announced; told are {told:?}");
    }
}

/// OpenID Connect Core §5.5.
pub(super) async fn claims_parameter(server: &Server, entry: &str) {
    let sluice = &server.sluice;
    let client = sluice.client(&json!({})).await;
    let asked = json!({"id_token": {"acr": {"values": ["urn:level:2"]}}}).to_string();
    let with = Authorize { more: &[("claims", &asked)], ..Authorize::default() };
    let told = login_request(sluice, &client, &mut sluice.browser(), &with).await;
    let understood = told["oidc_context"]["acr_values"] == json!(["urn:level:2"]);
    assert_eq!(understood, server.flag(entry));
}

/// OpenID Connect Core §8.
pub(super) async fn subject_types(server: &Server, entry: &str) {
    let announced = server.names(entry);
    for kind in ["public", "pairwise", "ephemeral"] {
        let metadata = json!({"subject_type": kind});
        if !announced.contains(&kind) {
            refuses_to_register(server, &metadata).await;
            continue;
        }
        let client = server.sluice.client(&metadata).await;
        let tokens = tokens_of(&server.sluice, &client, "alice").await;
        let sub = jwt::claims(token(&tokens, "id_token"))["sub"].clone();
        assert_eq!(sub == "alice", kind == "public", "{kind}: {sub}");
    }
    assert!(announced.iter().all(|kind| ["public", "pairwise"].contains(kind)), "{announced:?}");
}

/// draft-ietf-oauth-client-id-metadata-document §5.
pub(super) async fn documents(server: &Server, entry: &str) {
    if !server.flag(entry) {
        let made = json!({"client_id": "https://client.test/client.json",
                          "redirect_uris": ["https://app.test/callback"]});
        let client = TestClient::of(server.sluice.public.clone(), &made);
        let page = server.sluice.browser().visit(&client.authorize_url(&Authorize::default())).await;
        assert!(page.location.is_none() && page.body.contains("invalid_client"), "{}", page.body);
        return;
    }
    let client = server.host.as_ref().expect("a document").client(&server.sluice);
    tokens_of(&server.sluice, &client, "alice").await;
}
