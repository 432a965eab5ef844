//! Keys in memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::keys::{KeyRepository, KeyState, StoredKey};
use sluice_primitives::Lifetime;
use sluice_token::Change;

use super::{MemoryStore, check};

fn check_keys(keys: &[StoredKey]) -> Result<(), StoreError> {
    keys.iter().try_for_each(|key| check([&*key.set, &*key.kid, &*key.algorithm, &*key.sealed]))
}

fn is_as_read(key: &StoredKey, read: &StoredKey) -> bool {
    (&key.sealed, key.state) == (&read.sealed, read.state)
}

/// Whether a key is as it was read, and one of those that have to be there beside it is.
fn may_go(keys: &BTreeMap<(String, String), StoredKey>, read: &StoredKey, beside: &[String]) -> bool {
    let find = |kid: &String| keys.get(&(read.set.clone(), kid.clone()));
    let stays = |kid: &String| find(kid).is_some_and(|key| key.state != KeyState::Retiring);
    let is_left = beside.is_empty() || beside.iter().any(stays);
    is_left && find(&read.kid).is_some_and(|key| is_as_read(key, read))
}

#[async_trait]
impl KeyRepository for MemoryStore {
    async fn set(&self, set: &str) -> Result<Vec<StoredKey>, StoreError> {
        let mut keys: Vec<StoredKey> =
            self.read(|data| data.keys.values().filter(|key| key.set == set).cloned().collect());
        keys.sort_by_key(|key| (Reverse(key.created_at), key.kid.clone()));
        Ok(keys)
    }

    async fn create_missing(&self, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        check_keys(&keys)?;
        self.write(|data| {
            let mut changed = BTreeSet::new();
            for key in keys {
                let same = |other: &StoredKey| other.set == key.set && other.algorithm == key.algorithm;
                if !data.keys.values().any(same) {
                    changed.insert(key.set.clone());
                    data.keys.insert((key.set.clone(), key.kid.clone()), key);
                }
            }
            for set in changed {
                data.change(self.node, Change::Keys(set));
            }
        })
        .await
    }

    async fn add_successor(&self, key: StoredKey, predecessor: &str) -> Result<bool, StoreError> {
        check_keys(std::slice::from_ref(&key))?;
        check([predecessor])?;
        self.write(|data| {
            let same = data.keys.values().filter(|row| row.set == key.set && row.algorithm == key.algorithm);
            let newest = same.min_by_key(|row| (Reverse(row.created_at), row.kid.clone()));
            let Some(newest) = newest.filter(|row| row.kid == predecessor) else { return false };
            let created_at = key.created_at.max(newest.created_at + Lifetime::millis(1));
            let (set, kid) = (key.set.clone(), key.kid.clone());
            if data.keys.contains_key(&(set.clone(), kid.clone())) {
                return false;
            }
            data.keys.insert((set.clone(), kid), StoredKey { created_at, ..key });
            data.change(self.node, Change::Keys(set));
            true
        })
        .await
    }

    async fn replace(&self, read: &StoredKey, by: StoredKey) -> Result<bool, StoreError> {
        check_keys(std::slice::from_ref(&by))?;
        self.write(|data| {
            let Some(row) = data.keys.get_mut(&(read.set.clone(), read.kid.clone())) else { return false };
            if (&row.sealed, row.state) != (&read.sealed, read.state) {
                return false;
            }
            (row.sealed, row.state) = (by.sealed, by.state);
            data.change(self.node, Change::Keys(read.set.clone()));
            true
        })
        .await
    }

    async fn sets(&self) -> Result<Vec<String>, StoreError> {
        let sets: BTreeSet<String> =
            self.read(|data| data.keys.values().map(|key| key.set.clone()).collect());
        Ok(sets.into_iter().collect())
    }

    async fn add_new(&self, key: StoredKey) -> Result<bool, StoreError> {
        check_keys(std::slice::from_ref(&key))?;
        self.write(|data| {
            let place = (key.set.clone(), key.kid.clone());
            if data.keys.contains_key(&place) {
                return false;
            }
            data.change(self.node, Change::Keys(key.set.clone()));
            data.keys.insert(place, key);
            true
        })
        .await
    }

    async fn add(&self, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        check_keys(&keys)?;
        self.write(|data| {
            let changed: BTreeSet<String> = keys.iter().map(|key| key.set.clone()).collect();
            for key in keys {
                data.keys.insert((key.set.clone(), key.kid.clone()), key);
            }
            for set in changed {
                data.change(self.node, Change::Keys(set));
            }
        })
        .await
    }

    async fn supersede(
        &self,
        read: &StoredKey,
        by: StoredKey,
        beside: &[String],
    ) -> Result<bool, StoreError> {
        check_keys(&[read.clone(), by.clone()])?;
        check(beside.iter().map(String::as_str))?;
        self.write(|data| {
            let place = (read.set.clone(), read.kid.clone());
            if !may_go(&data.keys, read, beside) {
                return false;
            }
            data.change(self.node, Change::Keys(place.0.clone()));
            let (set, kid) = place.clone();
            data.keys.insert(place, StoredKey { set, kid, ..by });
            true
        })
        .await
    }

    async fn replace_set(
        &self,
        set: &str,
        read: &[StoredKey],
        keys: Vec<StoredKey>,
    ) -> Result<bool, StoreError> {
        check_keys(&keys)?;
        check_keys(read)?;
        self.write(|data| {
            let there = data.keys.values().filter(|key| key.set == set);
            let was_read =
                |key: &StoredKey| read.iter().any(|read| read.kid == key.kid && is_as_read(key, read));
            if there.clone().count() != read.len() || !there.clone().all(was_read) {
                return false;
            }
            data.keys.retain(|(of, _), _| of != set);
            for key in keys {
                data.keys.insert((set.to_owned(), key.kid.clone()), StoredKey { set: set.to_owned(), ..key });
            }
            data.change(self.node, Change::Keys(set.to_owned()));
            true
        })
        .await
    }

    async fn remove(&self, read: &StoredKey, beside: &[String]) -> Result<bool, StoreError> {
        check_keys(std::slice::from_ref(read))?;
        check(beside.iter().map(String::as_str))?;
        self.write(|data| {
            let place = (read.set.clone(), read.kid.clone());
            if !may_go(&data.keys, read, beside) {
                return false;
            }
            data.keys.remove(&place);
            data.change(self.node, Change::Keys(place.0));
            true
        })
        .await
    }

    async fn delete(&self, set: &str, kid: &str) -> Result<bool, StoreError> {
        let key = (set.to_owned(), kid.to_owned());
        self.write(|data| {
            let was_there = data.keys.remove(&key).is_some();
            if was_there {
                data.change(self.node, Change::Keys(key.0));
            }
            was_there
        })
        .await
    }

    async fn delete_set(&self, set: &str) -> Result<bool, StoreError> {
        self.write(|data| {
            let before = data.keys.len();
            data.keys.retain(|(of, _), _| of != set);
            let was_there = data.keys.len() < before;
            if was_there {
                data.change(self.node, Change::Keys(set.to_owned()));
            }
            was_there
        })
        .await
    }
}
