//! The clients in memory.

use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use quick_cache::sync::Cache;
use sluice_commit::StoreError;
use sluice_protocol::ClientId;
use thiserror::Error;

use super::metadata_document::{DocumentError, MetadataDocuments};
use super::model::Client;
use super::repository::{ClientRepository, Replacement};
use crate::metrics::Counter;

/// Why there is no client of a name that somebody goes by.
#[derive(Debug, Clone, Error)]
pub enum NoClient {
    /// Nobody registered it, and no document describes it.
    #[error("there is no such client")]
    Unknown,
    /// The document that would describe it cannot be fetched now.
    #[error(transparent)]
    Undescribed(DocumentError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Clients by id, read through from the store. Key: the whole client id. Bound: `capacity` clients. Staleness: that of
/// the change feed, none for changes of this node. Emptied by [`ClientDirectory::forget`], by whoever changes a client
/// or hears of it; a lookup that began before never puts the old record back. An unknown id is not remembered.
pub struct ClientDirectory {
    repo: Arc<dyn ClientRepository>,
    clients: Cache<ClientId, Arc<Client>>,
    /// As [`ClientDirectory::generation`] tells it. Held while an entry is put in, so that no `forget` comes in between.
    generation: Mutex<u64>,
    /// How many clients are registered, and in which generation they were counted.
    counted: Mutex<Option<(u64, u64)>>,
    documents: Option<Arc<MetadataDocuments>>,
    hits: Counter,
    misses: Counter,
}

impl ClientDirectory {
    /// A directory of at most `capacity` clients.
    pub fn new(repo: Arc<dyn ClientRepository>, capacity: usize) -> Self {
        Self {
            repo,
            clients: Cache::new(capacity),
            generation: Mutex::new(0),
            counted: Mutex::new(None),
            documents: None,
            hits: Counter::default(),
            misses: Counter::default(),
        }
    }

    /// A directory in which clients are found by their documents, too, if nobody registered them.
    #[must_use]
    pub fn with_documents(self, documents: Arc<MetadataDocuments>) -> Self {
        Self { documents: Some(documents), ..self }
    }

    /// The client with this id, registered or described by a document at this URL.
    ///
    /// # Errors
    /// Those of [`Self::registered`]; and a temporary one if the document cannot be had now.
    pub async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        match self.named(id).await {
            Ok(client) => Ok(Some(client)),
            Err(NoClient::Unknown) => Ok(None),
            Err(NoClient::Undescribed(why)) => Err(why.into()),
            Err(NoClient::Store(error)) => Err(error),
        }
    }

    /// The client that somebody says they are, for who tells them why there is none: anybody may name a document that nobody serves, which is
    /// no failure of the store.
    ///
    /// # Errors
    /// [`NoClient`] if there is none, or the store cannot tell.
    pub async fn named(&self, id: &ClientId) -> Result<Arc<Client>, NoClient> {
        let Some(documents) = &self.documents else {
            return self.registered(id).await?.ok_or(NoClient::Unknown);
        };
        if let Some(client) = documents.known(id) {
            return Ok(client);
        }
        let before = self.generation();
        if let Some(client) = self.registered(id).await? {
            return Ok(client);
        }
        // Boxed: it is rare, and large, and would be a part of whatever looks for a client.
        let described = Box::pin(documents.find(id)).await;
        // Somebody may have registered the client meanwhile.
        if self.generation() != before {
            documents.forget(id);
        }
        described.map_err(NoClient::Undescribed)?.ok_or(NoClient::Unknown)
    }

    /// The client with this id, for those who go on without one: none, too, while the document at this URL cannot be had.
    ///
    /// # Errors
    /// Those of [`Self::find`] of a client that no document may describe.
    pub async fn find_if_known(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        match self.find(id).await {
            Err(why) if why.is_temporary() && self.may_describe(id) => Ok(None),
            found => found,
        }
    }

    /// The client with this id, as memory and the store know it: no host is asked, and a document is as it was last read here.
    ///
    /// # Errors
    /// Those of [`Self::registered`].
    pub async fn find_at_hand(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        match self.documents.as_ref().and_then(|documents| documents.at_hand(id)) {
            Some(client) => Ok(Some(client)),
            None => self.registered(id).await,
        }
    }

    /// The client with this id, as memory alone knows it, for those who go on without one and must not wait.
    pub fn in_memory(&self, id: &ClientId) -> Option<Arc<Client>> {
        let described = self.documents.as_ref().and_then(|documents| documents.at_hand(id));
        described.or_else(|| self.clients.get(id))
    }

    /// Whether the id is one that a document may describe. None is fetched.
    pub fn may_describe(&self, id: &ClientId) -> bool {
        self.documents.is_some() && MetadataDocuments::is_address(id)
    }

    /// The client that is registered with this id. Those who ask at once for a client that is not in memory share one read of the store.
    ///
    /// # Errors
    /// The store's, if the client is not in memory.
    pub async fn registered(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        let placeholder = match self.clients.get_value_or_guard_async(id).await {
            Ok(client) => {
                self.hits.add();
                return Ok(Some(client));
            }
            Err(placeholder) => placeholder,
        };
        self.misses.add();
        let before = self.generation();
        let Some(client) = self.repo.find(id).await?.map(Arc::new) else { return Ok(None) };
        let generation = self.generation.lock();
        if *generation == before {
            // Fails if the placeholder was evicted: then the next lookup reads the store.
            let _ = placeholder.insert(Arc::clone(&client));
        }
        drop(generation);
        Ok(Some(client))
    }

    /// How many clients are registered. The store is asked once in a generation.
    ///
    /// # Errors
    /// The store's.
    pub async fn count(&self) -> Result<u64, StoreError> {
        let generation = self.generation();
        let known = *self.counted.lock();
        if let Some((count, _)) = known.filter(|(_, counted_in)| *counted_in == generation) {
            return Ok(count);
        }
        let count = self.repo.count().await?;
        *self.counted.lock() = Some((count, generation));
        Ok(count)
    }

    /// Replaces a client whose stored revision is `client.revision`, and forgets it.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn replace(&self, client: &Client) -> Result<Replacement, StoreError> {
        let replaced = self.repo.replace(client).await?;
        self.forget(&client.id);
        Ok(replaced)
    }

