//! Token revocation (RFC 7009): revoking either token revokes the grant, and with it the whole chain. A token that was
//! exchanged for another one (RFC 8693) goes alone, with what was exchanged for it in turn.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_primitives::{Clock, GrantId};
use sluice_protocol::{ClientId, ErrorCode};
use sluice_token::{Marker, RevocationSet, Target};
use thiserror::Error;

use crate::access_token_reader::AccessTokenReader;
use crate::caller::Caller;
use crate::client_auth::{ClientAuthError, ClientAuthenticator, Presented};
use crate::config::LONGEST_ACCESS_TOKEN;
use crate::grant::GrantRepository;
use crate::issuing::RefreshToken;

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
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
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
        let Some((grant, owner)) = self.grant_of(token) else { return Ok(()) };
        if owner != client.id {
            return Err(RevocationError::OtherClient);
        }
        if self.revocations.holds_grant(grant) {
            return Ok(());
        }
        let marker = Marker { target: Target::Grant(grant), at: now, expires_at: now + LONGEST_ACCESS_TOKEN };
        self.grants.revoke(grant, now, marker.expires_at).await?;
        self.revocations.apply(&marker);
        Ok(())
    }

    fn grant_of(&self, token: &str) -> Option<(GrantId, ClientId)> {
        if let Ok(claims) = self.reader.authentic(token) {
            return Some((claims.revocable(), claims.client));
        }
        let refresh = RefreshToken::open(token, &self.sealer).ok()?;
        Some((refresh.grant, refresh.client))
    }
}
