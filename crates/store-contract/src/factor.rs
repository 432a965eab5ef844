//! Second factors and recovery codes: nothing is used twice.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use std::collections::BTreeMap;

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::factor::{
    AddedFactor, Factor, FactorKind, FactorRepository, FactorUse, HashedRecoveryCodes, MAX_FACTORS,
    WeakerSessions, WithFirst,
};
use sluice_identity::identity::{IdentityDirectory, IdentityRepository, Removed};
use sluice_identity::session::{IdentitySession, IdentitySessionRepository};
use sluice_primitives::IdentityId;
use sluice_token::{Marker, Target};

use crate::{Fixture, given};

const CODES: [[u8; 32]; 3] = [[1; 32], [2; 32], [3; 32]];

async fn somebody(store: &impl IdentityRepository, name: &str) -> IdentityId {
    given::registered(store, given::identity(name)).await.id
}

/// Adds a factor that there must be room for.
async fn added(store: &impl FactorRepository, factor: Factor) -> Factor {
    assert_eq!(store.add(&factor, 1, None, None).await.unwrap(), AddedFactor::Added);
    factor
}

async fn list(store: &impl FactorRepository, identity: IdentityId) -> Vec<Factor> {
    store.of_identity(identity).await.unwrap()
}

/// A use of the factor as it was looked at.
fn use_of(factor: &Factor, now: i64) -> FactorUse {
    FactorUse {
        identity: factor.identity,
        id: factor.id,
        old_counter: factor.counter,
        new_counter: factor.counter + 3,
        sealed: None,
        now: given::at(now),
    }
}

/// The factors of a person are listed as they were added, the oldest first.
pub async fn factors_are_listed_oldest_first(fixture: &impl Fixture) {
    let store = fixture.store();
    let (alice, bob) = (somebody(&*store, "alice").await, somebody(&*store, "bob").await);
    let bobs = added(&*store, given::factor(bob, 2)).await;
    let passkey = Factor {
        kind: FactorKind::Passkey,
        name: "Schlüssel".to_owned(),
        last_used_at: Some(given::at(4)),
        counter: i64::MAX,
        ..given::factor(alice, 3)
    };
    let passkey = added(&*store, passkey).await;
    let totp = added(&*store, given::factor(alice, 1)).await;
    // Whose enrolment began before those of the others, and ended after them.
    let slow = Factor { created_at: given::at(5), ..given::factor(alice, 0) };
    let slow = added(&*store, slow).await;
    let reader = fixture.second_node().await;
    assert_eq!(list(&*reader, alice).await, [totp, passkey, slow]);
    assert_eq!(list(&*reader, bob).await, [bobs]);
    assert_eq!(list(&*reader, given::identity_id()).await, []);
}

/// A retry adds no second factor, also where there is no room for one.
pub async fn a_factor_is_added_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = somebody(&*store, "alice").await;
    let mut all = Vec::new();
    for number in 0..i64::from(MAX_FACTORS) {
        all.push(added(&*store, given::factor(alice, number)).await);
    }
    let last = all.last().unwrap();
    assert_eq!(fixture.second_node().await.add(last, 1, None, None).await.unwrap(), AddedFactor::Added);
    assert_eq!(list(&*store, alice).await, all);
}

/// A person has so many factors at most; one that is refused brings no recovery codes.
pub async fn the_number_of_factors_is_limited(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let alice = somebody(&*nodes[0], "alice").await;
    let limit = usize::try_from(MAX_FACTORS).unwrap();
    let factors: Vec<_> = (0..).map(|number| given::factor(alice, number)).take(limit + 12).collect();
    let (first, rest) = factors.split_at(limit - 4);
    for factor in first {
        added(&*nodes[0], factor.clone()).await;
    }
    let adding = rest.iter().enumerate().map(|(place, factor)| nodes[place % 2].add(factor, 1, None, None));
    let outcomes: Vec<_> = join_all(adding).await.into_iter().map(Result::unwrap).collect();
    let told = |outcome| outcomes.iter().filter(|told| **told == outcome).count();
    assert_eq!((told(AddedFactor::Added), told(AddedFactor::TooMany)), (4, 12));
    assert_eq!(list(&*nodes[1], alice).await.len(), limit);
    let one_more = given::factor(alice, 100);
    assert_eq!(
        nodes[0].add(&one_more, 1, Some(given::with_first(&CODES)), None).await.unwrap(),
        AddedFactor::TooMany
    );
    assert_eq!(nodes[0].recovery_codes_left(alice).await.unwrap(), 0);
    let bob = somebody(&*nodes[0], "bob").await;
    added(&*nodes[0], given::factor(bob, 0)).await;
}

