//! A token is exchanged for another one (RFC 8693 §2). Nothing is written: the new token belongs to the grant of the old one.

use std::borrow::Cow;

use serde_json::{Map, Value};
use sluice_primitives::Secret;
use sluice_primitives::rng::random_bytes;
use sluice_protocol::token_request::TokenExchangeRequest;
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{Audience, AuthorizationDetails, GrantType, Scope};
use sluice_token::claims::RareClaims;
use sluice_token::{AccessTokenClaims, TokenId};

use super::less::permitted_details;
use super::{Call, TokenError, TokenService};
use crate::client::{AccessTokenStrategy, Client};
use crate::grant::{GrantClaims, Replaced};
use crate::hooks::HookCall;
use crate::issuing::issuer::token_type;
use crate::issuing::{access_token, lifetime};
use crate::refused_value::RefusedValue;
use crate::subject::shown_subject;
use crate::token_exchange::presented::Presenter;
use crate::token_exchange::{ExchangeError, Presented, TokenKind, policy};
use crate::trust::Assertion;

/// What the new token is to say. Everything is allowed.
struct Allowed {
    /// The facts of the new token, as of now.
    facts: AccessTokenClaims,
    /// What else it says.
    said: GrantClaims,
    /// What other issuers said, to be spent.
    assertions: Vec<Assertion>,
}

impl TokenService {
    pub(super) async fn exchange_token(
        &self,
        call: &Call<'_>,
        request: TokenExchangeRequest,
    ) -> Result<TokenResponse, TokenError> {
        let kind = TokenKind::requested(request.requested_token_type.as_deref())?;
        let Allowed { mut facts, said, assertions } = self.allowed(call, request).await?;
        self.spend_proof(call).await?;
        let extra = match self.ask_about_exchange(call, &facts, &said).await? {
            Some(replaced) => {
                facts.extra = access_token::extra(&replaced, false);
                replaced
            }
            None => said.access_token,
        };
        let access_token = self.issuer.access_token(&written_for(call.client, kind), &facts, &extra)?;
        // Last: what is refused uses nothing up.
        for assertion in &assertions {
            self.assertions.spend(assertion, call.now).await.map_err(ExchangeError::from)?;
        }
        Ok(TokenResponse {
            access_token,
            expires_in: facts.expires_at.since(facts.issued_at).as_secs(),
            id_token: None,
            refresh_token: None,
            scope: facts.scope.to_string(),
            token_type: token_type(facts.rare.confirmation),
            issued_token_type: Some(kind.as_str()),
            authorization_details: said.authorization_details,
        })
    }

    /// Examines the presented tokens and what is asked for.
    async fn allowed(&self, call: &Call<'_>, request: TokenExchangeRequest) -> Result<Allowed, TokenError> {
        let client = call.client;
        if client.is_public() {
            return Err(ExchangeError::PublicClient.into());
        }
        let subject = self.subject_token(call, &request).await?;
        let actor = self.actor_token(call, &request).await?;
        let scope = self.exchanged_scope(client, &subject, request.scope)?;
        let audience = exchanged_audience(client, &subject, request.audience)?;
        let details = exchanged_details(client, &subject, request.authorization_details.as_deref())?;
        let said = self.said_to(client, &subject, details);
        let rare = RareClaims {
            confirmation: call.confirmation,
            shown_subject: said.shown_subject.clone(),
            actor: policy::act(client, &subject, actor.as_ref(), self.config.issuer.as_str())?,
            authorization_details: said.authorization_details.as_ref().map(Value::to_string),
            origins: policy::origins(&subject)?,
            without_login: subject.facts.logged_in_at().is_none(),
            ..subject.facts.rare
        };
        let life = lifetime::access_token(client, GrantType::TokenExchange, &self.config);
        let issued_at = call.now.floor_to_secs();
        let facts = AccessTokenClaims {
            id: TokenId::from_bytes(random_bytes(&*self.rng)),
            subject: subject.facts.subject.or_else(|| {
                // One that a client got for itself speaks of that client, whoever holds it now.
                let own = subject.facts.client == client.id;
                subject.facts.client.as_str().parse().ok().filter(|_| !own)
            }),
            client: client.id.clone(),
            scope,
            audience: audience.as_slice().to_vec(),
            issued_at,
            expires_at: (issued_at + life).min(subject.facts.expires_at),
            consented_at: call.now,
            rare,
            ..subject.facts
        };
        let assertions = subject.assertion.into_iter().chain(actor.and_then(|actor| actor.assertion));
        Ok(Allowed { facts, said, assertions: assertions.collect() })
    }

    async fn subject_token(
        &self,
        call: &Call<'_>,
        request: &TokenExchangeRequest,
    ) -> Result<Presented, ExchangeError> {
        let kind = request.subject_token_type.parse()?;
        let token = self.exchanged.subject(presenter(call), request.subject_token.expose(), kind).await?;
        policy::check_presenter(call.client, &token)?;
        Ok(token)
    }

    async fn actor_token(
        &self,
        call: &Call<'_>,
        request: &TokenExchangeRequest,
    ) -> Result<Option<Presented>, ExchangeError> {
        let token = request.actor_token.as_ref().map(Secret::expose);
        let (token, kind) = match (token, request.actor_token_type.as_deref()) {
            (None, None) => return Ok(None),
            (Some(token), Some(kind)) => (token, kind.parse()?),
            _ => return Err(ExchangeError::ActorType),
        };
        let token = self.exchanged.actor(presenter(call), token, kind).await?;
        policy::check_presenter(call.client, &token)?;
        Ok(Some(token))
    }

