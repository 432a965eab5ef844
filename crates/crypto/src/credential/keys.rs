//! Making, hardening and moving credentials.

use std::fmt;
use std::sync::Arc;

use sluice_primitives::rng::random_bytes;
use sluice_primitives::{IdentityId, Rng, Secret};

use super::sealed::{Opened, Provisional, seal_foreign};
use super::stored::{HARDENED, Kind};
use super::verify::stored_text;
use super::{CredentialError, MAX_PASSWORD, PepperId, Peppers, StoredCredential};
use crate::aead::{Purpose, Sealer};
use crate::foreign_hash::ForeignHash;
use crate::password_hash::{self, Argon2Params, HashMemory};

/// What makes and verifies credentials. Cheap to clone.
#[derive(Clone)]
pub struct CredentialKeys {
    pub(super) peppers: Peppers,
    pub(super) at_rest: Arc<Sealer>,
}

/// Which secrets a stored credential needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SecretsInUse {
    /// The pepper it was made with.
    pub pepper: Option<PepperId>,
    /// The storage secret that opens it, counted from 0: the first is the one that seals.
    pub storage: Option<usize>,
}

/// A hash that leaves the installation.
#[derive(Debug, Clone)]
pub enum ExportedHash {
    /// As it was imported, or is verified since: any program that knows its form verifies it.
    Foreign(Secret<String>),
    /// `h1$…`: verified by an installation with the same pepper only.
    Hardened(Secret<String>),
}

impl ExportedHash {
    /// The hash itself.
    pub const fn expose(&self) -> &String {
        match self {
            Self::Foreign(hash) | Self::Hardened(hash) => hash.expose(),
        }
    }
}

impl CredentialKeys {
    /// Keys that hash with `peppers` and seal with `at_rest`.
    pub const fn new(peppers: Peppers, at_rest: Arc<Sealer>) -> Self {
        Self { peppers, at_rest }
    }

    /// The peppers.
    pub const fn peppers(&self) -> &Peppers {
        &self.peppers
    }

    /// The fast path: the pre-hash of the password, sealed for its owner. Costs microseconds, so a sign-up waits for no
    /// slow hash.
    pub fn provisional(&self, owner: IdentityId, password: &[u8], rng: &dyn Rng) -> String {
        let (pepper, salt) = (self.peppers.first(), random_bytes(rng));
        let pre_hash = pepper.pre_hash(salt, password);
        Provisional { pepper: pepper.id(), salt, pre_hash }.seal(owner, &self.at_rest, rng)
    }

    /// Argon2id of the pre-hash at once. Slow.
    ///
    /// # Errors
    /// [`CredentialError::TooLong`], or [`CredentialError::Argon2`] if `memory` is too little.
    pub fn hardened(
        &self,
        password: &[u8],
        params: Argon2Params,
        salt: [u8; 16],
        memory: &mut HashMemory,
    ) -> Result<String, CredentialError> {
        if password.len() > MAX_PASSWORD {
            return Err(CredentialError::TooLong);
        }
        let pepper = self.peppers.first();
        let pre_hash = pepper.pre_hash(salt, password);
        finish(&Provisional { pepper: pepper.id(), salt, pre_hash }, params, memory)
    }

    /// What hardening does: opens the pre-hash of `owner`, gives back Argon2id of it. Slow.
    ///
    /// # Errors
    /// [`CredentialError`] if it is not provisional, of another owner, sealed with an unknown secret, or `memory` is
    /// too little.
    pub fn harden(
        &self,
        owner: IdentityId,
        stored: &str,
        params: Argon2Params,
        memory: &mut HashMemory,
    ) -> Result<String, CredentialError> {
        let StoredCredential(Kind::Provisional(sealed)) = StoredCredential::parse(stored)? else {
            return Err(CredentialError::NotProvisional);
        };
        let opened = Opened::open(&self.at_rest, Purpose::ProvisionalCredential, &sealed)?.of(owner)?;
        finish(&opened.provisional()?, params, memory)
    }

