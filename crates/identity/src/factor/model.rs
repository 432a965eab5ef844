//! What a factor is.

use std::fmt;

use sluice_primitives::{IdentityId, Timestamp};
use uuid::Uuid;

/// What a person proves with a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FactorKind {
    /// To have the secret of one-time passwords (RFC 6238).
    Totp,
    /// To have a key of this site (`WebAuthn`).
    Passkey,
}

impl FactorKind {
    /// As stores keep it.
    pub const fn stored(self) -> i16 {
        match self {
            Self::Totp => 1,
            Self::Passkey => 2,
        }
    }

    /// What the API says.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Passkey => "passkey",
        }
    }
}

/// A factor of a person.
///
/// Prints neither its name nor what is sealed.
#[derive(Clone, PartialEq, Eq)]
pub struct Factor {
    /// Whose.
    pub identity: IdentityId,
    /// Which (UUIDv7).
    pub id: Uuid,
    /// Of which kind.
    pub kind: FactorKind,
    /// What its person calls it; at most 64 characters.
    pub name: String,
    /// Secret or public key and what belongs to it, sealed.
    pub sealed: String,
    /// When it was enrolled.
    pub created_at: Timestamp,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// What only grows: the time step of the last one-time password, or a count of uses of a passkey. Whoever uses a
    /// factor raises it by compare-and-swap, so that nothing is used twice.
    pub counter: i64,
}

impl fmt::Debug for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factor")
            .field("identity", &self.identity)
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("created_at", &self.created_at)
            .field("last_used_at", &self.last_used_at)
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}
