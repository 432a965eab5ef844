//! What an administrator may do with consents: list what a subject granted (see [`listing`](super::listing)), and revoke it.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_primitives::{Clock, GrantId, Lifetime, Rng, Timestamp};
use sluice_protocol::{ClientId, Subject};
use sluice_token::RevocationSet;

use super::late_documents::LateDocuments;
use super::name::DecisionName;
use super::repository::ConsentRepository;
use super::withdrawal::Withdrawal;
use crate::client::ClientDirectory;
use crate::grant::{GrantPage, GrantRepository, Listed};

/// How many grants of a subject are looked through at a time for one to a client, and how many times: more than anybody has.
const PAGE: u32 = 500;
const PAGES: usize = 10;

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
        let withdrawal = self.withdrawal(self.clock.now());
        match revoke {
            Revoke::Grant(grant) => withdrawal.of_grant(grant).await,
            Revoke::Decision(name) => withdrawal.of_decision(name).await,
            Revoke::Client(subject, client) => withdrawal.of_all(subject, Some(client)).await,
            Revoke::All(subject) => withdrawal.of_all(subject, None).await,
        }
    }

    /// Revokes all that a subject granted to a client, if there is any: a remembered decision, or a grant that lives. Whether there was;
    /// if not, nothing is written, however often somebody asks for it.
    pub async fn revoke_granted(&self, subject: Subject, client: ClientId) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let is_granted = self.has_granted(&subject, &client, now).await?;
        if is_granted {
            self.withdrawal(now).of_all(subject, Some(client)).await?;
        }
        Ok(is_granted)
    }

    async fn has_granted(
        &self,
        subject: &Subject,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        if self.consents.find(subject, client, now).await?.is_some() {
            return Ok(true);
        }
        let (subject, session, listed, limit) = (subject.clone(), None, Listed::All, PAGE);
        let mut page = GrantPage { subject, session, listed, before: None, limit, now };
        for _ in 0..PAGES {
            let grants = self.grants.list(page.clone()).await?;
            if grants.iter().any(|grant| grant.client == *client) {
                return Ok(true);
            }
            let may_be_more = u32::try_from(grants.len()).is_ok_and(|found| found >= PAGE);
            let Some(last) = grants.last().filter(|_| may_be_more) else { return Ok(false) };
            page.before = Some(last.id);
        }
        // It may be behind all these.
        Ok(true)
    }

    fn withdrawal(&self, now: Timestamp) -> Withdrawal<'_> {
        Withdrawal {
            consents: &*self.consents,
            grants: &*self.grants,
            revocations: &self.revocations,
            marker_lifetime: self.marker_lifetime,
            now,
        }
    }
}