    /// Seals an imported hash for its owner.
    pub fn foreign(&self, owner: IdentityId, hash: &ForeignHash, rng: &dyn Rng) -> String {
        seal_foreign(owner, hash.as_str(), &self.at_rest, rng)
    }

    /// Which secrets a stored credential needs.
    ///
    /// # Errors
    /// [`CredentialError`] if one of them is not known here.
    pub fn secret_in_use(&self, stored: &StoredCredential) -> Result<SecretsInUse, CredentialError> {
        let in_use = match &stored.0 {
            Kind::Absent | Kind::Bare(_) => SecretsInUse::default(),
            Kind::Hardened(hardened) => SecretsInUse { pepper: Some(hardened.pepper), storage: None },
            Kind::Provisional(sealed) => {
                let opened = Opened::open(&self.at_rest, Purpose::ProvisionalCredential, sealed)?;
                SecretsInUse { pepper: Some(opened.provisional()?.pepper), storage: Some(opened.place) }
            }
            Kind::Foreign(sealed) => {
                let opened = Opened::open(&self.at_rest, Purpose::ForeignHash, sealed)?;
                SecretsInUse { pepper: None, storage: Some(opened.place) }
            }
        };
        match in_use.pepper.filter(|pepper| self.peppers.find(*pepper).is_none()) {
            Some(unknown) => Err(CredentialError::UnknownPepper(unknown)),
            None => Ok(in_use),
        }
    }

    /// A credential that an older storage secret sealed, sealed anew with the first. `None` if there is nothing to do,
    /// and if it is not of `owner` or does not open: [`CredentialKeys::secret_in_use`] tells why.
    pub fn reseal(&self, owner: IdentityId, stored: &str, rng: &dyn Rng) -> Option<String> {
        let (purpose, sealed) = match StoredCredential::parse(stored).ok()?.0 {
            Kind::Provisional(sealed) => (Purpose::ProvisionalCredential, sealed),
            Kind::Foreign(sealed) => (Purpose::ForeignHash, sealed),
            Kind::Absent | Kind::Hardened(_) | Kind::Bare(_) => return None,
        };
        let opened = Opened::open(&self.at_rest, purpose, &sealed).ok()?.of(owner).ok()?;
        (opened.place > 0).then(|| opened.seal_again(&self.at_rest, purpose, rng))
    }

    /// The hash, for another installation or program.
    ///
    /// # Errors
    /// [`CredentialError::NotExportable`] for a provisional credential and where there is none; [`CredentialError`] if
    /// it does not open.
    pub fn export(&self, owner: IdentityId, stored: &str) -> Result<ExportedHash, CredentialError> {
        match StoredCredential::parse(stored)?.0 {
            Kind::Absent | Kind::Provisional(_) => Err(CredentialError::NotExportable),
            Kind::Hardened(_) => Ok(ExportedHash::Hardened(Secret::new(stored.to_owned()))),
            Kind::Bare(_) => Ok(ExportedHash::Foreign(Secret::new(stored.to_owned()))),
            Kind::Foreign(sealed) => {
                let opened = Opened::open(&self.at_rest, Purpose::ForeignHash, &sealed)?.of(owner)?;
                // As it is verified: a `$2x$` that was sealed once no import takes.
                Ok(ExportedHash::Foreign(Secret::new(stored_text(opened.text()?).into_owned())))
            }
        }
    }
}

impl fmt::Debug for CredentialKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialKeys").field("peppers", &self.peppers).finish_non_exhaustive()
    }
}

/// Argon2id of a pre-hash, as it is stored.
fn finish(
    provisional: &Provisional,
    params: Argon2Params,
    memory: &mut HashMemory,
) -> Result<String, CredentialError> {
    let Provisional { pepper, salt, pre_hash } = provisional;
    let phc = password_hash::hash(params, pre_hash.as_ref(), salt, memory)?;
    Ok(format!("{HARDENED}{pepper}{phc}"))
}
