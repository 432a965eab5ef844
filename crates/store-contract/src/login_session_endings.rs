//! The end of all sessions of a subject: it holds at once, however many there are, and each client is told of it once.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use sluice_oauth::login_session::{EndSessions, LoginSession, LoginSessionRepository};
use sluice_primitives::Lifetime;

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
