//! The end of all sessions of a subject: it holds at once, however many there are, and each client is told of it once.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use std::collections::HashSet;

use futures_util::future::join_all;
use sluice_oauth::grant::{Grant, GrantRepository};
use sluice_oauth::login_session::{
    EndSessions, EndedSession, LoginSession, LoginSessionRepository, SESSIONS_AT_ONCE,
};
use sluice_oauth::logout::{LeaseRoom, LogoutNotice, OutboxRepository};
use sluice_primitives::{Lifetime, SessionId};

use crate::{Fixture, given};

/// A session of `alice` as of a login at second `now`, which no test lives to see the end of.
fn session(now: i64) -> LoginSession {
    let now = given::at(now);
    LoginSession {
        authenticated_at: now,
        last_seen_at: now,
        expires_at: given::at(100_000),
        idle: Lifetime::FOREVER,
        ..given::session()
    }
}

async fn insert(store: &impl LoginSessionRepository, session: &LoginSession) {
    assert!(store.insert(session.clone()).await.unwrap());
}

async fn find(store: &impl LoginSessionRepository, session: &LoginSession, now: i64) -> Option<LoginSession> {
    store.find(session.id, given::at(now)).await.unwrap()
}

/// All sessions of `alice` end at second `now`.
async fn end(store: &impl LoginSessionRepository, now: i64) {
    store.end(alices(), given::at(now), given::at(9000), Vec::new()).await.unwrap();
}

fn alices() -> EndSessions {
    EndSessions::Subject(given::subject("alice"))
}

/// By the clock of another node, perhaps: that session goes on, and its clients hear nothing.
pub async fn nobody_is_told_of_the_end_of_a_session_that_goes_on(fixture: &impl Fixture) {
    let store = fixture.store();
    let (before, after) = (session(10), session(30));
    for session in [&before, &after] {
        insert(&*store, session).await;
    }
    let told = store.participants(&alices(), given::at(20)).await.unwrap();
    assert_eq!(told.iter().map(|ended| ended.session).collect::<Vec<_>>(), [before.id]);
    end(&*store, 20).await;
    assert_eq!(find(&*store, &before, 31).await, None);
    assert_eq!(find(&*store, &after, 31).await.as_ref(), Some(&after));
    // Whoever names a session means it, whatever the clocks say.
    let told = store.participants(&EndSessions::One(after.id), given::at(20)).await.unwrap();
    assert_eq!(told.len(), 1);
}

async fn take_part(store: &impl GrantRepository, session: SessionId, client: &str) {
    let client = given::client_id(client);
    let grant = Grant { session: Some(session), client, ..given::grant() };
    store.insert(grant, None, true).await.unwrap();
}

/// What is left of the sessions of `alice` that ended at second 20, at most so much as is deleted at once.
async fn left(store: &impl LoginSessionRepository) -> Vec<EndedSession> {
    store.participants(&alices(), given::at(20)).await.unwrap()
}

/// Deletes these, which ended at second 20, with a notice for each client that takes part.
async fn clear(store: &impl LoginSessionRepository, ended: &[EndedSession]) {
    let notice = |session: SessionId, client| LogoutNotice {
        uri: "https://app.example/logout".parse().unwrap(),
        client,
        subject: given::subject("alice"),
        session,
    };
    let each = ended.iter().flat_map(|ended| ended.clients.iter().map(move |client| (ended.session, client)));
    let notices = each.map(|(session, client)| notice(session, client.client.clone())).collect();
    store.clear(ended, given::at(20), notices, given::at(21)).await.unwrap();
}

/// Who is told, and of which session, since this was last asked.
async fn told(store: &impl OutboxRepository) -> Vec<(SessionId, String)> {
    let mut told = Vec::new();
    loop {
        let room = LeaseRoom { notices: 10_000, of_a_client: 10_000, under_way: Vec::new() };
        // A store may give fewer at once than there is room for.
        let leased = store.lease(given::at(30), Lifetime::hours(1), room).await.unwrap();
        if leased.is_empty() {
            break;
        }
        let each = leased.into_iter().map(|leased| (leased.notice.session, leased.notice.client.to_string()));
        told.extend(each);
    }
    told.sort_unstable();
    told
}

