//! Another password, or a first factor, between what was shown and what rests on it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::account::{AccountService, Outcome, PasswordChange};
use sluice_identity::factor::{Enroller, EnrolmentOutcome, FactorRepository, RemovalOutcome, WeakerSessions};
use sluice_identity::identity::{IdentityChange, NewCredential};
use sluice_identity::session::{
    IdentitySession, IdentitySessionRepository, Rotation, SessionRotation, SessionService,
};
use sluice_identity::{Identity, IdentityError, IdentityRepository};
use sluice_primitives::{Clock, IdentityId, Lifetime, SessionId, Timestamp};
use sluice_store_contract::{Interrupted, Interruption, MemoryStore, given};

use super::factor::world::App;
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
        if let Some(identity) = IdentityRepository::find(&*self.0, id).await? {
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
    assert!(IdentityRepository::find(&*services.store, alice.id).await.unwrap().is_some());
}

#[tokio::test]
async fn what_was_shown_before_another_password_takes_no_factor_and_no_code_away_after_it() {
    let (services, alice, _) = Services::with_alice().await;
    let factor = given::factor(alice.id, 0);
    services.store.add(&factor, alice.revision, Some(given::with_first(&[[1; 32]])), None).await.unwrap();
    given::changed(&*services.store, &another_password(&alice)).await;
    let removed = services.factors.remove(&alice, factor.id).await;
    assert!(matches!(removed, Err(IdentityError::Changed)), "{removed:?}");
    let codes = services.factors.regenerate_recovery_codes(&alice).await;
    assert!(matches!(codes, Err(IdentityError::Changed)), "{codes:?}");
    assert_eq!(services.factors.list(alice.id).await.unwrap().len(), 1);
    assert!(services.store.spend_recovery_code(alice.id, &[1; 32], None).await.unwrap());
    let present = services.stored(ALICE).await;
    assert_eq!(services.factors.remove(&present, factor.id).await.unwrap(), RemovalOutcome::Removed);
}

#[tokio::test]
async fn what_was_shown_before_the_first_factor_begins_no_session_without_it_after_it() {
    let (services, alice, present) = Services::with_alice().await;
    let sign_in = async |amr: &[&str]| {
        let amr = amr.iter().map(|method| (*method).to_owned()).collect();
        services.account.sign_in(&alice, amr, "test/1.0", network()).await
    };
    let before = sign_in(&["pwd"]).await.unwrap();
    let (factor, first) = (given::factor(alice.id, 0), given::with_first(&[[1; 32]]));
    services.store.add(&factor, alice.revision, Some(first), None).await.unwrap();
    services.account.end_weaker_sessions(alice.id, present.session).await.unwrap();
    let late = sign_in(&["pwd"]).await;
    assert!(matches!(late, Err(IdentityError::Changed)), "{late:?}");
    let complete = sign_in(&["pwd", "otp", "mfa"]).await.unwrap();
    assert!(services.holds(&present) && services.holds(&complete) && !services.holds(&before));
    assert_eq!(services.sessions.list(alice.id).await.unwrap().len(), 2);
}

/// Whatever becomes of the server right after it.
#[tokio::test]
async fn the_first_factor_and_the_end_of_the_sessions_without_it_are_one() {
    let (services, alice, present) = Services::with_alice().await;
    let before = services.sign_in(ALICE, PASSWORD).await;
    let now = services.clock.now();
    let ends = WeakerSessions { keep: present.session, now, marker_expires_at: now + Lifetime::hours(1) };
    let begun = services.factors.begin_totp(&alice);
    let code = App::scan(&begun.secret_base32).code(&services.clock);
    let enroller = Enroller { identity: &alice, ends: Some(ends), only_first: false };
    let outcome = services.factors.confirm_totp(enroller, &begun.ticket, &code, "Phone").await.unwrap();
    assert!(matches!(outcome, EnrolmentOutcome::Enrolled(_)), "{outcome:?}");
    let left = services.sessions.list(alice.id).await.unwrap();
    assert_eq!(left.iter().map(|session| session.id).collect::<Vec<_>>(), [present.session]);
    services.sessions.follower.catch_up().await.unwrap();
    assert!(services.holds(&present) && !services.holds(&before));
}

