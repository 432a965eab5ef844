//! Key sets as Hydra's admin API knows them: an issuer that is trusted has one of its name, which holds the keys that it is
//! trusted with.

use std::sync::Arc;
use std::{fmt, slice};

use sluice_crypto::jwk::{Jwk, JwkSet};

use super::TrustService;
use crate::keys::{KeyService, KeyServiceError};

/// The key sets that are stored, and those of trusted issuers.
pub struct KeySets {
    /// What is stored.
    pub keys: Arc<KeyService>,
    /// Who is trusted.
    pub trust: Arc<TrustService>,
}

impl KeySets {
    /// The keys of a set: those that are stored, private parts included, and the public ones that an issuer of this name is
    /// trusted with.
    ///
    /// # Errors
    /// [`KeyServiceError::NoSuchSet`] if there are neither.
    pub async fn set(&self, set: &str) -> Result<JwkSet, KeyServiceError> {
        let stored = match self.keys.show_set(set).await {
            Err(KeyServiceError::NoSuchSet) => JwkSet::default(),
            stored => stored?,
        };
        let all = self.with_trusted(stored, (set, None)).await?;
        if all.keys.is_empty() { Err(KeyServiceError::NoSuchSet) } else { Ok(all) }
    }

    /// One key of a set, as [`Self::set`] has it.
    ///
    /// # Errors
    /// [`KeyServiceError::NoSuchKey`].
    pub async fn key(&self, set: &str, kid: &str) -> Result<JwkSet, KeyServiceError> {
        let stored = match self.keys.show_key(set, kid).await {
            Err(KeyServiceError::NoSuchKey) => JwkSet::default(),
            stored => stored?,
        };
        let all = self.with_trusted(stored, (set, Some(kid))).await?;
        if all.keys.is_empty() { Err(KeyServiceError::NoSuchKey) } else { Ok(all) }
    }

    /// Replaces a whole set by these keys; an issuer of its name is trusted no more with any other.
    ///
    /// # Errors
    /// As [`KeyService::replace_set`]; what is refused ends no trust.
    pub async fn replace_set(&self, set: &str, keys: JwkSet) -> Result<JwkSet, KeyServiceError> {
        self.keys.check(set, &keys.keys)?;
        self.trust.end_but_for(&keys.keys, (set, None)).await?;
        self.keys.replace_set(set, keys).await
    }

    /// Adds a key to a set under its own `kid`, or replaces the one that has it: an issuer of the name of the set is trusted no more
    /// with another of that `kid`.
    ///
    /// # Errors
    /// As [`KeyService::put_key`]; what is refused ends no trust.
    pub async fn put_key(&self, set: &str, jwk: Jwk) -> Result<Jwk, KeyServiceError> {
        let put = slice::from_ref(&jwk);
        self.keys.check(set, put)?;
        self.trust.end_but_for(put, (set, jwk.kid.as_deref())).await?;
        self.keys.put_key(set, jwk).await
    }

    /// Deletes a set, if it is there; an issuer of its name is trusted no more.
    ///
    /// # Errors
    /// The store's.
    pub async fn delete_set(&self, set: &str) -> Result<(), KeyServiceError> {
        self.trust.end_by_key(set, None).await?;
        self.keys.delete_set(set).await
    }

    /// Deletes a key, if it is there; an issuer of the name of its set is trusted with it no more.
    ///
    /// # Errors
    /// The store's.
    pub async fn delete_key(&self, set: &str, kid: &str) -> Result<(), KeyServiceError> {
        self.trust.end_by_key(set, Some(kid)).await?;
        self.keys.delete_key(set, kid).await
    }

    /// A trusted key may be stored as well: it is told once.
    async fn with_trusted(
        &self,
        mut stored: JwkSet,
        (issuer, kid): (&str, Option<&str>),
    ) -> Result<JwkSet, KeyServiceError> {
        let mut trusted = self.trust.keys_of(issuer, kid).await?;
        trusted.retain(|key| !is_among(key, &stored.keys));
        stored.keys.extend(trusted);
        Ok(stored)
    }
}

/// Whether this is one of these keys, whatever is said about it besides.
pub(super) fn is_among(key: &Jwk, keys: &[Jwk]) -> bool {
    keys.iter().any(|other| other.kid == key.kid && other.thumbprint() == key.thumbprint())
}

impl fmt::Debug for KeySets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySets").field("keys", &self.keys).finish_non_exhaustive()
    }
}
