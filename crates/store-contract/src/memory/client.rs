//! Clients in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::client::{Client, ClientFilter, ClientRepository, Replacement, encode};
use sluice_oauth::grant::Insertion;
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;
use sluice_token::{Change, Marker, Target};

use super::{MemoryStore, check};

fn check_client(client: &Client) -> Result<(), StoreError> {
    check([client.name.as_str(), client.owner.as_str(), encode(client).as_str()])
}

#[async_trait]
impl ClientRepository for MemoryStore {
    async fn insert(&self, client: &Client) -> Result<Insertion, StoreError> {
        check_client(client)?;
        self.write(|data| {
            if data.clients.contains_key(&client.id) {
                return Insertion::Taken;
            }
            data.clients.insert(client.id.clone(), client.clone());
            data.change(self.node, Change::Client(client.id.clone()));
            Insertion::Inserted
        })
        .await
    }

    async fn find(&self, id: &ClientId) -> Result<Option<Client>, StoreError> {
        Ok(self.read(|data| data.clients.get(id).cloned()))
    }

    async fn replace(&self, client: &Client) -> Result<Replacement, StoreError> {
        check_client(client)?;
        self.write(|data| {
            let Some(stored) = data.clients.get_mut(&client.id) else { return Replacement::Unknown };
            if stored.revision != client.revision {
                return Replacement::Changed;
            }
            *stored = Client { revision: client.revision + 1, ..client.clone() };
            data.change(self.node, Change::Client(client.id.clone()));
            Replacement::Replaced
        })
        .await
    }

    async fn delete(
        &self,
        id: &ClientId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write(|data| {
            if data.clients.remove(id).is_none() {
                return false;
            }
            let target = Target::Client(id.clone());
            data.mark(self.node, Marker { target, at: now, expires_at: marker_expires_at });
            data.change(self.node, Change::Client(id.clone()));
            true
        })
        .await
    }

    async fn revoke_grants(
        &self,
        id: &ClientId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|data| {
            let target = Target::Client(id.clone());
            data.mark(self.node, Marker { target, at: now, expires_at: marker_expires_at });
            data.change(self.node, Change::Client(id.clone()));
        })
        .await
    }

    async fn list(&self, filter: &ClientFilter) -> Result<Vec<Client>, StoreError> {
        let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
        Ok(self.read(|data| {
            let all = data.clients.values();
            all.filter(|client| filter.name.as_ref().is_none_or(|name| *name == client.name))
                .filter(|client| filter.owner.as_ref().is_none_or(|owner| *owner == client.owner))
                .filter(|client| filter.after.as_ref().is_none_or(|after| client.id > *after))
                .take(limit)
                .cloned()
                .collect()
        }))
    }

    async fn count(&self) -> Result<u64, StoreError> {
        Ok(self.read(|data| data.clients.len() as u64))
    }
}
