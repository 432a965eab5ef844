//! The fake: everything a store promises, behind one lock and gone with the process. For tests.
//!
//! One file per aggregate. [`MemoryStore::another_node`] shares the data, [`MemoryStore::hold`] and
//! [`MemoryStore::poison`] hurt it.

mod client;
mod consent;
mod device;
mod factor;
mod feed;
mod grant;
mod hardening;
mod hydra_mark;
mod hydra_token;
mod identity;
mod identity_change;
mod identity_session;
mod keys;
mod login_session;
mod mail;
mod mail_code;
mod outbox;
mod parked_flow;
mod replay;
mod serving_node;
mod trust;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_identity::factor::Factor;
use sluice_identity::identity::{Identity, LoginNameHash};
use sluice_identity::session::IdentitySession;
use sluice_oauth::client::Client;
use sluice_oauth::consent::RememberedConsent;
use sluice_oauth::device::UserCodeHash;
use sluice_oauth::flow::{ParkedFlow, ParkedHandle};
use sluice_oauth::keys::StoredKey;
use sluice_oauth::login_session::LoginSession;
use sluice_oauth::serving_node::ServingNode;
use sluice_oauth::takeover::{Mark, MarkSet};
use sluice_oauth::trust::TrustedIssuer;
use sluice_primitives::{GrantId, IdentityId, NodeId, OsRng, SessionId, Timestamp, TrustId};
use sluice_protocol::{ClientId, Subject};
use sluice_token::{Change, Marker};
use tokio::sync::{Notify, OwnedRwLockWriteGuard, RwLock, Semaphore};
use tokio::time::timeout;
use uuid::Uuid;

use crate::fixture::Limits;

const LONGEST_TEXT: usize = 1 << 20;

/// A store in memory. Every node is a value of its own; see [`MemoryStore::another_node`].
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    node: NodeId,
    limits: Limits,
    room: Semaphore,
}

/// While it is held, nothing is written.
#[derive(Debug)]
pub struct Held {
    _gate: OwnedRwLockWriteGuard<()>,
}

#[derive(Debug, Default)]
struct Shared {
    data: Mutex<Data>,
    gate: Arc<RwLock<()>>,
    written: Notify,
}

#[derive(Debug, Default)]
struct Data {
    clients: BTreeMap<ClientId, Client>,
    grants: BTreeMap<GrantId, grant::Row>,
    consents: BTreeMap<(Subject, ClientId), RememberedConsent>,
    device_codes: BTreeMap<UserCodeHash, device::Row>,
    sessions: BTreeMap<SessionId, LoginSession>,
    /// With the subject that the client sees.
    session_clients: BTreeMap<(SessionId, ClientId), Option<String>>,
    parked: BTreeMap<ParkedHandle, ParkedFlow>,
    identities: BTreeMap<IdentityId, Identity>,
    login_names: BTreeMap<LoginNameHash, IdentityId>,
    /// When the credentials that are not hardened are due.
    hardening: BTreeMap<IdentityId, Timestamp>,
    identity_sessions: BTreeMap<SessionId, IdentitySession>,
    factors: BTreeMap<(IdentityId, Uuid), Factor>,
    /// Who must have one.
    factor_required: BTreeSet<IdentityId>,
    /// With the key that made the hash.
    recovery_codes: BTreeMap<(IdentityId, [u8; 32]), u8>,
    /// By the stored purpose.
    mail_codes: BTreeMap<(IdentityId, i16), mail_code::Row>,
    mails: BTreeMap<Uuid, mail::Row>,
    keys: BTreeMap<(String, String), StoredKey>,
    replay: BTreeMap<(i16, [u8; 32]), Timestamp>,
    outbox: BTreeMap<Uuid, outbox::Row>,
    counters: BTreeMap<NodeId, i64>,
    markers: BTreeMap<(NodeId, i64), Marker>,
    changes: BTreeMap<(NodeId, i64), Change>,
    trusted: BTreeMap<TrustId, TrustedIssuer>,
    hydra_tokens: BTreeMap<[u8; 32], hydra_token::Token>,
    hydra_marks: BTreeMap<(MarkSet, String), Mark>,
    serving_nodes: BTreeMap<NodeId, ServingNode>,
    poisoned: HashSet<GrantId>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::on(Arc::default(), Limits::default())
    }

    /// Another node on the same data.
    #[must_use]
    pub fn another_node(&self, limits: Limits) -> Self {
        Self::on(self.shared.clone(), limits)
    }

    /// Holds up all writes until the answer is dropped.
    pub async fn hold(&self) -> Held {
        Held { _gate: self.shared.gate.clone().write_owned().await }
    }

    /// From now on the grant with this id cannot be inserted.
    pub fn poison(&self, grant: GrantId) {
        self.shared.data.lock().poisoned.insert(grant);
    }

    fn on(shared: Arc<Shared>, limits: Limits) -> Self {
        let node = NodeId::generate(Timestamp::default(), &OsRng);
        Self { shared, node, limits, room: Semaphore::new(limits.depth) }
    }

    fn read<T>(&self, read: impl FnOnce(&Data) -> T) -> T {
        read(&self.shared.data.lock())
    }

    async fn write<T>(&self, write: impl FnOnce(&mut Data) -> T) -> Result<T, StoreError> {
        let _room = self.room.try_acquire().map_err(|_| StoreError::Busy)?;
        let gate = timeout(self.limits.deadline, self.shared.gate.read()).await;
        let _gate = gate.map_err(|_| StoreError::Unavailable(None))?;
        let answer = write(&mut self.shared.data.lock());
        self.shared.written.notify_waiters();
        Ok(answer)
    }
}

impl Data {
    fn mark(&mut self, origin: NodeId, marker: Marker) {
        let counter = self.count(origin);
        self.markers.insert((origin, counter), marker);
    }

    fn change(&mut self, origin: NodeId, change: Change) {
        let counter = self.count(origin);
        self.changes.insert((origin, counter), change);
    }

    fn count(&mut self, origin: NodeId) -> i64 {
        let counter = self.counters.entry(origin).or_default();
        *counter += 1;
        *counter
    }
}

/// Refuses what PostgreSQL could not hold.
fn check<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
    for text in texts {
        if text.contains('\0') {
            return Err(StoreError::Invalid("a text holds NUL".to_owned()));
        }
        if text.len() > LONGEST_TEXT {
            return Err(StoreError::Invalid("a text is too long".to_owned()));
        }
    }
    Ok(())
}

/// Removes at most `limit` of the entries that `expired` names; how many it was.
fn purge<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>, limit: u32, expired: impl Fn(&V) -> bool) -> Vec<K> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let gone: Vec<K> =
        map.iter().filter(|(_, value)| expired(value)).map(|(key, _)| key.clone()).take(limit).collect();
    for key in &gone {
        map.remove(key);
    }
    gone
}

/// At most `limit` of these, in the order in which they are due.
fn due_first<K: Ord>(due: impl Iterator<Item = (Timestamp, K)>, limit: u32) -> Vec<K> {
    let mut due: Vec<_> = due.collect();
    due.sort_unstable();
    due.into_iter().map(|(_, key)| key).take(usize::try_from(limit).unwrap_or(usize::MAX)).collect()
}

fn count<T>(gone: &[T]) -> u64 {
    u64::try_from(gone.len()).unwrap_or(u64::MAX)
}
