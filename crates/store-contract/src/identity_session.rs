//! Sessions of the identity service: one living refresh token each, and whoever uses an older one ends it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::identity::{IdentityChange, IdentityDirectory, IdentityStatus};
use sluice_identity::session::{IdentitySession, IdentitySessionRepository, Rotation, SessionRotation};
use sluice_primitives::{IdentityId, Lifetime, SessionId};
use sluice_token::{Marker, Target};

use crate::{Fixture, given};

/// A session of a new person that was begun at second 1 and rotated at the given seconds.
async fn chain<S>(store: &S, name: &str, rotations: &[i64]) -> IdentitySession
where
    S: IdentitySessionRepository + IdentityDirectory,
{
    let person = given::registered(store, given::identity(name)).await;
    let mut session = given::begun(store, person.id, 1).await;
    for now in rotations {
        session = rotated(store, &given::session_rotation(session.id, session.generation, *now)).await;
    }
    session
}

async fn rotate(store: &impl IdentitySessionRepository, rotation: &SessionRotation) -> Rotation {
    store.rotate(rotation).await.unwrap()
}

/// Rotates a session that must let itself be rotated.
async fn rotated(store: &impl IdentitySessionRepository, rotation: &SessionRotation) -> IdentitySession {
    match rotate(store, rotation).await {
        Rotation::Rotated(session) => session,
        other => panic!("the session is rotated, not {other:?}"),
    }
}

async fn find(store: &impl IdentitySessionRepository, id: SessionId, now: i64) -> Option<IdentitySession> {
    store.find(id, given::at(now)).await.unwrap()
}

async fn list(
    store: &impl IdentitySessionRepository,
    identity: IdentityId,
    now: i64,
) -> Vec<IdentitySession> {
    store.of_identity(identity, given::at(now)).await.unwrap()
}

async fn end(store: &impl IdentitySessionRepository, id: SessionId, identity: IdentityId) -> bool {
    store.end(id, identity, (given::at(20), given::at(9000))).await.unwrap()
}

/// The session that is found equals the one that was begun, until it expires.
pub async fn an_identity_session_is_found_as_it_was_begun(fixture: &impl Fixture) {
    let session = chain(&*fixture.store(), "alice", &[]).await;
    let reader = fixture.second_node().await;
    assert_eq!(find(&*reader, session.id, 3599).await, Some(session.clone()));
    assert_eq!(find(&*reader, session.id, 3600).await, None);
    assert_eq!(find(&*reader, given::session_id(), 1).await, None);
}

/// A retry begins no second session, and turns none back.
pub async fn an_identity_session_is_begun_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let begun = chain(&*store, "alice", &[]).await;
    let rotated = rotated(&*store, &given::session_rotation(begun.id, 0, 20)).await;
    assert!(fixture.second_node().await.begin(&begun, given::at(9000)).await.unwrap());
    assert_eq!(list(&*store, begun.identity, 20).await, [rotated]);
}

/// A beginning that was lost on its way brings back no session that has ended since.
pub async fn an_identity_session_that_has_ended_is_not_begun_again(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = chain(&*store, "alice", &[]).await;
    assert!(end(&*store, session.id, session.identity).await);
    for node in [store.clone(), fixture.second_node().await] {
        assert!(!node.begin(&session, given::at(9000)).await.unwrap());
        assert_eq!(list(&*node, session.identity, 20).await, []);
    }
    let next = given::begun(&*store, session.identity, 21).await;
    assert_eq!(list(&*store, session.identity, 21).await, [next]);
}

/// The current generation makes the next, soon after the last rotation or long after.
pub async fn the_current_generation_is_rotated(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let begun = chain(&*store, "alice", &[]).await;
    let mut expected = begun;
    for (generation, now) in [(1, 2), (2, 3), (3, 90_000)] {
        let rotation = given::session_rotation(expected.id, generation - 1, now);
        expected = IdentitySession {
            generation,
            rotated_at: given::at(now),
            last_seen_at: given::at(now),
            expires_at: given::at(100_000),
            attempt: rotation.attempt,
            ..expected
        };
        assert_eq!(rotate(&*other, &rotation).await, Rotation::Rotated(expected.clone()));
        assert_eq!(find(&*store, expected.id, now).await.as_ref(), Some(&expected));
    }
    assert_eq!(given::markers(&*store).await, []);
}

/// Two tabs, a lost answer: the generation before gets the current one again, within the window.
pub async fn the_generation_before_gets_the_current_one_within_the_window(fixture: &impl Fixture) {
    let store = fixture.store();
    let current = chain(&*store, "alice", &[90, 100]).await;
    for now in [100, 129] {
        let again = rotate(&*fixture.second_node().await, &given::session_rotation(current.id, 1, now)).await;
        assert_eq!(again, Rotation::Rotated(current.clone()));
    }
    assert_eq!(find(&*store, current.id, 129).await, Some(current));
    assert_eq!(given::markers(&*store).await, []);
}

