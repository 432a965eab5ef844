//! Whether a presented access token holds: opened or verified with a key, then held against the revocation set. No store
//! is asked.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_crypto::jws::VerifyError;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_token::sealed::NotAToken;
use sluice_token::{AccessTokenClaims, FeedFollower, RevocationSet, jwt, sealed};
use thiserror::Error;

use crate::keys::KeyRing;

/// Why an access token does not hold: for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotActive {
    /// It is no access token of this server.
    #[error("not an access token of this server: {0}")]
    NotOurs(#[from] NotOurs),
    /// It has expired.
    #[error("the access token has expired")]
    Expired,
    /// It was revoked.
    #[error("the access token was revoked")]
    Revoked,
}

/// Why a text is no access token of this server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotOurs {
    /// It is not signed by this server.
    #[error(transparent)]
    Signature(#[from] VerifyError),
    /// It does not open, or to something else.
    #[error(transparent)]
    Content(#[from] NotAToken),
}

/// Reads access tokens.
pub struct AccessTokenReader {
    sealer: Arc<Sealer>,
    keys: Arc<KeyRing>,
    revocations: Arc<RevocationSet>,
    follower: Arc<FeedFollower>,
    longest: Lifetime,
}

impl AccessTokenReader {
    /// A reader, to which no token lives longer than `longest`: one that was issued for longer, before that was configured, ends with it.
    pub fn new(
        sealer: Arc<Sealer>,
        keys: Arc<KeyRing>,
        revocations: Arc<RevocationSet>,
        follower: Arc<FeedFollower>,
        longest: Lifetime,
    ) -> Self {
        Self { sealer, keys, revocations, follower, longest }
    }

    /// Refuses while this node may have missed revocations: it must not say that a revoked token holds.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the feed was not heard lately.
    pub fn check_knowledge(&self) -> Result<(), StoreError> {
        self.follower.heard_lately()
    }

    /// The claims of a token that holds at `now`.
    ///
    /// # Errors
    /// [`NotActive`] says why it does not.
    pub fn active(&self, token: &str, now: Timestamp) -> Result<AccessTokenClaims, NotActive> {
        let claims = self.authentic(token)?.ending_within(self.longest);
        if now >= claims.expires_at {
            return Err(NotActive::Expired);
        }
        if self.revocations.holds(&claims) {
            return Err(NotActive::Revoked);
        }
        Ok(claims)
    }

    /// The claims of a token of this server as it was issued, whether or not it still holds: to a node that is configured otherwise it may.
    ///
    /// # Errors
    /// [`NotActive::NotOurs`] for anything else.
    pub fn authentic(&self, token: &str) -> Result<AccessTokenClaims, NotActive> {
        if token.contains('.') {
            let verified = self.keys.verify_own(token).map_err(NotOurs::from)?;
            return Ok(jwt::read(&verified, &self.sealer).map_err(NotOurs::from)?);
        }
        Ok(sealed::read(token, &self.sealer).map_err(NotOurs::from)?)
    }
}
