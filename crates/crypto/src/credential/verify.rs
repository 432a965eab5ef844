//! Whether a password is right, without telling by the time it takes what is stored.

use std::borrow::Cow;

use sluice_primitives::IdentityId;
use sluice_primitives::secret::same_bytes;

use super::sealed::Opened;
use super::stored::{Hardened, Kind};
use super::{CredentialError, CredentialKeys, MAX_PASSWORD, StoredCredential};
use crate::aead::Purpose;
use crate::foreign_hash::{ForeignHash, ForeignHashError};
use crate::password_hash::{Argon2Params, HashMemory};

/// What a password turned out to be.
#[derive(Clone, PartialEq, Eq)]
pub enum Verified {
    /// Not that of the identity.
    Wrong,
    /// That of the identity.
    Right {
        /// A hardened credential to store in place of the one that was verified: it was provisional, foreign, or made
        /// with other parameters or an older pepper. None of a foreign one that does not tell this password from all others
        /// ([`ForeignHash::covers`]): what was typed, and would be the password from now on, may not be the right one.
        replacement: Option<String>,
    },
}

/// Whether it is right and whether something replaces it, not what.
impl std::fmt::Debug for Verified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wrong => f.write_str("Wrong"),
            Self::Right { replacement } => {
                f.debug_struct("Right").field("replaced", &replacement.is_some()).finish()
            }
        }
    }
}

/// A password that somebody typed, and what it is held against.
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    /// Whose account it is; `None` for an unknown one.
    pub owner: Option<IdentityId>,
    /// What the account has stored; `None` for an unknown one and for a string that is no credential.
    pub stored: Option<&'a StoredCredential>,
    /// The password, normalised.
    pub password: &'a [u8],
    /// The password as it was typed, if that is something else: other systems may have hashed it so.
    pub raw: Option<&'a [u8]>,
}

/// The forms of a password that a hash of another system may be of.
#[derive(Clone, Copy)]
struct Forms<'a> {
    password: &'a [u8],
    raw: Option<&'a [u8]>,
}

/// Without the password.
impl std::fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (owner, stored) = (&self.owner, &self.stored);
        f.debug_struct("Attempt").field("owner", owner).field("stored", stored).finish_non_exhaustive()
    }
}

impl CredentialKeys {
    /// Whether a password is right. `salt` is random; it goes into the replacement. Slow.
    ///
    /// Equal work: one Argon2id of `params` for a provisional credential, a hardened one of these parameters, none, and
    /// an unknown account, and one beside the hash itself for a foreign one: that time tells that it is foreign, until it is
    /// replaced. Only a hardened credential of other parameters runs its own, and another when the password is
    /// right.
    ///
    /// # Errors
    /// [`CredentialError`] if the credential is not of the owner, needs a secret that is not known, or a hash fails;
    /// after the same work.
    pub fn verify(
        &self,
        attempt: &Attempt<'_>,
        params: Argon2Params,
        salt: [u8; 16],
        memory: &mut HashMemory,
    ) -> Result<Verified, CredentialError> {
        let password = attempt.password;
        let too_long = password.len() > MAX_PASSWORD;
        let password = if too_long { &[] } else { password };
        let forms = Forms { password, raw: attempt.raw.filter(|raw| !too_long && raw.len() <= MAX_PASSWORD) };
        let judged = match attempt.stored.map(|stored| &stored.0) {
            Some(Kind::Hardened(hardened)) => self.judge_hardened(hardened, password, params, memory),
            Some(Kind::Provisional(sealed)) => self.judge_provisional(attempt.owner, sealed, password),
            Some(Kind::Foreign(sealed)) => self.judge_foreign(attempt.owner, sealed, forms, memory),
            Some(Kind::Bare(hash)) => judge(hash, forms, memory),
            Some(Kind::Absent) | None => Ok(Judged { right: false, next: Next::HashAnew }),
        };
        let (right, replaces) = match judged {
            Ok(Judged { right, next: Next::Nothing }) => {
                let right = right && !too_long;
                return Ok(if right { Verified::Right { replacement: None } } else { Verified::Wrong });
            }
            Ok(Judged { right, next }) => (Ok(right && !too_long), matches!(next, Next::HashAnew)),
            Err(error) => (Err(error), false),
        };
        // Computed whatever came out, so that the time tells nothing.
        let fresh = self.hardened(password, params, salt, memory)?;
        Ok(if right? { Verified::Right { replacement: replaces.then_some(fresh) } } else { Verified::Wrong })
    }