    /// How many clients are in memory.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Whether none is in memory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many lookups were answered from memory, and how many were not.
    pub fn lookups(&self) -> (u64, u64) {
        (self.hits.get(), self.misses.get())
    }

    /// Grows with each change of a client that is heard of, before whoever made it on this node is answered. What was read from
    /// the store since a generation was told still stands if it is told again.
    pub fn generation(&self) -> u64 {
        *self.generation.lock()
    }

    /// Forgets a client: it was registered, changed or deleted. As what it was known, if it was registered.
    pub fn forget(&self, id: &ClientId) -> Option<Arc<Client>> {
        let mut generation = self.generation.lock();
        *generation = generation.wrapping_add(1);
        let known = self.clients.remove(id).map(|(_, client)| client);
        if let Some(documents) = &self.documents {
            documents.forget(id);
        }
        known
    }

    /// Forgets all clients: changes may have been missed.
    pub fn forget_all(&self) {
        let _generation = self.forget_those_of_the_store();
        if let Some(documents) = &self.documents {
            documents.forget_all();
        }
    }

    /// Forgets all clients that are registered: the store may have lost changes. Documents are what their hosts say, whatever became of the store.
    pub fn forget_registered(&self) {
        drop(self.forget_those_of_the_store());
    }

    /// Nothing is put in until what is returned is dropped.
    fn forget_those_of_the_store(&self) -> MutexGuard<'_, u64> {
        let mut generation = self.generation.lock();
        *generation = generation.wrapping_add(1);
        self.clients.clear();
        generation
    }
}

impl fmt::Debug for ClientDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientDirectory").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