/// Nobody has no factors.
pub async fn a_factor_of_nobody_is_not_added(fixture: &impl Fixture) {
    let store = fixture.store();
    let nobody = given::identity_id();
    let outcome =
        store.add(&given::factor(nobody, 0), 1, Some(given::with_first(&CODES)), None).await.unwrap();
    assert_eq!(outcome, AddedFactor::Unknown);
    assert_eq!(list(&*store, nobody).await, []);
    assert_eq!(store.recovery_codes_left(nobody).await.unwrap(), 0);
}

/// Whoever looked at a record before its password was changed adds nothing to it after.
pub async fn a_factor_of_another_record_than_was_looked_at_is_not_added(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = somebody(&*store, "alice").await;
    let outcome =
        store.add(&given::factor(alice, 0), 2, Some(given::with_first(&CODES)), None).await.unwrap();
    assert_eq!(outcome, AddedFactor::Unknown);
    assert_eq!(list(&*store, alice).await, []);
    assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 0);
    let factor = added(&*store, given::factor(alice, 0)).await;
    assert_eq!(
        store.add(&factor, 2, Some(given::with_first(&CODES)), None).await.unwrap(),
        AddedFactor::Added,
        "twice is once"
    );
    assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 0);
}

/// A use raises the counter, says when, and keeps what it brings; nothing else changes.
pub async fn a_use_of_a_factor_raises_its_counter(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = somebody(&*store, "alice").await;
    let factor = added(&*store, given::factor(alice, 0)).await;
    let other = added(&*store, given::factor(alice, 1)).await;
    assert!(store.use_once(&use_of(&factor, 20)).await.unwrap());
    let used = Factor { counter: 10, last_used_at: Some(given::at(20)), ..factor };
    assert_eq!(list(&*store, alice).await, [used.clone(), other.clone()]);
    let sealed = "another sealed secret".to_owned();
    assert!(store.use_once(&FactorUse { sealed: Some(sealed.clone()), ..use_of(&used, 30) }).await.unwrap());
    let used = Factor { counter: 13, last_used_at: Some(given::at(30)), sealed, ..used };
    assert_eq!(list(&*fixture.second_node().await, alice).await, [used, other]);
}

/// Of uses that looked at one counter, one counts.
pub async fn concurrent_uses_of_a_factor_have_one_winner(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let alice = somebody(&*nodes[0], "alice").await;
    let factor = added(&*nodes[0], given::factor(alice, 0)).await;
    let once = use_of(&factor, 20);
    let uses = join_all((0..16).map(|place| nodes[place % 2].use_once(&once))).await;
    assert_eq!(uses.into_iter().filter(|used| *used.as_ref().unwrap()).count(), 1);
    assert_eq!(list(&*nodes[0], alice).await[0].counter, 10);
}

/// A factor is used by its person only, and only if it is there.
pub async fn a_factor_of_another_is_not_used(fixture: &impl Fixture) {
    let store = fixture.store();
    let (alice, bob) = (somebody(&*store, "alice").await, somebody(&*store, "bob").await);
    let factor = added(&*store, given::factor(alice, 0)).await;
    assert!(!store.use_once(&FactorUse { identity: bob, ..use_of(&factor, 20) }).await.unwrap());
    assert!(!store.use_once(&use_of(&given::factor(alice, 1), 20)).await.unwrap());
    assert!(!store.rename(bob, factor.id, "Mallory's").await.unwrap());
    assert_eq!(store.remove(bob, factor.id, None, None).await.unwrap(), Removed::Missing);
    assert_eq!(list(&*store, alice).await, [factor]);
}

