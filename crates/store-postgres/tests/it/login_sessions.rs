//! What logins write about sessions: in few statements, by keys, each with an answer of its own.

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_oauth::login_session::{EndSessions, LoginSession, LoginSessionRepository};
use sluice_oauth::logout::{LogoutNotice, OutboxRepository};
use sluice_primitives::Lifetime;
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::PostgresStore;

use crate::cut::Cut;
use crate::fixture::{PostgresFixture, connection};
use crate::identity_plans::{plan, planner};

async fn insert(store: &PostgresStore, session: &LoginSession) -> Result<bool, StoreError> {
    LoginSessionRepository::insert(store, session.clone()).await
}

async fn find(store: &PostgresStore, session: &LoginSession, now: i64) -> Option<LoginSession> {
    LoginSessionRepository::find(store, session.id, given::at(now)).await.unwrap()
}

/// As of another login, at second 100.
fn renewed(session: &LoginSession) -> LoginSession {
    let at = given::at(100);
    LoginSession { authenticated_at: at, last_seen_at: at, idle: Lifetime::FOREVER, ..session.clone() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_are_written_together_share_statements() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let sessions: Vec<LoginSession> = (0..2000).map(|_| given::session()).collect();
    let inserted = join_all(sessions.iter().map(|session| insert(&store, session))).await;
    assert!(inserted.iter().all(|there| matches!(there, Ok(true))));
    let touched = sessions.iter().map(|session| store.touch(session.id, given::at(50), None));
    assert!(join_all(touched).await.iter().all(Result::is_ok));
    let later: Vec<LoginSession> = sessions.iter().map(renewed).collect();
    let renewed = join_all(later.iter().map(|session| store.renew(session))).await;
    assert!(renewed.iter().all(|there| matches!(there, Ok(true))));
    let others = store.statistics().others;
    assert_eq!(others.rows, 3 * 2000);
    assert!(others.statements < 200 && others.statements == others.commits, "{others:?}");
    let metrics = store.commit_metrics().snapshot();
    assert_eq!((metrics.rows_total, metrics.poisoned_total, metrics.lost_total), (3 * 2000, 0, 0));
    for session in later.iter().step_by(100) {
        assert_eq!(find(&store, session, 101).await.as_ref(), Some(session));
    }
}

/// With the settings of the store's own connections, on empty tables, which tempt a planner most.
#[tokio::test]
async fn what_logins_write_is_found_by_its_keys() {
    let (_fixture, client) = planner().await;
    let twelve = ["'{}'"; 12].join(",");
    let insert = plan(&client, include_str!("../../src/login_session/insert.sql"), &twelve).await;
    assert_eq!(insert.matches("revocation_target").count(), 2, "{insert}");
    let renew = plan(&client, include_str!("../../src/login_session/renew.sql"), &twelve).await;
    assert!(renew.contains("(sid = r.sid)") && renew.contains("Nested Loop"), "{renew}");
    assert_eq!(renew.matches("revocation_target").count(), 2, "{renew}");
    let belongs = plan(&client, include_str!("../../src/login_session/belongs.sql"), "'{}','{}','{}'").await;
    assert!(belongs.contains("Index Cond: (sid = a.sid)"), "{belongs}");
    let touch = plan(&client, include_str!("../../src/login_session/touch.sql"), "'{}','{}','{}'").await;
    assert!(touch.contains("Index Cond: (sid = t.sid)") && touch.contains("Nested Loop"), "{touch}");
}

/// However many of a subject there are.
#[tokio::test]
async fn sessions_that_have_ended_are_found_and_deleted_by_their_keys() {
    let (_fixture, client) = planner().await;
    let left = plan(&client, include_str!("../../src/login_session/left_over.sql"), "'',0").await;
    assert_eq!(left.matches("Index Only Scan using revocation_left_over").count(), 2, "{left}");
    assert_eq!(left.matches("Index Cond: (ROW(key, at) > ROW($1, $2))").count(), 2, "{left}");
    assert!(left.contains("login_session_subject"), "{left}");
    assert!(!left.contains("revocation_target"), "not by all markers of subjects: {left}");
    let told =
        plan(&client, include_str!("../../src/login_session/participants_of_subject.sql"), "'a',0").await;
    assert!(told.contains("login_session_subject") && told.contains("session_client_pkey"), "{told}");
    let lock = plan(&client, include_str!("../../src/login_session/lock_ended.sql"), "'{}'").await;
    assert!(lock.contains("Index Cond: (sid = ANY ($1))"), "{lock}");
    let nine = "'{}','{}',0,0,'{}','{}','{}','{}','{}'";
    let clear = plan(&client, include_str!("../../src/login_session/clear.sql"), nine).await;
    assert!(clear.contains("Index Cond: (sid = ANY ($1))"), "{clear}");
    assert_eq!(clear.matches("session_client_pkey").count(), 2, "{clear}");
}

/// Neither twice, if it was done, nor not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_whose_deletion_was_not_answered_are_told_of_once() {
    let cut = Cut::start().await;
    let session = given::session();
    assert!(insert(&cut.store, &session).await.unwrap());
    let all = EndSessions::Subject(session.subject.clone());
    LoginSessionRepository::end(&*cut.store, all.clone(), given::at(20), given::at(9000), Vec::new())
        .await
        .unwrap();
    let ended = cut.store.participants(&all, given::at(20)).await.unwrap();
    let notice = LogoutNotice {
        uri: "https://shop.example/logout".parse().unwrap(),
        client: given::client_id("shop"),
        subject: session.subject.clone(),
        session: session.id,
    };
    cut.proxy.cut_after("DELETE FROM login_session AS s");
    cut.store.clear(&ended, given::at(20), vec![notice], given::at(21)).await.unwrap();
    assert_eq!(cut.proxy.cuts(), 1);
    assert_eq!(cut.store.left_over(None).await.unwrap(), None);
    assert_eq!(OutboxRepository::depth(&*cut.store).await.unwrap(), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_writes_were_not_answered_is_written_once() {
    let cut = Cut::start().await;
    let session = given::session();
    cut.proxy.cut_after("INSERT INTO login_session");
    assert!(insert(&cut.store, &session).await.unwrap());
    cut.proxy.cut_after("last_seen_at = GREATEST(s.last_seen_at, t.now)");
    cut.store.touch(session.id, given::at(50), None).await.unwrap();
    let touched = LoginSession { last_seen_at: given::at(50), ..session.clone() };
    assert_eq!(find(&cut.store, &session, 51).await, Some(touched));
    let later = renewed(&session);
    cut.proxy.cut_after("SET authenticated_at = r.authenticated_at");
    assert!(cut.store.renew(&later).await.unwrap());
    assert_eq!(cut.proxy.cuts(), 3);
    assert_eq!(find(&cut.store, &session, 101).await, Some(later));
}

/// Those that share a statement with them are written by then.
#[tokio::test]
async fn sessions_are_put_though_the_server_refuses_to_say_whose_the_others_are() {
    let cut = Cut::start().await;
    let (there, fresh) = (given::session(), given::session());
    assert!(insert(&cut.store, &there).await.unwrap());
    let mallorys = LoginSession { subject: given::subject("mallory"), ..there.clone() };
    for session in [&there, &mallorys] {
        cut.proxy.refuse_after("FROM login_session AS found");
        let (again, inserted) = tokio::join!(insert(&cut.store, session), insert(&cut.store, &fresh));
        assert_eq!((again.unwrap(), inserted.unwrap()), (session.subject == there.subject, true));
    }
    assert_eq!(cut.proxy.cuts(), 2);
    assert_eq!(find(&cut.store, &there, 1).await, Some(there));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_the_server_refuses_fails_alone() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let sessions: Vec<LoginSession> = (0..32).map(|_| given::session()).collect();
    let refused = sessions[13].id;
    let check = format!("ALTER TABLE login_session ADD CHECK (sid <> '{refused}')");
    connection(fixture.dsn()).await.batch_execute(&check).await.unwrap();
    let outcomes = join_all(sessions.iter().map(|session| insert(&store, session))).await;
    for (session, outcome) in sessions.iter().zip(outcomes) {
        if session.id == refused {
            assert!(matches!(outcome, Err(StoreError::Fault(_))), "{outcome:?}");
            assert_eq!(find(&store, session, 1).await, None);
        } else {
            assert!(outcome.unwrap());
            assert_eq!(find(&store, session, 1).await.as_ref(), Some(session));
        }
    }
    assert_eq!(store.commit_metrics().snapshot().poisoned_total, 1);
}
