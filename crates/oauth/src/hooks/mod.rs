//! Hooks (Hydra's `oauth2.token_hook` and `oauth2.refresh_token_hook`): services that are asked before tokens are issued,
//! and may add claims or refuse. One that does not answer refuses.
//!
//! [`request`]: what they are told. [`answer`]: what they say. [`webhook`]: how they are reached. [`error`]: what goes wrong.
//!
//! A hook is asked before anything is written: when it refuses, or cannot be reached, the code or refresh token is as good as
//! before. What it says is written in the step that it was asked about: it holds for later tokens of the grant, too, until
//! a hook says something else, and userinfo and the next hook are told it.
//! In the answer to a code it comes to what the consent page said; at a refresh it stands in the place of that.

pub mod answer;
pub mod error;
pub mod request;
pub mod webhook;

use std::sync::Arc;

use async_trait::async_trait;
use sluice_protocol::GrantType;

use answer::Before;
pub use error::{HookError, HookFault, HookName};
use request::Server;
pub use request::{HookCall, SentParameters};
pub use webhook::{Webhook, WebhookKey, WebhookParts};

use crate::client::{AccessTokenStrategy, Client};
use crate::config::Config;
use crate::grant::{GrantClaims, Replaced};
use crate::issuing::algorithm;
use crate::issuing::room::Room;
use crate::keys::KeyRing;
use crate::metrics::OAuthMetrics;

/// What a hook answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// A service that is asked.
#[async_trait]
pub trait Hook: Send + Sync {
    /// What it answers to this JSON.
    ///
    /// # Errors
    /// [`HookFault::NoAnswer`] if it does not answer in time, or at too great a length.
    async fn ask(&self, json: Vec<u8>) -> Result<HookAnswer, HookFault>;
}

/// The hooks of the token endpoint.
pub struct Hooks {
    /// What they are told about this server.
    pub config: Arc<Config>,
    /// The keys that they are told of, by their ids.
    pub keys: Arc<KeyRing>,
    /// Asked for every grant type.
    pub token: Option<Arc<dyn Hook>>,
    /// Asked when a refresh token is used, before the other one.
    pub refresh_token: Option<Arc<dyn Hook>>,
    /// What an operator sees.
    pub metrics: Arc<OAuthMetrics>,
}

impl Hooks {
    /// Whether anybody is to be asked for this grant type.
    pub fn are_asked(&self, grant_type: GrantType) -> bool {
        self.token.is_some() || (grant_type == GrantType::RefreshToken && self.refresh_token.is_some())
    }

    /// Asks; what the tokens say instead of what they would have said, if that is to change.
    ///
    /// # Errors
    /// [`HookError`] if a hook refuses, or does not say anything that is understood.
    pub async fn ask(&self, call: &HookCall<'_>) -> Result<Option<Replaced>, HookError> {
        let asked = self.ask_both(call).await;
        match &asked {
            Err(HookError { fault: HookFault::Refused, .. }) => self.metrics.hook_refusals.add(),
            Err(_) => self.metrics.hook_failures.add(),
            Ok(_) => {}
        }
        asked
    }

    /// Where the claims of the token that is asked about are: signed ones name some beside `ext`. What an exchange yields is known
    /// when it is written, before anything is used up.
    fn room(&self, call: &HookCall<'_>) -> Room<'_> {
        let top_level = self.config.top_level_claims.as_slice();
        let room = Room::of(call.claims, self.strategy(call.client), top_level);
        if call.grant_type == GrantType::TokenExchange { room.with_top_level(top_level) } else { room }
    }

    fn strategy(&self, client: &Client) -> AccessTokenStrategy {
        client.access_token_strategy.unwrap_or(self.config.access_tokens)
    }

    fn server(&self, client: &Client) -> Server<'_> {
        let of_access_tokens = algorithm::of_access_tokens(client, &self.config).ok();
        let of_access_tokens = of_access_tokens.filter(|_| self.strategy(client) == AccessTokenStrategy::Jwt);
        let of_id_tokens = algorithm::of_id_tokens(client, &self.config).ok();
        Server {
            config: &self.config,
            access_token_key: of_access_tokens.and_then(|algorithm| self.keys.access_token_signer(algorithm)),
            id_token_key: of_id_tokens.and_then(|algorithm| self.keys.id_token_signer(algorithm)),
        }
    }

    async fn ask_both(&self, call: &HookCall<'_>) -> Result<Option<Replaced>, HookError> {
        let server = self.server(call.client);
        let mut replaced = None;
        if let Some(hook) = self.refresh_token.as_ref().filter(|_| call.grant_type == GrantType::RefreshToken)
        {
            let failed = HookName::RefreshToken.failed();
            let answer = hook.ask(call.refresh_json(&server)).await.map_err(failed)?;
            replaced = answer::read(&answer, self.room(call), before(call)).map_err(failed)?;
        }
        let Some(hook) = &self.token else { return Ok(replaced) };
        let said = replaced.clone().or_else(|| call.claims.replaced.clone());
        let claims = GrantClaims { replaced: said, ..call.claims.clone() };
        let call = HookCall { claims: &claims, ..*call };
        let failed = HookName::Token.failed();
        let answer = hook.ask(call.json(&server)).await.map_err(failed)?;
        Ok(answer::read(&answer, self.room(&call), before(&call)).map_err(failed)?.or(replaced))
    }
}

/// What becomes of what was said before: what the consent page said stays in the answer to a code, as in Hydra.
const fn before<'a>(call: &HookCall<'a>) -> Before<'a> {
    match call.grant_type {
        GrantType::AuthorizationCode | GrantType::DeviceCode => Before::Stays(call.claims),
        GrantType::RefreshToken => Before::GivesWay(call.claims),
        GrantType::ClientCredentials
        | GrantType::Implicit
        | GrantType::JwtBearer
        | GrantType::TokenExchange => Before::Gone,
    }
}
