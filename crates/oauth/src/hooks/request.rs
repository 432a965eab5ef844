//! What a hook is told, as Hydra spells it (`TokenHookRequest`, `RefreshTokenHookRequest`).

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sluice_crypto::jws::SigningKey;
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::{GrantType, Parameters, Scope};
use sluice_token::jwt::BelowExt;

use crate::client::Client;
use crate::config::Config;
use crate::grant::GrantClaims;
use crate::issuing::lifetime;

/// What Hydra tells of the form of a token request, besides an assertion.
const TOLD: [&str; 4] = ["grant_type", "response_type", "scope", "client_id"];

/// What Hydra tells instead of a time that is not there.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// This server, as hooks are told of it.
pub(super) struct Server<'a> {
    pub(super) config: &'a Config,
    /// What the access token is signed with, if it is.
    pub(super) access_token_key: Option<Arc<SigningKey>>,
    /// What an id token is signed with.
    pub(super) id_token_key: Option<Arc<SigningKey>>,
}

/// What hooks are told of the form of the request, as it was sent. No secret, code or token is among it.
#[derive(Debug, Clone, Copy)]
pub struct SentParameters<'a>([Option<&'a str>; TOLD.len()]);

impl<'a> SentParameters<'a> {
    /// Those of this form.
    pub fn of(form: &'a Parameters<'_>) -> Self {
        Self(TOLD.map(|name| form.get(name)))
    }

    /// Those that were sent, by name.
    fn pairs(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        TOLD.into_iter().zip(self.0).filter_map(|(name, value)| Some((name, value?)))
    }
}

/// What is about to be issued.
#[derive(Debug, Clone, Copy)]
pub struct HookCall<'a> {
    /// To whom.
    pub client: &'a Client,
    /// What it sent, of which the token hook is told.
    pub sent: &'a SentParameters<'a>,
    /// By which grant type.
    pub grant_type: GrantType,
    /// For whom: the client itself where nobody else is concerned.
    pub subject: &'a str,
    /// What was asked for: scope values, separated by spaces.
    pub requested: &'a str,
    /// What is granted.
    pub scope: &'a Scope,
    /// For which services.
    pub audience: &'a [String],
    /// What the tokens would say.
    pub claims: &'a GrantClaims,
    /// Of which grant, which has the id of the consent request that led to it. None where no user consented.
    pub grant: Option<GrantId>,
    /// In which login session.
    pub session: Option<SessionId>,
    /// From the authorization request.
    pub nonce: Option<&'a str>,
    /// When the authorization request arrived, if there was one.
    pub requested_at: Option<Timestamp>,
    /// When the user authenticated, if one did.
    pub authenticated_at: Option<Timestamp>,
    /// When the user consented, if one did.
    pub consented_at: Option<Timestamp>,
    /// The assertion that is exchanged (RFC 7523): the token hook is told it as well.
    pub assertion: Option<&'a str>,
    /// When.
    pub now: Timestamp,
}

