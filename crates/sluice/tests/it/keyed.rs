//! Keys of clients: they sign assertions and proofs, whatever these say.

use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::sign;
use jsonwebtoken::{Algorithm, EncodingKey};
use rcgen::KeyPair;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use sluice_crypto::digest::sha256;
use sluice_primitives::Clock;
use sluice_testkit::{Authorize, ISSUER, TestClient, TestSluice, VERIFIER, accept_consent, accept_login};

use crate::answer::{Answer, http};

pub(crate) const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
pub(crate) const MACHINE: &[(&str, &str)] = &[("grant_type", "client_credentials")];

/// How many tokens were written: each has a `jti` of its own.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// A new `jti`.
pub(crate) fn jti() -> String {
    format!("jti-{}", WRITTEN.fetch_add(1, Ordering::Relaxed))
}

/// The object with these members in place of its own; null takes one away.
pub(crate) fn changed(mut object: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        object[name] = value.clone();
    }
    object.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    object
}

/// The base64url of some JSON.
pub(crate) fn part(json: &Value) -> String {
    URL_SAFE_NO_PAD.encode(json.to_string())
}

/// A P-256 key.
pub(crate) struct Key {
    pub(crate) pair: KeyPair,
    /// Its public part.
    pub(crate) jwk: Value,
}

impl Key {
    pub(crate) fn new() -> Self {
        let pair = KeyPair::generate().unwrap();
        // The point is 04, x, y.
        let (x, y) = pair.public_key_raw()[1..].split_at(32);
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let jwk = json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)});
        Self { pair, jwk }
    }

    /// The public part as a member of a set.
    pub(crate) fn registered(&self, kid: &str) -> Value {
        changed(self.jwk.clone(), &json!({"kid": kid, "use": "sig", "alg": "ES256"}))
    }

    /// RFC 7638.
    pub(crate) fn thumbprint(&self) -> String {
        let (x, y) = (self.jwk["x"].as_str().unwrap(), self.jwk["y"].as_str().unwrap());
        let members = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        URL_SAFE_NO_PAD.encode(sha256(members.as_bytes()))
    }

    /// A token with this header and these claims, signed with ES256 whatever the header says.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", part(header), part(claims));
        let key = EncodingKey::from_ec_pem(self.pair.serialize_pem().as_bytes()).unwrap();
        let signature = sign(signed.as_bytes(), &key, Algorithm::ES256).unwrap();
        format!("{signed}.{signature}")
    }

    /// What the header of a proof says.
    pub(crate) fn proof_header(&self) -> Value {
        json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk})
    }

    /// A DPoP proof with these claims.
    pub(crate) fn proof_of(&self, claims: &Value) -> String {
        self.sign(&self.proof_header(), claims)
    }

    /// A DPoP proof for a form that is sent to this path.
    pub(crate) fn proof(&self, sluice: &TestSluice, path: &str) -> String {
        self.proof_of(&proof_claims(sluice, "POST", path))
    }

    /// A DPoP proof for `GET /userinfo` with this access token.
    pub(crate) fn userinfo_proof(&self, sluice: &TestSluice, access_token: &str) -> String {
        self.proof_of(&userinfo_claims(sluice, access_token))
    }
}

/// What a proof says.
pub(crate) fn proof_claims(sluice: &TestSluice, method: &str, path: &str) -> Value {
    let htu = format!("{}{path}", ISSUER.trim_end_matches('/'));
    json!({"jti": jti(), "htm": method, "htu": htu, "iat": sluice.clock.now().as_secs()})
}

/// What a proof for `GET /userinfo` says.
pub(crate) fn userinfo_claims(sluice: &TestSluice, access_token: &str) -> Value {
    let ath = URL_SAFE_NO_PAD.encode(sha256(access_token.as_bytes()));
    changed(proof_claims(sluice, "GET", "/userinfo"), &json!({"ath": ath}))
}

/// Sends a form to the public listener with these headers.
pub(crate) async fn send(
    sluice: &TestSluice,
    path: &str,
    headers: &[(&'static str, &str)],
    form: &[(&str, &str)],
) -> Answer {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        all.append(*name, value.parse().unwrap());
    }
    Answer::to(http().post(sluice.public.join(path).unwrap()).headers(all).form(form)).await
}

/// Asks for userinfo with this scheme and perhaps a proof.
pub(crate) async fn userinfo(sluice: &TestSluice, authorization: &str, proofs: &[&str]) -> Answer {
    let mut headers = HeaderMap::new();
    for proof in proofs {
        headers.append("dpop", proof.parse().unwrap());
    }
    let request = http().get(sluice.public.join("/userinfo").unwrap()).headers(headers);
    Answer::to(request.header("authorization", authorization)).await
}

/// The code at the end of the flow that begins at this address.
pub(crate) async fn code_from(sluice: &TestSluice, url: &str) -> String {
    let mut browser = sluice.browser();
    let challenge = browser.visit(url).await.expect("login_challenge");
    let verifier = accept_login(sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(sluice, &challenge, &json!({})).await;
    browser.visit(&verifier).await.expect("code")
}

/// A form that redeems this code.
pub(crate) fn redemption<'a>(client: &'a TestClient, code: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &client.redirect_uri),
        ("code_verifier", VERIFIER),
    ]
}

