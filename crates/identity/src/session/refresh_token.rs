//! Refresh tokens of the identity API: sealed, and good for nothing without the row of their session.

use serde::{Deserialize, Serialize};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{IdentityId, Rng, SessionId, Timestamp};

use super::model::IdentitySession;

/// What a refresh token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RefreshToken {
    pub(super) session: SessionId,
    pub(super) identity: IdentityId,
    pub(super) generation: i64,
    pub(super) authenticated_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    session: [u8; 16],
    identity: [u8; 16],
    generation: i64,
    authenticated_at: i64,
    expires_at: i64,
}

impl RefreshToken {
    /// The token of a session's present generation.
    pub(super) fn of(session: &IdentitySession) -> Self {
        Self {
            session: session.id,
            identity: session.identity,
            generation: session.generation,
            authenticated_at: session.authenticated_at,
            expires_at: session.expires_at,
        }
    }

    pub(super) fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = Wire {
            session: *self.session.as_bytes(),
            identity: *self.identity.as_bytes(),
            generation: self.generation,
            authenticated_at: self.authenticated_at.as_millis(),
            expires_at: self.expires_at.as_millis(),
        };
        let bytes = postcard::to_stdvec(&wire).unwrap_or_default();
        sealer.seal(Purpose::IdentityRefreshToken, &bytes, rng)
    }

    /// Reads a presented token; expiry is the caller's to check.
    pub(super) fn open(presented: &str, sealer: &Sealer) -> Option<Self> {
        let bytes = sealer.open(Purpose::IdentityRefreshToken, presented).ok()?;
        let wire: Wire = postcard::from_bytes(&bytes).ok()?;
        Some(Self {
            session: SessionId::from_bytes(wire.session),
            identity: IdentityId::from_bytes(wire.identity),
            generation: wire.generation,
            authenticated_at: Timestamp::from_millis(wire.authenticated_at),
            expires_at: Timestamp::from_millis(wire.expires_at),
        })
    }
}
