//! Stored keys on SQLite.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_oauth::keys::{KeyRepository, KeyState, StoredKey};
use sluice_token::Change;

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;
use crate::writer::Write;

const SET: &str = include_str!("set.sql");
const CREATE_MISSING: &str = include_str!("create_missing.sql");
const ADD_SUCCESSOR: &str = include_str!("add_successor.sql");
const REPLACE: &str = include_str!("replace.sql");
const SETS: &str = include_str!("sets.sql");
const ADD_NEW: &str = include_str!("add_new.sql");
const ADD: &str = include_str!("add.sql");
const SUPERSEDE: &str = include_str!("supersede.sql");
const REMOVE: &str = include_str!("remove.sql");
const DELETE: &str = include_str!("delete.sql");
const DELETE_SET: &str = include_str!("delete_set.sql");

fn check(keys: &[StoredKey]) -> Result<(), StoreError> {
    keys.iter().try_for_each(|key| {
        row::check("set", &key.set)?;
        row::check("kid", &key.kid)?;
        row::check("algorithm", &key.algorithm)?;
        row::check("key", &key.sealed)
    })
}

/// Executes an insert for each key; the sets in which it inserted anything.
fn insert(write: &mut Write<'_>, sql: &str, keys: &[StoredKey]) -> Result<BTreeSet<String>, SqliteError> {
    let mut changed = BTreeSet::new();
    for key in keys {
        let values = params![
            key.set,
            key.kid,
            key.algorithm,
            key.sealed,
            key.state.as_str(),
            key.created_at.as_millis()
        ];
        if write.insert("signing_key", sql, values)? == 1 {
            changed.insert(key.set.clone());
        }
    }
    Ok(changed)
}

fn tell(write: &mut Write<'_>, sets: BTreeSet<String>) -> Result<(), SqliteError> {
    sets.into_iter().try_for_each(|set| write.change(&Change::Keys(set)))
}

/// How keys of a set are: by their kids, what is sealed and the state.
fn states(keys: &[StoredKey]) -> BTreeMap<String, (String, KeyState)> {
    keys.iter().map(|key| (key.kid.clone(), (key.sealed.clone(), key.state))).collect()
}

fn key(row: &Row<'_>) -> Result<StoredKey, SqliteError> {
    Ok(StoredKey {
        set: row.get(0)?,
        kid: row.get(1)?,
        algorithm: row.get(2)?,
        sealed: row.get(3)?,
        state: KeyState::parse(&row.get::<_, String>(4)?),
        created_at: row::time(row, 5)?,
    })
}

#[async_trait]
impl KeyRepository for SqliteStore {
    async fn set(&self, set: &str) -> Result<Vec<StoredKey>, StoreError> {
        let set = set.to_owned();
        self.read(move |read| read.rows(SET, [set], key)).await
    }

    async fn create_missing(&self, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        check(&keys)?;
        self.write(move |write| {
            let changed = insert(write, CREATE_MISSING, &keys)?;
            tell(write, changed)
        })
        .await
    }

    async fn add_successor(&self, key: StoredKey, predecessor: &str) -> Result<bool, StoreError> {
        check(std::slice::from_ref(&key))?;
        row::check("kid", predecessor)?;
        let predecessor = predecessor.to_owned();
        self.write(move |write| {
            let StoredKey { set, kid, algorithm, sealed, state, created_at } = &key;
            let (state, created_at) = (state.as_str(), created_at.as_millis());
            let values = params![set, kid, algorithm, sealed, state, created_at, predecessor];
            let is_added = write.insert("signing_key", ADD_SUCCESSOR, values)? == 1;
            if is_added {
                write.change(&Change::Keys(set.clone()))?;
            }
            Ok(is_added)
        })
        .await
    }

    async fn replace(&self, read: &StoredKey, by: StoredKey) -> Result<bool, StoreError> {
        check(std::slice::from_ref(read))?;
        row::check("key", &by.sealed)?;
        let read = read.clone();
        self.write(move |write| {
            let (before, after) = ((&read.sealed, read.state.as_str()), (&by.sealed, by.state.as_str()));
            let values = params![read.set, read.kid, before.0, before.1, after.0, after.1];
            let is_replaced = write.update("signing_key", REPLACE, values)? == 1;
            if is_replaced {
                write.change(&Change::Keys(read.set.clone()))?;
            }
            Ok(is_replaced)
        })
        .await
    }

