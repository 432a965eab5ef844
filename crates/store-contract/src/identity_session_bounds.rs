//! Sessions of the identity service: so many of a person, and none that outlives the marker that ends it.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use futures_util::future::join_all;
use sluice_identity::identity::{EndsSessions, IdentityChange};
use sluice_identity::session::{IdentitySession, IdentitySessionRepository, MAX_SESSIONS};
use sluice_oauth::login_session::{EndSessions, LoginSessionRepository};
use sluice_primitives::{IdentityId, SessionId};
use sluice_token::{Marker, Target};

use crate::{Fixture, given};

async fn list(store: &impl IdentitySessionRepository, identity: IdentityId) -> Vec<SessionId> {
    let sessions = store.of_identity(identity, given::at(0)).await.unwrap();
    sessions.iter().map(|session| session.id).collect()
}

/// Of a person who signs in all the time the newest sessions stay, and each of the others ends with its marker: it does not come back, and
/// its tokens do not outlive it. A retry costs nobody a session, and nobody costs another person one.
pub async fn a_person_has_so_many_sessions_and_the_oldest_end(fixture: &impl Fixture) {
    let store = fixture.store();
    let bobs = given::begun(&*store, given::identity_id(), 0).await;
    let alice = given::identity_id();
    let most = i64::from(MAX_SESSIONS);
    let sessions: Vec<_> = (1..=most + 3).map(|begun| given::identity_session(alice, begun)).collect();
    for session in &sessions {
        for _ in 0..2 {
            assert!(store.begin(session, given::at(9000)).await.unwrap());
        }
    }
    let (ended, left) = sessions.split_at(3);
    let newest_first: Vec<_> = left.iter().rev().map(|session| session.id).collect();
    assert_eq!(list(&*store, alice).await, newest_first);
    assert_eq!(list(&*store, bobs.identity).await, [bobs.id]);
    let marker = |(session, pushed_out): (&IdentitySession, i64)| Marker {
        target: Target::Session(session.id),
        at: given::at(pushed_out),
        expires_at: given::at(9000),
    };
    let expected: Vec<_> = ended.iter().zip(most + 1..).map(marker).collect();
    let node = fixture.second_node().await;
    assert_eq!(given::markers(&*node).await, expected);
    for session in ended {
        assert!(!node.begin(session, given::at(9000)).await.unwrap());
    }
}

/// Also of people who all sign in on many devices at once.
pub async fn people_who_sign_in_at_once_have_so_many_sessions(fixture: &impl Fixture) {
    let store = fixture.store();
    let people = [given::identity_id(), given::identity_id()];
    let begun = |begun| people.map(|person| given::identity_session(person, begun));
    let sessions: Vec<IdentitySession> = (1..=i64::from(MAX_SESSIONS) + 5).flat_map(begun).collect();
    let outcomes = join_all(sessions.iter().map(|session| store.begin(session, given::at(9000)))).await;
    assert!(outcomes.iter().all(|begun| matches!(begun, Ok(true))), "{outcomes:?}");
    let mut left: Vec<IdentityId> = Vec::new();
    for session in &sessions {
        left.extend(given::has_session(&*store, session).await.then_some(session.identity));
    }
    let of = |person: IdentityId| left.iter().filter(|left| **left == person).count();
    let most = usize::try_from(MAX_SESSIONS).unwrap();
    assert_eq!(people.map(of), [most; 2]);
    assert_eq!(given::markers(&*store).await.len(), 2 * 5, "one of each that ended");
}

/// A change that revokes ends all sessions that its marker covers, whatever it says of sessions: the marker expires. Later
/// ones, of a clock that is ahead, end if it says so, each with a marker of its own.
pub async fn a_change_that_revokes_ends_what_its_marker_covers(fixture: &impl Fixture) {
    let store = fixture.store();
    for (name, ends_sessions) in [("alice", EndsSessions::None), ("bob", EndsSessions::All)] {
        let person = given::registered(&*store, given::identity(name)).await;
        let covered = [given::begun(&*store, person.id, 1).await, given::begun(&*store, person.id, 20).await];
        let later = given::begun(&*store, person.id, 21).await;
        let change = IdentityChange { ends_sessions, revokes: true, ..given::change(&person, 20) };
        given::changed(&*store, &change).await;
        for session in &covered {
            assert!(!given::has_session(&*store, session).await);
            assert!(!given::is_marked(&*store, &Target::Session(session.id)).await);
        }
        let ends = ends_sessions == EndsSessions::All;
        assert_eq!(given::has_session(&*store, &later).await, !ends);
        assert_eq!(given::is_marked(&*store, &Target::Session(later.id)).await, ends);
        assert!(given::is_marked(&*store, &given::marked_person(person.id)).await);
    }
}

/// Neither does a sign-in come through that was under way when everything of its person was revoked, and each is told.
pub async fn a_session_that_the_marker_of_its_person_covers_is_not_begun(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let change = IdentityChange { revokes: true, ..given::change(&alice, 20) };
    given::changed(&*store, &change).await;
    let bob = given::identity_id();
    let sessions = [(alice.id, 20), (bob, 20), (alice.id, 21)];
    let sessions = sessions.map(|(person, begun)| given::identity_session(person, begun));
    let node = fixture.second_node().await;
    for _ in 0..2 {
        let outcomes = join_all(sessions.iter().map(|session| node.begin(session, given::at(9000)))).await;
        let begun: Vec<bool> = outcomes.into_iter().map(Result::unwrap).collect();
        assert_eq!(begun, [false, true, true]);
    }
    for (session, is_there) in sessions.iter().zip([false, true, true]) {
        assert_eq!(given::has_session(&*store, session).await, is_there);
    }
}

/// When the login sessions of a subject end, so do the sessions of the person that the marker covers; nobody else's.
pub async fn the_end_of_a_subject_ends_the_sessions_of_the_person(fixture: &impl Fixture) {
    let store = fixture.store();
    let (alice, bob) = (given::identity_id(), given::identity_id());
    let alices = given::begun(&*store, alice, 20).await;
    let later = given::begun(&*store, alice, 21).await;
    let bobs = given::begun(&*store, bob, 1).await;
    // Other spellings of the id, and names that are none, are other subjects.
    for subject in
        [format!("urn:uuid:{bob}"), bob.to_string().to_uppercase(), "bob".to_owned(), alice.to_string()]
    {
        let which = EndSessions::Subject(given::subject(&subject));
        LoginSessionRepository::end(&*store, which, given::at(20), given::at(9000), Vec::new())
            .await
            .unwrap();
    }
    let lives = async |session: &IdentitySession| given::has_session(&*store, session).await;
    assert_eq!((lives(&alices).await, lives(&later).await, lives(&bobs).await), (false, true, true));
}
