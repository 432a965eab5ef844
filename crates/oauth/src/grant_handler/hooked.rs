//! Hooks are asked before a code is redeemed or a refresh token rotated, because afterwards there is no way back. For that
//! the grant is read once more, and only if somebody is to be asked.

use sluice_primitives::{GrantId, Timestamp};
use sluice_protocol::{GrantType, Scope};

use super::less::Less;
use super::redemption::is_spent;
use super::{Call, TokenError, TokenService};
use crate::grant::{Grant, GrantClaims, Replaced, Requested, Standing};
use crate::hooks::HookCall;

/// A grant that is about to be redeemed.
pub(super) struct AboutToRedeem<'a> {
    pub(super) grant: GrantId,
    pub(super) grant_type: GrantType,
    /// From the authorization request.
    pub(super) nonce: Option<&'a str>,
    /// When that arrived.
    pub(super) requested_at: Timestamp,
    /// What of it is asked for.
    pub(super) less: &'a Less,
}

impl TokenService {
    /// Whether anybody is to be asked for this grant type.
    pub(super) fn is_hooked(&self, grant_type: GrantType) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.are_asked(grant_type))
    }

    /// Asks the hooks about anything.
    pub(super) async fn ask_hooks(&self, call: &HookCall<'_>) -> Result<Option<Replaced>, TokenError> {
        match &self.hooks {
            Some(hooks) => Ok(hooks.ask(call).await?),
            None => Ok(None),
        }
    }

    /// Asks the hooks about tokens of a grant with these claims; all its claims from now on, if that changes them.
    pub(super) async fn ask_about(
        &self,
        call: &HookCall<'_>,
        mut claims: Box<GrantClaims>,
    ) -> Result<Option<Box<GrantClaims>>, TokenError> {
        let replaced = self.ask_hooks(call).await?;
        if replaced.is_none() {
            return Ok(None);
        }
        claims.replaced = replaced;
        Ok(Some(claims))
    }

    /// Asks the hooks about a grant that is about to be redeemed, unless it was: then redeeming says so, and may revoke it. They
    /// hear of none that was revoked. All its claims from now on, if that changes them.
    pub(super) async fn ask_before_redemption(
        &self,
        call: &Call<'_>,
        about: AboutToRedeem<'_>,
    ) -> Result<Option<Box<GrantClaims>>, TokenError> {
        if !self.is_hooked(about.grant_type) {
            return Ok(None);
        }
        let found = self.grants.standing(about.grant).await?;
        let Standing { mut grant, is_revoked } = found.ok_or(TokenError::UnknownGrant(about.grant))?;
        if is_spent(&grant) {
            return Ok(None);
        }
        if is_revoked || self.revocations.covers_grant(&grant.facts()) {
            return Err(TokenError::Revoked(about.grant));
        }
        let (claims, granted) = (Box::new(grant.claims.clone()), grant.scope.clone());
        self.keep_asked(call.client, about.less.clone(), &mut grant)?;
        let hooked = hook_call(call, about.grant_type, &grant, &grant.scope);
        let requested = grant.claims.requested.as_ref().map_or(granted.as_str(), Requested::scope);
        let requested_at = Some(about.requested_at);
        self.ask_about(&HookCall { nonce: about.nonce, requested_at, requested, ..hooked }, claims).await
    }
}

/// What hooks are told about tokens of a grant. It has the id of its flow, which tells when that began.
pub(super) fn hook_call<'a>(
    call: &Call<'a>,
    grant_type: GrantType,
    grant: &'a Grant,
    scope: &'a Scope,
) -> HookCall<'a> {
    let granted = (scope, grant.audience.as_slice());
    let requested = grant.claims.requested.as_ref();
    HookCall {
        requested: requested.map_or(grant.scope.as_str(), Requested::scope),
        subject: grant.subject.as_str(),
        grant: Some(grant.id),
        session: grant.session,
        requested_at: Some(grant.id.made_at().min(grant.consented_at)),
        authenticated_at: Some(grant.authenticated_at),
        consented_at: Some(grant.consented_at),
        ..HookCall::about((call.client, call.sent), grant_type, granted, &grant.claims, call.now)
    }
}