    async fn sets(&self) -> Result<Vec<String>, StoreError> {
        self.read(|read| read.rows(SETS, [], |row| Ok(row.get(0)?))).await
    }

    async fn add_new(&self, key: StoredKey) -> Result<bool, StoreError> {
        let keys = [key];
        check(&keys)?;
        self.write(move |write| {
            let changed = insert(write, ADD_NEW, &keys)?;
            let is_added = !changed.is_empty();
            tell(write, changed)?;
            Ok(is_added)
        })
        .await
    }

    async fn add(&self, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        check(&keys)?;
        self.write(move |write| {
            let changed = insert(write, ADD, &keys)?;
            tell(write, changed)
        })
        .await
    }

    async fn supersede(
        &self,
        read: &StoredKey,
        by: StoredKey,
        beside: &[String],
    ) -> Result<bool, StoreError> {
        check(&[read.clone(), by.clone()])?;
        beside.iter().try_for_each(|kid| row::check("kid", kid))?;
        let beside = serde_json::to_string(beside).map_err(StoreError::fault)?;
        let read = read.clone();
        self.write(move |write| {
            let (before, after) = (read.state.as_str(), by.state.as_str());
            let created_at = by.created_at.as_millis();
            let values = params![
                read.set,
                read.kid,
                read.sealed,
                before,
                by.algorithm,
                by.sealed,
                after,
                created_at,
                beside
            ];
            let is_put = write.update("signing_key", SUPERSEDE, values)? == 1;
            if is_put {
                write.change(&Change::Keys(read.set.clone()))?;
            }
            Ok(is_put)
        })
        .await
    }

    async fn replace_set(
        &self,
        set: &str,
        read: &[StoredKey],
        mut keys: Vec<StoredKey>,
    ) -> Result<bool, StoreError> {
        row::check("set", set)?;
        check(&keys)?;
        check(read)?;
        for key in &mut keys {
            set.clone_into(&mut key.set);
        }
        let (set, read) = (set.to_owned(), states(read));
        self.write(move |write| {
            if states(&write.rows(SET, [&set], key)?) != read {
                return Ok(false);
            }
            write.delete("signing_key", DELETE_SET, [&set])?;
            insert(write, ADD, &keys)?;
            tell(write, BTreeSet::from([set.clone()]))?;
            Ok(true)
        })
        .await
    }

    async fn remove(&self, read: &StoredKey, beside: &[String]) -> Result<bool, StoreError> {
        check(std::slice::from_ref(read))?;
        beside.iter().try_for_each(|kid| row::check("kid", kid))?;
        let beside = serde_json::to_string(beside).map_err(StoreError::fault)?;
        let read = read.clone();
        self.write(move |write| {
            let values = params![read.set, read.kid, read.sealed, read.state.as_str(), beside];
            let was_there = write.delete("signing_key", REMOVE, values)? > 0;
            if was_there {
                write.change(&Change::Keys(read.set.clone()))?;
            }
            Ok(was_there)
        })
        .await
    }

    async fn delete(&self, set: &str, kid: &str) -> Result<bool, StoreError> {
        let (set, kid) = (set.to_owned(), kid.to_owned());
        self.write(move |write| {
            let was_there = write.delete("signing_key", DELETE, (&set, &kid))? > 0;
            if was_there {
                write.change(&Change::Keys(set.clone()))?;
            }
            Ok(was_there)
        })
        .await
    }

    async fn delete_set(&self, set: &str) -> Result<bool, StoreError> {
        let set = set.to_owned();
        self.write(move |write| {
            let was_there = write.delete("signing_key", DELETE_SET, [&set])? > 0;
            if was_there {
                write.change(&Change::Keys(set.clone()))?;
            }
            Ok(was_there)
        })
        .await
    }
}
