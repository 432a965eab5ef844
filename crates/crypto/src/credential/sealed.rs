//! What is inside a sealed credential.

use sluice_primitives::{IdentityId, Rng};
use zeroize::Zeroizing;

use super::stored::{FOREIGN, PROVISIONAL};
use super::{CredentialError, PepperId};
use crate::aead::{OpenError, Purpose, Sealer};

/// Of the id of the owner, in bytes.
const OWNER: usize = 16;

/// A pre-hash that waits for Argon2id.
pub(super) struct Provisional {
    pub(super) pepper: PepperId,
    pub(super) salt: [u8; 16],
    pub(super) pre_hash: Zeroizing<[u8; 32]>,
}

/// What was opened: which secret did it, counted from 0, whose it is, and what it says.
pub(super) struct Opened {
    pub(super) place: usize,
    owner: [u8; OWNER],
    body: Zeroizing<Vec<u8>>,
}

impl Opened {
    pub(super) fn open(sealer: &Sealer, purpose: Purpose, sealed: &str) -> Result<Self, CredentialError> {
        let (place, opened) = sealer.open_with(purpose, sealed)?;
        let opened = Zeroizing::new(opened);
        let malformed = CredentialError::Sealed(OpenError::Malformed);
        let (owner, body) = opened.split_first_chunk::<OWNER>().ok_or(malformed)?;
        Ok(Self { place, owner: *owner, body: Zeroizing::new(body.to_vec()) })
    }

    /// The same, if it is of this owner.
    pub(super) fn of(self, owner: IdentityId) -> Result<Self, CredentialError> {
        if self.owner == *owner.as_bytes() { Ok(self) } else { Err(CredentialError::OtherOwner) }
    }

    pub(super) fn provisional(&self) -> Result<Provisional, CredentialError> {
        let read = || {
            let (pepper, rest) = self.body.split_first_chunk::<4>()?;
            let (salt, pre_hash) = rest.split_first_chunk::<16>()?;
            let pre_hash = Zeroizing::new(<[u8; 32]>::try_from(pre_hash).ok()?);
            Some(Provisional { pepper: PepperId::from_bytes(*pepper), salt: *salt, pre_hash })
        };
        read().ok_or(CredentialError::Sealed(OpenError::Malformed))
    }

    pub(super) fn text(&self) -> Result<&str, CredentialError> {
        std::str::from_utf8(&self.body).map_err(|_| CredentialError::Sealed(OpenError::Malformed))
    }

    /// Sealed anew with the first secret.
    pub(super) fn seal_again(&self, sealer: &Sealer, purpose: Purpose, rng: &dyn Rng) -> String {
        seal(sealer, purpose, &[&self.owner, &self.body], rng)
    }
}

impl Provisional {
    pub(super) fn seal(&self, owner: IdentityId, sealer: &Sealer, rng: &dyn Rng) -> String {
        let parts = [owner.as_bytes().as_slice(), self.pepper.as_bytes(), &self.salt, self.pre_hash.as_ref()];
        seal(sealer, Purpose::ProvisionalCredential, &parts, rng)
    }
}

pub(super) fn seal_foreign(owner: IdentityId, hash: &str, sealer: &Sealer, rng: &dyn Rng) -> String {
    seal(sealer, Purpose::ForeignHash, &[owner.as_bytes(), hash.as_bytes()], rng)
}

fn seal(sealer: &Sealer, purpose: Purpose, parts: &[&[u8]], rng: &dyn Rng) -> String {
    let mut plaintext = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
    for part in parts {
        plaintext.extend_from_slice(part);
    }
    let mark = if purpose == Purpose::ForeignHash { FOREIGN } else { PROVISIONAL };
    [mark, &sealer.seal(purpose, &plaintext, rng)].concat()
}
