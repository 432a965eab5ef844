//! Ends in which something fails, or nobody answers.

use std::sync::Arc;

use futures_util::FutureExt;
use sluice_primitives::{Lifetime, ManualClock};

use super::*;
use crate::client::fake::directory_of_silent_hosts;
use crate::config::fake::config;
use crate::login_session::fake::FakeSessions;

fn client(name: &str) -> SessionClient {
    SessionClient { client: name.parse().unwrap(), shown_subject: None }
}

#[test]
fn who_joined_while_a_session_ended_is_told_and_nobody_twice() {
    let (one, other) = (SessionId::from_bytes([1; 16]), SessionId::from_bytes([2; 16]));
    let alice: Subject = "alice".parse().unwrap();
    let ended = |session, clients: &[&str]| EndedSession {
        session,
        subject: alice.clone(),
        clients: clients.iter().map(|name| client(name)).collect(),
    };
    let before = [ended(one, &["shop"])];
    let at_the_end = vec![(one, client("shop")), (one, client("bank")), (other, client("shop"))];
    assert_eq!(late(&before, at_the_end), [ended(one, &["bank"])]);
}

#[test]
fn sessions_end_while_the_host_of_a_document_does_not_answer() {
    let document = "https://app.example/client.json";
    let (one, alice): (_, Subject) = (SessionId::from_bytes([1; 16]), "alice".parse().unwrap());
    let took_part = EndedSession { session: one, subject: alice.clone(), clients: vec![client(document)] };
    let sessions = FakeSessions { participants: vec![took_part], ..FakeSessions::default() };
    let (clients, revocations) = (directory_of_silent_hosts(Arc::default()), RevocationSet::default());
    let config = config();
    let ending =
        Ending { sessions: &sessions, clients: &clients, revocations: &revocations, config: &config };
    let (which, now) = (EndSessions::Subject(alice), Timestamp::from_secs(1_000_000));
    let ended = ending.end(&which, now, now + Lifetime::hours(1)).now_or_never();
    assert!(ended.expect("nobody is waited for").unwrap().is_empty());
    let ends = sessions.ends.lock();
    let told = ends.iter().flatten().map(|notice| (notice.client.as_str(), notice.uri.as_str()));
    let stand_in = format!("described:{document}");
    assert_eq!(told.collect::<Vec<_>>(), [(document, &*stand_in)], "where it listens is looked up later");
}

/// What comes after the end may fail or never come: those of one who joined late, those of all whose sessions are deleted afterwards.
#[test]
fn sessions_have_ended_before_all_of_their_clients_are_told() {
    let (one, alice): (_, Subject) = (SessionId::from_bytes([1; 16]), "alice".parse().unwrap());
    for which in [EndSessions::One(one), EndSessions::Subject(alice.clone())] {
        let took_part = EndedSession { session: one, subject: alice.clone(), clients: vec![] };
        let sessions = FakeSessions {
            late: vec![(one, client("https://app.example/client.json"))],
            participants: vec![took_part],
            fails_after: Some(1),
            ..FakeSessions::default()
        };
        let (clients, revocations) = (directory_of_silent_hosts(Arc::default()), RevocationSet::default());
        let config = config();
        let ending =
            Ending { sessions: &sessions, clients: &clients, revocations: &revocations, config: &config };
        let now = Timestamp::from_secs(1_000_000);
        let ended = ending.end(&which, now, now + Lifetime::hours(1)).now_or_never().unwrap();
        assert!(ended.is_ok() && sessions.ends.lock().len() == 2, "{ended:?}");
        assert!(revocations.covers_login(one, &alice, now));
    }
}

/// Sessions of these subjects, one each, that have ended and are not deleted.
fn left(names: impl IntoIterator<Item = String>) -> FakeSessions {
    let ended = |(number, name): (u8, String)| EndedSession {
        session: SessionId::from_bytes([number; 16]),
        subject: name.parse().unwrap(),
        clients: Vec::new(),
    };
    FakeSessions { participants: (0..).zip(names).map(ended).collect(), ..FakeSessions::default() }
}

fn clear_left_over(sessions: &FakeSessions) -> Result<(), StoreError> {
    let (clients, revocations) = (directory_of_silent_hosts(Arc::default()), RevocationSet::default());
    let config = config();
    let ending = Ending { sessions, clients: &clients, revocations: &revocations, config: &config };
    let clock = ManualClock::at(Timestamp::from_secs(1_000_000));
    ending.clear_left_over(&clock).now_or_never().expect("nobody is waited for")
}

#[test]
fn a_subject_whose_sessions_cannot_be_deleted_holds_up_no_other() {
    let broken = Some("alice".parse().unwrap());
    let sessions = FakeSessions { broken, ..left(["carol", "alice", "bob"].map(str::to_owned)) };
    let failed = clear_left_over(&sessions);
    assert!(matches!(failed, Err(StoreError::Fault(_))), "{failed:?}");
    let cleared: Vec<String> = sessions.cleared.lock().iter().map(Subject::to_string).collect();
    assert_eq!(cleared, ["bob", "carol"]);
}

/// Each may be waited for for seconds.
#[test]
fn a_store_that_cannot_delete_anything_is_not_asked_for_everybody() {
    let some = (0..50).map(|number| format!("subject-{number}"));
    let sessions = FakeSessions { fails_after: Some(0), ..left(some) };
    assert!(matches!(clear_left_over(&sessions), Err(StoreError::Busy)));
    assert_eq!(sessions.ends.lock().len(), IN_VAIN);
}
