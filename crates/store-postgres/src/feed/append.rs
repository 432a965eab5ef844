//! Appending to the feed, as part of a transaction.

use sluice_primitives::Timestamp;
use sluice_token::{Change, Marker};
use uuid::Uuid;

use crate::PostgresStore;
use crate::serial::Transaction;

const RAISE_REVOCATION_COUNTER: &str = include_str!("raise_revocation_counter.sql");
const RAISE_CHANGE_COUNTER: &str = include_str!("raise_change_counter.sql");
const APPEND_REVOCATIONS: &str = include_str!("append_revocations.sql");
const APPEND_CHANGE: &str = include_str!("append_change.sql");

/// The kind of a change as it is stored.
pub(crate) const fn change_kind(change: &Change) -> i16 {
    match change {
        Change::Client(_) => 1,
        Change::Keys(_) => 2,
    }
}

/// The key of a change as it is stored.
pub(crate) fn change_key(change: &Change) -> &str {
    match change {
        Change::Client(client) => client.as_str(),
        Change::Keys(set) => set,
    }
}

/// A number of counters that this node uses up in a transaction.
pub(crate) struct Counted {
    pub(crate) node: Uuid,
    count: i64,
    /// When what is appended took place.
    pub(crate) at: i64,
}

impl Counted {
    /// `count` counters, for what took place at this time. The counters follow from the time at which they are taken: an attempt after
    /// a failover may come after others that were heard of and are lost.
    pub(crate) fn new(store: &PostgresStore, count: usize, at: Timestamp) -> Self {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        Self { node: store.node.as_uuid(), count, at: at.as_millis() }
    }

    /// Takes them for markers.
    pub(crate) fn for_revocations<'a>(&'a self, transaction: Transaction<'a>) -> Transaction<'a> {
        transaction.then_at_its_time(RAISE_REVOCATION_COUNTER, vec![&self.node, &self.count]).waking()
    }

    /// Takes them for changes.
    pub(crate) fn for_changes<'a>(&'a self, transaction: Transaction<'a>) -> Transaction<'a> {
        transaction.then_at_its_time(RAISE_CHANGE_COUNTER, vec![&self.node, &self.count]).waking()
    }
}

/// Markers to be appended.
pub(crate) struct Markers {
    counted: Counted,
    kinds: Vec<i16>,
    keys: Vec<String>,
    ats: Vec<i64>,
    expiries: Vec<i64>,
}

impl Markers {
    /// These markers, of this node.
    pub(crate) fn new(store: &PostgresStore, markers: &[Marker]) -> Self {
        let at = markers.iter().map(|marker| marker.at).max().unwrap_or_default();
        Self {
            counted: Counted::new(store, markers.len(), at),
            kinds: markers.iter().map(|marker| marker.target.kind()).collect(),
            keys: markers.iter().map(|marker| marker.target.key()).collect(),
            ats: markers.iter().map(|marker| marker.at.as_millis()).collect(),
            expiries: markers.iter().map(|marker| marker.expires_at.as_millis()).collect(),
        }
    }

    /// Appends them in this transaction.
    pub(crate) fn append<'a>(&'a self, transaction: Transaction<'a>) -> Transaction<'a> {
        let Counted { node, count, .. } = &self.counted;
        let values: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> =
            vec![node, count, &self.kinds, &self.keys, &self.ats, &self.expiries];
        self.counted.for_revocations(transaction).then(APPEND_REVOCATIONS, values)
    }
}

/// A change to be appended.
pub(crate) struct Changed {
    pub(crate) counted: Counted,
    pub(crate) kind: i16,
    pub(crate) key: String,
}

impl Changed {
    /// This change, of this node.
    pub(crate) fn new(store: &PostgresStore, at: Timestamp, change: &Change) -> Self {
        Self {
            counted: Counted::new(store, 1, at),
            kind: change_kind(change),
            key: change_key(change).to_owned(),
        }
    }

    /// Appends it in this transaction.
    pub(crate) fn append<'a>(&'a self, transaction: Transaction<'a>) -> Transaction<'a> {
        let Counted { node, at, .. } = &self.counted;
        self.counted.for_changes(transaction).then(APPEND_CHANGE, vec![node, at, &self.kind, &self.key])
    }
}
