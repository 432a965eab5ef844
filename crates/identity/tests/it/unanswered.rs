//! What the audit trail has of what the store did not answer: it may be done.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::IdentityError;
use sluice_identity::account::{AccountService, PasswordChange};
use sluice_identity::identity::{IdentityChange, NotBegun};
use sluice_identity::session::{
    IdentitySession, IdentitySessionRepository, Rotation, SessionRotation, SessionService,
};
use sluice_primitives::{IdentityId, SessionId, Timestamp};
use sluice_store_contract::{Interrupted, Interruption};
use sluice_testkit::Captured;

use super::services::{PASSWORD, Services, confirmation, secret};

pub(crate) const UNKNOWN: &str = "nobody was told whether it was done";

/// What is said of every change.
struct Answer(StoreError);

#[async_trait]
impl Interruption for Answer {
    async fn before_change(&self, _: &IdentityChange) -> Result<(), StoreError> {
        Err(self.0.clone())
    }

    async fn before_delete(&self, _: IdentityId) -> Result<(), StoreError> {
        Err(self.0.clone())
    }
}

/// The account service on a store that says so.
fn account(services: &Services, answer: StoreError) -> AccountService {
    let identities = Arc::new(Interrupted { store: services.store.clone(), by: Answer(answer) });
    AccountService { identities, ..AccountService::clone(&services.account) }
}

/// Sessions of which nothing is heard.
struct Silent;

#[async_trait]
impl IdentitySessionRepository for Silent {
    async fn begin(&self, _: &IdentitySession, _: Timestamp) -> Result<bool, StoreError> {
        Err(StoreError::Unavailable(None))
    }

    async fn find(&self, _: SessionId, _: Timestamp) -> Result<Option<IdentitySession>, StoreError> {
        Err(StoreError::Unavailable(None))
    }

    async fn rotate(&self, _: &SessionRotation) -> Result<Rotation, StoreError> {
        Err(StoreError::Unavailable(None))
    }

    async fn of_identity(&self, _: IdentityId, _: Timestamp) -> Result<Vec<IdentitySession>, StoreError> {
        Err(StoreError::Unavailable(None))
    }

    async fn end(&self, _: SessionId, _: IdentityId, _: (Timestamp, Timestamp)) -> Result<bool, StoreError> {
        Err(StoreError::Unavailable(None))
    }

    async fn purge_expired(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Err(StoreError::Unavailable(None))
    }
}

pub(crate) fn is_unanswered<T>(answer: &Result<T, IdentityError>) -> bool {
    matches!(answer, Err(IdentityError::Store(StoreError::Unavailable(_))))
}

/// The lines of the trail that say so, from their sentences on.
pub(crate) fn told(log: &Captured) -> Vec<String> {
    let lines = log.lines(UNKNOWN).into_iter();
    lines.filter_map(|line| line.split_once("WARN sluice_audit: ").map(|(_, told)| told.to_owned())).collect()
}

#[tokio::test]
async fn of_what_was_not_answered_the_trail_says_that_nobody_was_told() {
    // Given
    let (services, alice, pair) = Services::with_alice().await;
    let (caller, password, new) =
        (services.caller(&alice, &["pwd"]).await, secret(PASSWORD), secret("another correct horse"));
    let account = account(&services, StoreError::Unavailable(None));
    let sessions = SessionService { sessions: Arc::new(Silent), ..SessionService::clone(&services.sessions) };
    let shown = confirmation(&caller, Some(&password));
    let change = PasswordChange { confirmation: shown, new: &new, keep: None };
    let (log, _guard) = Captured::begin();
    // When
    assert!(is_unanswered(&account.set_username(alice.id, "Another").await));
    assert!(is_unanswered(&account.change_password(&change).await));
    assert!(is_unanswered(&account.delete_account(&shown).await));
    assert!(is_unanswered(&sessions.end(alice.id, pair.session).await));
    // Of one that is answered there is no line either.
    assert!(is_unanswered(&sessions.refresh(pair.refresh_token.expose()).await));
    // Then
    let (person, session) = (format!("identity.id={}", alice.id), format!("session.id={}", pair.session));
    let network = "client.network=192.0.2.1";
    let expected = [
        format!("username changed: {UNKNOWN} {person}"),
        format!("password changed: {UNKNOWN} {person} {network}"),
        format!("account deleted: {UNKNOWN} {person} {network}"),
        format!("signed out: {UNKNOWN} {person} {session}"),
    ];
    assert_eq!(told(&log), expected);
}

#[tokio::test]
async fn of_what_the_store_refused_the_trail_says_nothing() {
    let (services, alice, _) = Services::with_alice().await;
    let (log, _guard) = Captured::begin();
    for refused in [StoreError::Busy, StoreError::refused(io::Error::other("no space is left"))] {
        let answer = account(&services, refused).set_username(alice.id, "Another").await;
        assert!(matches!(answer, Err(IdentityError::Store(_))), "{answer:?}");
    }
    assert_eq!(log.lines("sluice_audit"), [""; 0]);
}

/// Sign-outs of applications go before the change, and were not answered.
#[tokio::test]
async fn of_what_was_not_begun_the_trail_says_that_it_was_not_done() {
    let (services, alice, _) = Services::with_alice().await;
    let caller = services.caller(&alice, &["pwd"]).await;
    let (password, not_begun) = (secret(PASSWORD), NotBegun::before(StoreError::Unavailable(None)));
    let shown = confirmation(&caller, Some(&password));
    let (log, _guard) = Captured::begin();
    assert!(is_unanswered(&account(&services, not_begun).delete_account(&shown).await));
    let lines =
        log.lines("WARN sluice_audit: account deleted: it was not done, but the person may be signed out");
    assert!(lines.len() == 1 && lines[0].contains(&format!("identity.id={}", alice.id)), "{}", log.text());
    assert_eq!(told(&log), [""; 0]);
}