#[tokio::test]
async fn who_is_in_without_the_first_factor_is_out_at_once_and_no_second_one_ends_a_session() {
    let (services, alice, present) = Services::with_alice().await;
    let before = services.sign_in(ALICE, PASSWORD).await;
    let complete = services.caller(&alice, &["pwd", "otp", "mfa"]).await;
    for _ in 0..2 {
        let begun = services.factors.begin_totp(&alice);
        let code = App::scan(&begun.secret_base32).code(&services.clock);
        let whose = (&alice, present.session);
        let outcome = services.account.add_totp(whose, (&begun.ticket, &code, "Phone")).await.unwrap();
        assert!(matches!(outcome, EnrolmentOutcome::Enrolled(_)), "{outcome:?}");
        assert!(services.holds(&present) && !services.holds(&before));
        let left = services.sessions.list(alice.id).await.unwrap();
        assert_eq!(left.iter().map(|s| s.id).collect::<Vec<_>>(), [complete.session, present.session]);
    }
}

/// Sessions of a store that is away after they were listed once.
struct ListedOnce {
    sessions: Arc<dyn IdentitySessionRepository>,
    is_listed: AtomicBool,
}

#[async_trait]
impl IdentitySessionRepository for ListedOnce {
    async fn begin(
        &self,
        session: &IdentitySession,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.sessions.begin(session, marker_expires_at).await
    }

    async fn find(&self, id: SessionId, now: Timestamp) -> Result<Option<IdentitySession>, StoreError> {
        self.sessions.find(id, now).await
    }

    async fn rotate(&self, rotation: &SessionRotation) -> Result<Rotation, StoreError> {
        self.sessions.rotate(rotation).await
    }

    async fn of_identity(
        &self,
        identity: IdentityId,
        now: Timestamp,
    ) -> Result<Vec<IdentitySession>, StoreError> {
        if self.is_listed.swap(true, SeqCst) {
            return Err(StoreError::Unavailable(None));
        }
        self.sessions.of_identity(identity, now).await
    }

    async fn end(
        &self,
        id: SessionId,
        identity: IdentityId,
        times: (Timestamp, Timestamp),
    ) -> Result<bool, StoreError> {
        self.sessions.end(id, identity, times).await
    }

    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.sessions.purge_expired(before, limit).await
    }
}

/// They are shown once.
#[tokio::test]
async fn the_recovery_codes_of_the_first_factor_are_shown_whatever_becomes_of_the_store_after_it() {
    let (services, alice, present) = Services::with_alice().await;
    let sessions = ListedOnce { sessions: services.store.clone(), is_listed: AtomicBool::new(false) };
    let sessions =
        SessionService { sessions: Arc::new(sessions), ..SessionService::clone(&services.sessions) };
    let account = AccountService { sessions: Arc::new(sessions), ..AccountService::clone(&services.account) };
    let begun = services.factors.begin_totp(&alice);
    let code = App::scan(&begun.secret_base32).code(&services.clock);
    let shown = (begun.ticket.as_str(), code.as_str(), "Phone");
    let outcome = account.add_totp((&alice, present.session), shown).await.unwrap();
    let EnrolmentOutcome::Enrolled(enrolled) = outcome else { panic!("{outcome:?}") };
    assert!(enrolled.is_first());
    assert!(account.sessions.list(alice.id).await.is_err(), "the store is away");
}

#[tokio::test]
async fn an_enrolment_that_another_session_asks_for_once_more_ends_no_session() {
    let (services, alice, present) = Services::with_alice().await;
    let begun = services.factors.begin_totp(&alice);
    let code = App::scan(&begun.secret_base32).code(&services.clock);
    let shown = (begun.ticket.as_str(), code.as_str(), "Phone");
    let first = services.account.add_totp((&alice, present.session), shown).await.unwrap();
    let other = services.caller(&alice, &["pwd", "otp", "mfa"]).await;
    services.clock.advance(Lifetime::secs(1));
    let again = services.account.add_totp((&alice, other.session), shown).await.unwrap();
    let (EnrolmentOutcome::Enrolled(first), EnrolmentOutcome::Enrolled(again)) = (first, again) else {
        panic!("not enrolled")
    };
    assert_eq!((again.factor, &again.recovery_codes), (first.factor, &first.recovery_codes));
    let mut left: Vec<_> =
        services.sessions.list(alice.id).await.unwrap().into_iter().map(|session| session.id).collect();
    left.sort_unstable();
    let mut expected = vec![present.session, other.session];
    expected.sort_unstable();
    assert_eq!(left, expected);
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
        let first = given::with_first(&[[1; 32]]);
        self.store.add(&given::factor(change.id, 0), change.revision, Some(first), None).await?;
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
