//! What a person is told of factors that came or went, of recovery codes, or of the end of the account: queued with what it tells of, or not at all.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use std::array;
use std::collections::BTreeSet;

use sluice_commit::StoreError;
use sluice_identity::factor::{AddedFactor, FactorRepository};
use sluice_identity::identity::{IdentityDirectory, Removed};
use sluice_identity::mail::{MailRepository, QueuedMail};
use uuid::Uuid;

use crate::{Fixture, given};

/// The mails that are in the outbox.
async fn queued(store: &impl MailRepository) -> BTreeSet<Uuid> {
    store.sealed_mails(None, 100).await.unwrap().into_iter().map(|(id, _)| id).collect()
}

/// A mail that no store takes.
fn unstorable() -> QueuedMail {
    QueuedMail { sealed: "with \0 inside".to_owned(), ..given::mail(0) }
}

/// Of a factor that is added, once however often it is added; of one that is not, none.
pub async fn the_notice_of_a_factor_is_queued_when_it_is_added(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = given::registered(&*store, given::identity("alice")).await.id;
    let factor = given::factor(alice, 0);
    let [unknown, added, again]: [QueuedMail; 3] = array::from_fn(|_| given::mail(0));
    for (revision, notice, expected, mails) in [
        (2, &unknown, AddedFactor::Unknown, BTreeSet::new()),
        (1, &added, AddedFactor::AddedWithCodes, BTreeSet::from([added.id])),
        (1, &again, AddedFactor::AddedWithCodes, BTreeSet::from([added.id])),
    ] {
        let codes = Some(given::with_first(&[[1; 32]]));
        let outcome = FactorRepository::add(&*other, &factor, revision, codes, Some(notice)).await;
        assert_eq!(outcome.unwrap(), expected);
        assert_eq!(queued(&*store).await, mails);
    }
    let leased = MailRepository::lease(&*store, given::at(0), given::WINDOW, 10).await.unwrap();
    assert_eq!(leased.into_iter().map(|mail| mail.sealed).collect::<Vec<_>>(), [added.sealed]);
    let (second, notice) = (given::factor(alice, 1), unstorable());
    let refused = FactorRepository::add(&*store, &second, 1, None, Some(&notice)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(FactorRepository::of_identity(&*store, alice).await.unwrap(), [factor]);
}

/// Of a factor that is removed; of one that stays, or was not there, none.
pub async fn the_notice_of_a_factor_is_queued_when_it_is_removed(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = given::registered(&*store, given::identity("alice")).await.id;
    let factor = given::factor(alice, 0);
    FactorRepository::add(&*store, &factor, 1, None, None).await.unwrap();
    let refused = FactorRepository::remove(&*store, alice, factor.id, None, Some(&unstorable())).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    let [stale, removed, missing]: [QueuedMail; 3] = array::from_fn(|_| given::mail(0));
    for (revision, notice, expected, mails) in [
        (Some(2), &stale, Removed::Stale, BTreeSet::new()),
        (Some(1), &removed, Removed::Done, BTreeSet::from([removed.id])),
        (None, &missing, Removed::Missing, BTreeSet::from([removed.id])),
    ] {
        let outcome = FactorRepository::remove(&*other, alice, factor.id, revision, Some(notice)).await;
        assert_eq!(outcome.unwrap(), expected);
        assert_eq!(queued(&*store).await, mails);
    }
}

/// Of recovery codes that are made anew; of those that are not, none.
pub async fn the_notice_of_new_recovery_codes_is_queued_with_them(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = given::registered(&*store, given::identity("alice")).await.id;
    let codes = || given::recovery_codes(&[[1; 32]]);
    let refused = store.replace_recovery_codes(alice, 1, codes(), Some(&unstorable())).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    let [stale, made]: [QueuedMail; 2] = array::from_fn(|_| given::mail(0));
    for (revision, notice, expected, mails) in
        [(2, &stale, false, BTreeSet::new()), (1, &made, true, BTreeSet::from([made.id]))]
    {
        let outcome = other.replace_recovery_codes(alice, revision, codes(), Some(notice)).await;
        assert_eq!(outcome.unwrap(), expected);
        assert_eq!(queued(&*store).await, mails);
    }
}

/// Of a recovery code that is spent, once; of one that is not there, none.
pub async fn the_notice_of_a_spent_recovery_code_is_queued_with_it(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = given::registered(&*store, given::identity("alice")).await.id;
    let codes = given::recovery_codes(&[[1; 32], [2; 32]]);
    assert!(store.replace_recovery_codes(alice, 1, codes, None).await.unwrap());
    let refused = store.spend_recovery_code(alice, &[1; 32], Some(&unstorable())).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    let [missing, spent, again]: [QueuedMail; 3] = array::from_fn(|_| given::mail(0));
    for (code, notice, expected, mails) in [
        ([3; 32], &missing, false, BTreeSet::new()),
        ([1; 32], &spent, true, BTreeSet::from([spent.id])),
        ([1; 32], &again, false, BTreeSet::from([spent.id])),
    ] {
        let outcome = other.spend_recovery_code(alice, &code, Some(notice)).await;
        assert_eq!(outcome.unwrap(), expected);
        assert_eq!(queued(&*store).await, mails);
    }
    assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 1);
}

/// Of an identity that is deleted; of one that stays, or was not there, none.
pub async fn the_notice_of_a_deletion_is_queued_with_it(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = given::registered(&*store, given::identity("alice")).await.id;
    let (now, until) = (given::at(20), given::at(9000));
    let refused = IdentityDirectory::delete(&*store, alice, None, now, until, Some(&unstorable())).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    let [stale, deleted, missing]: [QueuedMail; 3] = array::from_fn(|_| given::mail(0));
    for (revision, notice, expected, mails) in [
        (Some(2), &stale, Removed::Stale, BTreeSet::new()),
        (Some(1), &deleted, Removed::Done, BTreeSet::from([deleted.id])),
        (None, &missing, Removed::Missing, BTreeSet::from([deleted.id])),
    ] {
        let outcome = IdentityDirectory::delete(&*other, alice, revision, now, until, Some(notice)).await;
        assert_eq!(outcome.unwrap(), expected);
        assert_eq!(queued(&*store).await, mails);
    }
}
