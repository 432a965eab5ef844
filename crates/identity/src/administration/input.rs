//! What administrators ask for.

use std::fmt;

use sluice_primitives::Secret;

use crate::identity::IdentityStatus;

/// Who hears of what an administrator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notify {
    /// The person, by a notice to the address if that is verified.
    #[default]
    Person,
    /// Nobody.
    Nobody,
}

/// The password of a new identity.
#[derive(Debug)]
pub enum NewPassword {
    /// As it is typed. It must be what people's own passwords must be.
    Plain(Secret<String>),
    /// A hash that another system made ([`sluice_crypto::foreign_hash`]).
    Hash(Secret<String>),
}

/// A record to be made.
///
/// Prints neither names nor the password.
pub struct NewIdentity {
    /// The e-mail address.
    pub email: String,
    /// What the person wants to be called; may be empty.
    pub username: String,
    /// The password; without one the person logs in after a recovery, or with a passkey.
    pub password: Option<NewPassword>,
    /// Whether the person may log in.
    pub status: IdentityStatus,
    /// Whether it is known that the person reads mail at the address.
    pub email_verified: bool,
}

impl fmt::Debug for NewIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewIdentity")
            .field("status", &self.status)
            .field("email_verified", &self.email_verified)
            .finish_non_exhaustive()
    }
}

/// What is changed of a record. Fields that are `None` stay.
///
/// Prints no names.
#[derive(Clone, Default)]
pub struct IdentityEdit {
    /// The e-mail address. Another one is not verified, unless the same edit says so.
    pub email: Option<String>,
    /// The username.
    pub username: Option<String>,
    /// Whether the person may log in. Disabling revokes everything that was issued for the person.
    pub status: Option<IdentityStatus>,
    /// Whether it is known that the person reads mail at the address.
    pub email_verified: Option<bool>,
}

impl fmt::Debug for IdentityEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityEdit")
            .field("status", &self.status)
            .field("email_verified", &self.email_verified)
            .finish_non_exhaustive()
    }
}
