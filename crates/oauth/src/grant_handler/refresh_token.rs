//! A refresh token is exchanged (RFC 6749 §6): one compare-and-swap on its grant.

use sluice_commit::chain;
use sluice_crypto::digest::sha256;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{AttemptId, Timestamp};
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{GrantType, Scope};
use sluice_token::{Confirmation, TokenId};
use tracing::warn;

use super::hooked::hook_call;
use super::less::{Less, keep_permitted, permitted_scope};
use super::{Call, TokenError, TokenService};
use crate::client::Client;
use crate::config::{kept_again_after, tokens_of_session};
use crate::grant::{Grant, GrantClaims, RefreshRequest, Requested, RotateRefresh, Rotation, Standing};
use crate::issuing::issuer::may_refresh;
use crate::issuing::{Issue, RefreshToken, lifetime};
use crate::refused_value::RefusedValue;

/// What the client presents.
pub(super) struct Exchange {
    pub(super) refresh_token: String,
    pub(super) scope: Option<Scope>,
    pub(super) audience: Vec<String>,
    pub(super) authorization_details: Option<String>,
}

impl Exchange {
    fn less(&self) -> Result<Less, TokenError> {
        Less::read(self.audience.clone(), self.authorization_details.as_deref())
    }
}

impl TokenService {
    pub(super) async fn refresh(
        &self,
        call: &Call<'_>,
        exchange: Exchange,
    ) -> Result<TokenResponse, TokenError> {
        let Call { client, confirmation, now, .. } = *call;
        let token = match RefreshToken::open(&exchange.refresh_token, &self.sealer) {
            Ok(token) => token,
            // Boxed: nobody else presents such a text.
            Err(unopened) => Box::pin(self.hydra.find(&exchange.refresh_token)).await?.ok_or(unopened)?,
        };
        if token.client != client.id {
            return Err(TokenError::OtherClient);
        }
        if now >= token.expires_at {
            return Err(TokenError::Expired);
        }
        // Before anything is written: a thief without the key must not use the token up.
        if token.confirmation.is_some() && token.confirmation != confirmation {
            return Err(TokenError::OtherKey);
        }
        let less = exchange.less()?;
        let wanted = (token.grant, self.may_identify(client, &exchange));
        let recipient = self.recipient(client, wanted, |grant| self.is_old(&token, grant, now)).await?;
        self.spend_proof(call).await?;
        let claims = self.ask_before_refresh(call, &token, &exchange).await?;
        let is_fapi = client.security.profile.is_fapi();
        let mut grant = if is_fapi {
            self.unrotated(&token, &exchange, claims, now).await?
        } else {
            self.rotate(call, &token, &exchange, claims).await?
        };
        less.of(&mut grant);
        self.keep(client, &mut grant)?;
        // One that is not rotated ends when it was to end, and whoever asks again for what was issued already keeps nothing.
        if client.hears_logout() && !is_fapi && grant.rotated_at == Some(now) {
            self.keep_session(client, &token, &grant, now).await;
        }
        let scope = &self.kept_scope(client, &exchange, &grant);
        let mut issued = self.issuer.issue(&Issue {
            grant: &grant,
            client,
            grant_type: GrantType::RefreshToken,
            scope,
            audience: grant.audience.as_slice(),
            issued_at: grant.rotated_at.unwrap_or(now).floor_to_secs(),
            now,
            access_token_id: is_fapi.then(|| TokenId::from_bytes(random_bytes(&*self.rng))),
            nonce: None,
            requested_at: None,
            confirmation,
            recipient: recipient.as_ref(),
        })?;
        if is_fapi {
            issued.refresh_token = Some(exchange.refresh_token);
        }
        Ok(issued)
    }

    /// What is asked for of what was granted, or everything. What the client lost meanwhile, its new tokens lack.
    fn kept_scope(&self, client: &Client, exchange: &Exchange, grant: &Grant) -> Scope {
        let Some(asked) = &exchange.scope else {
            return permitted_scope(client, &grant.scope, self.config.scopes);
        };
        let granted = asked.iter().filter(|value| grant.scope.contains(value));
        let granted = Scope::from_values(granted).unwrap_or_default();
        permitted_scope(client, &granted, self.config.scopes)
    }

