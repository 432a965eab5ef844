//! People of a store to whom something happens between what somebody saw of them and what rests on it, or of whom the store
//! takes no more: what a test wants, and for all else the store itself.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sluice_commit::StoreError;
use sluice_identity::identity::{
    Changed, Identity, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage, IdentityRepository,
    LoginNameHash, NewIdentity, Registration, Removed,
};
use sluice_identity::mail::QueuedMail;
use sluice_primitives::{IdentityId, Timestamp};

/// What happens when the store is asked; nothing, if it does not say. An error is the answer in the store's place.
#[async_trait]
pub trait Interruption: Send + Sync {
    /// Before somebody is registered.
    async fn before_register(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// After somebody was registered, before it is told.
    async fn after_register(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Before somebody is looked for by the id.
    async fn before_find(&self, _: IdentityId) -> Result<(), StoreError> {
        Ok(())
    }

    /// Before somebody is changed.
    async fn before_change(&self, _: &IdentityChange) -> Result<(), StoreError> {
        Ok(())
    }

    /// Before somebody is deleted.
    async fn before_delete(&self, _: IdentityId) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The people of a store, and what happens to them.
pub struct Interrupted<I> {
    /// Who they are.
    pub store: Arc<dyn IdentityDirectory>,
    /// What happens.
    pub by: I,
}

#[async_trait]
impl<I: Interruption> IdentityRepository for Interrupted<I> {
    fn register(&self, new: NewIdentity) -> BoxFuture<'_, Result<Registration, StoreError>> {
        Box::pin(async move {
            self.by.before_register().await?;
            let registered = self.store.register(new).await?;
            self.by.after_register().await?;
            Ok(registered)
        })
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        self.store.find_by_login_name(login_name).await
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        self.by.before_find(id).await?;
        self.store.find(id).await
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.store.replace_credential(id, old, new).await
    }
}

#[async_trait]
impl<I: Interruption> IdentityDirectory for Interrupted<I> {
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError> {
        self.store.list(filter).await
    }

    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError> {
        self.by.before_change(change).await?;
        self.store.change(change).await
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
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        self.by.before_delete(id).await?;
        self.store.delete(id, revision, now, marker_expires_at, notice).await
    }
}
