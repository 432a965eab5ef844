//! Signing keys.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::keys::{KeyRepository, KeyState, StoredKey};
use sluice_primitives::Timestamp;
use sluice_token::Change;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::{Changed, Counted, change_kind};
use crate::serial::Transaction;
use crate::storable;

const SET: &str = include_str!("set.sql");
const CREATE_MISSING: &str = include_str!("create_missing.sql");
const ADD_SUCCESSOR: &str = include_str!("add_successor.sql");
const REPLACE: &str = include_str!("replace.sql");
const WRITTEN: &str = include_str!("written.sql");
const SETS: &str = include_str!("sets.sql");
const ADD_NEW: &str = include_str!("add_new.sql");
const ADD: &str = include_str!("add.sql");
const SUPERSEDE: &str = include_str!("supersede.sql");
const REPLACE_SET: &str = include_str!("replace_set.sql");
const REMOVE: &str = include_str!("remove.sql");
const DELETE: &str = include_str!("delete.sql");
const DELETE_SET: &str = include_str!("delete_set.sql");
const APPEND_CHANGES_IF_WRITTEN: &str = include_str!("append_changes_if_written.sql");
const APPEND_CHANGE_IF_WRITTEN: &str = include_str!("append_change_if_written.sql");
const APPEND_CHANGE_IF_KNOWN: &str = include_str!("append_change_if_known.sql");

