//! What a session of the identity service is.

use sluice_primitives::{AttemptId, IdentityId, SessionId, Timestamp};

/// Somebody who is signed in to the identity service, on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentitySession {
    /// The `sid` of its tokens.
    pub id: SessionId,
    /// Who.
    pub identity: IdentityId,
    /// When the person proved who it is.
    pub authenticated_at: Timestamp,
    /// When it was last refreshed.
    pub last_seen_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// The generation of its refresh token, from 0.
    pub generation: i64,
    /// When that generation was made.
    pub rotated_at: Timestamp,
    /// How the person proved it (RFC 8176).
    pub amr: Vec<String>,
    /// What the browser or program calls itself, cut to 256 characters.
    pub device: String,
    /// The network it was begun from, as text.
    pub network: String,
    /// The attempt that began or last rotated it.
    pub attempt: AttemptId,
}