    /// What is asked for, of what both the old token and the client's registration cover. Of an assertion nothing that is
    /// not asked for: it was not granted anything yet.
    fn exchanged_scope(
        &self,
        client: &Client,
        subject: &Presented,
        asked: Option<Scope>,
    ) -> Result<Scope, TokenError> {
        let strategy = self.config.scopes;
        let held = &subject.facts.scope;
        let is_foreign = subject.assertion.is_some();
        let Some(asked) = asked else {
            let kept = held.iter().filter(|value| !is_foreign && strategy.allows(&client.scope, value));
            return Ok(Scope::from_values(kept).unwrap_or_default());
        };
        let is_held =
            |value: &str| if is_foreign { strategy.allows(held, value) } else { held.contains(value) };
        let is_own = |value: &str| strategy.allows(&client.scope, value);
        let beyond = asked.iter().find(|value| !is_held(value) || !is_own(value));
        if let Some(beyond) = beyond {
            return Err(TokenError::Scope(RefusedValue::new(beyond)));
        }
        Ok(asked)
    }

    /// What the new token says beside its facts. Another client sees the subject by its own name for it.
    fn said_to(&self, client: &Client, subject: &Presented, details: Option<Value>) -> GrantClaims {
        let (facts, rare) = (&subject.facts, &subject.facts.rare);
        let is_own = facts.client == client.id;
        GrantClaims {
            access_token: subject.extra.clone(),
            acr: rare.acr.clone(),
            amr: rare.amr.clone(),
            shown_subject: if is_own {
                rare.shown_subject.clone()
            } else {
                facts.subject.as_ref().and_then(|subject| shown_subject(client, subject, &self.config))
            },
            authorization_details: details,
            ..GrantClaims::default()
        }
    }

    async fn ask_about_exchange(
        &self,
        call: &Call<'_>,
        facts: &AccessTokenClaims,
        said: &GrantClaims,
    ) -> Result<Option<Map<String, Value>>, TokenError> {
        let granted = (&facts.scope, facts.audience.as_slice());
        let about =
            HookCall::about((call.client, call.sent), GrantType::TokenExchange, granted, said, call.now);
        let subject = facts.subject.as_ref().map_or(about.subject, |subject| subject.as_str());
        let hooked = HookCall { subject, authenticated_at: facts.logged_in_at(), ..about };
        let replaced = self.ask_hooks(&hooked).await?;
        Ok(replaced.map(Replaced::into_access_token))
    }
}

const fn presenter<'a>(call: &Call<'a>) -> Presenter<'a> {
    Presenter { client: call.client, confirmation: call.confirmation, now: call.now }
}

/// What is asked for, of the client's. By default that of the token, as far as the client may ask for it: also of its own one,
/// since it may have lost some. With a token of its own a client gets no further than the user, if there is one, let it:
/// nobody vouched for more.
fn exchanged_audience(
    client: &Client,
    subject: &Presented,
    asked: Vec<String>,
) -> Result<Audience, TokenError> {
    let (held, is_own) = (&subject.facts.audience, subject.facts.client == client.id);
    if asked.is_empty() {
        let kept = held.iter().filter(|name| client.audience.permits(name));
        let kept = Audience::from_values(kept.cloned());
        // One that is for nobody would be for everybody: for whoever looks for no name in it.
        return if kept.is_empty() && !held.is_empty() {
            // None is named: they are what the token says, not what the client sent.
            Err(TokenError::Audience(RefusedValue::default()))
        } else {
            Ok(kept)
        };
    }
    let asked = Audience::from_values(asked);
    let is_users = subject.assertion.is_none() && is_own && subject.facts.subject.is_some();
    let is_held = |name: &String| !is_users || held.contains(name);
    let beyond = asked.as_slice().iter().find(|name| !is_held(name) || !client.audience.permits(name));
    if let Some(beyond) = beyond {
        return Err(TokenError::Audience(RefusedValue::new(beyond)));
    }
    Ok(asked)
}

/// What is asked for (RFC 9396 §6.1), or all, of the authorization details of the token that the client may ask for: also of those of
/// its own one, since it may have lost some.
fn exchanged_details(
    client: &Client,
    subject: &Presented,
    asked: Option<&str>,
) -> Result<Option<Value>, TokenError> {
    let held = subject.facts.rare.authorization_details.as_deref();
    let held = held.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let held = held.and_then(|details| permitted_details(client, details));
    let Some(asked) = asked else { return Ok(held) };
    let asked = AuthorizationDetails::parse(asked).map_err(|_| TokenError::AuthorizationDetails)?;
    let held = held.and_then(|held| AuthorizationDetails::from_value(&held).ok()).unwrap_or_default();
    if !held.covers(&asked) {
        return Err(TokenError::AuthorizationDetails);
    }
    Ok((!asked.is_empty()).then(|| asked.into_value()))
}

/// The client as the writer of the token sees it: who asks for a JWT gets one.
fn written_for(client: &Client, kind: TokenKind) -> Cow<'_, Client> {
    match kind {
        TokenKind::Jwt => {
            Cow::Owned(Client { access_token_strategy: Some(AccessTokenStrategy::Jwt), ..client.clone() })
        }
        TokenKind::AccessToken | TokenKind::IdToken | TokenKind::RefreshToken => Cow::Borrowed(client),
    }
}
