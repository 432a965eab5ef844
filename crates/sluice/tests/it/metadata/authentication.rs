//! How clients authenticate: each way that is announced does, and no other.

use serde_json::{Value, json};
use sluice_crypto::jws::sign_hmac;
use sluice_primitives::Clock;
use sluice_testkit::{ISSUER, TestClient, TestSluice};

use super::{SIGNERS, Server};
use crate::answer::{Answer, basic};
use crate::keyed::{JWT_BEARER, changed, jti, send};
use crate::rfc8705::Shown;

/// Nobody knows this token: who asks about it is authenticated before that is said.
const UNKNOWN: &[(&str, &str)] =
    &[("grant_type", "refresh_token"), ("refresh_token", "unknown"), ("token", "unknown")];

const METHODS: [&str; 7] = [
    "client_secret_basic",
    "client_secret_post",
    "client_secret_jwt",
    "private_key_jwt",
    "tls_client_auth",
    "self_signed_tls_client_auth",
    "none",
];

pub(super) async fn methods(server: &Server, entry: &str) {
    let endpoint = server.path(entry.trim_end_matches("_auth_methods_supported"));
    let announced = server.names(entry);
    assert!(announced.iter().all(|method| METHODS.contains(method)), "{entry}: {announced:?}");
    for method in METHODS {
        let shown = Shown::self_signed();
        let client = client(&server.sluice, method, &shown).await;
        let authenticated = authenticates(&server.sluice, (endpoint, method), &client, &shown).await;
        assert_eq!(authenticated, announced.contains(&method), "{entry}: {method}");
    }
    let unknown = json!({"token_endpoint_auth_method": "handshake"});
    refuses_to_register(server, &unknown).await;
}

pub(super) async fn refuses_to_register(server: &Server, metadata: &Value) {
    server.sluice.ask_json(reqwest::Method::POST, "/admin/clients", Some(metadata), 400).await;
}

async fn client(sluice: &TestSluice, method: &str, shown: &Shown) -> TestClient {
    let metadata = json!({"token_endpoint_auth_method": method, "grant_types": ["refresh_token"]});
    let more = match method {
        "private_key_jwt" => json!({"jwks": {"keys": [SIGNERS["ES256"].jwk]}}),
        "self_signed_tls_client_auth" => json!({"jwks": {"keys": [shown.jwk()]}}),
        "tls_client_auth" => json!({"tls_client_auth_subject_dn": "CN=client"}),
        _ => json!({}),
    };
    sluice.client(&changed(metadata, &more)).await
}

/// Whether a client with the credentials of its method is known, and without them is not.
async fn authenticates(
    sluice: &TestSluice,
    (endpoint, method): (&str, &str),
    client: &TestClient,
    shown: &Shown,
) -> bool {
    let (id, secret) = (client.id.as_str(), client.secret.as_deref().unwrap_or_default());
    let own = [("client_id", id)];
    let ask = async |headers: &[(&'static str, &str)], more: &[(&str, &str)]| {
        is_known(&send(sluice, endpoint, headers, &[UNKNOWN, more].concat()).await)
    };
    if method != "none" {
        assert!(!ask(&[], &own).await, "{endpoint}: {method} without credentials");
    }
    match method {
        "client_secret_basic" => ask(&[("authorization", &basic(id, secret))], &[]).await,
        "client_secret_post" => ask(&[], &[own[0], ("client_secret", secret)]).await,
        "client_secret_jwt" => ask(&[], &asserted(&assertion(sluice, client, "HS256"))).await,
        "private_key_jwt" => ask(&[], &asserted(&assertion(sluice, client, "ES256"))).await,
        "none" => ask(&[], &own).await,
        _ => ask(&[("client-cert", &shown.client_cert())], &own).await,
    }
}

fn asserted(assertion: &str) -> [(&str, &str); 2] {
    [("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)]
}

/// An answer about the token, or that the client is not known.
#[track_caller]
fn is_known(answer: &Answer) -> bool {
    match (answer.status, answer.json()["error"].as_str()) {
        (200, None) | (400, Some("invalid_grant")) => true,
        (401, Some("invalid_client")) => false,
        _ => panic!("{} {}", answer.status, answer.body),
    }
}

/// An assertion that is signed with the secret of a client, or the key for this algorithm.
fn assertion(sluice: &TestSluice, client: &TestClient, algorithm: &str) -> String {
    let Ok(mac) = algorithm.parse() else { return SIGNERS[algorithm].assertion(sluice, &client.id) };
    let now = sluice.clock.now().as_secs();
    let claims =
        json!({"iss": client.id, "sub": client.id, "aud": ISSUER, "exp": now + 60, "iat": now, "jti": jti()});
    let secret = client.secret.as_deref().unwrap();
    sign_hmac(Some("JWT"), claims.to_string().as_bytes(), secret.as_bytes(), mac).unwrap()
}

pub(super) async fn algorithms(server: &Server, entry: &str) {
    let sluice = &server.sluice;
    let endpoint = server.path(entry.trim_end_matches("_auth_signing_alg_values_supported"));
    for algorithm in server.names(entry) {
        let method = if algorithm.starts_with("HS") { "client_secret_jwt" } else { "private_key_jwt" };
        let jwks = SIGNERS.get(algorithm).map(|signer| json!({"keys": [signer.jwk]}));
        let metadata = json!({"token_endpoint_auth_method": method, "jwks": jwks,
                              "token_endpoint_auth_signing_alg": algorithm,
                              "grant_types": ["refresh_token"]});
        let client = sluice.client(&changed(metadata, &json!({}))).await;
        let assertion = assertion(sluice, &client, algorithm);
        let answer = send(sluice, endpoint, &[], &[UNKNOWN, &asserted(&assertion)].concat()).await;
        assert!(is_known(&answer), "{entry}: {algorithm}");
    }
    for unlisted in ["none", "RS1", "ES256K", "HS1"] {
        for method in ["client_secret_jwt", "private_key_jwt"] {
            let metadata = json!({"token_endpoint_auth_method": method, "jwks": {"keys": [SIGNERS["ES256"].jwk]},
                                  "token_endpoint_auth_signing_alg": unlisted});
            refuses_to_register(server, &metadata).await;
        }
    }
}
