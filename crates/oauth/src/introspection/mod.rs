//! Token introspection (RFC 7662). An opaque or signed access token is answered from memory; a refresh token asks for its
//! grant.
//!
//! Here: what an administrator is told, which is everything. [`for_clients`]: what resource servers are told, as they see
//! it, and if they want it signed. Why a token is not active is told to nobody who asks: the log has it, at `debug`.

pub mod for_clients;

use std::sync::Arc;
use std::{fmt, mem};

use serde_json::Value;
use serde_json::value::RawValue;
use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_primitives::{Clock, Timestamp};
use sluice_protocol::Scope;
use sluice_protocol::introspection::IntrospectionResponse;
use sluice_token::claims::{AccessTokenClaims, Extra};
use sluice_token::{Confirmation, RevocationSet};
use tracing::debug;

use crate::access_token_reader::{AccessTokenReader, NotActive, NotOurs};
use crate::config::Config;
use crate::grant::{Generation, Grant, GrantClaims, GrantRepository, Standing};
use crate::issuing::RefreshToken;
use crate::takeover::HydraTokens;

/// What is said of a token that does not allow what it is presented for.
const SCOPE: &str = "its scope does not allow what is asked for";

/// Says what is known about tokens.
pub struct IntrospectionService {
    /// What it is told.
    pub config: Arc<Config>,
    /// Reads access tokens.
    pub reader: Arc<AccessTokenReader>,
    /// Grants, for refresh tokens.
    pub grants: Arc<dyn GrantRepository>,
    /// Opens refresh tokens.
    pub sealer: Arc<Sealer>,
    /// Knows refresh tokens that a Hydra issued.
    pub hydra: Arc<HydraTokens>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl IntrospectionService {
    /// What is known about a token. With `required`, a token whose scope does not allow that one is inactive (Hydra).
    pub async fn introspect(
        &self,
        token: &str,
        required: Option<&Scope>,
    ) -> Result<IntrospectionResponse, StoreError> {
        self.reader.check_knowledge()?;
        let now = self.clock.now();
        let mut claims = match self.reader.active(token, now) {
            Ok(claims) => claims,
            // Boxed: the others are many.
            Err(NotActive::NotOurs(why)) => {
                return Box::pin(self.other_token((token, &why), required, now)).await;
            }
            Err(why) => return Ok(inactive(&why)),
        };
        if required.is_some_and(|required| !self.config.scopes.covers(&claims.scope, required)) {
            return Ok(inactive(&SCOPE));
        }
        let ext = match &mut claims.extra {
            Extra::None => None,
            Extra::Inline(text) => RawValue::from_string(mem::take(text)).ok(),
            Extra::InGrant => {
                let grant = self.grants.find(claims.grant).await?;
                grant.and_then(|grant| told(&grant.claims))
            }
        };
        Ok(self.access_token(claims, ext))
    }

    /// What is known about a token that is no access token.
    async fn other_token(
        &self,
        (token, why): (&str, &NotOurs),
        required: Option<&Scope>,
        now: Timestamp,
    ) -> Result<IntrospectionResponse, StoreError> {
        let refresh = match RefreshToken::open(token, &self.sealer) {
            Ok(own) => own,
            Err(closed) => match self.hydra.find(token).await? {
                Some(taken_over) => taken_over,
                None => {
                    return Ok(inactive(&format_args!("no access token: {why}; no refresh token: {closed}")));
                }
            },
        };
        self.refresh_token(&refresh, required, now).await
    }

    fn access_token(&self, claims: AccessTokenClaims, ext: Option<Box<RawValue>>) -> IntrospectionResponse {
        let subject = claims.subject.as_ref().map_or(claims.client.as_str(), |subject| subject.as_str());
        let auth_time = claims.logged_in_at().map(Timestamp::as_secs);
        let shown = claims.rare.shown_subject;
        IntrospectionResponse {
            active: true,
            scope: Some(claims.scope.to_string()),
            client_id: Some(claims.client.to_string()),
            sub: Some(subject.to_owned()),
            exp: Some(claims.expires_at.as_secs()),
            iat: Some(claims.issued_at.as_secs()),
            nbf: Some(claims.issued_at.as_secs()),
            aud: Some(claims.audience),
            iss: Some(self.config.issuer.as_str().to_owned()),
            token_type: Some(match claims.rare.confirmation {
                Some(Confirmation::Jkt(_)) => "DPoP",
                Some(Confirmation::X5tS256(_)) | None => "Bearer",
            }),
            token_use: Some("access_token"),
            jti: Some(claims.id.to_string()),
            sid: claims.session.map(|session| session.to_string()),
            auth_time,
            acr: claims.rare.acr,
            amr: Some(claims.rare.amr).filter(|amr| !amr.is_empty()),
            cnf: claims.rare.confirmation.map(|confirmation| confirmation.to_json()),
            act: raw(claims.rare.actor),
            authorization_details: raw(claims.rare.authorization_details),
            obfuscated_subject: shown,
            ext,
        }
    }

    async fn refresh_token(
        &self,
        token: &RefreshToken,
        required: Option<&Scope>,
        now: Timestamp,
    ) -> Result<IntrospectionResponse, StoreError> {
        let found = self.grants.standing(token.grant).await?;
        let grant = match self.holding(found, token, required, now) {
            Ok(grant) => grant,
            Err(why) => return Ok(inactive(&why)),
        };
        Ok(IntrospectionResponse {
            active: true,
            scope: Some(grant.scope.to_string()),
            client_id: Some(grant.client.to_string()),
            sub: Some(grant.subject.to_string()),
            exp: (token.expires_at != Timestamp::NEVER).then(|| token.expires_at.as_secs()),
            iat: grant.rotated_at.map(Timestamp::as_secs),
            nbf: grant.rotated_at.map(Timestamp::as_secs),
            aud: Some(grant.audience.as_slice().to_vec()),
            iss: Some(self.config.issuer.as_str().to_owned()),
            token_type: Some("Bearer"),
            token_use: Some("refresh_token"),
            jti: None,
            sid: grant.session.map(|session| session.to_string()),
            auth_time: None,
            acr: None,
            amr: None,
            cnf: token.confirmation.map(|confirmation| confirmation.to_json()),
            act: None,
            authorization_details: raw(grant.claims.authorization_details.as_ref().map(Value::to_string)),
            obfuscated_subject: grant.claims.shown_subject.clone(),
            ext: told(&grant.claims),
        })
    }

    /// The grant of a refresh token that holds, or why it does not.
    fn holding(
        &self,
        found: Option<Standing>,
        token: &RefreshToken,
        required: Option<&Scope>,
        now: Timestamp,
    ) -> Result<Grant, &'static str> {
        let Standing { grant, is_revoked } = found.ok_or("its grant is not known, or has expired")?;
        if is_revoked || self.revocations.covers_grant(&grant.facts()) {
            return Err("its grant was revoked");
        }
        if grant.redeemed_at.is_none() {
            return Err("the code of its grant was not redeemed");
        }
        if now >= token.expires_at || now >= grant.expires_at {
            return Err("the refresh token has expired");
        }
        if !self.is_usable(token.generation, &grant, now) {
            return Err("another refresh token has taken its place");
        }
        if required.is_some_and(|required| !self.config.scopes.covers(&grant.scope, required)) {
            return Err(SCOPE);
        }
        Ok(grant)
    }

    /// The current refresh token, or its predecessor while a retry would still be answered.
    fn is_usable(&self, generation: Generation, grant: &Grant, now: Timestamp) -> bool {
        let window = self.config.lifetimes.refresh_window;
        let in_window = grant.rotated_at.is_some_and(|rotated_at| now < rotated_at + window);
        generation == grant.generation || (in_window && generation.next() == grant.generation)
    }
}

/// The answer about a token that is not active, to whoever asks. Why is said in the log: never with the token.
fn inactive(reason: &dyn fmt::Display) -> IntrospectionResponse {
    debug!(%reason, "a token is not active");
    IntrospectionResponse::default()
}

/// What a grant says in access tokens now, if it says anything.
fn told(claims: &GrantClaims) -> Option<Box<RawValue>> {
    let said = Some(claims.of_access_tokens()).filter(|said| !said.is_empty());
    said.and_then(|said| serde_json::value::to_raw_value(said).ok())
}

/// JSON that was checked when it was granted.
fn raw(text: Option<String>) -> Option<Box<RawValue>> {
    text.and_then(|text| RawValue::from_string(text).ok())
}
