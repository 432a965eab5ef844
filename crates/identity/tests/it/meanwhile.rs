//! Another password between what was shown and what rests on it.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::account::AccountService;
use sluice_identity::factor::FactorRepository;
use sluice_identity::identity::{
    Changed, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage, NewCredential, Removed,
};
use sluice_identity::{
    Identity, IdentityError, IdentityRepository, LoginNameHash, NewIdentity, Registration,
};
use sluice_primitives::{IdentityId, Timestamp};
use sluice_store_contract::{MemoryStore, given};

use super::services::{ALICE, PASSWORD, Services, confirmation, secret};

/// People who set another password a moment before they are deleted.
struct Meanwhile(Arc<MemoryStore>);

fn another_password(identity: &Identity) -> IdentityChange {
    let credential = NewCredential { stored: "another".to_owned(), hardening: false };
    IdentityChange { credential: Some(credential), revokes: true, ..given::change(identity, 20) }
}

#[async_trait]
impl IdentityRepository for Meanwhile {
    async fn register(&self, new: NewIdentity) -> Result<Registration, StoreError> {
        self.0.register(new).await
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        self.0.find_by_login_name(login_name).await
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        self.0.find(id).await
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.0.replace_credential(id, old, new).await
    }
}

#[async_trait]
impl IdentityDirectory for Meanwhile {
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError> {
        self.0.list(filter).await
    }

    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError> {
        self.0.change(change).await
    }

    async fn reseal_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.0.reseal_credential(id, old, new).await
    }

    async fn delete(
        &self,
        id: IdentityId,
        revision: Option<i64>,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<Removed, StoreError> {
        if let Some(identity) = self.0.find(id).await? {
            given::changed(&*self.0, &another_password(&identity)).await;
        }
        self.0.delete(id, revision, now, marker_expires_at).await
    }
}

/// The account service of these people.
fn account(services: &Services) -> AccountService {
    let of = &services.account;
    AccountService {
        config: of.config.clone(),
        identities: Arc::new(Meanwhile(services.store.clone())),
        codes: Arc::clone(&of.codes),
        code_key: of.code_key.clone(),
        mails: of.mails.clone(),
        sessions: Arc::clone(&of.sessions),
        factors: Arc::clone(&of.factors),
        login: Arc::clone(&of.login),
        hasher: Arc::clone(&of.hasher),
        rules: Arc::clone(&of.rules),
        limits: Arc::clone(&of.limits),
        sealer: Arc::clone(&of.sealer),
        clock: Arc::clone(&of.clock),
        rng: Arc::clone(&of.rng),
    }
}

#[tokio::test]
async fn what_was_shown_before_another_password_deletes_no_account_after_it() {
    let (services, alice, _) = Services::with_alice().await;
    let (caller, password) = (services.caller(&alice, &["pwd"]).await, secret(PASSWORD));
    let late = account(&services).delete_account(&confirmation(&caller, Some(&password))).await;
    assert!(matches!(late, Err(IdentityError::Changed)), "{late:?}");
    assert!(services.store.find(alice.id).await.unwrap().is_some());
}

#[tokio::test]
async fn what_was_shown_before_another_password_takes_no_factor_and_no_code_away_after_it() {
    let (services, alice, _) = Services::with_alice().await;
    let factor = given::factor(alice.id, 0);
    services.store.add(&factor, alice.revision, Some(&[[1; 32]])).await.unwrap();
    given::changed(&*services.store, &another_password(&alice)).await;
    let removed = services.factors.remove(&alice, factor.id).await;
    assert!(matches!(removed, Err(IdentityError::Changed)), "{removed:?}");
    let codes = services.factors.regenerate_recovery_codes(&alice).await;
    assert!(matches!(codes, Err(IdentityError::Changed)), "{codes:?}");
    assert_eq!(services.factors.list(alice.id).await.unwrap().len(), 1);
    assert!(services.store.spend_recovery_code(alice.id, &[1; 32]).await.unwrap());
    let present = services.stored(ALICE).await;
    assert!(services.factors.remove(&present, factor.id).await.unwrap());
}