    fn judge_hardened(
        &self,
        hardened: &Hardened,
        password: &[u8],
        params: Argon2Params,
        memory: &mut HashMemory,
    ) -> Result<Judged, CredentialError> {
        let unknown = CredentialError::UnknownPepper(hardened.pepper);
        let pepper = self.peppers.find(hardened.pepper).ok_or(unknown)?;
        let pre_hash = pepper.pre_hash(hardened.salt, password);
        let right = hardened.hash.matches(pre_hash.as_ref(), memory)?;
        let current = hardened.hash.params() == params && hardened.pepper == self.peppers.first().id();
        // A wrong password has cost one hash already and replaces nothing.
        let next = if current || !right { Next::Nothing } else { Next::HashAnew };
        Ok(Judged { right, next })
    }

    fn judge_provisional(
        &self,
        owner: Option<IdentityId>,
        sealed: &str,
        password: &[u8],
    ) -> Result<Judged, CredentialError> {
        let owner = owner.ok_or(CredentialError::OtherOwner)?;
        let opened = Opened::open(&self.at_rest, Purpose::ProvisionalCredential, sealed)?.of(owner)?;
        let stored = opened.provisional()?;
        let unknown = CredentialError::UnknownPepper(stored.pepper);
        let pepper = self.peppers.find(stored.pepper).ok_or(unknown)?;
        let pre_hash = pepper.pre_hash(stored.salt, password);
        let right = same_bytes(pre_hash.as_ref(), stored.pre_hash.as_ref());
        Ok(Judged { right, next: Next::HashAnew })
    }

    fn judge_foreign(
        &self,
        owner: Option<IdentityId>,
        sealed: &str,
        forms: Forms<'_>,
        memory: &mut HashMemory,
    ) -> Result<Judged, CredentialError> {
        let owner = owner.ok_or(CredentialError::OtherOwner)?;
        let opened = Opened::open(&self.at_rest, Purpose::ForeignHash, sealed)?.of(owner)?;
        judge(&stored_hash(opened.text()?)?, forms, memory)
    }
}

struct Judged {
    right: bool,
    next: Next,
}

/// What is left to do after a credential was looked at.
enum Next {
    /// Its own Argon2id has run.
    Nothing,
    /// One Argon2id is still to run.
    HashAnew,
    /// The same, only for the time that it takes.
    HashInVain,
}

/// A hash that was sealed.
fn stored_hash(text: &str) -> Result<ForeignHash, ForeignHashError> {
    ForeignHash::parse(&stored_text(text))
}

/// A hash that was sealed, as it is verified. Versions that took `$2x$` for `$2b$` sealed such, and their people logged in.
pub(super) fn stored_text(text: &str) -> Cow<'_, str> {
    match text.strip_prefix("$2x$") {
        Some(rest) => format!("$2b${rest}").into(),
        None => text.into(),
    }
}

/// As it was typed first, if that is something else: most systems hash what they are given.
fn judge(hash: &ForeignHash, forms: Forms<'_>, memory: &mut HashMemory) -> Result<Judged, CredentialError> {
    for form in forms.raw.into_iter().chain([forms.password]) {
        if hash.verify(form, memory)? {
            let next = if hash.covers(form) { Next::HashAnew } else { Next::HashInVain };
            return Ok(Judged { right: true, next });
        }
    }
    Ok(Judged { right: false, next: Next::HashAnew })
}
