//! A client repository for the tests of this crate: no feed, no markers, and a gate that holds up reading. And hosts
//! that have no documents.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::{ManualClock, Timestamp};
use sluice_protocol::ClientId;
use tokio::sync::Semaphore;
use url::Url;

use super::directory::ClientDirectory;
use super::metadata_document::{
    DocumentError, DocumentSource, FetchedDocument, MetadataDocumentParts, MetadataDocuments,
};
use super::model::Client;
use super::registration::{ClientMetadata, RegistrationRules, register};
use super::repository::{ClientFilter, ClientRepository, Replacement};
use crate::config::MetadataDocumentPolicy;
use crate::grant::Insertion;
use crate::keys::{KeyError, SigningKeys};
use crate::sector::{SectorNotFetched, SectorSource};

/// An ordinary client.
pub(crate) fn client(id: &str) -> Client {
    let (id, rules) = (id.parse().unwrap(), RegistrationRules::default());
    register(id, ClientMetadata::default(), &rules, Timestamp::from_secs(1)).unwrap()
}

/// Clients in a map.
pub(crate) struct FakeClients {
    pub(crate) rows: Mutex<BTreeMap<String, Client>>,
    pub(crate) reads: AtomicUsize,
    /// What was read is handed out when there is a permit.
    pub(crate) gate: Semaphore,
    pub(crate) deleted: Mutex<Vec<(ClientId, Timestamp)>>,
}

impl Default for FakeClients {
    fn default() -> Self {
        Self {
            rows: Mutex::default(),
            reads: AtomicUsize::new(0),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            deleted: Mutex::default(),
        }
    }
}

impl FakeClients {
    pub(crate) fn put(&self, client: Client) {
        self.rows.lock().insert(client.id.to_string(), client);
    }

    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl ClientRepository for FakeClients {
    async fn insert(&self, client: &Client) -> Result<Insertion, StoreError> {
        let mut rows = self.rows.lock();
        if rows.contains_key(client.id.as_str()) {
            return Ok(Insertion::Taken);
        }
        rows.insert(client.id.to_string(), client.clone());
        Ok(Insertion::Inserted)
    }

    async fn find(&self, id: &ClientId) -> Result<Option<Client>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let found = self.rows.lock().get(id.as_str()).cloned();
        self.gate.acquire().await.map_err(StoreError::fault)?.forget();
        Ok(found)
    }

    async fn replace(&self, client: &Client) -> Result<Replacement, StoreError> {
        let mut rows = self.rows.lock();
        let Some(stored) = rows.get_mut(client.id.as_str()) else { return Ok(Replacement::Unknown) };
        if stored.revision != client.revision {
            return Ok(Replacement::Changed);
        }
        *stored = Client { revision: client.revision + 1, ..client.clone() };
        Ok(Replacement::Replaced)
    }

    async fn delete(&self, id: &ClientId, _: Timestamp, expires_at: Timestamp) -> Result<bool, StoreError> {
        self.deleted.lock().push((id.clone(), expires_at));
        Ok(self.rows.lock().remove(id.as_str()).is_some())
    }

    async fn revoke_grants(&self, _: &ClientId, _: Timestamp, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    async fn list(&self, filter: &ClientFilter) -> Result<Vec<Client>, StoreError> {
        let rows = self.rows.lock();
        let after = filter.after.as_ref().map_or("", ClientId::as_str);
        let wanted = rows.values().filter(|client| {
            client.id.as_str() > after
                && filter.name.as_ref().is_none_or(|name| *name == client.name)
                && filter.owner.as_ref().is_none_or(|owner| *owner == client.owner)
        });
        Ok(wanted.take(filter.limit as usize).cloned().collect())
    }

    async fn count(&self) -> Result<u64, StoreError> {
        Ok(self.rows.lock().len() as u64)
    }
}

/// Hosts without a document.
enum Hosts {
    /// They never answer.
    Silent,
    /// They say so.
    Empty,
    /// They say so after a while, but for `silent.example` and what is below it; how often they were asked.
    Slow(Arc<AtomicUsize>),
}

#[async_trait]
impl DocumentSource for Hosts {
    async fn document(&self, url: &Url) -> Result<FetchedDocument, DocumentError> {
        match self {
            Self::Silent => std::future::pending().await,
            Self::Slow(_) if url.host_str().is_some_and(|host| host.ends_with("silent.example")) => {
                std::future::pending().await
            }
            Self::Empty => Err(DocumentError::Status(404)),
            Self::Slow(asked) => {
                asked.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(100)).await;
                Err(DocumentError::Status(404))
            }
        }
    }
}

#[async_trait]
impl SectorSource for Hosts {
    async fn document(&self, _: &Url) -> Result<Vec<u8>, SectorNotFetched> {
        std::future::pending().await
    }
}

#[async_trait]
impl SigningKeys for Hosts {
    async fn ensure(&self, _: &str, _: SigningAlgorithm) -> Result<(), KeyError> {
        Ok(())
    }

    async fn ensure_for_request_objects(&self, _: KeyManagement) -> Result<(), KeyError> {
        Ok(())
    }
}

/// A directory of these clients, in which no host of a document answers.
pub(crate) fn directory_of_silent_hosts(registered: Arc<FakeClients>) -> ClientDirectory {
    directory(registered, Hosts::Silent)
}

/// A directory of these clients, in which no host has a document.
pub(crate) fn directory_of_empty_hosts(registered: Arc<FakeClients>) -> ClientDirectory {
    directory(registered, Hosts::Empty)
}

/// A directory in which hosts say after a while that they have no document; `asked` counts how often.
pub(crate) fn directory_of_slow_hosts(asked: Arc<AtomicUsize>) -> ClientDirectory {
    directory(Arc::default(), Hosts::Slow(asked))
}

fn directory(registered: Arc<FakeClients>, hosts: Hosts) -> ClientDirectory {
    let hosts = Arc::new(hosts);
    let documents = MetadataDocuments::new(MetadataDocumentParts {
        policy: MetadataDocumentPolicy { enabled: true, allowed_hosts: Vec::new() },
        rules: RegistrationRules::default(),
        default_scope: String::new(),
        default_audience: Vec::new(),
        source: hosts.clone(),
        sectors: hosts.clone(),
        keys: hosts,
        read: |_| Err("nothing is read".to_owned()),
        clock: Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000))),
    });
    ClientDirectory::new(registered, 10).with_documents(Arc::new(documents))
}
