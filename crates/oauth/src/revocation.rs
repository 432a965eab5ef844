//! Token revocation (RFC 7009): revoking either token revokes the grant, and with it the whole chain. A token that was
//! exchanged for another one (RFC 8693) goes alone, with what was exchanged for it in turn; so does an access token that a
//! refresh replaced.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_primitives::{Clock, GrantId, Lifetime, Timestamp};
use sluice_protocol::{ClientId, ErrorCode, GrantType};
use sluice_token::{Marker, RevocationSet, Target, TokenId};
use thiserror::Error;

use crate::access_token_reader::AccessTokenReader;
use crate::caller::Caller;
use crate::client::Client;
use crate::client_auth::{ClientAuthError, ClientAuthenticator, Presented};
use crate::config::CLOCK_SKEW;
use crate::grant::{Generation, Grant, GrantRepository};
use crate::issuing::RefreshToken;
use crate::takeover::HydraTokens;

/// Why a revocation was refused.
#[derive(Debug, Error)]
pub enum RevocationError {
    /// The parameters could not be read, or `token` is missing.
    #[error("the request is malformed")]
    Malformed,
    /// The client did not prove who it is.
    #[error(transparent)]
    Client(#[from] ClientAuthError),
    /// The token was issued to another client (RFC 7009 §2.1).
    #[error("the token was issued to another client")]
    OtherClient,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RevocationError {
    /// Whether whoever asked has left, and was turned away for that: nobody has to hear of it.
    pub const fn is_unheard(&self) -> bool {
        matches!(self, Self::Client(error) if error.is_unheard())
    }

    /// The error value.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed => ErrorCode::InvalidRequest,
            Self::Client(error) => error.code(),
            Self::OtherClient => ErrorCode::UnauthorizedClient,
            Self::Store(error) if error.is_temporary() => ErrorCode::TemporarilyUnavailable,
            Self::Store(_) => ErrorCode::ServerError,
        }
    }

    /// The sentence that the client reads.
    pub fn description(&self) -> &'static str {
        match self {
            Self::Client(why) => why.description(),
            _ => self.code().description(),
        }
    }
}

