//! What the demo asks of the admin API: to register its client, and to introspect tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde_json::{Value, json};
use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;
use url::Url;

use super::relying_party::{Callbacks, Credentials, RelyingPartyError, answer, json_of};

const CLIENT_ID: &str = "sluice-demo";
/// The scope that the application is registered for, and asks for.
pub(super) const SCOPE: &str = "openid offline_access email profile";
/// The algorithm of ID tokens that the application is registered for.
pub(super) const ID_TOKEN_ALGORITHM: &str = "ES256";
const SECRET_BYTES: usize = 32;

/// The admin API.
pub(super) struct Admin {
    http: reqwest::Client,
    base: Url,
}

impl Admin {
    pub(super) fn new(http: reqwest::Client, base: Url) -> Self {
        Self { http, base }
    }

    /// Registers the example application, or updates it if it is registered. Its secret is a new one each time.
    ///
    /// # Errors
    /// [`RelyingPartyError`] if the server does not accept it.
    pub(super) async fn register(
        &self,
        callbacks: &Callbacks,
        rng: &dyn Rng,
    ) -> Result<Credentials, RelyingPartyError> {
        const WHAT: &str = "the registration of the client";
        let client_secret = URL_SAFE_NO_PAD.encode(random_bytes::<SECRET_BYTES>(rng));
        let client = registration(callbacks, &client_secret);
        let path = format!("/admin/clients/{CLIENT_ID}");
        let known = answer(WHAT, self.http.get(self.url(&path))).await?;
        let request = match known.status {
            StatusCode::NOT_FOUND => self.http.post(self.url("/admin/clients")),
            _ => self.http.put(self.url(&path)),
        };
        json_of::<Value>(WHAT, answer(WHAT, request.json(&client)).await?)?;
        Ok(Credentials { client_id: CLIENT_ID.to_owned(), client_secret })
    }

    /// What the server knows about a token (RFC 7662).
    ///
    /// # Errors
    /// [`RelyingPartyError`] if the server does not answer with JSON.
    pub(super) async fn introspect(&self, token: &str) -> Result<Value, RelyingPartyError> {
        const WHAT: &str = "introspection";
        let request = self.http.post(self.url("/admin/oauth2/introspect")).form(&[("token", token)]);
        json_of(WHAT, answer(WHAT, request).await?)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base.as_str().trim_end_matches('/'))
    }
}

fn registration(callbacks: &Callbacks, client_secret: &str) -> Value {
    json!({
        "client_id": CLIENT_ID,
        "client_name": "Example app",
        "client_uri": callbacks.home,
        "client_secret": client_secret,
        "token_endpoint_auth_method": "client_secret_basic",
        "redirect_uris": [callbacks.redirect_uri],
        "post_logout_redirect_uris": [callbacks.signed_out],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": SCOPE,
        "id_token_signed_response_alg": ID_TOKEN_ALGORITHM,
    })
}
