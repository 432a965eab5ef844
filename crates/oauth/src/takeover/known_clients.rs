//! The clients of what is taken over: each is looked up once.

use std::collections::HashMap;

use sluice_commit::StoreError;
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;

use crate::client::ClientRepository;

/// Since when clients are here.
#[derive(Default)]
pub(super) struct KnownClients(HashMap<ClientId, Option<Timestamp>>);

impl KnownClients {
    /// Why a decision about a client would not hold here, if it would not.
    pub(super) async fn refusal_of_decision(
        &mut self,
        (id, decided_at): (&ClientId, Timestamp),
        clients: &dyn ClientRepository,
    ) -> Result<Option<String>, StoreError> {
        Ok(match self.since(id, clients).await? {
            None => Some(not_here(id)),
            Some(since) if since > decided_at => {
                Some(format!("its client {id} was registered here after that was decided"))
            }
            Some(_) => None,
        })
    }

    /// Why what a client was granted is of no use here, if it is not.
    pub(super) async fn refusal_of_grant(
        &mut self,
        id: &ClientId,
        clients: &dyn ClientRepository,
    ) -> Result<Option<String>, StoreError> {
        let since = self.since(id, clients).await?;
        Ok(since.is_none().then(|| not_here(id)))
    }

    async fn since(
        &mut self,
        id: &ClientId,
        clients: &dyn ClientRepository,
    ) -> Result<Option<Timestamp>, StoreError> {
        if let Some(since) = self.0.get(id) {
            return Ok(*since);
        }
        let since = clients.find(id).await?.map(|client| client.created_at);
        self.0.insert(id.clone(), since);
        Ok(since)
    }
}

fn not_here(id: &ClientId) -> String {
    format!("its client {id} is not here")
}
