//! Login sessions that are written at the same time: each caller hears of its own.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_oauth::login_session::{EndSessions, LoginSession, LoginSessionRepository};

use crate::{Fixture, given};

async fn insert(store: &impl LoginSessionRepository, session: &LoginSession) -> Result<bool, StoreError> {
    store.insert(session.clone()).await
}

async fn find(store: &impl LoginSessionRepository, session: &LoginSession, now: i64) -> Option<LoginSession> {
    store.find(session.id, given::at(now)).await.unwrap()
}

async fn end(store: &impl LoginSessionRepository, which: EndSessions, now: i64) {
    store.end(which, given::at(now), given::at(9000), Vec::new()).await.unwrap();
}

/// As of a login at second 20.
fn renewed(session: &LoginSession) -> LoginSession {
    LoginSession { authenticated_at: given::at(20), last_seen_at: given::at(20), ..session.clone() }
}

fn outcomes(all: Vec<Result<bool, StoreError>>) -> Vec<bool> {
    all.into_iter().map(Result::unwrap).collect()
}

/// New ones, and one that is there, somebody else's, or over: each is told what became of itself, whoever comes first.
pub async fn sessions_that_are_put_together_each_get_an_outcome(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (there, ended) = (given::session(), given::session());
    assert!(insert(&*store, &there).await.unwrap() && insert(&*store, &ended).await.unwrap());
    end(&*store, EndSessions::One(ended.id), 10).await;
    let mallorys = LoginSession { subject: given::subject("mallory"), ..there.clone() };
    let mut sessions = vec![mallorys, ended, there];
    sessions.extend((0..32).map(|_| given::session()));
    let expected: Vec<bool> = (0..sessions.len()).map(|place| place > 1).collect();

    let inserts = join_all(sessions.iter().map(|session| insert(&*store, session)));
    let again = join_all(sessions.iter().rev().map(|session| insert(&*other, session)));
    let (inserts, mut again) = tokio::join!(inserts, again);
    again.reverse();
    assert_eq!((outcomes(inserts), outcomes(again)), (expected.clone(), expected.clone()));

    let later: Vec<LoginSession> = sessions.iter().map(renewed).collect();
    let renewals = join_all(later.iter().map(|session| store.renew(session)));
    let again = join_all(later.iter().rev().map(|session| other.renew(session)));
    let (renewals, mut again) = tokio::join!(renewals, again);
    again.reverse();
    assert_eq!((outcomes(renewals), outcomes(again)), (expected.clone(), expected));
    for session in later.iter().skip(2) {
        assert_eq!(find(&*store, session, 21).await.as_ref(), Some(session));
    }
}

/// Also where their subject signs out meanwhile.
pub async fn sessions_touched_in_opposite_order_from_two_nodes_are_all_touched(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let bob = given::subject("bob");
    let alices = (0..32).map(|_| given::session());
    let bobs = (0..32).map(|_| LoginSession { subject: bob.clone(), ..given::session() });
    let sessions: Vec<LoginSession> = alices.zip(bobs).flat_map(|(alices, bobs)| [alices, bobs]).collect();
    let inserts = join_all(sessions.iter().map(|session| insert(&*store, session))).await;
    assert!(outcomes(inserts).into_iter().all(|is_theirs| is_theirs));
    let forth = join_all(sessions.iter().map(|session| store.touch(session.id, given::at(20), None)));
    let back = join_all(sessions.iter().rev().map(|session| other.touch(session.id, given::at(30), None)));
    let (forth, back, ()) =
        tokio::join!(forth, back, end(&*store, EndSessions::Subject(given::subject("alice")), 10));
    assert!(forth.iter().chain(&back).all(Result::is_ok), "{forth:?}, {back:?}");
    for session in &sessions {
        let touched = LoginSession { last_seen_at: given::at(30), ..session.clone() };
        assert_eq!(find(&*other, session, 31).await, (session.subject == bob).then_some(touched));
    }
}