/// A factor has the name that was given last.
pub async fn a_factor_is_renamed(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = somebody(&*store, "alice").await;
    let factor = added(&*store, given::factor(alice, 0)).await;
    let other = added(&*store, given::factor(alice, 1)).await;
    assert!(store.rename(alice, factor.id, "Tablet").await.unwrap());
    let renamed = Factor { name: "Tablet".to_owned(), ..factor };
    assert_eq!(list(&*store, alice).await, [renamed, other]);
}

/// With the last factor the recovery codes go, and not before.
pub async fn the_recovery_codes_go_with_the_last_factor(fixture: &impl Fixture) {
    let store = fixture.store();
    let (alice, bob) = (somebody(&*store, "alice").await, somebody(&*store, "bob").await);
    let first = given::factor(alice, 0);
    for factor in [&first, &given::factor(bob, 0)] {
        assert_eq!(
            store.add(factor, 1, Some(given::with_first(&CODES)), None).await.unwrap(),
            AddedFactor::AddedWithCodes
        );
    }
    let second = added(&*store, given::factor(alice, 1)).await;
    assert_eq!(store.remove(alice, first.id, Some(1), None).await.unwrap(), Removed::Done);
    assert_eq!(store.remove(alice, first.id, Some(2), None).await.unwrap(), Removed::Missing);
    assert_eq!(
        (list(&*store, alice).await, store.recovery_codes_left(alice).await.unwrap()),
        (vec![second.clone()], 3)
    );
    let removed = fixture.second_node().await.remove(alice, second.id, None, None).await.unwrap();
    assert_eq!(removed, Removed::Done);
    assert_eq!((list(&*store, alice).await, store.recovery_codes_left(alice).await.unwrap()), (vec![], 0));
    assert_eq!(store.recovery_codes_left(bob).await.unwrap(), 3);
}

/// Whoever began to add a factor before another was taken away, or before recovery codes were replaced, does not end after it:
/// neither the factor nor its codes come back.
pub async fn what_is_taken_away_does_not_come_back(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = somebody(&*store, "alice").await;
    let revision = async || given::person(&*store, alice).await.revision;
    let factor = given::factor(alice, 0);
    let add = async |revision: i64| {
        other.add(&factor, revision, Some(given::with_first(&CODES)), None).await.unwrap()
    };
    for (began_at, by) in [(1, Some(1)), (2, None)] {
        assert_eq!(add(began_at).await, AddedFactor::AddedWithCodes);
        assert_eq!(revision().await, began_at, "who adds a factor may go on with what was begun");
        assert_eq!(store.remove(alice, factor.id, by, None).await.unwrap(), Removed::Done);
        assert_eq!(revision().await, began_at + 1);
        assert_eq!(add(began_at).await, AddedFactor::Unknown);
        assert_eq!(list(&*store, alice).await, []);
        assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 0);
    }
    assert_eq!(store.remove(alice, factor.id, None, None).await.unwrap(), Removed::Missing);
    assert_eq!(revision().await, 3, "nothing was taken away");
    assert_eq!(add(3).await, AddedFactor::AddedWithCodes);
    assert!(store.replace_recovery_codes(alice, 3, given::recovery_codes(&[[4; 32]]), None).await.unwrap());
    assert_eq!(revision().await, 4);
    let second = other.add(&given::factor(alice, 1), 3, Some(given::with_first(&CODES)), None).await.unwrap();
    assert_eq!(second, AddedFactor::Unknown);
    assert_eq!((list(&*store, alice).await.len(), store.recovery_codes_left(alice).await.unwrap()), (1, 1));
}

