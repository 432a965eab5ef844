//! What an identity is.

use sluice_primitives::{AttemptId, IdentityId, Timestamp};

/// SHA-256 of a normalised login name: what makes it unique.
pub type LoginNameHash = [u8; 32];

/// Whether a person may log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdentityStatus {
    /// May log in.
    Active,
    /// May not.
    Disabled,
}

/// A person's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Also the subject of the person's tokens.
    pub id: IdentityId,
    /// The login name, normalised.
    pub email: String,
    /// Its hash.
    pub login_name: LoginNameHash,
    /// The stored password hash (PHC string).
    pub password_hash: String,
    /// Whether the person may log in.
    pub status: IdentityStatus,
    /// When the person registered.
    pub created_at: Timestamp,
    /// The attempt that wrote the record.
    pub attempt: AttemptId,
}