/// A slow tab whose sibling has already used what both were given gets nothing, within the window, and ends nothing.
pub async fn two_generations_before_gets_nothing_within_the_window(fixture: &impl Fixture) {
    let store = fixture.store();
    let current = chain(&*store, "alice", &[90, 100]).await;
    for now in [100, 129] {
        let stale = rotate(&*fixture.second_node().await, &given::session_rotation(current.id, 0, now)).await;
        assert_eq!(stale, Rotation::Stale);
    }
    assert_eq!(find(&*store, current.id, 129).await, Some(current));
    assert_eq!(given::markers(&*store).await, []);
}

/// After the window these are stolen tokens, and so is any older one at any time: the session ends.
pub async fn an_older_generation_ends_the_session(fixture: &impl Fixture) {
    let store = fixture.store();
    let cases: [(&str, &[i64], i64, i64); 3] = [
        ("before, after the window", &[100], 0, 130),
        ("two before, after the window", &[100, 101], 0, 200),
        ("three before", &[100, 101, 102], 0, 103),
    ];
    for (case, rotations, presented, now) in cases {
        let session = chain(&*store, case, rotations).await;
        let reused = rotate(&*store, &given::session_rotation(session.id, presented, now)).await;
        assert_eq!(reused, Rotation::Reused(session.clone()), "{case}");
        assert_eq!(find(&*store, session.id, now).await, None, "{case}");
        let marker = given::markers(&*fixture.second_node().await).await.pop().unwrap();
        let target = Target::Session(session.id);
        assert_eq!(marker, Marker { target, at: given::at(now), expires_at: given::at(9000) });
        let current = given::session_rotation(session.id, session.generation, now);
        assert_eq!(rotate(&*store, &current).await, Rotation::Gone, "{case}");
    }
    assert_eq!(given::markers(&*store).await.len(), cases.len());
}

/// Without a window every generation but the current one is a stolen token.
pub async fn without_a_window_no_generation_is_given_twice(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = chain(&*store, "alice", &[100]).await;
    let rotation = SessionRotation { window: Lifetime::ZERO, ..given::session_rotation(session.id, 0, 100) };
    assert_eq!(rotate(&*store, &rotation).await, Rotation::Reused(session));
}

/// Of uses of one generation that come together, one rotates, and all get what it made.
pub async fn concurrent_uses_of_one_generation_share_the_next(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let begun = chain(&*nodes[0], "alice", &[]).await;
    let rotations: Vec<_> = (0..16).map(|_| given::session_rotation(begun.id, 0, 20)).collect();
    let uses = rotations.iter().enumerate().map(|(place, rotation)| rotate(&*nodes[place % 2], rotation));
    let outcomes = join_all(uses).await;
    let current = find(&*nodes[0], begun.id, 20).await.unwrap();
    assert_eq!(current.generation, 1);
    assert!(rotations.iter().any(|rotation| rotation.attempt == current.attempt));
    for outcome in outcomes {
        assert_eq!(outcome, Rotation::Rotated(current.clone()));
    }
    assert_eq!(given::markers(&*nodes[0]).await, []);
}

/// Each is answered by the session that it is of: the next generation, the present one, the end, or nothing.
pub async fn sessions_that_are_rotated_together_each_get_an_outcome(fixture: &impl Fixture) {
    let store = fixture.store();
    let current = chain(&*store, "alice", &[]).await;
    let before = chain(&*store, "bob", &[100]).await;
    let stolen = chain(&*store, "mallory", &[100, 101, 102]).await;
    let presented = [current.id, before.id, stolen.id, given::session_id()];
    let rotations = presented.map(|id| given::session_rotation(id, 0, 110));
    let outcomes = join_all(rotations.iter().map(|rotation| rotate(&*store, rotation))).await;
    let next = find(&*store, current.id, 110).await.unwrap();
    assert_eq!((next.generation, next.attempt), (1, rotations[0].attempt));
    let reused = Rotation::Reused(stolen.clone());
    assert_eq!(outcomes, [Rotation::Rotated(next), Rotation::Rotated(before), reused, Rotation::Gone]);
    assert_eq!(find(&*store, stolen.id, 110).await, None);
    let targets: Vec<_> = given::markers(&*store).await.into_iter().map(|marker| marker.target).collect();
    assert_eq!(targets, [Target::Session(stolen.id)]);
}

/// A retry after a lost answer finds its own work, also after the window.
pub async fn a_session_rotation_retried_by_its_own_attempt_is_a_success(fixture: &impl Fixture) {
    let store = fixture.store();
    let begun = chain(&*store, "alice", &[]).await;
    let once = given::session_rotation(begun.id, 0, 100);
    let current = rotated(&*store, &once).await;
    let later = SessionRotation { now: given::at(1000), ..once };
    assert_eq!(rotate(&*fixture.second_node().await, &later).await, Rotation::Rotated(current.clone()));
    assert_eq!(find(&*store, begun.id, 1000).await, Some(current));
}

