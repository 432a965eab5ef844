//! Keys in memory.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::keys::{KeyRepository, StoredKey};
use sluice_token::Change;

use super::{MemoryStore, check};

fn check_keys(keys: &[StoredKey]) -> Result<(), StoreError> {
    keys.iter().try_for_each(|key| check([&*key.set, &*key.kid, &*key.algorithm, &*key.sealed]))
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

    async fn replace_set(&self, set: &str, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        check_keys(&keys)?;
        self.write(|data| {
            data.keys.retain(|(of, _), _| of != set);
            for key in keys {
                data.keys.insert((set.to_owned(), key.kid.clone()), StoredKey { set: set.to_owned(), ..key });
            }
            data.change(self.node, Change::Keys(set.to_owned()));
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
