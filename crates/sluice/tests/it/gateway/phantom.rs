//! Phantom tokens: what services behind the gateway verify with its public keys alone.

use std::fs;

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use reqwest::StatusCode;
use serde_json::{Value, json};
use sluice_testkit::Backend;

use super::foreign::{tokens_of, told_of};
use super::linked::gateway_of;
use super::{Routes, Seen, site};
use crate::application::Application;

/// Who signs phantom tokens.
pub(super) const GATEWAY: &str = "https://gateway.test";

/// What a service reads in the header with its phantom token. It knows where a gateway publishes its keys, and nothing else.
pub(super) async fn verified(gateway: &Seen, header: &Value, audience: &str) -> Value {
    let token = header.as_str().unwrap();
    let token = token.strip_prefix("Bearer ").unwrap_or(token);
    let url = gateway.url.join("/.well-known/sluice-gateway-jwks.json").unwrap();
    let keys: JwkSet = gateway.http.get(url).send().await.unwrap().json().await.unwrap();
    let named = decode_header(token).unwrap();
    assert_eq!((named.alg, named.typ.as_deref()), (Algorithm::ES256, Some("at+jwt")));
    let key = keys.find(&named.kid.unwrap()).unwrap();
    let mut rules = Validation::new(Algorithm::ES256);
    rules.set_audience(&[audience]);
    rules.set_issuer(&[GATEWAY]);
    decode::<Value>(token, &DecodingKey::from_jwk(key).unwrap(), &rules).unwrap().claims
}

/// Two routes: a phantom token in place of the client's, and one in a header of its own.
fn write(routes: &Routes) {
    let all = "  - {name: invoices, match: {prefix: /invoices/}, upstream: echo, phantom_token: {audience: invoices}}\n  \
               - {name: ledger, match: {prefix: /ledger/}, upstream: echo, auth: optional, \
                  phantom_token: {header: X-Internal, audience: ledger, lifetime: 5m}}\n";
    routes.rewrite("", all);
}

/// What the upstream sees of a request with headers in the gateway's name.
async fn with_forged_headers(gateway: &Seen, token: Option<&str>) -> Value {
    let mut request = gateway.http.get(gateway.url.join("/ledger/7").unwrap());
    for name in ["X-Internal", "X_Internal", "OAuth-User-Id"] {
        request = request.header(name, "mallory");
    }
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let seen: Value = answer.json().await.unwrap();
    for name in ["x_internal", "oauth-user-id", "authorization"] {
        assert!(seen.get(name).is_none(), "{name} in {seen}");
    }
    seen
}

/// The server's own gateway and one that is linked to it have one key, in a PEM file.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_verifies_the_phantom_token_of_any_gateway_and_never_gets_the_clients() {
    let routes = Routes::fresh().await;
    write(&routes);
    let key = routes.directory.path().join("phantom.pem");
    fs::write(&key, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let settings = [("gateway.phantom.key", key.to_str().unwrap()), ("gateway.phantom.issuer", GATEWAY)];
    let mut site = site(Backend::Sqlite, &routes).await;
    site.set(&settings);
    let server = site.start().await;
    let linked = gateway_of(&server, &routes, &settings).await;
    let (one, other) = (Seen::of(&server), Seen::of(&linked));
    let tokens = tokens_of(&Application::register(&[&server]).await, "alice").await;
    let known = told_of(&server, &tokens.access).await;
    for (signing, verifying) in [(&one, &other), (&other, &one)] {
        let (status, seen) = signing.ask("/invoices/7", &tokens.access).await;
        assert_eq!(status, StatusCode::OK);
        assert!(seen.get("oauth-user-id").is_none() && !seen.to_string().contains(&tokens.access), "{seen}");
        let said = verified(verifying, &seen["authorization"], "invoices").await;
        assert_eq!((&said["sub"], &said["client_id"]), (&json!("alice"), &known["client_id"]));
        assert_eq!((&said["scope"], &said["aud"]), (&known["scope"], &json!("invoices")));
        assert_eq!(said["exp"].as_i64().unwrap() - said["iat"].as_i64().unwrap(), 60);
        assert!(said.get("idp").is_none(), "{said}");

        let seen = with_forged_headers(signing, Some(&tokens.access)).await;
        let said = verified(verifying, &seen["x-internal"], "ledger").await;
        assert_eq!(said["sub"], "alice");
        assert_eq!(said["exp"].as_i64().unwrap() - said["iat"].as_i64().unwrap(), 300);
        let seen = with_forged_headers(signing, None).await;
        assert!(seen.get("x-internal").is_none(), "nobody in particular: {seen}");
    }
    linked.kill().await;
    server.kill().await;
}
