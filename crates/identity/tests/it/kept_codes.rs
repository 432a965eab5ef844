//! A code of a mail is spent with what it is for, and not before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::IdentityError;
use sluice_identity::account::{AccountService, Denied, Outcome};
use sluice_identity::identity::IdentityChange;
use sluice_store_contract::{Interrupted, Interruption};

use super::services::{ALICE, BOB, PASSWORD, Services, code, confirmation, link, network, secret, typed};

const NEW: &str = "alice@example.org";

/// The first change fails.
#[derive(Default)]
struct FailsOnce(AtomicBool);

#[async_trait]
impl Interruption for FailsOnce {
    async fn before_change(&self, _: &IdentityChange) -> Result<(), StoreError> {
        if self.0.swap(true, Ordering::Relaxed) { Ok(()) } else { Err(StoreError::Unavailable(None)) }
    }
}

/// The account service of these people.
fn account(services: &Services) -> AccountService {
    let identities = Arc::new(Interrupted { store: services.store.clone(), by: FailsOnce::default() });
    AccountService { identities, ..AccountService::clone(&services.account) }
}

#[tokio::test]
async fn what_did_not_verify_an_address_because_the_store_failed_verifies_it_at_the_next_try() {
    let services = Services::new().await;
    for (email, is_typed) in [(ALICE, false), (BOB, true)] {
        let registered = services.register(email).await;
        let mail = services.mail().await;
        let proof = if is_typed { typed(email, &code(&mail)) } else { link(&mail) };
        let account = account(&services);
        let failed = account.verify_email(&proof, network()).await;
        assert!(matches!(failed, Err(IdentityError::Store(_))), "{failed:?}");
        assert_eq!(services.stored(email).await.email_verified_at, None);
        let verified = account.verify_email(&proof, network()).await.unwrap();
        assert_eq!(verified, Outcome::Done(registered.id));
        assert_eq!(services.stored(email).await.email_verified_at, Some(registered.created_at));
        let again = account.verify_email(&proof, network()).await.unwrap();
        assert_eq!(again, Outcome::Denied(Denied::WrongCode), "it is spent now");
    }
}

#[tokio::test]
async fn what_did_not_change_an_address_because_the_store_failed_changes_it_at_the_next_try() {
    let (services, alice, _) = Services::with_alice().await;
    let (caller, password) = (services.caller(&alice, &["pwd"]).await, secret(PASSWORD));
    let confirmation = confirmation(&caller, Some(&password));
    services.account.begin_email_change(&confirmation, NEW).await.unwrap();
    let mail = services.mail().await;
    let (account, whose) = (account(&services), (caller.identity, caller.session));
    let failed = account.confirm_email_change(whose, &link(&mail), network()).await;
    assert!(matches!(failed, Err(IdentityError::Store(_))), "{failed:?}");
    assert_eq!(services.stored(ALICE).await.id, alice.id);
    let changed = account.confirm_email_change(whose, &typed(ALICE, &code(&mail)), network()).await.unwrap();
    assert_eq!(changed, Outcome::Done(()));
    assert_eq!(services.stored(NEW).await.id, alice.id);
    let again = account.confirm_email_change(whose, &link(&mail), network()).await.unwrap();
    assert_eq!(again, Outcome::Denied(Denied::WrongCode), "it is spent now");
}

#[tokio::test]
async fn who_is_signed_out_meanwhile_confirms_another_address_once_signed_in_again() {
    let (services, alice, _) = Services::with_alice().await;
    let (caller, password) = (services.caller(&alice, &["pwd"]).await, secret(PASSWORD));
    let confirmation = confirmation(&caller, Some(&password));
    services.account.begin_email_change(&confirmation, NEW).await.unwrap();
    let proof = link(&services.mail().await);
    services.sessions.end(alice.id, caller.session).await.unwrap();
    let ended = (caller.identity, caller.session);
    let refused = services.account.confirm_email_change(ended, &proof, network()).await.unwrap();
    assert_eq!(refused, Outcome::Denied(Denied::Gone));
    let present = (alice.id, services.caller(&alice, &["pwd"]).await.session);
    let changed = services.account.confirm_email_change(present, &proof, network()).await.unwrap();
    assert_eq!(changed, Outcome::Done(()));
}
