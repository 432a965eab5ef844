//! Whoever may no longer log in with what they had is signed out of the applications too.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::identity::{
    Changed, Identity, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage, IdentityRepository,
    LoginNameHash, NewIdentity, Registration, Removed,
};
use sluice_oauth::consent::{ConsentService, Revoke};
use sluice_oauth::login_session::{EndSessions, LoginSessionService};
use sluice_primitives::{Clock, IdentityId, Timestamp};

use super::stores::Repositories;

/// Records of people whose login sessions end with what they revoke, and whose remembered consents go with their factors: the
/// identity service knows nothing of those, and clients are to hear of the end of sessions by the back channel.
///
/// Both before the record changes, so that a crash between the two signs somebody out in vain and never leaves somebody in;
/// and once more afterwards, for what was done meanwhile.
pub(super) struct SigningOut {
    pub(super) store: Arc<dyn Repositories>,
    pub(super) sessions: Arc<LoginSessionService>,
    pub(super) consents: Arc<ConsentService>,
    pub(super) clock: Arc<dyn Clock>,
}

impl SigningOut {
    async fn sign_out(&self, id: IdentityId, at: Timestamp) -> Result<(), StoreError> {
        match id.to_string().parse() {
            Ok(subject) => self.sessions.end_at(EndSessions::Subject(subject), at).await,
            Err(_) => Ok(()),
        }
    }

    /// Whoever loses factors that somebody else may have left is asked about each client anew.
    async fn forget_consents(&self, id: IdentityId) -> Result<(), StoreError> {
        match id.to_string().parse() {
            Ok(subject) => self.consents.revoke(Revoke::All(subject)).await,
            Err(_) => Ok(()),
        }
    }

    /// What of a change lies outside the record.
    async fn follow(&self, change: &IdentityChange, at: Timestamp) -> Result<(), StoreError> {
        if change.revokes {
            self.sign_out(change.id, at).await?;
        }
        if change.forgets_factors {
            self.forget_consents(change.id).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl IdentityRepository for SigningOut {
    async fn register(&self, new: NewIdentity) -> Result<Registration, StoreError> {
        self.store.register(new).await
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        self.store.find_by_login_name(login_name).await
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        IdentityRepository::find(&*self.store, id).await
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.store.replace_credential(id, old, new).await
    }
}

#[async_trait]
impl IdentityDirectory for SigningOut {
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError> {
        IdentityDirectory::list(&*self.store, filter).await
    }

    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError> {
        self.follow(change, change.now).await?;
        let changed = self.store.change(change).await?;
        if changed == Changed::Done {
            // Who logged in while it was written did so with what was before it.
            self.follow(change, self.clock.now()).await?;
        }
        Ok(changed)
    }

    async fn reseal_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.store.reseal_credential(id, old, new).await
    }

    async fn delete(
        &self,
        id: IdentityId,
        revision: Option<i64>,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<Removed, StoreError> {
        self.sign_out(id, now).await?;
        let deleted = IdentityDirectory::delete(&*self.store, id, revision, now, marker_expires_at).await?;
        if deleted != Removed::Stale {
            self.sign_out(id, self.clock.now()).await?;
        }
        Ok(deleted)
    }
}
