//! Decisions in memory.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::consent::{ConsentRepository, Forget, RememberedConsent};
use sluice_primitives::Timestamp;
use sluice_protocol::{ClientId, Subject};
use sluice_token::{Marker, Target};

use super::{Data, MemoryStore};

impl Data {
    /// Remembers a decision, unless a later one is there or it was forgotten since.
    pub(super) fn remember(&mut self, decision: RememberedConsent) {
        let (subject, client) = (decision.subject.clone(), decision.client.clone());
        let forgotten =
            [Target::SubjectClient(subject.clone(), client.clone()), Target::Client(client.clone())];
        if forgotten.iter().any(|target| self.is_marked(target, decision.decided_at)) {
            return;
        }
        let key = (subject, client);
        if self.consents.get(&key).is_none_or(|stored| stored.decided_at <= decision.decided_at) {
            self.consents.insert(key, decision);
        }
    }

    /// The clients of which the subject has a decision or a living grant.
    fn clients_of(&self, subject: &Subject, now: Timestamp) -> BTreeSet<ClientId> {
        let decided = self.consents.keys().filter(|(of, _)| of == subject).map(|(_, client)| client.clone());
        let granted = self.grants.values().map(|row| &row.grant).filter(|grant| grant.subject == *subject);
        let living = granted.filter(|grant| grant.revoked_at.is_none() && grant.expires_at > now);
        decided.chain(living.map(|grant| grant.client.clone())).collect()
    }
}

#[async_trait]
impl ConsentRepository for MemoryStore {
    async fn find(
        &self,
        subject: &Subject,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<Option<RememberedConsent>, StoreError> {
        let key = (subject.clone(), client.clone());
        Ok(self.read(|data| data.consents.get(&key).filter(|decision| decision.expires_at > now).cloned()))
    }

    async fn forget(&self, forget: Forget) -> Result<Vec<ClientId>, StoreError> {
        self.write(|data| {
            let clients = match &forget.client {
                Some(client) => BTreeSet::from([client.clone()]),
                None => data.clients_of(&forget.subject, forget.now),
            };
            for client in clients.clone() {
                data.consents.remove(&(forget.subject.clone(), client.clone()));
                let target = Target::SubjectClient(forget.subject.clone(), client);
                data.mark(self.node, Marker { target, at: forget.now, expires_at: forget.marker_expires_at });
            }
            clients.into_iter().collect()
        })
        .await
    }
}