/// New recovery codes take the place of all former ones; without new ones the former stay.
pub async fn recovery_codes_are_replaced_together(fixture: &impl Fixture) {
    let store = fixture.store();
    let (alice, bob) = (somebody(&*store, "alice").await, somebody(&*store, "bob").await);
    store.add(&given::factor(alice, 0), 1, Some(given::with_first(&CODES)), None).await.unwrap();
    store.add(&given::factor(bob, 0), 1, Some(given::with_first(&CODES)), None).await.unwrap();
    added(&*store, given::factor(alice, 1)).await;
    assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 3);
    assert!(
        store
            .replace_recovery_codes(alice, 1, given::recovery_codes(&[CODES[2], [4; 32]]), None)
            .await
            .unwrap()
    );
    assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 2);
    assert!(!store.spend_recovery_code(alice, &CODES[0], None).await.unwrap());
    assert!(store.spend_recovery_code(alice, &CODES[2], None).await.unwrap());
    assert!(store.spend_recovery_code(alice, &[4; 32], None).await.unwrap());
    assert_eq!(store.recovery_codes_left(bob).await.unwrap(), 3);
}

/// Recovery codes come with the first factor and with no other, also where each of two was taken for the first.
pub async fn only_the_first_factor_brings_recovery_codes(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    for round in 0..8 {
        let person = somebody(&*nodes[0], &format!("person-{round}")).await;
        let factors = [given::factor(person, 0), given::factor(person, 1)];
        let codes = [[given::random_hash()], [given::random_hash()]];
        let (one, other) = tokio::join!(
            nodes[0].add(&factors[0], 1, Some(given::with_first(&codes[0])), None),
            nodes[1].add(&factors[1], 1, Some(given::with_first(&codes[1])), None),
        );
        let outcomes = [one.unwrap(), other.unwrap()];
        let first = outcomes.iter().position(|told| *told == AddedFactor::AddedWithCodes).unwrap();
        assert_eq!(outcomes[1 - first], AddedFactor::Added);
        assert_eq!(list(&*nodes[1], person).await, factors);
        assert!(!nodes[0].spend_recovery_code(person, &codes[1 - first][0], None).await.unwrap());
        assert!(nodes[0].spend_recovery_code(person, &codes[first][0], None).await.unwrap());
    }
}

/// A session that was begun at second `begun`, in these ways.
async fn session(
    store: &impl IdentitySessionRepository,
    (identity, begun): (IdentityId, i64),
    amr: &[&str],
) -> IdentitySession {
    let amr = amr.iter().map(|method| (*method).to_owned()).collect();
    let session = IdentitySession { amr, ..given::identity_session(identity, begun) };
    assert!(IdentitySessionRepository::begin(store, &session, given::at(9000)).await.unwrap());
    session
}

/// With the first factor the sessions of its person end, with their markers, that showed none, but the one it is enrolled in. No
/// other factor ends any, nor does one that is not added.
pub async fn the_first_factor_ends_the_sessions_that_showed_none(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (alice, bob) = (somebody(&*store, "alice").await, somebody(&*store, "bob").await);
    let kept = session(&*store, (alice, 1), &["pwd"]).await;
    let weaker = [
        session(&*store, (alice, 2), &["pwd"]).await,
        session(&*store, (alice, 3), &[]).await,
        session(&*store, (alice, 4), &["pwd", "x\"mfa\"y", "mfa-like"]).await,
    ];
    let stronger = session(&*store, (alice, 5), &["hwk", "user", "mfa"]).await;
    let bobs = session(&*store, (bob, 6), &["pwd"]).await;
    let ends = WeakerSessions { keep: kept.id, now: given::at(20), marker_expires_at: given::at(9000) };
    let first = Some(WithFirst { ends: Some(ends), ..given::with_first(&CODES) });
    let factor = given::factor(alice, 0);
    assert_eq!(other.add(&factor, 2, first, None).await.unwrap(), AddedFactor::Unknown);
    assert!(given::has_session(&*store, &weaker[0]).await);
    assert_eq!(given::markers(&*store).await, []);
    assert_eq!(other.add(&factor, 1, first, None).await.unwrap(), AddedFactor::AddedWithCodes);
    for session in [&kept, &stronger, &bobs] {
        assert!(given::has_session(&*store, session).await, "{:?}", session.amr);
    }
    for session in &weaker {
        assert!(!given::has_session(&*store, session).await, "{:?}", session.amr);
    }
    let markers = given::markers(&*store).await;
    assert_eq!(markers.len(), weaker.len(), "{markers:?}");
    for session in &weaker {
        let (target, at) = (Target::Session(session.id), given::at(20));
        assert!(markers.contains(&Marker { target, at, expires_at: given::at(9000) }), "{markers:?}");
    }
    let late = session(&*store, (alice, 30), &["pwd"]).await;
    assert_eq!(other.add(&factor, 1, first, None).await.unwrap(), AddedFactor::AddedWithCodes, "a retry");
    let second = Some(WithFirst { ends: Some(ends), ..given::with_first(&[[7; 32]]) });
    assert_eq!(store.add(&given::factor(alice, 1), 1, second, None).await.unwrap(), AddedFactor::Added);
    assert!(given::has_session(&*store, &late).await);
    assert_eq!(given::markers(&*store).await.len(), weaker.len());
}

