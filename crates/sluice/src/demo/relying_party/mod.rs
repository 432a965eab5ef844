//! The OAuth client of the demo: what any application does that signs in with OpenID Connect.
//!
//! [`RelyingParty`]: discovery, the requests to the endpoints. [`SignIn`]: one authorization request, with PKCE, state and
//! nonce. [`id_token`]: whether an ID token is right. [`RelyingPartyError`]: what the server did wrong.

mod error;
pub(super) mod id_token;
mod sign_in;

use std::net::SocketAddr;

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use sluice_crypto::jwk::JwkSet;
use sluice_crypto::jws::VerifyingKey;
use sluice_primitives::{Rng, Timestamp};
use url::Url;

pub(super) use error::{RelyingPartyError, answer, json_of};
pub(super) use id_token::IdToken;
pub(super) use sign_in::SignIn;

/// Where browsers come back to.
#[derive(Debug, Clone)]
pub(super) struct Callbacks {
    /// The start page of the application.
    pub(super) home: String,
    pub(super) redirect_uri: String,
    /// Where a browser comes back to after a logout.
    pub(super) signed_out: String,
}

impl Callbacks {
    /// Of an application that listens at `address`.
    pub(super) fn at(address: SocketAddr) -> Self {
        let base = format!("http://{address}");
        let (redirect_uri, signed_out) = (format!("{base}/callback"), format!("{base}/signed-out"));
        Self { home: base, redirect_uri, signed_out }
    }
}

/// What the application authenticates with.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) client_id: String,
    pub(super) client_secret: String,
}

/// What the server offers (OpenID Connect Discovery 1.0 §3).
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Provider {
    pub(super) issuer: String,
    authorization_endpoint: Url,
    token_endpoint: String,
    userinfo_endpoint: String,
    revocation_endpoint: String,
    end_session_endpoint: Url,
    jwks_uri: String,
}

/// An answer of the token endpoint.
#[derive(Clone, Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: String,
    pub(super) token_type: String,
    pub(super) refresh_token: Option<String>,
    pub(super) id_token: Option<String>,
    /// In seconds.
    pub(super) expires_in: i64,
    #[serde(default)]
    pub(super) scope: String,
}

/// An application that knows its server.
#[derive(Clone)]
pub(super) struct RelyingParty {
    http: reqwest::Client,
    provider: Provider,
    credentials: Credentials,
    callbacks: Callbacks,
}

impl RelyingParty {
    /// Reads what the server offers.
    ///
    /// # Errors
    /// [`RelyingPartyError`] if it does not say, or says it is somebody else.
    pub(super) async fn discover(
        http: reqwest::Client,
        issuer: &Url,
        credentials: Credentials,
        callbacks: Callbacks,
    ) -> Result<Self, RelyingPartyError> {
        const WHAT: &str = "discovery";
        let base = issuer.as_str().trim_end_matches('/');
        let request = http.get(format!("{base}/.well-known/openid-configuration"));
        let provider: Provider = json_of(WHAT, answer(WHAT, request).await?)?;
        if provider.issuer.trim_end_matches('/') != base {
            return Err(RelyingPartyError::OtherIssuer(provider.issuer));
        }
        Ok(Self { http, provider, credentials, callbacks })
    }

    pub(super) fn issuer(&self) -> &str {
        &self.provider.issuer
    }

    pub(super) fn client_id(&self) -> &str {
        &self.credentials.client_id
    }

    pub(super) fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }

    /// Begins to sign somebody in.
    pub(super) fn sign_in(&self, rng: &dyn Rng) -> SignIn {
        SignIn::new(
            &self.provider.authorization_endpoint,
            self.client_id(),
            &self.callbacks.redirect_uri,
            rng,
        )
    }

    /// Exchanges a code for tokens.
    pub(super) async fn redeem(&self, code: &str, sign_in: &SignIn) -> Result<Tokens, RelyingPartyError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.callbacks.redirect_uri),
            ("code_verifier", &sign_in.code_verifier),
        ];
        let answer = self.post("the token request", &self.provider.token_endpoint, &form).await?;
        json_of("the token request", answer)
    }

    /// Exchanges a refresh token for new tokens.
    pub(super) async fn refresh(&self, refresh_token: &str) -> Result<Tokens, RelyingPartyError> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
        let answer = self.post("the refresh", &self.provider.token_endpoint, &form).await?;
        json_of("the refresh", answer)
    }

    /// Revokes a token (RFC 7009), and with it all of its grant.
    pub(super) async fn revoke(&self, token: &str) -> Result<(), RelyingPartyError> {
        let answer =
            self.post("the revocation", &self.provider.revocation_endpoint, &[("token", token)]).await?;
        if answer.status == StatusCode::OK { Ok(()) } else { Err(answer.refused("the revocation")) }
    }

    /// What the server tells about the user.
    pub(super) async fn userinfo(&self, access_token: &str) -> Result<Value, RelyingPartyError> {
        let request = self.http.get(&self.provider.userinfo_endpoint).bearer_auth(access_token);
        json_of("userinfo", answer("userinfo", request).await?)
    }

    /// Checks an ID token against the server's published keys.
    pub(super) async fn check_id_token(
        &self,
        id_token: &str,
        expected: id_token::Expected<'_>,
        now: Timestamp,
    ) -> Result<IdToken, RelyingPartyError> {
        const WHAT: &str = "the server's keys";
        let keys = answer(WHAT, self.http.get(&self.provider.jwks_uri)).await?;
        let keys = JwkSet::understood(keys.body.as_bytes()).map_err(|_| keys.malformed(WHAT))?;
        let keys = VerifyingKey::usable_of(&keys);
        Ok(id_token::check(id_token, &keys, &expected, now)?)
    }

    /// Where a browser is sent for logging out (OpenID Connect RP-Initiated Logout 1.0 §2).
    pub(super) fn sign_out_url(&self, id_token: &str) -> Url {
        let mut url = self.provider.end_session_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("id_token_hint", id_token)
            .append_pair("post_logout_redirect_uri", &self.callbacks.signed_out);
        url
    }

    async fn post(
        &self,
        what: &'static str,
        endpoint: &str,
        form: &[(&str, &str)],
    ) -> Result<error::Answer, RelyingPartyError> {
        let Credentials { client_id, client_secret } = &self.credentials;
        answer(what, self.http.post(endpoint).basic_auth(client_id, Some(client_secret)).form(form)).await
    }
}