/// A session that has expired, or never was, is not rotated, nor by a generation that never was: nobody is accused.
pub async fn an_expired_or_unknown_session_is_gone(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = chain(&*store, "alice", &[]).await;
    for (id, generation, now) in [(session.id, 0, 3600), (given::session_id(), 0, 20), (session.id, 1, 20)] {
        let rotation = given::session_rotation(id, generation, now);
        assert_eq!(rotate(&*store, &rotation).await, Rotation::Gone);
    }
    assert_eq!(find(&*store, session.id, 20).await, Some(session));
    assert_eq!(given::markers(&*store).await, []);
}

/// Whoever may not log in may not go on either; whoever may again, may.
pub async fn a_session_of_somebody_disabled_or_deleted_is_gone(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = chain(&*store, "alice", &[100]).await;
    for status in [IdentityStatus::Disabled, IdentityStatus::Active] {
        let alice = given::person(&*store, session.identity).await;
        let change = IdentityChange { status: Some(status), ..given::change(&alice, 105) };
        given::changed(&*store, &change).await;
        let outcomes = [
            rotate(&*store, &given::session_rotation(session.id, 0, 110)).await,
            rotate(&*store, &given::session_rotation(session.id, 1, 110)).await,
        ];
        let gone = outcomes.map(|outcome| outcome == Rotation::Gone);
        assert_eq!(gone, [status == IdentityStatus::Disabled; 2]);
    }
    store.delete(session.identity, None, given::at(120), given::at(9000), None).await.unwrap();
    assert_eq!(rotate(&*store, &given::session_rotation(session.id, 2, 121)).await, Rotation::Gone);
    let late = given::begun(&*store, session.identity, 122).await;
    assert_eq!(rotate(&*store, &given::session_rotation(late.id, 0, 123)).await, Rotation::Gone);
}

/// A person's sessions are listed newest first, without the expired ones.
pub async fn sessions_are_listed_newest_first(fixture: &impl Fixture) {
    let store = fixture.store();
    let bobs = chain(&*store, "bob", &[]).await;
    let first = chain(&*store, "alice", &[]).await;
    let mut all = vec![first.clone()];
    for begun in 2..=199 {
        all.push(given::begun(&*store, first.identity, begun).await);
    }
    all.reverse();
    let expired =
        IdentitySession { expires_at: given::at(300), ..given::identity_session(first.identity, 250) };
    store.begin(&expired, given::at(9000)).await.unwrap();
    assert_eq!(list(&*store, first.identity, 300).await, all);
    assert_eq!(list(&*store, first.identity, 299).await[0], expired);
    assert_eq!(list(&*store, bobs.identity, 300).await, [bobs]);
    assert_eq!(list(&*store, given::identity_id(), 300).await, []);
}

/// Which is the newest their ids say, by which the oldest go, too.
pub async fn sessions_are_listed_in_the_order_of_their_ids(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::identity_id();
    let mut sessions = [1, 2, 3].map(|begun| IdentitySession {
        authenticated_at: given::at(10 - begun),
        ..given::identity_session(alice, begun)
    });
    for session in &sessions {
        assert!(store.begin(session, given::at(9000)).await.unwrap());
    }
    sessions.reverse();
    assert_eq!(list(&*store, alice, 20).await, sessions);
}

/// A session is ended by its person and by nobody else, once, with its marker.
pub async fn a_session_is_ended_by_its_person_only(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = chain(&*store, "alice", &[]).await;
    let bobs = chain(&*store, "bob", &[]).await;
    assert!(!end(&*store, session.id, bobs.identity).await);
    assert!(!end(&*store, given::session_id(), session.identity).await);
    assert_eq!(find(&*store, session.id, 20).await, Some(session.clone()));
    assert_eq!(given::markers(&*store).await, []);
    assert!(end(&*store, session.id, session.identity).await);
    assert!(!end(&*store, session.id, session.identity).await);
    assert_eq!(find(&*store, session.id, 20).await, None);
    assert_eq!(find(&*store, bobs.id, 20).await, Some(bobs));
    let marker =
        Marker { target: Target::Session(session.id), at: given::at(20), expires_at: given::at(9000) };
    assert_eq!(given::markers(&*fixture.second_node().await).await, [marker]);
}

/// Expired sessions go, a bounded number at a time.
pub async fn expired_identity_sessions_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let living = chain(&*store, "alice", &[]).await;
    for begun in 2..5 {
        let session = given::identity_session(living.identity, begun);
        let session = IdentitySession { expires_at: given::at(100), ..session };
        store.begin(&session, given::at(9000)).await.unwrap();
    }
    let purge =
        async |limit| IdentitySessionRepository::purge_expired(&*store, given::at(200), limit).await.unwrap();
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    assert_eq!(list(&*store, living.identity, 0).await, [living]);
    assert_eq!(given::markers(&*store).await, []);
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn an_identity_session_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let session = given::identity_session(given::identity_id(), 1);
    let session = IdentitySession { device: "with \0 inside".to_owned(), ..session };
    let refused = fixture.store().begin(&session, given::at(9000)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
}