impl<'a> HookCall<'a> {
    /// About this scope and audience, for the client itself, which sent this.
    pub fn about(
        (client, sent): (&'a Client, &'a SentParameters<'a>),
        grant_type: GrantType,
        (scope, audience): (&'a Scope, &'a [String]),
        claims: &'a GrantClaims,
        now: Timestamp,
    ) -> Self {
        Self {
            client,
            sent,
            grant_type,
            subject: client.id.as_str(),
            requested: scope.as_str(),
            scope,
            audience,
            claims,
            grant: None,
            session: None,
            nonce: None,
            requested_at: None,
            authenticated_at: None,
            consented_at: None,
            assertion: None,
            now,
        }
    }

    /// For the token hook.
    pub(super) fn json(&self, server: &Server<'_>) -> Vec<u8> {
        bytes(&json!({
            "session": self.session(server),
            "request": {
                "client_id": self.client.id.as_str(),
                "requested_scopes": self.requested.split_ascii_whitespace().collect::<Vec<_>>(),
                "granted_scopes": values(self.scope),
                "granted_audience": self.audience,
                "grant_types": [self.grant_type.as_str()],
                "payload": self.payload(),
            },
        }))
    }

    /// What was sent, each a list of values.
    fn payload(&self) -> Map<String, Value> {
        let assertion = self.assertion.map(|assertion| ("assertion", assertion));
        let sent = self.sent.pairs().chain(assertion);
        sent.map(|(name, value)| (name.to_owned(), json!([value]))).collect()
    }

    /// For the refresh token hook.
    pub(super) fn refresh_json(&self, server: &Server<'_>) -> Vec<u8> {
        let client = self.client.id.as_str();
        bytes(&json!({
            "subject": self.subject,
            "session": self.session(server),
            "requester": {
                "client_id": client,
                "granted_scopes": values(self.scope),
                "granted_audience": self.audience,
                "grant_types": [self.grant_type.as_str()],
            },
            "client_id": client,
            "granted_scopes": values(self.scope),
            "granted_audience": self.audience,
        }))
    }

    fn session(&self, server: &Server<'_>) -> Value {
        let config = server.config;
        json!({
            "id_token": self.id_token(server),
            "extra": self.claims.of_access_tokens(),
            "kid": kid(server.access_token_key.as_deref()),
            "client_id": self.client.id.as_str(),
            "consent_challenge": self.grant.map(|grant| grant.to_string()).unwrap_or_default(),
            "exclude_not_before_claim": !config.not_before,
            "allowed_top_level_claims": config.top_level_claims,
            "mirror_top_level_claims": config.below_ext == BelowExt::All,
        })
    }

    fn id_token(&self, server: &Server<'_>) -> Value {
        let headers = match self.grant {
            Some(_) => json!({"kid": kid(server.id_token_key.as_deref())}),
            None => json!({}),
        };
        json!({
            "id_token_claims": self.id_token_claims(server.config),
            "headers": {"extra": headers},
            "expires_at": self.ends(server.config),
            "username": "",
            "subject": self.subject,
        })
    }

    /// What is made with the id token is empty here, and so is what only one has that somebody logged in for.
    fn id_token_claims(&self, config: &Config) -> Value {
        let claims = self.claims;
        let nobody_logs_in = matches!(self.grant_type, GrantType::ClientCredentials | GrantType::JwtBearer);
        let (sub, aud) = if nobody_logs_in {
            ("", None)
        } else {
            let sub = claims.shown_subject.as_deref().unwrap_or(self.subject);
            (sub, Some([self.client.id.as_str()]))
        };
        json!({
            "jti": "",
            "iss": config.issuer.as_str(),
            "sub": sub,
            "aud": aud,
            "nonce": self.nonce.unwrap_or_default(),
            "exp": NO_TIME,
            "iat": rfc3339(self.now),
            "rat": date(self.requested_at),
            "auth_time": date(self.authenticated_at),
            "at_hash": "",
            "acr": claims.acr.as_deref().unwrap_or_default(),
            "amr": claims.amr,
            "c_hash": "",
            "ext": self.ext(),
        })
    }

    /// Until when code and tokens live, by Hydra's names for them. What does not end is not named.
    fn ends(&self, config: &Config) -> Map<String, Value> {
        let access_token = self.now + lifetime::access_token(self.client, self.grant_type, config);
        let life = lifetime::refresh_token(self.client, self.grant_type, config);
        let refresh_token = self.grant.map(|_| self.now + life);
        let is_device = self.grant_type == GrantType::DeviceCode;
        let consented_at = self.consented_at.filter(|_| !is_device);
        let code = consented_at.map(|consented_at| consented_at + lifetime::code(self.client, config));
        let ends = [
            ("access_token", Some(access_token)),
            ("authorize_code", code),
            ("refresh_token", refresh_token),
        ];
        let named = ends.into_iter().filter_map(|(name, end)| Some((name, end?)));
        let known = named.filter(|(_, end)| *end != Timestamp::NEVER);
        known.map(|(name, end)| (name.to_owned(), Value::from(rfc3339(end)))).collect()
    }

    /// The claims of id tokens, with the session that Hydra puts among them.
    fn ext(&self) -> Map<String, Value> {
        let mut ext = self.claims.of_id_tokens().clone();
        if let Some(session) = self.session {
            ext.insert("sid".to_owned(), session.to_string().into());
        }
        ext
    }
}

/// The id of a key; empty where there is none.
fn kid(key: Option<&SigningKey>) -> &str {
    key.and_then(SigningKey::kid).unwrap_or_default()
}

fn date(time: Option<Timestamp>) -> String {
    time.map_or_else(|| NO_TIME.to_owned(), rfc3339)
}

fn values(scope: &Scope) -> Vec<&str> {
    scope.iter().collect()
}

/// A value of maps and texts is always JSON.
fn bytes(json: &Value) -> Vec<u8> {
    json.to_string().into_bytes()
}

fn rfc3339(time: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default().to_string()
}
