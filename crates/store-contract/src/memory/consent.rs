//! Decisions in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::consent::{ConsentRepository, DecisionName, DecisionPage, Forget, RememberedConsent};
use sluice_oauth::grant::{Grant, MadeIn};
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};
use sluice_token::Target;

use super::{Data, MemoryStore, count, purge};

impl Data {
    /// Remembers a decision, unless a later one is there, or it was forgotten since, or the login that it was made in was signed
    /// out.
    pub(super) fn remember(&mut self, decision: RememberedConsent, authenticated_at: Timestamp) {
        let (subject, client) = (decision.subject.clone(), decision.client.clone());
        let forgotten = [
            Target::SubjectClient(subject.clone(), client.clone()),
            Target::SubjectConsents(subject.clone()),
            Target::Client(client.clone()),
        ];
        if forgotten.iter().any(|target| self.is_marked(target, decision.decided_at))
            || self.is_marked(&Target::Subject(subject.clone()), authenticated_at)
        {
            return;
        }
        let key = (subject, client);
        if self.consents.get(&key).is_none_or(|stored| stored.decided_at <= decision.decided_at) {
            self.consents.insert(key, decision);
        }
    }

    /// Remembers a decision that was made elsewhere, unless it or a later one is there, or it was forgotten since, or its subject was signed
    /// out. Whether it was written.
    fn import(&mut self, decision: RememberedConsent) -> bool {
        let key = (decision.subject.clone(), decision.client.clone());
        let before = self.consents.get(&key).map(|stored| stored.decided_at);
        let decided_at = decision.decided_at;
        if before.is_some_and(|before| before >= decided_at) {
            return false;
        }
        self.remember(decision, decided_at);
        self.consents.get(&key).is_some_and(|stored| stored.decided_at == decided_at)
    }

    /// Whether the client was deleted that a decision is about, and perhaps another registered under its id.
    fn is_about_a_deleted_client(&self, decision: &RememberedConsent) -> bool {
        match self.clients.get(&decision.client) {
            Some(client) => decision.decided_at < client.created_at,
            None => self.is_marked(&Target::Client(decision.client.clone()), decision.decided_at),
        }
    }

    /// Forgets decisions about clients that were deleted.
    pub(super) fn forget_decisions(&mut self) {
        let gone = self.consents.iter().filter(|(_, decision)| self.is_about_a_deleted_client(decision));
        let gone: Vec<_> = gone.map(|(key, _)| key.clone()).collect();
        for key in &gone {
            self.consents.remove(key);
        }
    }

    /// Whether a decision holds.
    fn holds(&self, decision: &RememberedConsent, now: Timestamp) -> bool {
        decision.expires_at > now && !self.is_about_a_deleted_client(decision)
    }

    /// Whether what a grant was decided by is in the list of what is remembered.
    pub(super) fn is_listed_as_decision(
        &self,
        grant: &Grant,
        session: Option<SessionId>,
        now: Timestamp,
    ) -> bool {
        let decision = self.consents.get(&(grant.subject.clone(), grant.client.clone()));
        decision.is_some_and(|decision| {
            decision.decided_at == grant.consented_at && is_of(decision, session) && decision.expires_at > now
        })
    }
}

/// Whether a decision was made in this session, if there is one to be asked about.
fn is_of(decision: &RememberedConsent, session: Option<SessionId>) -> bool {
    session.is_none() || decision.claims.made_in.and_then(MadeIn::session) == session
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
        Ok(self.read(|data| data.consents.get(&key).filter(|decision| data.holds(decision, now)).cloned()))
    }

    async fn list(&self, page: DecisionPage) -> Result<Vec<RememberedConsent>, StoreError> {
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let follows = |client: &ClientId| page.after.as_ref().is_none_or(|after| after < client);
        Ok(self.read(|data| {
            let own = data.consents.iter().filter(|((subject, _), _)| *subject == page.subject);
            own.filter(|((_, client), _)| follows(client))
                .map(|(_, decision)| decision)
                .filter(|decision| data.holds(decision, page.now) && is_of(decision, page.session))
                .take(limit)
                .cloned()
                .collect()
        }))
    }

    async fn count_decisions(
        &self,
        subject: &Subject,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(self.read(|data| {
            let own = data.consents.iter().filter(|((of, _), _)| of == subject);
            own.filter(|(_, decision)| data.holds(decision, now)).take(limit).count() as u64
        }))
    }

    async fn made_in(&self, flow: GrantId) -> Result<Option<DecisionName>, StoreError> {
        let of_flow = |made_in: MadeIn| made_in.grant() == flow && made_in.session().is_some();
        Ok(self.read(|data| {
            let decision =
                data.consents.values().find(|decision| decision.claims.made_in.is_some_and(of_flow));
            decision.map(DecisionName::of)
        }))
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

    async fn import(&self, decisions: Vec<RememberedConsent>) -> Result<u64, StoreError> {
        self.write(|data| {
            let mut written = 0;
            for decision in decisions {
                written += u64::from(data.import(decision));
            }
            written
        })
        .await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| count(&purge(&mut data.consents, limit, |decision| decision.expires_at < now)))
            .await
    }
}