/// Revokes tokens.
pub struct RevocationService {
    /// Who speaks.
    pub clients: Arc<ClientAuthenticator>,
    /// Reads access tokens.
    pub reader: Arc<AccessTokenReader>,
    /// Grants.
    pub grants: Arc<dyn GrantRepository>,
    /// Opens refresh tokens.
    pub sealer: Arc<Sealer>,
    /// Knows refresh tokens that a Hydra issued.
    pub hydra: Arc<HydraTokens>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// For how long that is remembered.
    pub marker_lifetime: Lifetime,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl RevocationService {
    /// Revokes a token of the client that presents itself. An unknown token is no error (RFC 7009 §2.2).
    ///
    /// # Errors
    /// [`RevocationError`] says why not.
    pub async fn revoke(
        &self,
        presented: Presented,
        caller: &Caller,
        token: &str,
    ) -> Result<(), RevocationError> {
        let now = self.clock.now();
        let client = self.clients.authenticate(presented, caller, now).await?;
        let Some(presented) = self.presentable(token).await? else { return Ok(()) };
        if presented.owner != client.id {
            return Err(RevocationError::OtherClient);
        }
        let Some(presented) = self.outstanding(&client, presented).await? else { return Ok(()) };
        let Some(marker) = presented.marker(now, self.marker_lifetime) else { return Ok(()) };
        self.grants.revoke(presented.grant, now, marker.expires_at).await?;
        self.revocations.apply(&marker);
        Ok(())
    }

    /// What of it is to be revoked, if anything still is. The row of a grant is read only for an access token that a refresh may have
    /// replaced.
    async fn outstanding(
        &self,
        client: &Client,
        presented: Presentable,
    ) -> Result<Option<Presentable>, StoreError> {
        if self.revocations.holds_grant(presented.grant) {
            return Ok((!self.is_stored(&presented).await?).then_some(presented));
        }
        let Some(token) = presented.issued.filter(|_| may_rotate(client)) else {
            return Ok(Some(presented));
        };
        let found = self.grants.find(presented.grant).await?;
        if found.is_none_or(|grant| !token.was_replaced(&grant)) {
            return Ok(Some(presented));
        }
        let (grant, ends_at) = (token.id.as_grant(), Some(token.expires_at));
        let is_revoked = self.revocations.holds_grant(grant);
        Ok((!is_revoked).then_some(Presentable { grant, ends_at, ..presented }))
    }

    /// Whether the store knows what this node remembers: a failover may have lost it there, and refreshing goes by the row. What has no
    /// row is believed to be known.
    async fn is_stored(&self, presented: &Presentable) -> Result<bool, StoreError> {
        if presented.ends_at.is_some() {
            return Ok(true);
        }
        let found = self.grants.find(presented.grant).await?;
        Ok(found.is_none_or(|grant| grant.revoked_at.is_some()))
    }

    async fn presentable(&self, token: &str) -> Result<Option<Presentable>, StoreError> {
        if let Ok(claims) = self.reader.authentic(token) {
            let (grant, ends_at) = (claims.revocable(), claims.revocable_until());
            let (id, at, expires_at) = (claims.id, claims.issued_at, claims.expires_at);
            let issued = ends_at.is_none().then_some(Issued { id, at, expires_at });
            return Ok(Some(Presentable { grant, owner: claims.client, ends_at, issued }));
        }
        let refresh = self.hydra.open(token, &self.sealer).await?;
        Ok(refresh.map(|RefreshToken { grant, client: owner, .. }| Presentable {
            grant,
            owner,
            ends_at: None,
            issued: None,
        }))
    }
}

/// What a presented token stands for.
struct Presentable {
    grant: GrantId,
    owner: ClientId,
    /// When all of it has ended by itself, if the token tells.
    ends_at: Option<Timestamp>,
    /// The access token that it is, of a grant that may have others by now.
    issued: Option<Issued>,
}

/// An access token.
#[derive(Clone, Copy)]
struct Issued {
    id: TokenId,
    /// To the second.
    at: Timestamp,
    expires_at: Timestamp,
}

impl Issued {
    /// Whether the refresh token of its grant was rotated since. One of the second of the rotation is told by its id: of any other it is
    /// not known.
    fn was_replaced(self, grant: &Grant) -> bool {
        let Generation(rotations) = grant.generation;
        let (Some(before), Some(rotated_at)) = (rotations.checked_sub(1), grant.rotated_at) else {
            return false;
        };
        self.at < rotated_at.floor_to_secs() || self.id == TokenId::derive(grant.id, before)
    }
}

/// Whether refreshes of this client replace tokens: FAPI 2.0 has no rotation.
fn may_rotate(client: &Client) -> bool {
    client.may_use(GrantType::RefreshToken) && !client.security.profile.is_fapi()
}

impl Presentable {
    /// The marker that revokes it, which is remembered while a token might hold; `None` if none does.
    fn marker(&self, now: Timestamp, lifetime: Lifetime) -> Option<Marker> {
        let longest = now + lifetime;
        let expires_at = self.ends_at.map_or(longest, |ends_at| longest.min(ends_at + CLOCK_SKEW));
        (now < expires_at).then_some(Marker { target: Target::Grant(self.grant), at: now, expires_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_remembered_while_a_token_might_hold() {
        let (now, longest) = (Timestamp::from_secs(1_000_000), Lifetime::hours(20));
        let until = |ends_at: Option<Timestamp>| {
            let (grant, owner) = (GrantId::from_bytes([1; 16]), "app".parse().unwrap());
            let marker = Presentable { grant, owner, ends_at, issued: None }.marker(now, longest);
            marker.map(|marker| marker.expires_at)
        };
        assert_eq!(until(None), Some(now + longest));
        let hour = now + Lifetime::hours(1);
        assert_eq!(until(Some(hour)), Some(hour + CLOCK_SKEW));
        assert_eq!(until(Some(now - Lifetime::secs(1))), Some(now - Lifetime::secs(1) + CLOCK_SKEW));
        assert_eq!(until(Some(now - CLOCK_SKEW)), None);
        assert_eq!(until(Some(now + longest)), Some(now + longest));
    }
}
