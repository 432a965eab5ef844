//! The string in the row.

use std::fmt;

use super::{CredentialError, PepperId};
use crate::foreign_hash::ForeignHash;
use crate::password_hash::{Argon2Params, StoredArgon2};

pub(super) const PROVISIONAL: &str = "p1$";
pub(super) const HARDENED: &str = "h1$";
pub(super) const FOREIGN: &str = "f1$";
/// A longer string is no credential, in bytes: a sealed hash of the longest form is below.
const MAX_STRING: usize = 4096;

/// What a credential can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CredentialState {
    /// There is no password.
    Absent,
    /// Safe against a stolen database, not hashed slowly yet.
    Provisional,
    /// Argon2id of the pre-hash.
    Hardened,
    /// Imported, or Argon2id of the bare password: hardened at the next login.
    Foreign,
}

/// A stored credential, taken apart.
#[derive(Clone)]
pub struct StoredCredential(pub(super) Kind);

#[derive(Clone)]
pub(super) enum Kind {
    Absent,
    /// What is sealed, without the mark before it.
    Provisional(String),
    Hardened(Hardened),
    /// What is sealed, without the mark before it.
    Foreign(String),
    Bare(ForeignHash),
}

/// Argon2id of a pre-hash; the salt of both is the same.
#[derive(Clone)]
pub(super) struct Hardened {
    pub(super) pepper: PepperId,
    pub(super) salt: [u8; 16],
    pub(super) hash: StoredArgon2,
}

impl StoredCredential {
    /// Takes a string apart.
    ///
    /// # Errors
    /// [`CredentialError::Malformed`], or what is wrong with the hash in it.
    pub fn parse(raw: &str) -> Result<Self, CredentialError> {
        if raw.len() > MAX_STRING {
            return Err(CredentialError::Malformed);
        }
        let kind = if raw.is_empty() {
            Kind::Absent
        } else if let Some(sealed) = raw.strip_prefix(PROVISIONAL) {
            Kind::Provisional(sealed.to_owned())
        } else if let Some(rest) = raw.strip_prefix(HARDENED) {
            Kind::Hardened(Hardened::parse(rest)?)
        } else if let Some(sealed) = raw.strip_prefix(FOREIGN) {
            Kind::Foreign(sealed.to_owned())
        } else if raw.starts_with("$argon2id$") {
            Kind::Bare(ForeignHash::parse(raw)?)
        } else {
            return Err(CredentialError::Malformed);
        };
        Ok(Self(kind))
    }

    /// What it is.
    pub const fn state(&self) -> CredentialState {
        match &self.0 {
            Kind::Absent => CredentialState::Absent,
            Kind::Provisional(_) => CredentialState::Provisional,
            Kind::Hardened(_) => CredentialState::Hardened,
            Kind::Foreign(_) | Kind::Bare(_) => CredentialState::Foreign,
        }
    }

    /// Which pepper made a hardened credential. A provisional one tells to [`super::CredentialKeys::secret_in_use`]
    /// only.
    pub const fn pepper(&self) -> Option<PepperId> {
        match &self.0 {
            Kind::Hardened(hardened) => Some(hardened.pepper),
            _ => None,
        }
    }

    /// What the Argon2id hash in it costs, if there is one in the open.
    pub const fn params(&self) -> Option<Argon2Params> {
        match &self.0 {
            Kind::Hardened(hardened) => Some(hardened.hash.params()),
            Kind::Bare(hash) => hash.argon2_params(),
            _ => None,
        }
    }
}

/// Its state and its keys, never what is in it.
impl fmt::Debug for StoredCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (state, pepper) = (self.state(), self.pepper());
        f.debug_struct("StoredCredential")
            .field("state", &state)
            .field("pepper", &pepper)
            .finish_non_exhaustive()
    }
}

impl Hardened {
    /// `<pepper>$argon2id$…`
    fn parse(rest: &str) -> Result<Self, CredentialError> {
        let (pepper, phc) = rest.split_at_checked(8).ok_or(CredentialError::Malformed)?;
        let pepper = pepper.parse().map_err(|_| CredentialError::Malformed)?;
        let hash = StoredArgon2::parse(phc)?;
        let salt = hash.salt().try_into().map_err(|_| CredentialError::Malformed)?;
        Ok(Self { pepper, salt, hash })
    }
}
