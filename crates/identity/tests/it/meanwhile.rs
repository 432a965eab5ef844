//! Another password, or a first factor, between what was shown and what rests on it.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::account::{AccountService, Outcome, PasswordChange};
use sluice_identity::factor::FactorRepository;
use sluice_identity::identity::{IdentityChange, NewCredential};
use sluice_identity::{Identity, IdentityError, IdentityRepository};
use sluice_primitives::{IdentityId, SessionId};
use sluice_store_contract::{Interrupted, Interruption, MemoryStore, given};

use super::services::{ALICE, PASSWORD, Services, confirmation, network, secret};

/// Somebody sets another password a moment before being deleted.
struct Meanwhile(Arc<MemoryStore>);

fn another_password(identity: &Identity) -> IdentityChange {
    let credential = NewCredential { stored: "another".to_owned(), hardening: false };
    IdentityChange { credential: Some(credential), revokes: true, ..given::change(identity, 20) }
}

#[async_trait]
impl Interruption for Meanwhile {
    async fn before_delete(&self, id: IdentityId) -> Result<(), StoreError> {
        if let Some(identity) = self.0.find(id).await? {
            given::changed(&*self.0, &another_password(&identity)).await;
        }
        Ok(())
    }
}

/// The account service of these people.
fn account(services: &Services) -> AccountService {
    let store = services.store.clone();
    let identities = Arc::new(Interrupted { store: store.clone(), by: Meanwhile(store) });
    AccountService { identities, ..AccountService::clone(&services.account) }
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
    services.store.add(&factor, alice.revision, Some(given::recovery_codes(&[[1; 32]])), None).await.unwrap();
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

#[tokio::test]
async fn what_was_shown_before_the_first_factor_begins_no_session_without_it_after_it() {
    let (services, alice, present) = Services::with_alice().await;
    let sign_in = async |amr: &[&str]| {
        let amr = amr.iter().map(|method| (*method).to_owned()).collect();
        services.account.sign_in(&alice, amr, "test/1.0", network()).await
    };
    let before = sign_in(&["pwd"]).await.unwrap();
    let (factor, codes) = (given::factor(alice.id, 0), given::recovery_codes(&[[1; 32]]));
    services.store.add(&factor, alice.revision, Some(codes), None).await.unwrap();
    services.account.end_weaker_sessions(alice.id, present.session).await.unwrap();
    let late = sign_in(&["pwd"]).await;
    assert!(matches!(late, Err(IdentityError::Changed)), "{late:?}");
    let complete = sign_in(&["pwd", "otp", "mfa"]).await.unwrap();
    assert!(services.holds(&present) && services.holds(&complete) && !services.holds(&before));
    assert_eq!(services.sessions.list(alice.id).await.unwrap().len(), 2);
}

/// Somebody else who is signed in enrols the first factor, a moment before another password is stored.
struct FirstFactor {
    store: Arc<MemoryStore>,
    account: AccountService,
    keep: SessionId,
}

#[async_trait]
impl Interruption for FirstFactor {
    async fn before_change(&self, change: &IdentityChange) -> Result<(), StoreError> {
        let codes = given::recovery_codes(&[[1; 32]]);
        self.store.add(&given::factor(change.id, 0), change.revision, Some(codes), None).await?;
        let ended = self.account.end_weaker_sessions(change.id, self.keep).await;
        assert!(ended.is_ok(), "{ended:?}");
        Ok(())
    }
}

#[tokio::test]
async fn another_password_beside_the_first_factor_keeps_no_session_without_it() {
    let (services, alice, present) = Services::with_alice().await;
    let kept = services.caller(&alice, &["pwd"]).await;
    let (store, account) = (services.store.clone(), AccountService::clone(&services.account));
    let by = FirstFactor { store: store.clone(), account: account.clone(), keep: present.session };
    let account = AccountService { identities: Arc::new(Interrupted { store, by }), ..account };
    let (password, new) = (secret(PASSWORD), secret("another long password"));
    let confirmation = confirmation(&kept, Some(&password));
    let change = PasswordChange { confirmation, new: &new, keep: Some(kept.session) };
    assert!(matches!(account.change_password(&change).await, Ok(Outcome::Done(None))));
    assert!(services.sessions.list(alice.id).await.unwrap().is_empty());
}