/// Codes that come with a factor which is to be the first.
const fn only_first(hashes: &[[u8; 32]]) -> WithFirst<'_> {
    WithFirst { only: true, ..given::with_first(hashes) }
}

/// A factor that a login waits for is added as long as there is none, and once; who has one is given no other by it.
pub async fn a_factor_that_is_to_be_the_first_is_added_to_no_other(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (alice, bob) = (somebody(&*store, "alice").await, somebody(&*store, "bob").await);
    let first = given::factor(alice, 0);
    for node in [&store, &other] {
        let told = node.add(&first, 1, Some(only_first(&CODES)), None).await.unwrap();
        assert_eq!(told, AddedFactor::AddedWithCodes);
    }
    let late = Factor { sealed: "sealed once more".to_owned(), ..first.clone() };
    let told = other.add(&late, 1, Some(only_first(&CODES)), None).await.unwrap();
    assert_eq!(told, AddedFactor::PresentWithCodes, "answered once more");
    let second = given::factor(alice, 1);
    let told = other.add(&second, 1, Some(only_first(&[[7; 32]])), None).await.unwrap();
    assert_eq!(told, AddedFactor::TooMany);
    assert_eq!(list(&*store, alice).await, [first]);
    assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 3);
    let bobs = added(&*store, given::factor(bob, 0)).await;
    let told = store.add(&given::factor(bob, 1), 1, Some(only_first(&CODES)), None).await.unwrap();
    assert_eq!(told, AddedFactor::TooMany);
    assert_eq!(list(&*other, bob).await, [bobs]);
}

/// Of two logins that wait for a first factor one gets it.
pub async fn of_factors_that_are_each_to_be_the_first_one_is_added(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let alice = somebody(&*nodes[0], "alice").await;
    let factors: Vec<_> = (0..8).map(|number| given::factor(alice, number)).collect();
    let first = Some(only_first(&CODES));
    let adding =
        factors.iter().enumerate().map(|(place, factor)| nodes[place % 2].add(factor, 1, first, None));
    let outcomes: Vec<_> = join_all(adding).await.into_iter().map(Result::unwrap).collect();
    let told = |outcome| outcomes.iter().filter(|told| **told == outcome).count();
    assert_eq!((told(AddedFactor::AddedWithCodes), told(AddedFactor::TooMany)), (1, 7), "{outcomes:?}");
    assert_eq!(list(&*nodes[1], alice).await.len(), 1);
}

/// That somebody must have a factor is noted of a person, changes nothing else of the record, and goes with it.
pub async fn a_person_must_have_a_factor_if_that_was_noted(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (alice, bob) = (somebody(&*store, "alice").await, somebody(&*store, "bob").await);
    let before = IdentityRepository::find(&*store, alice).await.unwrap();
    assert!(!store.is_required(alice).await.unwrap());
    for _ in 0..2 {
        assert!(store.require(alice, true).await.unwrap());
        assert!(other.is_required(alice).await.unwrap());
    }
    assert!(!other.is_required(bob).await.unwrap());
    assert_eq!(IdentityRepository::find(&*store, alice).await.unwrap(), before);
    assert!(other.require(alice, false).await.unwrap());
    assert!(!store.is_required(alice).await.unwrap());
    let nobody = given::identity_id();
    assert!(!store.require(nobody, true).await.unwrap());
    assert!(!store.is_required(nobody).await.unwrap());
    assert!(store.require(bob, true).await.unwrap());
    let deleted = IdentityDirectory::delete(&*store, bob, None, given::at(20), given::at(9000), None).await;
    assert_eq!(deleted.unwrap(), Removed::Done);
    assert!(!other.is_required(bob).await.unwrap());
}

