//! What a hook is told, as Hydra spells it (`TokenHookRequest`, `RefreshTokenHookRequest`).

use serde_json::{Map, Value, json};
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::{GrantType, Parameters, Scope};
use sluice_token::jwt::BelowExt;

use crate::client::Client;
use crate::config::Config;
use crate::grant::GrantClaims;

/// What Hydra tells of the form of a token request, besides an assertion.
const TOLD: [&str; 4] = ["grant_type", "response_type", "scope", "client_id"];

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
    /// When the user authenticated, if one did.
    pub authenticated_at: Option<Timestamp>,
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
            authenticated_at: None,
            assertion: None,
            now,
        }
    }

    /// For the token hook.
    pub(super) fn json(&self, config: &Config) -> Vec<u8> {
        bytes(&json!({
            "session": self.session(config),
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
    pub(super) fn refresh_json(&self, config: &Config) -> Vec<u8> {
        let client = self.client.id.as_str();
        bytes(&json!({
            "subject": self.subject,
            "session": self.session(config),
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

    fn session(&self, config: &Config) -> Value {
        let claims = self.claims;
        json!({
            "id_token": {
                "id_token_claims": {
                    "iss": config.issuer.as_str(),
                    "sub": claims.shown_subject.as_deref().unwrap_or(self.subject),
                    "aud": [self.client.id.as_str()],
                    "nonce": self.nonce.unwrap_or_default(),
                    "iat": rfc3339(self.now),
                    "auth_time": self.authenticated_at.map(rfc3339),
                    "acr": claims.acr.as_deref().unwrap_or_default(),
                    "amr": claims.amr,
                    "ext": self.ext(),
                },
                "headers": {"extra": {}},
                "username": "",
                "subject": self.subject,
            },
            "extra": claims.of_access_tokens(),
            "client_id": self.client.id.as_str(),
            "consent_challenge": self.grant.map(|grant| grant.to_string()).unwrap_or_default(),
            "exclude_not_before_claim": !config.not_before,
            "allowed_top_level_claims": config.top_level_claims,
            "mirror_top_level_claims": config.below_ext == BelowExt::All,
        })
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
