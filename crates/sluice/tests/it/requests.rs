//! Requests that a client pushes or signs, for tests of what becomes of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use sluice_crypto::jwk::{Jwk, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::SigningKey;
use sluice_primitives::Clock;
use sluice_testkit::{Browser, ISSUER, Page, TestClient, TestSluice, TokenAnswer};
use url::Url;

use crate::authorization_errors::{Change, asked};

/// The parameters of the ordinary request of a client, changed.
pub(crate) fn parameters(client: &TestClient, changes: &[Change<'_>]) -> Vec<(String, String)> {
    let url: Url = asked(client, changes).parse().unwrap();
    url.query_pairs().into_owned().collect()
}

/// Pushes the ordinary request, changed.
pub(crate) async fn push(client: &TestClient, changes: &[Change<'_>]) -> TokenAnswer {
    let parameters = parameters(client, changes);
    let form: Vec<_> = parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| *name != "client_id")
        .collect();
    client.post("/oauth2/par", &form).await
}

/// The `request_uri` of an answer of the endpoint for pushed requests.
#[track_caller]
pub(crate) fn request_uri(answer: &TokenAnswer) -> String {
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["request_uri"].as_str().unwrap().to_owned()
}

/// Where a browser goes with these parameters and nothing else.
pub(crate) fn with(client: &TestClient, more: &[(&str, &str)]) -> String {
    let mut url = Url::parse(ISSUER).unwrap().join("/oauth2/auth").unwrap();
    url.query_pairs_mut().append_pair("client_id", &client.id).extend_pairs(more);
    url.into()
}

/// Where a browser goes with a pushed request.
pub(crate) fn pushed(client: &TestClient, request_uri: &str) -> String {
    with(client, &[("request_uri", request_uri)])
}

/// The error is shown here, and the browser sent nowhere.
#[track_caller]
pub(crate) fn is_shown(page: &Page, error: &str) {
    assert_eq!((page.location.as_ref(), page.status.as_u16()), (None, 400), "{}", page.body);
    assert!(page.body.contains(error), "{error}: {}", page.body);
}

/// Visits, and is sent back to the client with this error.
pub(crate) async fn is_refused(browser: &mut Browser, url: &str, error: &str) -> Page {
    let page = browser.visit(url).await;
    assert_eq!(page.expect("error"), error, "{url}: {:?}", page.location);
    assert_eq!(page.parameter("login_challenge"), None);
    page
}

/// A key of a client.
pub(crate) struct Signer {
    key: SigningKey,
    /// The public part.
    pub(crate) jwk: Value,
}

impl Signer {
    pub(crate) fn new(algorithm: SigningAlgorithm) -> Self {
        let jwk = Jwk::generate(algorithm, "one".to_owned(), RsaSize::Bits2048).unwrap();
        let public = serde_json::to_value(jwk.public()).unwrap();
        Self { key: SigningKey::from_jwk(&jwk).unwrap(), jwk: public }
    }

    /// A client with this key.
    pub(crate) async fn client(&self, sluice: &TestSluice, changes: Value) -> TestClient {
        let mut metadata = json!({"jwks": {"keys": [self.jwk]}});
        metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        sluice.client(&metadata).await
    }

    /// Signs.
    pub(crate) fn sign(&self, typ: Option<&str>, claims: &Value) -> String {
        self.key.sign(typ, claims.to_string().as_bytes()).unwrap()
    }

    /// A signed request object: the ordinary request of a client, its claims changed; `null` takes one out.
    pub(crate) fn object(&self, sluice: &TestSluice, client: &TestClient, changes: &Value) -> String {
        self.sign(Some("oauth-authz-req+jwt"), &claims(sluice, client, changes))
    }

    /// What authenticates a client (RFC 7523 §2.2).
    pub(crate) fn assertion(&self, sluice: &TestSluice, client: &str) -> String {
        let now = sluice.clock.now().as_secs();
        let jti = uuid_like();
        let claims =
            json!({"iss": client, "sub": client, "aud": ISSUER, "exp": now + 60, "iat": now, "jti": jti});
        self.sign(Some("JWT"), &claims)
    }
}

/// What the ordinary request object of a client says, changed; `null` takes a claim out.
pub(crate) fn claims(sluice: &TestSluice, client: &TestClient, changes: &Value) -> Value {
    let now = sluice.clock.now().as_secs();
    let mut claims: Map<String, Value> =
        parameters(client, &[]).into_iter().map(|(name, value)| (name, Value::from(value))).collect();
    claims.extend(
        json!({"iss": client.id, "aud": ISSUER, "nbf": now, "exp": now + 300}).as_object().unwrap().clone(),
    );
    claims.extend(changes.as_object().unwrap().clone());
    claims.retain(|_, value| !value.is_null());
    Value::Object(claims)
}

/// A token put together of its parts.
pub(crate) fn assembled(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// A text that no other call gives.
fn uuid_like() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("request-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}