#[async_trait]
impl KeyRepository for PostgresStore {
    async fn set(&self, set: &str) -> Result<Vec<StoredKey>, StoreError> {
        if !storable::may_be_found(&[Some(set)]) {
            return Ok(Vec::new());
        }
        let rows = self.read(SET, &[&set]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn create_missing(&self, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        let keys = Keys::new(self, &keys)?;
        // Serializable, because no constraint says that a set has one key of an algorithm: later it may have two.
        let transaction = keys.write(Transaction::serializable(), CREATE_MISSING);
        self.serial.commit(&keys.append_changes(transaction)).await.map(drop)
    }

    async fn add_successor(&self, key: StoredKey, predecessor: &str) -> Result<bool, StoreError> {
        check(&key)?;
        storable::text("the id of a key", predecessor)?;
        let StoredKey { set, kid, algorithm, sealed, state, created_at } = &key;
        let (attempt, state, created_at) = (self.attempt(), state.as_str(), created_at.as_millis());
        // Serializable, because no constraint says that a key has one successor.
        let transaction = Transaction::serializable().then(
            ADD_SUCCESSOR,
            vec![set, kid, algorithm, sealed, &state, &created_at, &attempt, &predecessor],
        );
        self.commit_if_written(transaction, (set, kid), attempt).await
    }

    async fn replace(&self, read: &StoredKey, by: StoredKey) -> Result<bool, StoreError> {
        check(read)?;
        storable::text("a sealed key", &by.sealed)?;
        let (attempt, before, after) = (self.attempt(), read.state.as_str(), by.state.as_str());
        let transaction = Transaction::new()
            .then(REPLACE, vec![&read.set, &read.kid, &read.sealed, &before, &by.sealed, &after, &attempt]);
        self.commit_if_written(transaction, (&read.set, &read.kid), attempt).await
    }

    async fn sets(&self) -> Result<Vec<String>, StoreError> {
        let rows = self.read(SETS, &[]).await?;
        Ok(rows.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?)
    }

    async fn add_new(&self, key: StoredKey) -> Result<bool, StoreError> {
        check(&key)?;
        let StoredKey { set, kid, algorithm, sealed, state, created_at } = &key;
        let (attempt, state, created_at) = (self.attempt(), state.as_str(), created_at.as_millis());
        let transaction = Transaction::new()
            .then(ADD_NEW, vec![set, kid, algorithm, sealed, &state, &created_at, &attempt]);
        self.commit_if_written(transaction, (set, kid), attempt).await
    }

    async fn add(&self, keys: Vec<StoredKey>) -> Result<(), StoreError> {
        let keys = Keys::new(self, &keys)?;
        let transaction = keys.write(Transaction::new(), ADD);
        self.serial.commit(&keys.append_changes(transaction)).await.map(drop)
    }

    async fn supersede(
        &self,
        read: &StoredKey,
        by: StoredKey,
        beside: &[String],
    ) -> Result<bool, StoreError> {
        check(read)?;
        check(&by)?;
        beside.iter().try_for_each(|kid| storable::text("the id of a key", kid))?;
        let (attempt, before, after) = (self.attempt(), read.state.as_str(), by.state.as_str());
        let created_at = by.created_at.as_millis();
        // Serializable, as for `remove`.
        let transaction = Transaction::serializable().then(
            SUPERSEDE,
            vec![
                &read.set,
                &read.kid,
                &read.sealed,
                &before,
                &by.algorithm,
                &by.sealed,
                &after,
                &created_at,
                &attempt,
                &beside,
            ],
        );
        self.commit_if_written(transaction, (&read.set, &read.kid), attempt).await
    }

    async fn replace_set(
        &self,
        set: &str,
        read: &[StoredKey],
        keys: Vec<StoredKey>,
    ) -> Result<bool, StoreError> {
        storable::text("the name of a key set", set)?;
        let changed = Changed::new(self, self.clock.now(), &Change::Keys(set.to_owned()));
        let (counted, before, after) = (&changed.counted, Keys::new(self, read)?, Keys::new(self, &keys)?);
        // Serializable, because who waits for another does not see what that one put in the place of the old keys.
        let transaction = counted.for_changes(Transaction::serializable()).then(
            REPLACE_SET,
            vec![
                &counted.node,
                &counted.at,
                &changed.kind,
                &set,
                &before.kids,
                &before.sealed,
                &before.states,
                &after.kids,
                &after.algorithms,
                &after.sealed,
                &after.states,
                &after.created,
                &after.attempt,
            ],
        );
        let committed = self.serial.commit(&transaction).await?;
        if committed.row().is_some() || !committed.repeated {
            return Ok(committed.row().is_some());
        }
        // What an earlier try put counts as well.
        let left = self.set(set).await?;
        let is_put = |key: &StoredKey| left.iter().any(|row| row.kid == key.kid && row.sealed == key.sealed);
        Ok(left.len() == keys.len() && keys.iter().all(is_put))
    }

    async fn remove(&self, read: &StoredKey, beside: &[String]) -> Result<bool, StoreError> {
        check(read)?;
        beside.iter().try_for_each(|kid| storable::text("the id of a key", kid))?;
        let changed = Changed::new(self, self.clock.now(), &Change::Keys(read.set.clone()));
        let (counted, state) = (&changed.counted, read.state.as_str());
        // Serializable, because no constraint says that one is left: of two, each would see the other.
        let transaction = counted.for_changes(Transaction::serializable()).then(
            REMOVE,
            vec![
                &counted.node,
                &counted.at,
                &changed.kind,
                &read.set,
                &read.kid,
                &read.sealed,
                &state,
                &beside,
            ],
        );
        let committed = self.serial.commit(&transaction).await?;
        if committed.row().is_some() || !committed.repeated {
            return Ok(committed.row().is_some());
        }
        // What an earlier try deleted counts as well.
        let left = self.set(&read.set).await?;
        Ok(left.iter().all(|key| key.kid != read.kid))
    }

    async fn delete(&self, set: &str, kid: &str) -> Result<bool, StoreError> {
        self.delete_keys(set, Some(kid)).await
    }

    async fn delete_set(&self, set: &str) -> Result<bool, StoreError> {
        self.delete_keys(set, None).await
    }
}

fn check(key: &StoredKey) -> Result<(), StoreError> {
    storable::text("the name of a key set", &key.set)?;
    storable::text("the id of a key", &key.kid)?;
    storable::text("the algorithm of a key", &key.algorithm)?;
    storable::text("a sealed key", &key.sealed)
}

impl PostgresStore {
    /// Commits what may have written a key, with a change if it has; whether it has.
    async fn commit_if_written(
        &self,
        transaction: Transaction<'_>,
        (set, kid): (&String, &String),
        attempt: Uuid,
    ) -> Result<bool, StoreError> {
        let counted = Counted::new(self, 1, self.clock.now());
        let kind = change_kind(&Change::Keys(String::new()));
        let transaction = counted
            .for_changes(transaction)
            .then(APPEND_CHANGE_IF_WRITTEN, vec![&counted.node, &counted.at, &kind, set, kid, &attempt])
            .then(WRITTEN, vec![set, kid, &attempt]);
        Ok(self.serial.commit(&transaction).await?.row().is_some())
    }

    async fn delete_keys(&self, set: &str, kid: Option<&str>) -> Result<bool, StoreError> {
        storable::texts(&[("the name of a key set", Some(set)), ("the id of a key", kid)])?;
        let changed = Changed::new(self, self.clock.now(), &Change::Keys(set.to_owned()));
        let counted = &changed.counted;
        let transaction = counted
            .for_changes(Transaction::new())
            .then(APPEND_CHANGE_IF_KNOWN, vec![&counted.node, &counted.at, &changed.kind, &set, &kid]);
        let transaction = match &kid {
            Some(kid) => transaction.then(DELETE, vec![&set, kid]),
            None => transaction.then(DELETE_SET, vec![&set]),
        };
        let committed = self.serial.commit(&transaction).await?;
        Ok(committed.row().is_some() || committed.repeated)
    }
}

/// Keys to be stored, column by column.
struct Keys<'a> {
    sets: Vec<&'a str>,
    kids: Vec<&'a str>,
    algorithms: Vec<&'a str>,
    sealed: Vec<&'a str>,
    states: Vec<&'static str>,
    created: Vec<i64>,
    attempt: Uuid,
    counted: Counted,
    change_kind: i16,
    changing: Vec<&'a str>,
    changes: i64,
}

impl<'a> Keys<'a> {
    fn new(store: &PostgresStore, keys: &'a [StoredKey]) -> Result<Self, StoreError> {
        keys.iter().try_for_each(check)?;
        let changing: BTreeSet<&str> = keys.iter().map(|key| key.set.as_str()).collect();
        Ok(Self {
            sets: keys.iter().map(|key| key.set.as_str()).collect(),
            kids: keys.iter().map(|key| key.kid.as_str()).collect(),
            algorithms: keys.iter().map(|key| key.algorithm.as_str()).collect(),
            sealed: keys.iter().map(|key| key.sealed.as_str()).collect(),
            states: keys.iter().map(|key| key.state.as_str()).collect(),
            created: keys.iter().map(|key| key.created_at.as_millis()).collect(),
            attempt: store.attempt(),
            counted: Counted::new(store, changing.len(), store.clock.now()),
            change_kind: change_kind(&Change::Keys(String::new())),
            changes: i64::try_from(changing.len()).unwrap_or(i64::MAX),
            changing: changing.into_iter().collect(),
        })
    }

    fn write<'t>(&'t self, transaction: Transaction<'t>, sql: &'static str) -> Transaction<'t> {
        transaction.then(
            sql,
            vec![
                &self.sets,
                &self.kids,
                &self.algorithms,
                &self.sealed,
                &self.states,
                &self.created,
                &self.attempt,
            ],
        )
    }

    /// Appends a change for each set that a key of these was written to.
    fn append_changes<'t>(&'t self, transaction: Transaction<'t>) -> Transaction<'t> {
        self.counted.for_changes(transaction).then(
            APPEND_CHANGES_IF_WRITTEN,
            vec![
                &self.counted.node,
                &self.counted.at,
                &self.change_kind,
                &self.attempt,
                &self.changes,
                &self.changing,
            ],
        )
    }
}

fn read(row: &Row) -> Result<StoredKey, Unreadable> {
    Ok(StoredKey {
        set: column(row, 0)?,
        kid: column(row, 1)?,
        algorithm: column(row, 2)?,
        sealed: column(row, 3)?,
        state: KeyState::parse(column(row, 4)?),
        created_at: Timestamp::from_millis(column(row, 5)?),
    })
}