/// A retry is told of its codes as long as one of them is there: of none that was replaced, and of none that never was.
pub async fn a_factor_added_again_tells_whether_its_codes_are_there(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = somebody(&*store, "alice").await;
    let (first, second) = (given::factor(alice, 0), given::factor(alice, 1));
    let seconds = [[7; 32]];
    let add_first = async || other.add(&first, 1, Some(given::with_first(&CODES)), None).await.unwrap();
    assert_eq!(add_first().await, AddedFactor::AddedWithCodes);
    assert_eq!(
        store.add(&second, 1, Some(given::with_first(&seconds)), None).await.unwrap(),
        AddedFactor::Added
    );
    assert!(store.spend_recovery_code(alice, &CODES[0], None).await.unwrap());
    assert_eq!(add_first().await, AddedFactor::AddedWithCodes);
    assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 2, "a spent code stays spent");
    assert_eq!(
        store.add(&second, 1, Some(given::with_first(&seconds)), None).await.unwrap(),
        AddedFactor::Added
    );
    assert!(store.replace_recovery_codes(alice, 1, given::recovery_codes(&[[4; 32]]), None).await.unwrap());
    assert_eq!(add_first().await, AddedFactor::Added);
    assert_eq!(store.recovery_codes_left(alice).await.unwrap(), 1);
}

/// Another call with the same id, were it at the same time, hears that the factor is there, of its codes the same as ever, and changes nothing of it.
pub async fn a_factor_that_an_earlier_call_added_is_told_to_be_there(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = somebody(&*store, "alice").await;
    let first = given::factor(alice, 0);
    let later = Factor { sealed: "sealed once more".to_owned(), ..first.clone() };
    let codes = || Some(given::with_first(&CODES));
    assert_eq!(store.add(&first, 1, codes(), None).await.unwrap(), AddedFactor::AddedWithCodes);
    assert_eq!(other.add(&later, 1, codes(), None).await.unwrap(), AddedFactor::PresentWithCodes);
    assert_eq!(other.add(&first, 1, codes(), None).await.unwrap(), AddedFactor::AddedWithCodes, "a retry");
    assert_eq!(other.add(&later, 1, None, None).await.unwrap(), AddedFactor::Present);
    let second = added(&*store, given::factor(alice, 1)).await;
    let later = Factor { sealed: "sealed once more".to_owned(), ..second.clone() };
    assert_eq!(
        other.add(&later, 1, Some(given::with_first(&[[7; 32]])), None).await.unwrap(),
        AddedFactor::Present
    );
    assert_eq!(list(&*store, alice).await, [first, second]);
}

/// Of 16 who spend one recovery code on two nodes, one does.
pub async fn a_recovery_code_is_spent_once(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let (alice, bob) = (somebody(&*nodes[0], "alice").await, somebody(&*nodes[0], "bob").await);
    nodes[0].add(&given::factor(alice, 0), 1, Some(given::with_first(&CODES)), None).await.unwrap();
    assert!(!nodes[0].spend_recovery_code(bob, &CODES[0], None).await.unwrap());
    let spent =
        join_all((0..16).map(|place| nodes[place % 2].spend_recovery_code(alice, &CODES[0], None))).await;
    assert_eq!(spent.into_iter().filter(|spent| *spent.as_ref().unwrap()).count(), 1);
    assert_eq!(nodes[1].recovery_codes_left(alice).await.unwrap(), 2);
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_factor_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = somebody(&*store, "alice").await;
    let factor = added(&*store, given::factor(alice, 0)).await;
    let bad = "with \0 inside";
    let sealed = Some(bad.to_owned());
    let refusals = [
        store.add(&Factor { name: bad.to_owned(), ..given::factor(alice, 1) }, 1, None, None).await.map(drop),
        store.use_once(&FactorUse { sealed, ..use_of(&factor, 20) }).await.map(drop),
        store.rename(alice, factor.id, bad).await.map(drop),
    ];
    assert!(refusals.iter().all(|refusal| matches!(refusal, Err(StoreError::Invalid(_)))), "{refusals:?}");
    assert_eq!(list(&*store, alice).await, [factor]);
}

