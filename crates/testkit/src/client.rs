//! A registered client, as the application behind it: builds requests, redeems codes, refreshes.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::header::AUTHORIZATION;
use serde_json::Value;
use sluice_crypto::digest::sha256;
use url::Url;

use crate::browser::without_redirects;
use crate::node::TestSluice;

/// The PKCE verifier of tests.
pub const VERIFIER: &str = "a-code-verifier-of-at-least-forty-three-characters";

/// What an authorization request says beside the ordinary.
#[derive(Debug, Clone)]
pub struct Authorize<'a> {
    /// `scope`.
    pub scope: &'a str,
    /// `state`.
    pub state: &'a str,
    /// Further parameters.
    pub more: &'a [(&'a str, &'a str)],
}

impl Default for Authorize<'_> {
    fn default() -> Self {
        Self { scope: "openid offline_access", state: "a-state-of-some-length", more: &[] }
    }
}

/// A client.
#[derive(Debug, Clone)]
pub struct TestClient {
    /// Its id.
    pub id: String,
    /// Its secret, if it has one.
    pub secret: Option<String>,
    /// Its first redirect URI.
    pub redirect_uri: String,
    method: String,
    public: Url,
    http: reqwest::Client,
}

/// An answer of the token endpoint.
#[derive(Debug, Clone)]
pub struct TokenAnswer {
    /// The status.
    pub status: u16,
    /// The JSON.
    pub body: Value,
}

impl TokenAnswer {
    /// The tokens; panics if there are none.
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }

    /// Panics unless the request was refused with this error.
    pub fn refused_with(self, error: &str) {
        assert_eq!(self.body["error"], error, "status {}: {}", self.status, self.body);
        assert!(self.status >= 400, "{}", self.status);
    }
}

impl TestClient {
    /// The application behind the client that `POST /admin/clients` answered with, at this public listener.
    pub fn of(public: Url, made: &Value) -> Self {
        let text = |name: &str| made[name].as_str().map(str::to_owned);
        Self {
            id: text("client_id").expect("a client_id"),
            secret: text("client_secret"),
            redirect_uri: made["redirect_uris"][0].as_str().unwrap_or_default().to_owned(),
            method: text("token_endpoint_auth_method").unwrap_or_default(),
            public,
            http: without_redirects(),
        }
    }

    /// The same client at another node.
    #[must_use]
    pub fn at(&self, sluice: &TestSluice) -> Self {
        Self { public: sluice.public.clone(), ..self.clone() }
    }

    /// The address that begins a flow.
    pub fn authorize_url(&self, with: &Authorize<'_>) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(sha256(VERIFIER.as_bytes()));
        let mut url = self.public.join("/oauth2/auth").expect("a URL");
        url.query_pairs_mut()
            .append_pair("client_id", &self.id)
            .append_pair("response_type", "code")
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", with.scope)
            .append_pair("state", with.state)
            .append_pair("nonce", "a-nonce-of-some-length")
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .extend_pairs(with.more);
        url.into()
    }

    /// Redeems a code.
    pub async fn redeem(&self, code: &str) -> TokenAnswer {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", VERIFIER),
        ];
        self.token(&form).await
    }

    /// Refreshes.
    pub async fn refresh(&self, refresh_token: &str) -> TokenAnswer {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", refresh_token)]).await
    }

    /// Asks the token endpoint, authenticated as registered.
    pub async fn token(&self, form: &[(&str, &str)]) -> TokenAnswer {
        self.post("/oauth2/token", form).await
    }

    /// Revokes a token.
    pub async fn revoke(&self, token: &str) -> TokenAnswer {
        self.post("/oauth2/revoke", &[("token", token)]).await
    }

    /// Sends a form to the public listener, authenticated as registered.
    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> TokenAnswer {
        let url = self.public.join(path).expect("a URL");
        let mut form = form.to_vec();
        let mut request = self.http.post(url);
        match (self.method.as_str(), &self.secret) {
            ("client_secret_basic", Some(secret)) => {
                let encode =
                    |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = STANDARD.encode(format!("{}:{}", encode(&self.id), encode(secret)));
                request = request.header(AUTHORIZATION, format!("Basic {pair}"));
            }
            ("client_secret_post", Some(secret)) => {
                form.push(("client_id", &self.id));
                form.push(("client_secret", secret));
            }
            _ => form.push(("client_id", &self.id)),
        }
        let answer = request.form(&form).send().await.expect("the server answers");
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap_or_default();
        TokenAnswer { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) }
    }

    /// Asks for userinfo.
    pub async fn userinfo(&self, access_token: &str) -> (u16, Value) {
        let url = self.public.join("/userinfo").expect("a URL");
        let answer = self.http.get(url).bearer_auth(access_token).send().await.expect("the server answers");
        (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
    }
}
