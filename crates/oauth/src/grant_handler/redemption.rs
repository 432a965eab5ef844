//! A grant is redeemed, once: by the code that the browser brought to the client, or by the one that its device polls with.

use sluice_primitives::{AttemptId, GrantId, Lifetime};
use sluice_protocol::GrantType;
use tracing::warn;

use super::less::{Less, keep_permitted, permitted_scope};
use super::{Call, TokenError, TokenService};
use crate::client::Client;
use crate::grant::{Grant, GrantClaims, RedeemCode, Redemption, SecondTime};
use crate::issuing::lifetime;
use crate::refused_value::RefusedValue;

impl TokenService {
    /// Whether what is asked for was granted, and the client may still have any of it. To be asked before the code is spent; the
    /// grant's row is read only if less is asked for than all of it, or if the client may have lost what was granted.
    pub(super) async fn check_granted(
        &self,
        client: &Client,
        grant: GrantId,
        less: &Less,
    ) -> Result<(), TokenError> {
        let changed = client.updated_at > grant.made_at();
        if less.is_all() && !changed {
            return Ok(());
        }
        let Some(mut grant) = self.grants.find(grant).await? else { return Ok(()) };
        // Redeeming says that it is spent, and may revoke it, whatever is asked for.
        if is_spent(&grant) {
            return Ok(());
        }
        less.check(&grant)?;
        self.keep_asked(client, less.clone(), &mut grant)
    }

    /// The grant as far as it is asked for, and as far as the client may still have it.
    pub(super) fn keep_asked(
        &self,
        client: &Client,
        less: Less,
        grant: &mut Grant,
    ) -> Result<(), TokenError> {
        less.of(grant);
        let kept = permitted_scope(client, &grant.scope, self.config.scopes);
        if let Some(lost) = grant.scope.iter().next().filter(|_| kept.is_empty()) {
            return Err(TokenError::Scope(RefusedValue::new(lost)));
        }
        grant.scope = kept;
        keep_permitted(client, grant)
    }

    /// The grant, if it is redeemed now, with these claims if there are any. A code that comes again revokes it
    /// (RFC 6749 §4.1.2); that of a device does not, as it is to poll again if it had no answer (RFC 8628 §3.5).
    pub(super) async fn redeem(
        &self,
        call: &Call<'_>,
        grant: GrantId,
        grant_type: GrantType,
        claims: Option<Box<GrantClaims>>,
    ) -> Result<Box<Grant>, TokenError> {
        let Call { client, now, .. } = *call;
        let is_device = grant_type == GrantType::DeviceCode;
        let second_time = if is_device { SecondTime::IsRefused } else { SecondTime::Revokes };
        let redeem = RedeemCode {
            grant,
            attempt: AttemptId::generate(now, &*self.rng),
            now,
            expires_at: now + self.longest_life(client, grant_type, Yields::AccessTokens),
            refreshable_until: now + self.longest_life(client, grant_type, Yields::RefreshTokens),
            marker_expires_at: self.forgotten_at(now),
            claims,
            second_time,
        };
        match self.grants.redeem_code(redeem).await? {
            Redemption::Redeemed(grant) => Ok(grant),
            Redemption::Replayed => {
                self.apply_grant_marker(grant, now);
                warn!(target: "sluice_audit", { grant.id = %grant, client.id = %client.id }, "code replayed: grant revoked");
                Err(TokenError::CodeReplayed(grant))
            }
            Redemption::Refused => Err(TokenError::RedeemedBefore(grant)),
            Redemption::Revoked => Err(TokenError::Revoked(grant)),
            Redemption::Unknown => Err(TokenError::UnknownGrant(grant)),
        }
    }

    /// How long a grant is of use after redemption: as long as a token of it may be.
    fn longest_life(&self, client: &Client, grant_type: GrantType, yields: Yields) -> Lifetime {
        // Id tokens, too, can be exchanged (RFC 8693).
        let of = |grant_type: GrantType| {
            let access = lifetime::access_token(client, grant_type, &self.config);
            access.max(lifetime::id_token(client, grant_type, &self.config))
        };
        let access = of(grant_type).max(of(GrantType::Implicit));
        let refresh = lifetime::refresh_token(client, grant_type, &self.config);
        let life = if yields == Yields::AccessTokens || !client.may_use(GrantType::RefreshToken) {
            access
        } else if client.security.profile.is_fapi() {
            // A refresh token that is not rotated does not move this on, and yields an access token up to its last second.
            let last = access.max(lifetime::access_token(client, GrantType::RefreshToken, &self.config));
            last.as_duration().saturating_add(refresh.as_duration()).into()
        } else {
            access.max(refresh)
        };
        // A replayed code must still find its grant, and no verifier may find the id free.
        let (lifetimes, device) = (&self.config.lifetimes, self.config.policies.device.lifetime);
        life.max(lifetimes.flow).max(lifetimes.code).max(device)
    }
}

/// What comes of a grant, by its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Yields {
    AccessTokens,
    /// And access tokens.
    RefreshTokens,
}

/// Whether a grant was redeemed or revoked before.
pub(super) fn is_spent(grant: &Grant) -> bool {
    grant.redeemed_at.is_some() || grant.revoked_at.is_some()
}
