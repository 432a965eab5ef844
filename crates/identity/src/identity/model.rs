//! What an identity is.

use std::fmt;

use sluice_primitives::{AttemptId, IdentityId, Timestamp};
use unicode_normalization::UnicodeNormalization;

use super::email::Email;

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

impl IdentityStatus {
    /// What the API says.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }
}

/// A person's record.
///
/// Prints neither names nor the credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// Also the subject of the person's tokens.
    pub id: IdentityId,
    /// The login name, normalised.
    pub email: String,
    /// Its hash.
    pub login_name: LoginNameHash,
    /// What the person wants to be called. Not unique; empty if it was not said.
    pub username: String,
    /// The stored credential ([`sluice_crypto::credential::StoredCredential`]); empty if there is no password.
    pub credential: String,
    /// Whether the credential waits for the hardening worker.
    pub hardening: bool,
    /// Whether the person may log in.
    pub status: IdentityStatus,
    /// When the person proved to read mail at the address; none if not yet.
    pub email_verified_at: Option<Timestamp>,
    /// When the person registered.
    pub created_at: Timestamp,
    /// When the record was last changed; a credential that is hardened is no change.
    pub updated_at: Timestamp,
    /// From 1, raised by one with every change of how the person gets in or of whether they may
    /// ([`IdentityChange::raises_revision`](super::IdentityChange::raises_revision)), with a factor that is taken away and with
    /// recovery codes that take the place of others; a factor that is added leaves it. What was proved of a record holds while
    /// its revision does: whoever only calls themselves something else, or signs out elsewhere, must not undo it.
    pub revision: i64,
    /// The attempt that wrote the record, or changed it last.
    pub attempt: AttemptId,
}

impl Identity {
    /// Whether somebody may have made the record who does not read mail at its address: nobody has shown to, and there is a
    /// password, which whoever registers sets. One without a password was made by an administrator or an import.
    pub const fn may_be_a_strangers(&self) -> bool {
        self.email_verified_at.is_none() && !self.credential.is_empty()
    }

    /// The address, if somebody has proved to read mail there.
    pub fn verified_email(&self) -> Option<&str> {
        self.email_verified_at.map(|_| self.email.as_str())
    }

    /// What the person wants to be called, if nobody takes it for the address, or the `sub`, of somebody else: some applications call
    /// people by whichever of these is there. A name that reads as an address is the person's own, however written, or none; an own one has
    /// to be verified.
    pub fn unmistakable_name(&self) -> Option<&str> {
        if self.username.nfkc().any(|character| character == '@') {
            let named = self.username.parse::<Email>().ok();
            return self.verified_email().filter(|own| named.is_some_and(|named| named.as_str() == *own));
        }
        Some(self.username.as_str()).filter(|name| !name.is_empty() && !reads_as_subject(name))
    }

    /// Whether whoever reads mail to the address has shown by that to have the address. It may be from a time when one was given away
    /// whose mail goes elsewhere ([`Email::may_lead_elsewhere`]); or it was taken then and would not be parsed now, which says nothing
    /// of its mail.
    pub(crate) fn is_proved_by_mail(&self) -> bool {
        !self.email.parse::<Email>().is_ok_and(|email| email.may_lead_elsewhere())
    }
}

/// Whether a name could be the `sub` of somebody: a UUID, or SHA-256 in hexadecimal where it is pairwise.
fn reads_as_subject(name: &str) -> bool {
    const SHORTEST: usize = 32;
    let name: String = name.nfkc().filter(|character| *character != '-').collect();
    name.len() >= SHORTEST && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("id", &self.id)
            .field("hardening", &self.hardening)
            .field("status", &self.status)
            .field("email_verified_at", &self.email_verified_at)
            .field("created_at", &self.created_at)
            .field("updated_at", &self.updated_at)
            .field("revision", &self.revision)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
