//! Signing keys that go: by rotation, as they were read, or by an administrator's word, also where another is put in their place. However many are deleted at once, something signs with
//! their algorithm at each moment: which key may go is for the store to say, since what is in memory may be of a moment ago.

use std::collections::HashSet;

use sluice_commit::StoreError;
use sluice_crypto::jwk::{RsaSize, SigningAlgorithm};
use sluice_primitives::Timestamp;
use tracing::info;

use super::at_rest::KeyError;
use super::loaded::LoadedSet;
use super::repository::{KeyState, StoredKey};
use super::ring::KeyRing;
use super::rotation::tell_made;

/// How often a deletion, or what is put in the place of something, is tried while others change the same keys.
pub(super) const TRIES: usize = 5;

impl KeyRing {
    /// Deletes a key of a set that is signed with, as it is by now; whether it was there. If nothing else signs with its algorithm, its
    /// substitute is added before. `made_at`: only the key of this name that was made then, and none that has been put in its place.
    pub(super) async fn delete(
        &self,
        set: &'static str,
        (kid, made_at): (&str, Option<Timestamp>),
    ) -> Result<bool, KeyError> {
        for _ in 0..TRIES {
            let rows = self.repo.set(set).await?;
            let is_meant = |row: &&StoredKey| row.kid == kid && made_at.is_none_or(|at| row.created_at == at);
            let Some(key) = rows.iter().find(is_meant).cloned() else { return Ok(false) };
            let keys = self.opened(rows);
            let beside = match keys.beside(kid) {
                Some(signing) => self.to_sign_beside(set, signing).await?,
                None => Vec::new(),
            };
            if self.remove_beside(&keys, &key, &beside).await? {
                return Ok(true);
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Puts a key under its name in a set that is signed with, in the place of the one that has it. If nothing else signs with the algorithm of that one,
    /// and this one does not either, as it is public or of another, its substitute is added before.
    pub(super) async fn put(&self, set: &'static str, key: &StoredKey) -> Result<(), KeyError> {
        let put = self.opened(vec![key.clone()]);
        for _ in 0..TRIES {
            let rows = self.repo.set(set).await?;
            let Some(read) = rows.iter().find(|row| row.kid == key.kid).cloned() else {
                if self.repo.add_new(key.clone()).await? {
                    return Ok(());
                }
                continue;
            };
            let signing = self.opened(rows).beside(&key.kid);
            let beside = match signing.filter(|(algorithm, _)| !put.has_signer(*algorithm)) {
                Some(signing) => self.to_sign_beside(set, signing).await?,
                None => Vec::new(),
            };
            if self.repo.supersede(&read, key.clone(), &beside).await? {
                return Ok(());
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Deletes a key that was read some time ago, however it was sealed or moved on since.
    pub(super) async fn revoke(&self, set: &'static str, key: &StoredKey) -> Result<(), KeyError> {
        if self.delete(set, (&key.kid, Some(key.created_at))).await? {
            tell_deleted(key);
        }
        Ok(())
    }

    /// Deletes a key if it is as it was read with its set, and those that signed beside it are not all gone; whether it was.
    pub(super) async fn remove(&self, keys: &LoadedSet, key: &StoredKey) -> Result<bool, KeyError> {
        let beside = keys.beside(&key.kid).map(|(_, others)| others).unwrap_or_default();
        let was_there = self.remove_beside(keys, key, &beside).await?;
        if was_there {
            tell_deleted(key);
        }
        Ok(was_there)
    }

    /// Deletes the public parts that came along with a private key which is not in the set any more, however it went; how many. One that somebody put
    /// there by itself signs no more either, but is none that retires, and stays.
    pub(super) async fn remove_lone_parts(&self, set: &str) -> Result<usize, KeyError> {
        let loaded = self.loaded();
        let Some(keys) = loaded.own(set) else { return Ok(0) };
        if !keys.without_signer().any(|key| key.state == KeyState::Retiring) {
            return Ok(0);
        }
        let (mut standing, mut parts) = (HashSet::new(), Vec::new());
        for key in keys.rows() {
            let jwk = self.sealer.open(key)?;
            let Ok(thumbprint) = jwk.thumbprint_bytes() else { continue };
            if jwk.is_private() || key.state != KeyState::Retiring {
                standing.insert(thumbprint);
            } else {
                parts.push((key, thumbprint));
            }
        }
        parts.retain(|(_, thumbprint)| !standing.contains(thumbprint));
        let mut deleted = 0;
        for (part, _) in parts {
            deleted += usize::from(self.remove_part(part).await?);
        }
        Ok(deleted)
    }

    /// A private key's public part goes before it, where that has a name of its own: whoever has the key could go on to sign in that name.
    async fn remove_beside(
        &self,
        keys: &LoadedSet,
        key: &StoredKey,
        beside: &[String],
    ) -> Result<bool, KeyError> {
        for part in self.public_parts_of(keys, key) {
            self.remove_part(part).await?;
        }
        Ok(self.repo.remove(key, beside).await?)
    }

    async fn remove_part(&self, part: &StoredKey) -> Result<bool, KeyError> {
        let was_there = self.repo.remove(part, &[]).await?;
        if was_there {
            tell_deleted(part);
        }
        Ok(was_there)
    }

    /// The names of those that sign beside a key which is about to go: one that is made now, if there is no other.
    async fn to_sign_beside(
        &self,
        set: &'static str,
        (algorithm, others): (SigningAlgorithm, Vec<String>),
    ) -> Result<Vec<String>, KeyError> {
        if others.is_empty() { Ok(vec![self.add_substitute(set, algorithm).await?]) } else { Ok(others) }
    }

    /// Adds a key that signs at once in the place of one that is about to go; its id.
    async fn add_substitute(
        &self,
        set: &'static str,
        algorithm: SigningAlgorithm,
    ) -> Result<String, KeyError> {
        let made = self.make_key((set, algorithm), KeyState::Active, RsaSize::Bits2048).await?;
        self.repo.add(vec![made.clone()]).await?;
        tell_made(&made);
        Ok(made.kid)
    }

    /// Of these rows those that open: one that does not can be deleted all the same.
    fn opened(&self, rows: Vec<StoredKey>) -> LoadedSet {
        let open = |row: StoredKey| self.sealer.open(&row).ok().map(|jwk| (row, jwk));
        let (keys, jwks): (Vec<_>, Vec<_>) = rows.into_iter().filter_map(open).unzip();
        LoadedSet::parse(keys, &jwks, self.policy())
    }

    /// The public part of a private key, as often as it is in its set under another name.
    fn public_parts_of<'a>(&self, keys: &'a LoadedSet, key: &StoredKey) -> Vec<&'a StoredKey> {
        let read = |row: &StoredKey| {
            let jwk = self.sealer.open(row).ok()?;
            Some((jwk.is_private(), jwk.thumbprint_bytes().ok()?))
        };
        // Of what has no thumbprint there is no part.
        let Some((true, thumbprint)) = read(key) else { return Vec::new() };
        let mut parts = Vec::new();
        for row in keys.rows().filter(|row| row.kid != key.kid) {
            match read(row) {
                // The same key by another name: it is still here, and so are its parts.
                Some((true, same)) if same == thumbprint => return Vec::new(),
                Some((false, same)) if same == thumbprint => parts.push(row),
                _ => {}
            }
        }
        parts
    }
}

/// Says in the audit trail that a key is gone.
fn tell_deleted(key: &StoredKey) {
    let StoredKey { set, kid, algorithm, .. } = key;
    info!(target: "sluice_audit", { key.set = set, key.kid = kid, key.alg = algorithm }, "signing key deleted");
}

#[cfg(test)]
mod tests;