/// A client that authenticates with a key and proves another one.
pub(crate) struct KeyedClient {
    pub(crate) client: TestClient,
    /// Signs assertions.
    pub(crate) own: Key,
    /// Signs proofs.
    pub(crate) bound: Key,
}

impl KeyedClient {
    /// A client registered for `private_key_jwt`, changed by `changes`.
    pub(crate) async fn on(sluice: &TestSluice, changes: &Value) -> Self {
        let own = Key::new();
        let metadata = json!({"token_endpoint_auth_method": "private_key_jwt",
                              "jwks": {"keys": [own.registered("one")]}});
        let client = sluice.client(&changed(metadata, changes)).await;
        Self { client, own, bound: Key::new() }
    }

    /// What an assertion says.
    pub(crate) fn claims(&self, sluice: &TestSluice) -> Value {
        let now = sluice.clock.now().as_secs();
        json!({"iss": self.client.id, "sub": self.client.id, "aud": ISSUER, "exp": now + 60, "iat": now,
               "jti": jti()})
    }

    /// An assertion, changed by `changes`.
    pub(crate) fn assertion(&self, sluice: &TestSluice, changes: &Value) -> String {
        let claims = changed(self.claims(sluice), changes);
        self.own.sign(&json!({"alg": "ES256", "kid": "one", "typ": "JWT"}), &claims)
    }

    /// Sends a form with this assertion and perhaps a proof.
    pub(crate) async fn asserting(
        &self,
        sluice: &TestSluice,
        (path, form): (&str, &[(&str, &str)]),
        assertion: &str,
        proof: Option<&str>,
    ) -> Answer {
        let credentials = [("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)];
        let headers: Vec<_> = proof.into_iter().map(|proof| ("dpop", proof)).collect();
        send(sluice, path, &headers, &[form, &credentials].concat()).await
    }

    /// Asks the token endpoint with a good assertion and a good proof.
    pub(crate) async fn token(&self, sluice: &TestSluice, form: &[(&str, &str)]) -> Answer {
        let proof = self.bound.proof(sluice, "/oauth2/token");
        self.token_with(sluice, form, Some(&proof)).await
    }

    /// Asks the token endpoint with a good assertion and this proof.
    pub(crate) async fn token_with(
        &self,
        sluice: &TestSluice,
        form: &[(&str, &str)],
        proof: Option<&str>,
    ) -> Answer {
        let assertion = self.assertion(sluice, &json!({}));
        self.asserting(sluice, ("/oauth2/token", form), &assertion, proof).await
    }

    /// Pushes the ordinary request, changed by `changes` (an empty value takes one away), with this proof.
    pub(crate) async fn push(
        &self,
        sluice: &TestSluice,
        changes: &[(&str, &str)],
        proof: Option<&str>,
    ) -> Answer {
        let ordinary = self.client.authorize_url(&Authorize::default()).parse::<url::Url>().unwrap();
        let changed = |name: &str| changes.iter().any(|(own, _)| *own == name);
        let kept: Vec<_> = ordinary.query_pairs().into_owned().filter(|(name, _)| !changed(name)).collect();
        let mut form: Vec<_> = kept.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        form.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
        let assertion = self.assertion(sluice, &json!({}));
        self.asserting(sluice, ("/oauth2/par", &form), &assertion, proof).await
    }

    /// The address that begins the flow of a pushed request.
    pub(crate) fn begins(&self, sluice: &TestSluice, pushed: &Answer) -> String {
        assert_eq!(pushed.status, 201, "{}", pushed.body);
        let mut url = sluice.public.join("/oauth2/auth").unwrap();
        url.query_pairs_mut()
            .append_pair("client_id", &self.client.id)
            .append_pair("request_uri", pushed.json()["request_uri"].as_str().unwrap());
        url.into()
    }

    /// Pushes the ordinary request, changed by `changes`; the address that begins the flow.
    pub(crate) async fn pushed(&self, sluice: &TestSluice, changes: &[(&str, &str)]) -> String {
        self.begins(sluice, &self.push(sluice, changes, None).await)
    }

    /// A code of a pushed request.
    pub(crate) async fn code(&self, sluice: &TestSluice) -> String {
        code_from(sluice, &self.pushed(sluice, &[]).await).await
    }

    /// The tokens of a new login.
    pub(crate) async fn tokens(&self, sluice: &TestSluice) -> Value {
        let code = self.code(sluice).await;
        self.token(sluice, &redemption(&self.client, &code)).await.ok()
    }
}
