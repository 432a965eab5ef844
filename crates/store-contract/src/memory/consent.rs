//! Decisions in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::consent::{ConsentRepository, Forget, RememberedConsent};
use sluice_primitives::Timestamp;
use sluice_protocol::{ClientId, Subject};
use sluice_token::Target;

use super::{Data, MemoryStore};

impl Data {
    /// Remembers a decision, unless a later one is there or it was forgotten since.
    pub(super) fn remember(&mut self, decision: RememberedConsent) {
        let (subject, client) = (decision.subject.clone(), decision.client.clone());
        let forgotten = [
            Target::SubjectClient(subject.clone(), client.clone()),
            Target::SubjectConsents(subject.clone()),
            Target::Client(client.clone()),
        ];
        if forgotten.iter().any(|target| self.is_marked(target, decision.decided_at)) {
            return;
        }
        let key = (subject, client);
        if self.consents.get(&key).is_none_or(|stored| stored.decided_at <= decision.decided_at) {
            self.consents.insert(key, decision);
        }
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

    async fn forget(&self, forget: Forget) -> Result<(), StoreError> {
        self.write(|data| {
            data.consents.retain(|(subject, client), decision| {
                let about = forget.client.as_ref().is_none_or(|about| about == client);
                *subject != forget.subject || !about || decision.decided_at > forget.now
            });
            data.mark(self.node, forget.marker());
        })
        .await
    }
}