/// The factors of everybody are found, in pages.
pub async fn all_factors_are_listed_by_person_in_pages(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut all = Vec::new();
    for name in ["alice", "bob"] {
        let person = somebody(&*store, name).await;
        for number in 0..2 {
            all.push(added(&*store, given::factor(person, number)).await);
        }
    }
    all.sort_unstable_by_key(|factor| (factor.identity, factor.id));
    let reader = fixture.second_node().await;
    let after = |factor: &Factor| Some((factor.identity, factor.id));
    assert_eq!(reader.all_factors(None, 3).await.unwrap(), all[..3]);
    assert_eq!(reader.all_factors(after(&all[2]), 3).await.unwrap(), all[3..]);
    assert_eq!(reader.all_factors(after(&all[3]), 3).await.unwrap(), []);
}

/// What is sealed of a factor is replaced if it is still the same, and nothing else of it.
pub async fn a_factor_is_sealed_again_if_it_is_unchanged(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = somebody(&*store, "alice").await;
    let factor = added(&*store, given::factor(alice, 1)).await;
    let changed = Factor { sealed: "another".to_owned(), ..factor.clone() };
    let strange = Factor { identity: given::identity_id(), ..factor.clone() };
    assert!(!other.reseal_factor(&changed, "new").await.unwrap());
    assert!(!other.reseal_factor(&strange, "new").await.unwrap());
    assert!(other.reseal_factor(&factor, "new").await.unwrap());
    assert!(!other.reseal_factor(&factor, "newer").await.unwrap());
    let resealed = Factor { sealed: "new".to_owned(), ..factor };
    let refused = other.reseal_factor(&resealed, "with \0 inside").await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(list(&*store, alice).await, [resealed]);
}

/// The unspent recovery codes of all are counted by the key that made their hashes, however they came.
pub async fn all_recovery_codes_are_counted_by_their_keys(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(store.all_recovery_codes_left().await.unwrap(), BTreeMap::new());
    for (name, key) in [("alice", 0), ("bob", 255), ("carol", 255)] {
        let person = somebody(&*store, name).await;
        let codes = HashedRecoveryCodes { key, hashes: &CODES };
        assert!(store.replace_recovery_codes(person, 1, codes, None).await.unwrap());
        assert!(store.spend_recovery_code(person, &CODES[0], None).await.unwrap());
    }
    let dave = somebody(&*store, "dave").await;
    let first = WithFirst { codes: HashedRecoveryCodes { key: 8, hashes: &CODES }, ends: None, only: false };
    let added = store.add(&given::factor(dave, 0), 1, Some(first), None).await.unwrap();
    assert_eq!(added, AddedFactor::AddedWithCodes);
    let counted = fixture.second_node().await.all_recovery_codes_left().await.unwrap();
    assert_eq!(counted, BTreeMap::from([(Some(0), 2), (Some(8), 3), (Some(255), 4)]));
}

/// However many there are, and whoever has most of them.
pub async fn more_recovery_codes_than_are_looked_at_at_once_are_counted(fixture: &impl Fixture) {
    let store = fixture.store();
    for (name, key) in [("alice", 0), ("bob", 8), ("carol", 8)] {
        let person = somebody(&*store, name).await;
        let hashes: Vec<[u8; 32]> = (0..4_000).map(|_| given::random_hash()).collect();
        let codes = HashedRecoveryCodes { key, hashes: &hashes };
        assert!(store.replace_recovery_codes(person, 1, codes, None).await.unwrap());
        for hash in &hashes[..3] {
            assert!(store.spend_recovery_code(person, hash, None).await.unwrap());
        }
    }
    let counted = store.all_recovery_codes_left().await.unwrap();
    assert_eq!(counted, BTreeMap::from([(Some(0), 3_997), (Some(8), 2 * 3_997)]));
}
