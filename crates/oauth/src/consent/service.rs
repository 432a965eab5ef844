//! What an administrator may do with consents: list what a subject granted (see [`listing`](super::listing)), and revoke it.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_primitives::{Clock, GrantId, Lifetime, Rng, Timestamp};
use sluice_protocol::{ClientId, Subject};
use sluice_token::{Marker, RevocationSet, Target};

use super::late_documents::LateDocuments;
use super::name::DecisionName;
use super::repository::{ConsentRepository, Forget};
use crate::client::ClientDirectory;
use crate::grant::{Grant, GrantRepository};

/// What is revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoke {
    /// One grant. If the decision that it came of is remembered, that too, also when the grant is gone.
    Grant(GrantId),
    /// A remembered decision, unless another has taken its place: all that the subject granted to the client.
    Decision(DecisionName),
    /// All that a subject granted to a client.
    Client(Subject, ClientId),
    /// All that a subject granted.
    All(Subject),
}

/// Lists and revokes consents.
pub struct ConsentService {
    /// Remembered decisions.
    pub consents: Arc<dyn ConsentRepository>,
    /// Grants.
    pub grants: Arc<dyn GrantRepository>,
    /// Clients.
    pub clients: Arc<ClientDirectory>,
    /// Documents of clients that no page waited for.
    pub late: LateDocuments,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// For how long that is remembered.
    pub marker_lifetime: Lifetime,
    /// Seals page tokens and the names of decisions.
    pub sealer: Arc<Sealer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl ConsentService {
    /// What the id of an entry, or of a consent request, names; nothing if it is not one of this server's.
    pub fn named(&self, id: &str) -> Option<Revoke> {
        let grant = id.parse::<GrantId>().ok().map(Revoke::Grant);
        grant.or_else(|| DecisionName::open(id, &self.sealer).map(Revoke::Decision))
    }

    /// Revokes consents with everything that was granted by them.
    pub async fn revoke(&self, revoke: Revoke) -> Result<(), StoreError> {
        let now = self.clock.now();
        match revoke {
            Revoke::Grant(grant) => self.revoke_grant(grant, now).await,
            Revoke::Decision(name) => self.forget_decision(name, now).await,
            Revoke::Client(subject, client) => self.forget(subject, Some(client), now).await,
            Revoke::All(subject) => self.forget(subject, None, now).await,
        }
    }

    async fn revoke_grant(&self, grant: GrantId, now: Timestamp) -> Result<(), StoreError> {
        let expires_at = now + self.marker_lifetime;
        let found = self.grants.find(grant).await?;
        self.grants.revoke(grant, now, expires_at).await?;
        self.revocations.apply(&Marker { target: Target::Grant(grant), at: now, expires_at });
        let decision = match found {
            Some(Grant { subject, client, consented_at: decided_at, .. }) => {
                Some(DecisionName { subject, client, decided_at })
            }
            // A decision outlives the grant that it was stored with.
            None => self.consents.made_in(grant).await?,
        };
        match decision {
            Some(decision) => self.forget_decision(decision, now).await,
            None => Ok(()),
        }
    }

    /// What came of it without asking again is in no list of its own, so all that the client was granted ends.
    async fn forget_decision(&self, name: DecisionName, now: Timestamp) -> Result<(), StoreError> {
        let remembered = self.consents.find(&name.subject, &name.client, now).await?;
        if remembered.is_some_and(|decision| decision.decided_at == name.decided_at) {
            self.forget(name.subject, Some(name.client), now).await?;
        }
        Ok(())
    }

    /// The other nodes hear of it by the feed.
    async fn forget(
        &self,
        subject: Subject,
        client: Option<ClientId>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let forget = Forget { subject, client, now, marker_expires_at: now + self.marker_lifetime };
        let marker = forget.marker();
        self.consents.forget(forget).await?;
        self.revocations.apply(&marker);
        Ok(())
    }
}