    /// Whether there may be an id token: none for who asks for less, or lost `openid`.
    fn may_identify(&self, client: &Client, exchange: &Exchange) -> bool {
        let is_asked = exchange.scope.as_ref().is_none_or(|scope| scope.contains("openid"));
        is_asked && self.config.scopes.allows(&client.scope, "openid")
    }

    /// The grant as far as the client may still have it. Who may not be away from its user any more has nothing to refresh.
    fn keep(&self, client: &Client, grant: &mut Grant) -> Result<(), TokenError> {
        if !may_refresh(client, &grant.scope, self.config.scopes) {
            return Err(TokenError::Scope(RefusedValue::default()));
        }
        keep_permitted(client, grant)
    }

    /// Keeps the session for as long as this chain of refresh tokens may live, or a logout would not find who has it: once each time that
    /// an eighth of a token's life has gone by.
    async fn keep_session(&self, client: &Client, token: &RefreshToken, grant: &Grant, now: Timestamp) {
        let life = lifetime::refresh_token(client, GrantType::RefreshToken, &self.config);
        let eighth = kept_again_after(life).as_secs().max(1);
        let turn = |ends: Timestamp| ends.as_secs() / eighth;
        let Some(session) = grant.session.filter(|_| turn(token.expires_at) != turn(now + life)) else {
            return;
        };
        if let Err(error) = self.sessions.keep(session, now, now + tokens_of_session(life)).await {
            warn!(error = %chain(&error), client.id = %client.id, "a session could not be kept for a client that refreshes its tokens");
        }
    }

    /// Asks the hooks about a grant that is about to be refreshed, unless that is sure to be refused: no hook stands in the way of
    /// revoking what was stolen, or hears of what was revoked. All its claims from now on, if that changes them.
    async fn ask_before_refresh(
        &self,
        call: &Call<'_>,
        token: &RefreshToken,
        exchange: &Exchange,
    ) -> Result<Option<Box<GrantClaims>>, TokenError> {
        if !self.is_hooked(GrantType::RefreshToken) {
            return Ok(None);
        }
        let Some(found) = self.grants.standing(token.grant).await? else { return Ok(None) };
        let Standing { mut grant, is_revoked } = found;
        if is_revoked {
            return Err(TokenError::Revoked(token.grant));
        }
        if self.is_old(token, &grant, call.now)? {
            return Ok(None);
        }
        check_narrower(exchange, &grant)?;
        let claims = Box::new(grant.claims.clone());
        exchange.less()?.of(&mut grant);
        self.keep(call.client, &mut grant)?;
        let scope = self.kept_scope(call.client, exchange, &grant);
        self.ask_about(&hook_call(call, GrantType::RefreshToken, &grant, &scope), claims).await
    }

    /// Whether a token is sure to be refused because others came after it, whatever is asked for: rotation has to tell theft, and
    /// revoke, so nothing may refuse it before.
    ///
    /// # Errors
    /// [`TokenError`] if the grant is over, as far as this node knows.
    fn is_old(&self, token: &RefreshToken, grant: &Grant, now: Timestamp) -> Result<bool, TokenError> {
        if grant.revoked_at.is_some() || self.revocations.covers_grant(&grant.facts()) {
            return Err(TokenError::Revoked(token.grant));
        }
        if now >= grant.expires_at {
            return Err(TokenError::UnknownGrant(token.grant));
        }
        let (next, window) = (token.generation.next(), self.config.lifetimes.refresh_window);
        let may_be_retry = grant.rotated_at.is_some_and(|rotated_at| now.since(rotated_at) < window);
        Ok(next < grant.generation || (next == grant.generation && !may_be_retry))
    }

