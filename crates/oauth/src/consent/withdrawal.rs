//! Withdrawal: consents end, with everything that was granted by them. This node knows at once, the others by the feed.

use sluice_commit::StoreError;
use sluice_primitives::{GrantId, Lifetime, Timestamp};
use sluice_protocol::{ClientId, Subject};
use sluice_token::{Marker, RevocationSet, Target};

use super::name::DecisionName;
use super::repository::{ConsentRepository, Forget};
use crate::grant::{Grant, GrantRepository};

/// What is written where consents end.
pub(crate) struct Withdrawal<'a> {
    /// Remembered decisions.
    pub(crate) consents: &'a dyn ConsentRepository,
    /// Grants.
    pub(crate) grants: &'a dyn GrantRepository,
    /// What was revoked.
    pub(crate) revocations: &'a RevocationSet,
    /// For how long that is remembered.
    pub(crate) marker_lifetime: Lifetime,
    /// When they end.
    pub(crate) now: Timestamp,
}

impl Withdrawal<'_> {
    /// Revokes a grant. If the decision that it came of is remembered, that is forgotten, too, also when the grant is gone.
    pub(crate) async fn of_grant(&self, grant: GrantId) -> Result<(), StoreError> {
        let found = self.grants.find(grant).await?;
        self.revoke(grant).await?;
        let decision = match found {
            Some(grant) => Some(decision_of(grant)),
            // A decision outlives the grant that it was stored with.
            None => self.consents.made_in(grant).await?,
        };
        match decision {
            Some(decision) => self.of_decision(decision).await,
            None => Ok(()),
        }
    }

    /// The same of a grant as it was found. One that is revoked already is not revoked again, but what is remembered of it is forgotten: the
    /// last attempt may have come no further.
    pub(crate) async fn of_found(&self, grant: Grant) -> Result<(), StoreError> {
        if grant.revoked_at.is_none() {
            self.revoke(grant.id).await?;
        }
        self.of_decision(decision_of(grant)).await
    }

    /// Forgets a remembered decision, unless another has taken its place. What came of it without asking again is in no list of its own, so
    /// all that the client was granted ends.
    pub(crate) async fn of_decision(&self, name: DecisionName) -> Result<(), StoreError> {
        let remembered = self.consents.find(&name.subject, &name.client, self.now).await?;
        if remembered.is_some_and(|decision| decision.decided_at == name.decided_at) {
            self.of_all(name.subject, Some(name.client)).await?;
        }
        Ok(())
    }

    /// Ends all that a subject granted, to one client or to all.
    pub(crate) async fn of_all(&self, subject: Subject, client: Option<ClientId>) -> Result<(), StoreError> {
        let forget = Forget { subject, client, now: self.now, marker_expires_at: self.marker_expires_at() };
        let marker = forget.marker();
        self.consents.forget(forget).await?;
        self.revocations.apply(&marker);
        Ok(())
    }

    async fn revoke(&self, grant: GrantId) -> Result<(), StoreError> {
        let (at, expires_at) = (self.now, self.marker_expires_at());
        self.grants.revoke(grant, at, expires_at).await?;
        self.revocations.apply(&Marker { target: Target::Grant(grant), at, expires_at });
        Ok(())
    }

    fn marker_expires_at(&self) -> Timestamp {
        self.now + self.marker_lifetime
    }
}

/// The decision that a grant came of.
fn decision_of(grant: Grant) -> DecisionName {
    let Grant { subject, client, consented_at: decided_at, .. } = grant;
    DecisionName { subject, client, decided_at }
}
