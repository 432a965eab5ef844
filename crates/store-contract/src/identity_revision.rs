//! The revision of an identity: raised by what a proof rests on, and by nothing that an access token can change.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use futures_util::future::join_all;
use sluice_identity::factor::FactorRepository;
use sluice_identity::identity::{
    Changed, EndsSessions, IdentityChange, IdentityDirectory, IdentityStatus, NewCredential, Removed,
};

use crate::{Fixture, given};

/// Names a field of a change.
type Demand = fn(&mut IdentityChange);

/// Credential, address, status, the loss of factors and a revocation raise the revision; names, the verification of the
/// address, the end of sessions and mails leave it.
pub async fn what_a_proof_rests_on_raises_the_revision(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut alice = given::registered(&*store, given::identity("alice")).await;
    let leave: [Demand; 5] = [
        |_| (),
        |change| change.username = Some("Other".to_owned()),
        |change| change.email_verified_at = Some(Some(given::at(5))),
        |change| change.ends_sessions = EndsSessions::All,
        |change| change.mails = vec![given::mail(10)],
    ];
    let raise: [Demand; 5] = [
        |change| change.status = Some(IdentityStatus::Active),
        |change| change.email = given::new_email("alice"),
        |change| change.forgets_factors = true,
        |change| change.revokes = true,
        |change| {
            change.credential =
                Some(NewCredential { stored: "$argon2id$second".to_owned(), hardening: false });
        },
    ];
    let demands = leave.map(|demand| (demand, 0)).into_iter().chain(raise.map(|demand| (demand, 1)));
    for (now, (demand, raised)) in (10..).zip(demands) {
        let mut change = given::change(&alice, now);
        demand(&mut change);
        let changed = given::changed(&*store, &change).await;
        assert_eq!(changed.revision - alice.revision, raised, "{change:?}");
        assert_eq!((changed.updated_at, changed.attempt), (given::at(now), change.attempt));
        alice = changed;
    }
}

/// Changes that raise no revision do not get in each other's way, nor in that of one that does.
pub async fn changes_that_raise_no_revision_stop_nobody(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = given::registered(&*store, given::identity("alice")).await;
    let rename = |number: i64| IdentityChange {
        username: Some(format!("name-{number}")),
        ..given::change(&alice, 20 + number)
    };
    let renames: Vec<_> = (0..16).map(rename).collect();
    let made = join_all(renames.iter().map(|change| other.change(change))).await;
    assert!(made.into_iter().all(|outcome| outcome.unwrap() == Changed::Done));
    let credential = NewCredential { stored: "$argon2id$second".to_owned(), hardening: false };
    let password =
        IdentityChange { credential: Some(credential), revokes: true, ..given::change(&alice, 40) };
    assert_eq!(given::changed(&*store, &password).await.revision, alice.revision + 1);
    assert_eq!(
        other.change(&rename(30)).await.unwrap(),
        Changed::Stale,
        "nothing is based on what was before"
    );
}

/// A change that raises no revision finds its own work too, and repeats nothing of it.
pub async fn a_small_change_retried_by_its_own_attempt_is_made_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let change = IdentityChange { ends_sessions: EndsSessions::All, ..given::change(&alice, 20) };
    let changed = given::changed(&*store, &change).await;
    let session = given::begun(&*store, alice.id, 21).await;
    assert_eq!(fixture.second_node().await.change(&change).await.unwrap(), Changed::Done);
    assert_eq!(given::person(&*store, alice.id).await, changed);
    assert!(given::has_session(&*store, &session).await, "it was begun after the change");
}

/// Whoever looked at a record before it was changed takes nothing away after: no factor, no recovery code, not the record.
pub async fn what_was_looked_at_before_a_change_is_not_removed_after(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = given::registered(&*store, given::identity("alice")).await;
    let factor = given::factor(alice.id, 0);
    store.add(&factor, alice.revision, Some(given::with_first(&[[1; 32]])), None).await.unwrap();
    let present =
        given::changed(&*store, &IdentityChange { revokes: true, ..given::change(&alice, 20) }).await;
    let markers = given::markers(&*store).await;
    let looked_at = Some(alice.revision);
    assert_eq!(other.remove(alice.id, factor.id, looked_at, None).await.unwrap(), Removed::Stale);
    assert!(
        !other
            .replace_recovery_codes(alice.id, alice.revision, given::recovery_codes(&[[2; 32]]), None)
            .await
            .unwrap()
    );
    let deleted = other.delete(alice.id, looked_at, given::at(30), given::at(9000), None).await.unwrap();
    assert_eq!(deleted, Removed::Stale);
    assert_eq!(given::person(&*store, alice.id).await, present);
    assert_eq!(store.of_identity(alice.id).await.unwrap(), [factor]);
    assert!(store.spend_recovery_code(alice.id, &[1; 32], None).await.unwrap());
    assert_eq!(given::markers(&*store).await, markers);
}

/// Whoever looked at a record as it is does; of one that is gone there is nothing to take away.
pub async fn what_was_looked_at_as_it_is_is_removed(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let alice = given::changed(&*store, &IdentityChange { revokes: true, ..given::change(&alice, 20) }).await;
    let factors = [given::factor(alice.id, 0), given::factor(alice.id, 1)];
    for factor in &factors {
        store.add(factor, alice.revision, None, None).await.unwrap();
    }
    let [one, other] = factors.map(|factor| factor.id);
    assert!(
        store
            .replace_recovery_codes(alice.id, alice.revision, given::recovery_codes(&[[2; 32]]), None)
            .await
            .unwrap()
    );
    assert_eq!(store.recovery_codes_left(alice.id).await.unwrap(), 1);
    let after_codes = Some(alice.revision + 1);
    assert_eq!(store.remove(alice.id, one, after_codes, None).await.unwrap(), Removed::Done);
    assert_eq!(store.remove(alice.id, one, after_codes, None).await.unwrap(), Removed::Stale);
    let looked_at = Some(alice.revision + 2);
    assert_eq!(store.remove(alice.id, one, looked_at, None).await.unwrap(), Removed::Missing);
    let delete = || store.delete(alice.id, looked_at, given::at(30), given::at(9000), None);
    assert_eq!(delete().await.unwrap(), Removed::Done);
    assert_eq!(delete().await.unwrap(), Removed::Missing);
    assert_eq!(store.remove(alice.id, other, looked_at, None).await.unwrap(), Removed::Missing);
    assert!(
        !store
            .replace_recovery_codes(alice.id, alice.revision, given::recovery_codes(&[[3; 32]]), None)
            .await
            .unwrap()
    );
}
