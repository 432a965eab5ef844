//! A key repository for the tests of this crate.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::Lifetime;
use tokio::sync::Notify;

use super::repository::{KeyRepository, KeyState, StoredKey};

/// Keys in a list; how many of them can still be deleted, if not all; how many writes that make or delete keys still succeed; a set
/// whose next reading waits until it is let go on; and a key that another node puts just before something is next written as it was read.
#[derive(Default)]
pub(crate) struct FakeKeys(
    pub(crate) Mutex<Vec<StoredKey>>,
    pub(crate) Mutex<Option<u32>>,
    pub(crate) Mutex<Option<u32>>,
    pub(crate) Mutex<Option<(&'static str, Arc<Notify>)>>,
    pub(crate) Mutex<Option<StoredKey>>,
);

/// Takes one of those that are left.
fn take(left: &Mutex<Option<u32>>) -> Result<(), StoreError> {
    if let Some(left) = &mut *left.lock() {
        *left = left.checked_sub(1).ok_or(StoreError::Unavailable(None))?;
    }
    Ok(())
}

/// Whether a key is one of these of a set, and goes on to sign.
fn stays(row: &StoredKey, set: &str, beside: &[String]) -> bool {
    row.set == set && beside.contains(&row.kid) && row.state != KeyState::Retiring
}

impl FakeKeys {
    fn put_by_another(&self, rows: &mut Vec<StoredKey>) {
        if let Some(put) = self.4.lock().take() {
            rows.retain(|row| row.set != put.set || row.kid != put.kid);
            rows.push(put);
        }
    }
}

#[async_trait]
impl KeyRepository for FakeKeys {
    async fn set(&self, set: &str) -> Result<Vec<StoredKey>, StoreError> {
        let held = self.3.lock().take_if(|(name, _)| *name == set);
        if let Some((_, go_on)) = held {
            go_on.notified().await;
        }
        let mut found: Vec<_> = self.0.lock().iter().filter(|key| key.set == set).cloned().collect();
        found.sort_by(|one, other| (other.created_at, &one.kid).cmp(&(one.created_at, &other.kid)));
        Ok(found)
    }

    async fn create_missing(&self, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        take(&self.2)?;
        let mut rows = self.0.lock();
        for key in keys {
            if !rows.iter().any(|row| row.set == key.set && row.algorithm == key.algorithm) {
                rows.push(key);
            }
        }
        Ok(())
    }

    async fn add_successor(&self, key: StoredKey, predecessor: &str) -> Result<bool, StoreError> {
        let same = self.set(&key.set).await?.into_iter().filter(|row| row.algorithm == key.algorithm);
        let Some(newest) = same.into_iter().next().filter(|row| row.kid == predecessor) else {
            return Ok(false);
        };
        let created_at = key.created_at.max(newest.created_at + Lifetime::millis(1));
        self.0.lock().push(StoredKey { created_at, ..key });
        Ok(true)
    }

    async fn replace(&self, read: &StoredKey, by: StoredKey) -> Result<bool, StoreError> {
        let mut rows = self.0.lock();
        let Some(row) = rows.iter_mut().find(|row| *row == read) else { return Ok(false) };
        *row = by;
        Ok(true)
    }

    async fn sets(&self) -> Result<Vec<String>, StoreError> {
        let sets: BTreeSet<_> = self.0.lock().iter().map(|key| key.set.clone()).collect();
        Ok(sets.into_iter().collect())
    }

    async fn add_new(&self, key: StoredKey) -> Result<bool, StoreError> {
        take(&self.2)?;
        let mut rows = self.0.lock();
        let is_free = !rows.iter().any(|row| row.set == key.set && row.kid == key.kid);
        if is_free {
            rows.push(key);
        }
        Ok(is_free)
    }

    async fn add(&self, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        take(&self.2)?;
        let mut rows = self.0.lock();
        for key in keys {
            rows.retain(|row| row.set != key.set || row.kid != key.kid);
            rows.push(key);
        }
        Ok(())
    }

    async fn supersede(
        &self,
        read: &StoredKey,
        by: StoredKey,
        beside: &[String],
    ) -> Result<bool, StoreError> {
        take(&self.2)?;
        let mut rows = self.0.lock();
        self.put_by_another(&mut rows);
        if !beside.is_empty() && !rows.iter().any(|row| stays(row, &read.set, beside)) {
            return Ok(false);
        }
        let Some(row) = rows.iter_mut().find(|row| *row == read) else { return Ok(false) };
        *row = by;
        Ok(true)
    }

    async fn replace_set(
        &self,
        set: &str,
        read: &[StoredKey],
        keys: Vec<StoredKey>,
    ) -> Result<bool, StoreError> {
        take(&self.2)?;
        let mut rows = self.0.lock();
        self.put_by_another(&mut rows);
        let are_as_read = rows.iter().filter(|row| row.set == set).all(|row| read.contains(row));
        if !are_as_read || rows.iter().filter(|row| row.set == set).count() != read.len() {
            return Ok(false);
        }
        rows.retain(|row| row.set != set);
        rows.extend(keys);
        Ok(true)
    }

    async fn remove(&self, read: &StoredKey, beside: &[String]) -> Result<bool, StoreError> {
        take(&self.1)?;
        take(&self.2)?;
        let mut rows = self.0.lock();
        self.put_by_another(&mut rows);
        if !beside.is_empty() && !rows.iter().any(|row| stays(row, &read.set, beside)) {
            return Ok(false);
        }
        let before = rows.len();
        rows.retain(|row| row != read);
        Ok(rows.len() < before)
    }

    async fn delete(&self, set: &str, kid: &str) -> Result<bool, StoreError> {
        take(&self.1)?;
        take(&self.2)?;
        let mut rows = self.0.lock();
        let before = rows.len();
        rows.retain(|row| row.set != set || row.kid != kid);
        Ok(rows.len() < before)
    }

    async fn delete_set(&self, set: &str) -> Result<bool, StoreError> {
        take(&self.2)?;
        let mut rows = self.0.lock();
        let before = rows.len();
        rows.retain(|row| row.set != set);
        Ok(rows.len() < before)
    }
}
