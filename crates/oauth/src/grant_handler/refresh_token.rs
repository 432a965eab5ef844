//! A refresh token is exchanged (RFC 6749 §6): one compare-and-swap on its grant.

use sluice_crypto::digest::sha256;
use sluice_primitives::{AttemptId, Timestamp};
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{Audience, GrantType, Scope};
use tracing::warn;

use super::{Call, TokenError, TokenService};
use crate::client::Client;
use crate::grant::{Grant, RefreshRequest, RotateRefresh, Rotation};
use crate::issuing::{Issue, RefreshToken, lifetime};

/// What the client presents.
pub(super) struct Exchange {
    pub(super) refresh_token: String,
    pub(super) scope: Option<Scope>,
    pub(super) audience: Vec<String>,
}

impl TokenService {
    pub(super) async fn refresh(
        &self,
        call: &Call<'_>,
        exchange: Exchange,
    ) -> Result<TokenResponse, TokenError> {
        let Call { client, confirmation, now } = *call;
        let token = RefreshToken::open(&exchange.refresh_token, &self.sealer)?;
        if token.client != client.id {
            return Err(TokenError::OtherClient);
        }
        if now >= token.expires_at {
            return Err(TokenError::Expired);
        }
        let grant = self.rotate(client, &token, &exchange, now).await?;
        let asked = exchange.scope.as_ref().unwrap_or(&grant.scope);
        // What the client lost meanwhile, its new tokens lack.
        let kept = asked.iter().filter(|value| self.config.scopes.allows(&client.scope, value));
        let scope = &Scope::from_values(kept).unwrap_or_default();
        let audience = Audience::from_values(exchange.audience);
        let audience = if audience.is_empty() { grant.audience.as_slice() } else { audience.as_slice() };
        Ok(self.issuer.issue(&Issue {
            grant: &grant,
            client,
            grant_type: GrantType::RefreshToken,
            scope,
            audience,
            issued_at: grant.rotated_at.unwrap_or(now).floor_to_secs(),
            nonce: None,
            requested_at: None,
            confirmation,
        })?)
    }

    async fn rotate(
        &self,
        client: &Client,
        token: &RefreshToken,
        exchange: &Exchange,
        now: Timestamp,
    ) -> Result<Box<Grant>, TokenError> {
        // Scope and audience can only be held against the grant's row, which is read only if one is named.
        if exchange.scope.is_some() || !exchange.audience.is_empty() {
            let grant = self.grants.find(token.grant).await?.ok_or(TokenError::UnknownGrant(token.grant))?;
            check_narrower(exchange, &grant)?;
        }
        // However short its tokens live, the grant's id is not free before the flow's verifiers have expired.
        let life = lifetime::refresh_token(client, GrantType::RefreshToken, &self.config)
            .max(lifetime::access_token(client, GrantType::RefreshToken, &self.config))
            .max(lifetime::access_token(client, GrantType::AuthorizationCode, &self.config))
            .max(self.config.lifetimes.flow);
        let rotate = RotateRefresh {
            grant: token.grant,
            attempt: AttemptId::generate(now, &*self.rng),
            presented: token.generation,
            request: digest(exchange),
            now,
            window: self.config.lifetimes.refresh_window,
            expires_at: now + life,
        };
        match self.grants.rotate_refresh(rotate).await? {
            Rotation::Rotated(grant) | Rotation::Repeated(grant) => Ok(grant),
            Rotation::Stale => Err(TokenError::RefreshTokenStale(token.grant)),
            Rotation::Reused => {
                self.apply_grant_marker(token.grant, now);
                warn!(target: "sluice_audit", { grant.id = %token.grant, client.id = %client.id }, "refresh token reused: grant revoked");
                Err(TokenError::RefreshTokenReused(token.grant))
            }
            Rotation::Revoked => Err(TokenError::Revoked(token.grant)),
            Rotation::Unknown => Err(TokenError::UnknownGrant(token.grant)),
        }
    }
}

fn check_narrower(exchange: &Exchange, grant: &Grant) -> Result<(), TokenError> {
    if exchange.scope.as_ref().is_some_and(|scope| !grant.scope.covers(scope)) {
        return Err(TokenError::Scope);
    }
    if !grant.audience.covers(&Audience::from_values(exchange.audience.clone())) {
        return Err(TokenError::Audience);
    }
    Ok(())
}

/// A digest of what is asked for, so that a retry can be told from another request.
fn digest(exchange: &Exchange) -> RefreshRequest {
    let mut text = String::new();
    if let Some(scope) = &exchange.scope {
        let mut values: Vec<_> = scope.iter().collect();
        values.sort_unstable();
        text.push_str(&values.join(" "));
    }
    let mut audience = exchange.audience.clone();
    audience.sort_unstable();
    for name in audience {
        text.push('\n');
        text.push_str(&name);
    }
    let mut digest = RefreshRequest::default();
    for (to, from) in digest.iter_mut().zip(sha256(text.as_bytes())) {
        *to = from;
    }
    digest
}