    /// The grant of a refresh token that stays what it is: FAPI 2.0 has no rotation (FAPI 2.0 Security Profile §5.3.2.1),
    /// since the token is of no use without the client's key. Nothing is written: what a hook said is for this answer alone.
    async fn unrotated(
        &self,
        token: &RefreshToken,
        exchange: &Exchange,
        claims: Option<Box<GrantClaims>>,
        now: Timestamp,
    ) -> Result<Box<Grant>, TokenError> {
        let found = self.grants.standing(token.grant).await?;
        let Standing { mut grant, is_revoked } = found.ok_or(TokenError::UnknownGrant(token.grant))?;
        if is_revoked || self.revocations.covers_grant(&grant.facts()) {
            return Err(TokenError::Revoked(token.grant));
        }
        if grant.redeemed_at.is_none() || now >= grant.expires_at {
            return Err(TokenError::UnknownGrant(token.grant));
        }
        if token.generation != grant.generation {
            return Err(TokenError::RefreshTokenStale(token.grant));
        }
        check_narrower(exchange, &grant)?;
        grant.rotated_at = Some(now);
        if let Some(replaced) = claims.and_then(|claims| claims.replaced) {
            grant.claims.replaced = Some(replaced.for_once());
        }
        Ok(Box::new(grant))
    }

    async fn rotate(
        &self,
        call: &Call<'_>,
        token: &RefreshToken,
        exchange: &Exchange,
        claims: Option<Box<GrantClaims>>,
    ) -> Result<Box<Grant>, TokenError> {
        let Call { client, confirmation, now, .. } = *call;
        // Scope and audience can only be held against the grant's row, which is read only if one is named, or if the client
        // may have lost what was granted.
        let changed = client.updated_at > token.grant.made_at();
        if changed || exchange.scope.is_some() || !exchange.less()?.is_all() {
            let mut grant =
                self.grants.find(token.grant).await?.ok_or(TokenError::UnknownGrant(token.grant))?;
            if !self.is_old(token, &grant, now)? {
                check_narrower(exchange, &grant)?;
                exchange.less()?.of(&mut grant);
                self.keep(client, &mut grant)?;
            }
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
            request: digest(exchange, confirmation),
            now,
            window: self.config.lifetimes.refresh_window,
            expires_at: now + life,
            marker_expires_at: self.forgotten_at(now),
            claims,
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
    if let Some(refused) = exchange.scope.as_ref().and_then(|scope| not_to_name(scope, grant)) {
        return Err(TokenError::Scope(RefusedValue::new(refused)));
    }
    exchange.less()?.check(grant)
}

/// The first value that a refresh may not name. It may name those that were granted, and beside one of them those that the authorization
/// request named in vain, since many clients repeat all that they asked for there.
fn not_to_name<'a>(scope: &'a Scope, grant: &Grant) -> Option<&'a str> {
    let requested = grant.claims.requested.as_ref().map_or("", Requested::scope);
    let was_requested = |value: &str| requested.split_ascii_whitespace().any(|own| own == value);
    let is_granted = |value: &str| grant.scope.contains(value);
    let has_granted = scope.iter().any(is_granted);
    let may_name = |value: &str| is_granted(value) || has_granted && was_requested(value);
    scope.iter().find(|value| !may_name(value))
}

/// A digest of what is asked for and of the key it is bound to, so that a retry can be told from another request.
fn digest(exchange: &Exchange, confirmation: Option<Confirmation>) -> RefreshRequest {
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
    // JSON with a name in it is neither a scope nor an audience.
    if let Some(details) = &exchange.authorization_details {
        text.push_str("\n\ndetails=");
        text.push_str(details);
    }
    // No scope and no audience begins with a line feed and no name in it is empty: nothing else ends like this.
    if let Some(confirmation) = confirmation {
        let (name, thumbprint) = confirmation.member();
        for part in ["\n\n", name, "=", &thumbprint] {
            text.push_str(part);
        }
    }
    let mut digest = RefreshRequest::default();
    for (to, from) in digest.iter_mut().zip(sha256(text.as_bytes())) {
        *to = from;
    }
    digest
}