/// There may be a million. None is found once the end is written, and each client is told once, of one slice after the other.
pub async fn however_many_sessions_a_subject_has_they_end_at_once(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let bobs = LoginSession { subject: given::subject("bob"), ..session(0) };
    insert(&*store, &bobs).await;
    let sessions: Vec<_> = (0..SESSIONS_AT_ONCE + 2).map(|_| session(0)).collect();
    join_all(sessions.iter().map(|session| insert(&*store, session))).await;
    join_all(sessions.iter().map(|session| take_part(&*store, session.id, "shop"))).await;
    end(&*store, 20).await;
    for session in sessions.iter().step_by(100) {
        assert_eq!(find(&*other, session, 21).await, None);
    }
    assert_eq!(other.of_subject(&given::subject("alice"), given::at(21)).await.unwrap(), []);
    let mut slices = Vec::new();
    while let Some(found) = other.left_over(None).await.unwrap() {
        assert_eq!(found, (given::subject("alice"), given::at(20)));
        let slice = left(&*other).await;
        slices.push(slice.len());
        clear(&*other, &slice).await;
    }
    assert_eq!(slices, [SESSIONS_AT_ONCE, 2]);
    let told = told(&*store).await;
    let of: HashSet<_> = told.iter().map(|(session, _)| *session).collect();
    let all: HashSet<_> = sessions.iter().map(|session| session.id).collect();
    assert_eq!((told.len(), of), (all.len(), all));
    assert_eq!(find(&*store, &bobs, 21).await, Some(bobs));
}

/// All nodes look for what is left.
pub async fn whoever_deletes_a_session_that_ended_tells_of_it_alone(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let sessions = [session(0), session(10)];
    for session in &sessions {
        insert(&*store, session).await;
        take_part(&*store, session.id, "shop").await;
    }
    end(&*store, 20).await;
    let (ours, theirs) = (left(&*store).await, left(&*other).await);
    tokio::join!(clear(&*store, &ours), clear(&*other, &theirs));
    assert_eq!(told(&*store).await.len(), 2);
    assert_eq!(left(&*store).await, []);
}

/// Nobody knew of that client when the notices were made.
pub async fn a_session_that_is_joined_at_its_end_stays_until_all_are_told(fixture: &impl Fixture) {
    let store = fixture.store();
    let (joined, alone) = (session(0), session(0));
    for session in [&joined, &alone] {
        insert(&*store, session).await;
        take_part(&*store, session.id, "shop").await;
    }
    end(&*store, 20).await;
    let before = left(&*store).await;
    take_part(&*store, joined.id, "bank").await;
    clear(&*store, &before).await;
    assert_eq!(told(&*store).await, [(alone.id, "shop".to_owned())]);
    let rest = left(&*store).await;
    assert_eq!(rest.iter().map(|ended| ended.session).collect::<Vec<_>>(), [joined.id]);
    assert_eq!(find(&*store, &joined, 21).await, None);
    clear(&*store, &rest).await;
    let both = ["bank", "shop"].map(|client| (joined.id, client.to_owned()));
    assert_eq!(told(&*store).await, both);
    assert_eq!(store.left_over(None).await.unwrap(), None);
}

/// Somebody whose sessions cannot be deleted holds up nobody else.
pub async fn subjects_whose_sessions_are_left_are_found_one_after_the_other(fixture: &impl Fixture) {
    let store = fixture.store();
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(given::subject);
    for subject in [&carol, &alice, &bob] {
        insert(&*store, &LoginSession { subject: subject.clone(), ..session(0) }).await;
    }
    for subject in [&bob, &carol, &alice] {
        let all = EndSessions::Subject(subject.clone());
        LoginSessionRepository::end(&*store, all, given::at(20), given::at(9000), Vec::new()).await.unwrap();
    }
    let mut found = Vec::new();
    while let Some((subject, until)) = store.left_over(found.last()).await.unwrap() {
        assert_eq!(until, given::at(20));
        found.push(subject);
    }
    assert_eq!(found, [alice, bob, carol]);
}

/// Or they would come back. Nor is one that is as of a later login deleted with the others.
pub async fn a_marker_outlives_the_sessions_that_it_ended(fixture: &impl Fixture) {
    let store = fixture.store();
    let (ended, later) = (session(0), session(30));
    for session in [&ended, &later] {
        insert(&*store, session).await;
    }
    end(&*store, 20).await;
    let sweep = async || {
        for _ in 0..3 {
            store.sweep_revoked(given::at(9001), 10).await.unwrap();
        }
    };
    sweep().await;
    assert_eq!(find(&*store, &ended, 9002).await, None);
    assert!(store.left_over(None).await.unwrap().is_some());
    let mut slice = left(&*store).await;
    slice.extend(store.participants(&EndSessions::One(later.id), given::at(20)).await.unwrap());
    clear(&*store, &slice).await;
    assert_eq!(store.left_over(None).await.unwrap(), None);
    sweep().await;
    assert_eq!(given::markers(&*store).await, []);
    assert_eq!((find(&*store, &ended, 9002).await, find(&*store, &later, 9002).await), (None, Some(later)));
}
