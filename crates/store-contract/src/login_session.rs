//! Login sessions: one per flow, within its time, and gone for good when ended.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use sluice_commit::StoreError;
use sluice_oauth::grant::{Grant, GrantClaims, GrantRepository, Redemption};
use sluice_oauth::login_session::{
    EndSessions, EndedSession, LoginSession, LoginSessionRepository, SessionClient,
};
use sluice_oauth::logout::{LeaseRoom, LogoutNotice, OutboxRepository};
use sluice_primitives::{Lifetime, SessionId};
use sluice_token::Target;

use crate::{Fixture, given};

async fn insert(store: &impl LoginSessionRepository, session: &LoginSession) -> bool {
    store.insert(session.clone()).await.unwrap()
}

async fn find(store: &impl LoginSessionRepository, session: &LoginSession, now: i64) -> Option<LoginSession> {
    store.find(session.id, given::at(now)).await.unwrap()
}

async fn end(
    store: &impl LoginSessionRepository,
    which: EndSessions,
    now: i64,
    notices: Vec<LogoutNotice>,
) -> Vec<(SessionId, SessionClient)> {
    store.end(which, given::at(now), given::at(9000), notices).await.unwrap()
}

/// Who would hear of it now.
async fn participants(store: &impl LoginSessionRepository, which: EndSessions) -> Vec<EndedSession> {
    store.participants(&which, given::at(8000)).await.unwrap()
}

/// The session that is found equals the one that was inserted.
pub async fn a_session_is_found_as_it_was_inserted(fixture: &impl Fixture) {
    let session = given::session();
    assert!(insert(&*fixture.store(), &session).await);
    assert_eq!(find(&*fixture.second_node().await, &session, 1).await, Some(session.clone()));
    assert_eq!(
        LoginSessionRepository::find(&*fixture.store(), given::session_id(), given::at(1)).await.unwrap(),
        None
    );
}

/// Of a login from before it was kept, and of one that is shown to nobody, it is not known where it was.
pub async fn a_session_is_found_with_where_its_login_was_if_that_is_kept(fixture: &impl Fixture) {
    let store = fixture.store();
    let unnamed = Some(given::origin("", "2001:db8:1:2::"));
    for origin in [None, unnamed, Some(given::origin(&"ž".repeat(256), "0.0.0.0"))] {
        let session = LoginSession { origin, ..given::session() };
        assert!(insert(&*store, &session).await);
        assert_eq!(find(&*fixture.second_node().await, &session, 1).await, Some(session.clone()));
        assert!(end(&*store, EndSessions::One(session.id), 2, Vec::new()).await.is_empty());
        assert_eq!(store.of_subject(&session.subject, given::at(2)).await.unwrap(), []);
    }
}

/// A replayed login verifier makes no second session and changes nothing about the first.
pub async fn a_session_is_inserted_once_and_keeps_its_subject(fixture: &impl Fixture) {
    let store = fixture.store();
    let first = given::session();
    assert!(insert(&*store, &first).await);
    assert!(insert(&*store, &LoginSession { expires_at: given::at(9999), ..first.clone() }).await);
    assert!(!insert(&*store, &LoginSession { subject: given::subject("mallory"), ..first.clone() }).await);
    assert_eq!(find(&*store, &first, 1).await, Some(first));
}

/// As of a login at second `now`.
fn renewed(session: &LoginSession, now: i64) -> LoginSession {
    LoginSession {
        authenticated_at: given::at(now),
        last_seen_at: given::at(now),
        expires_at: given::at(now + 7200),
        idle: Lifetime::FOREVER,
        acr: Some("aal2".to_owned()),
        amr: vec!["pwd".to_owned(), "otp".to_owned()],
        provider_session: Some("another".to_owned()),
        origin: Some(given::origin("Firefox, updated", "192.0.2.2")),
        ..session.clone()
    }
}

/// Who proves once more who it is goes on in the same session, in which the same clients take part.
pub async fn a_session_goes_on_as_of_a_later_login(fixture: &impl Fixture) {
    let (store, session) = (fixture.store(), given::session());
    insert(&*store, &session).await;
    take_part(&*store, session.id, "shop", true).await;
    let stronger = renewed(&session, 20);
    assert!(fixture.second_node().await.renew(&stronger).await.unwrap());
    assert_eq!(find(&*store, &session, 21).await, Some(stronger.clone()));
    let ended = participants(&*store, EndSessions::One(session.id)).await;
    assert_eq!(ended[0].clients.len(), 1);
    assert_eq!(
        store.of_subject(&session.subject, given::at(21)).await.unwrap(),
        std::slice::from_ref(&stronger)
    );
    assert!(store.renew(&LoginSession { remembered: false, ..renewed(&session, 30) }).await.unwrap());
    assert_eq!(find(&*store, &session, 31).await, None, "it is not remembered any more");
}

/// A verifier of an earlier login changes nothing, and is no failure.
pub async fn a_session_does_not_go_back_to_an_earlier_login(fixture: &impl Fixture) {
    let (store, session) = (fixture.store(), given::session());
    insert(&*store, &session).await;
    let stronger = renewed(&session, 20);
    for earlier in [&stronger, &stronger, &LoginSession { acr: None, ..renewed(&session, 19) }, &session] {
        assert!(store.renew(earlier).await.unwrap());
    }
    assert!(insert(&*store, &session).await);
    assert_eq!(find(&*store, &session, 21).await, Some(stronger));
}

/// What is over, or somebody else's, or was never there, does not go on.
pub async fn a_session_that_is_over_or_anothers_is_not_renewed(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    assert!(!store.renew(&renewed(&given::session(), 20)).await.unwrap());
    let (one, all) = (given::session(), given::session());
    for session in [&one, &all] {
        insert(&*store, session).await;
        let mallorys = LoginSession { subject: given::subject("mallory"), ..renewed(session, 20) };
        assert!(!other.renew(&mallorys).await.unwrap());
        assert_eq!(find(&*store, session, 21).await.as_ref(), Some(session));
    }
    end(&*store, EndSessions::One(one.id), 30, Vec::new()).await;
    assert!(!other.renew(&renewed(&one, 31)).await.unwrap());
    end(&*store, EndSessions::Subject(all.subject.clone()), 40, Vec::new()).await;
    assert!(!other.renew(&renewed(&all, 41)).await.unwrap());
    assert_eq!((find(&*store, &one, 42).await, find(&*store, &all, 42).await), (None, None));
}

/// A session that is kept for logout only does not let the login page be skipped.
pub async fn a_session_that_is_not_remembered_is_not_found(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = LoginSession { remembered: false, ..given::session() };
    assert!(insert(&*store, &session).await);
    assert_eq!(find(&*store, &session, 1).await, None);
    assert_eq!(participants(&*store, EndSessions::One(session.id)).await.len(), 1);
}

/// `remember_for` is enforced here, whatever the cookie says, and however often the session is used.
pub async fn a_session_ends_at_its_time_however_often_it_is_used(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = LoginSession { idle: Lifetime::FOREVER, ..given::session() };
    insert(&*store, &session).await;
    store.touch(session.id, given::at(3599), None).await.unwrap();
    assert!(find(&*store, &session, 3599).await.is_some());
    assert!(find(&*store, &session, 3600).await.is_none());
}

/// A session that is not used for its idle time is over.
pub async fn an_idle_session_is_not_found(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = given::session();
    insert(&*store, &session).await;
    assert!(find(&*store, &session, 599).await.is_some());
    assert!(find(&*store, &session, 600).await.is_none());
    store.touch(session.id, given::at(300), None).await.unwrap();
    assert!(find(&*store, &session, 899).await.is_some());
    assert!(find(&*store, &session, 900).await.is_none());
    store.touch(session.id, given::at(200), None).await.unwrap();
    assert!(find(&*store, &session, 899).await.is_some(), "a late touch does not turn time back");
}

/// A touch may move the end of a session.
pub async fn a_touch_moves_the_end_if_it_says_so(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = LoginSession { idle: Lifetime::FOREVER, ..given::session() };
    insert(&*store, &session).await;
    store.touch(session.id, given::at(3000), Some(given::at(7000))).await.unwrap();
    let moved =
        LoginSession { last_seen_at: given::at(3000), expires_at: given::at(7000), ..session.clone() };
    assert_eq!(find(&*store, &session, 6999).await, Some(moved));
    assert!(find(&*store, &session, 7000).await.is_none());
}

/// A person sees the own sessions that go on, remembered or not.
pub async fn the_sessions_of_a_subject_are_those_that_go_on(fixture: &impl Fixture) {
    let store = fixture.store();
    let first = given::session();
    let second = LoginSession { authenticated_at: given::at(10), remembered: false, ..given::session() };
    let bobs = LoginSession { subject: given::subject("bob"), ..given::session() };
    let expired = LoginSession { expires_at: given::at(50), ..given::session() };
    let idle = LoginSession { idle: Lifetime::secs(50), ..given::session() };
    for session in [&first, &second, &bobs, &expired, &idle] {
        insert(&*store, session).await;
    }
    let alice = given::subject("alice");
    let listed = store.of_subject(&alice, given::at(100)).await.unwrap();
    assert_eq!(listed, [second.clone(), first.clone()]);
    end(&*store, EndSessions::One(second.id), 110, Vec::new()).await;
    assert_eq!(store.of_subject(&alice, given::at(120)).await.unwrap(), [first]);
    end(&*store, EndSessions::Subject(alice.clone()), 130, Vec::new()).await;
    assert_eq!(store.of_subject(&alice, given::at(140)).await.unwrap(), []);
}

/// Clients take part in a session by their grants.
pub async fn participants_are_the_clients_that_got_a_grant(fixture: &impl Fixture) {
    let store = fixture.store();
    let (one, other) = (given::session(), given::session());
    let bobs = LoginSession { subject: given::subject("bob"), ..given::session() };
    for session in [&one, &other, &bobs] {
        insert(&*store, session).await;
    }
    take_part(&*store, one.id, "shop", true).await;
    take_part(&*store, one.id, "shop", true).await;
    take_part(&*store, one.id, "bank", true).await;
    take_part(&*store, one.id, "deaf", false).await;
    take_part(&*store, bobs.id, "shop", true).await;
    let ended = participants(&*store, EndSessions::One(one.id)).await;
    assert_eq!(ended.len(), 1);
    assert_eq!((ended[0].session, ended[0].subject.as_str()), (one.id, "alice"));
    assert_eq!(sorted(ended[0].clients.iter().map(|one| &one.client)), ["bank", "shop"]);
    let of_alice = participants(&*store, EndSessions::Subject(given::subject("alice"))).await;
    assert_eq!(of_alice.len(), 2);
    assert!(of_alice.iter().all(|ended| [one.id, other.id].contains(&ended.session)));
    assert!(find(&*store, &one, 1).await.is_some(), "asking ends nothing");
}

/// A client that was shown another subject is told of its end by that name.
pub async fn participants_know_whose_session_it_is_by_the_name_they_were_told(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = given::session();
    insert(&*store, &session).await;
    for (client, shown) in [("bank", Some("pseudonym")), ("shop", None), ("bank", Some("a later one"))] {
        // What a page says may hold what no text of a database may.
        let id_token = [("note".to_owned(), "\u{0}".into())].into_iter().collect();
        let claims =
            GrantClaims { shown_subject: shown.map(str::to_owned), id_token, ..GrantClaims::default() };
        let (session, client) = (Some(session.id), given::client_id(client));
        let grant = Grant { session, client, claims, ..given::grant() };
        GrantRepository::insert(&*store, grant, None, true).await.unwrap();
    }
    let ended = participants(&*store, EndSessions::One(session.id)).await;
    let mut shown: Vec<_> =
        ended[0].clients.iter().map(|one| (one.client.as_str(), one.shown_subject.as_deref())).collect();
    shown.sort_unstable();
    assert_eq!(shown, [("bank", Some("pseudonym")), ("shop", None)]);
}

/// What would outlive every session is not written: a session that comes later has nobody who takes part.
pub async fn nobody_takes_part_in_a_session_that_is_not_there(fixture: &impl Fixture) {
    let store = fixture.store();
    let (late, ended) = (given::session(), given::session());
    take_part(&*store, late.id, "shop", true).await;
    insert(&*store, &ended).await;
    end(&*store, EndSessions::One(ended.id), 20, Vec::new()).await;
    take_part(&*store, ended.id, "shop", true).await;
    assert_eq!(end(&*store, EndSessions::One(ended.id), 21, Vec::new()).await, []);
    insert(&*store, &late).await;
    let found = participants(&*store, EndSessions::One(late.id)).await;
    assert_eq!(found.iter().map(|found| found.clients.len()).collect::<Vec<_>>(), [0]);
    take_part(&*store, late.id, "shop", true).await;
    assert_eq!(end(&*store, EndSessions::One(late.id), 22, Vec::new()).await.len(), 1);
}

async fn take_part(store: &impl GrantRepository, session: SessionId, client: &str, participates: bool) {
    let client = given::client_id(client);
    let grant = Grant { session: Some(session), client, ..given::grant() };
    store.insert(grant, None, participates).await.unwrap();
}

fn sorted<'a>(clients: impl Iterator<Item = &'a sluice_protocol::ClientId>) -> Vec<&'a str> {
    let mut names: Vec<_> = clients.map(sluice_protocol::ClientId::as_str).collect();
    names.sort_unstable();
    names
}

/// The row goes, the marker comes, the notices wait in the outbox: all at once.
pub async fn an_ended_session_is_gone_marked_and_told(fixture: &impl Fixture) {
    let store = fixture.store();
    let (session, other) = (given::session(), given::session());
    insert(&*store, &session).await;
    insert(&*store, &other).await;
    take_part(&*store, session.id, "shop", true).await;
    let notice = LogoutNotice {
        uri: "https://shop.example/logout".parse().unwrap(),
        client: given::client_id("shop"),
        subject: session.subject.clone(),
        session: session.id,
    };
    let told = end(&*store, EndSessions::One(session.id), 20, vec![notice.clone()]).await;
    let shop = SessionClient { client: given::client_id("shop"), shown_subject: Some("pairwise".to_owned()) };
    assert_eq!(told, [(session.id, shop)], "who took part in the end");
    assert_eq!(find(&*store, &session, 21).await, None);
    assert!(find(&*store, &other, 21).await.is_some());
    assert_eq!(participants(&*store, EndSessions::One(session.id)).await, []);
    let marker = given::markers(&*store).await.pop().unwrap();
    let expected = (Target::Session(session.id), given::at(20), given::at(9000));
    assert_eq!((marker.target, marker.at, marker.expires_at), expected);
    let room = LeaseRoom { notices: 10, of_a_client: 10, under_way: Vec::new() };
    let leased = store.lease(given::at(21), Lifetime::secs(30), room).await.unwrap();
    assert_eq!(leased.into_iter().map(|leased| leased.notice).collect::<Vec<_>>(), [notice]);
}

/// The node that ends it may be behind the one where somebody logged in: nothing of the session is left all the same.
pub async fn a_session_ends_whatever_the_clocks_say(fixture: &impl Fixture) {
    let (store, behind) = (fixture.store(), fixture.second_node().await);
    let (ahead, later) = (given::at(30), given::at(31));
    let session = LoginSession { authenticated_at: ahead, last_seen_at: ahead, ..given::session() };
    insert(&*store, &session).await;
    take_part(&*store, session.id, "shop", true).await;
    let of_it =
        Grant { session: Some(session.id), authenticated_at: ahead, consented_at: later, ..given::grant() };
    let of_it = given::inserted(&*store, of_it).await;
    assert_eq!(end(&*behind, EndSessions::One(session.id), 20, Vec::new()).await.len(), 1);
    assert_eq!(find(&*store, &session, 31).await, None);
    assert!(!insert(&*store, &session).await, "the verifier of its login, once more");
    assert_eq!(store.redeem_code(given::redeem(of_it.id, 32)).await.unwrap(), Redemption::Revoked);
    let marker = given::markers(&*store).await.pop().unwrap();
    assert_eq!((marker.target, marker.at), (Target::Session(session.id), ahead));
}

/// All sessions of a subject end with one marker.
pub async fn all_sessions_of_a_subject_end_with_one_marker(fixture: &impl Fixture) {
    let store = fixture.store();
    let (one, other) = (given::session(), given::session());
    let bobs = LoginSession { subject: given::subject("bob"), ..given::session() };
    for session in [&one, &other, &bobs] {
        insert(&*store, session).await;
    }
    for session in [&one, &bobs] {
        take_part(&*store, session.id, "shop", true).await;
    }
    end(&*store, EndSessions::Subject(given::subject("alice")), 20, Vec::new()).await;
    assert!(!insert(&*store, &one).await, "the verifier of its login, once more");
    assert_eq!((find(&*store, &one, 21).await, find(&*store, &other, 21).await), (None, None));
    assert!(find(&*store, &bobs, 21).await.is_some());
    let targets: Vec<_> = given::markers(&*store).await.into_iter().map(|marker| marker.target).collect();
    assert_eq!(targets, [Target::Subject(given::subject("alice"))]);
}

/// A login verifier that is replayed after the logout brings nothing back.
pub async fn an_ended_session_does_not_come_back(fixture: &impl Fixture) {
    let (store, other_node) = (fixture.store(), fixture.second_node().await);
    let session = given::session();
    insert(&*store, &session).await;
    end(&*store, EndSessions::One(session.id), 20, Vec::new()).await;
    assert!(!insert(&*other_node, &session).await);
    assert_eq!(find(&*store, &session, 21).await, None);
}

/// The same for a session that the marker of its subject covers, even if it was never stored; a later login is not
/// covered.
pub async fn a_session_that_authenticated_before_its_subjects_end_is_not_inserted(fixture: &impl Fixture) {
    let store = fixture.store();
    end(&*store, EndSessions::Subject(given::subject("alice")), 20, Vec::new()).await;
    assert!(!insert(&*store, &LoginSession { authenticated_at: given::at(20), ..given::session() }).await);
    let later =
        LoginSession { authenticated_at: given::at(21), last_seen_at: given::at(21), ..given::session() };
    assert!(insert(&*store, &later).await);
    assert!(find(&*store, &later, 22).await.is_some());
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_session_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let (store, nul) = (fixture.store(), "with \0 inside");
    for session in [
        LoginSession { provider_session: Some(nul.to_owned()), ..given::session() },
        LoginSession { origin: Some(given::origin(nul, "192.0.2.1")), ..given::session() },
        LoginSession { origin: Some(given::origin("Firefox", nul)), ..given::session() },
    ] {
        let renewed = LoginSessionRepository::renew(&*store, &session).await;
        let refused = [renewed, LoginSessionRepository::insert(&*store, session).await];
        assert!(refused.iter().all(|refused| matches!(refused, Err(StoreError::Invalid(_)))), "{refused:?}");
    }
}

async fn purge(store: &impl LoginSessionRepository, now: i64, kept: Lifetime, limit: u32) -> u64 {
    store.purge_expired(given::at(now), kept, limit).await.unwrap()
}

/// Tokens may outlive the session that they come from: whoever holds them is told of a logout then, too.
pub async fn a_remembered_session_is_kept_for_its_participants(fixture: &impl Fixture) {
    let (store, session) = (fixture.store(), given::session());
    let unremembered = LoginSession { remembered: false, ..given::session() };
    for session in [&session, &unremembered] {
        insert(&*store, session).await;
        take_part(&*store, session.id, "shop", true).await;
    }
    assert_eq!(purge(&*store, 4000, Lifetime::hours(1), 10).await, 1);
    let ended = participants(&*store, EndSessions::Subject(session.subject.clone())).await;
    let ended: Vec<_> = ended.iter().map(|ended| (ended.session, ended.clients.len())).collect();
    assert_eq!(ended, [(session.id, 1)]);
    assert_eq!(find(&*store, &session, 4000).await, None);
    assert_eq!(store.of_subject(&session.subject, given::at(4000)).await.unwrap(), []);
    assert_eq!(purge(&*store, 7200, Lifetime::hours(1), 10).await, 0);
    assert_eq!(purge(&*store, 7201, Lifetime::FOREVER, 10).await, 0);
    assert_eq!(purge(&*store, 7201, Lifetime::hours(1), 10).await, 1);
    assert_eq!(participants(&*store, EndSessions::One(session.id)).await, []);
}

/// Whoever refreshes for longer than the browser comes by is told as well.
pub async fn a_session_is_kept_for_those_who_have_tokens_of_it_still(fixture: &impl Fixture) {
    let store = fixture.store();
    let unremembered = LoginSession { remembered: false, idle: Lifetime::FOREVER, ..given::session() };
    let (remembered, over) = (given::session(), given::session());
    for session in [&unremembered, &remembered, &over] {
        insert(&*store, session).await;
        take_part(&*store, session.id, "shop", true).await;
    }
    let keep = async |session: &LoginSession, now, until| {
        store.keep(session.id, given::at(now), given::at(until)).await.unwrap();
    };
    keep(&unremembered, 100, 9000).await;
    keep(&unremembered, 100, 5000).await;
    keep(&remembered, 100, 9000).await;
    keep(&over, 4000, 9000).await;
    let found = find(&*store, &remembered, 101).await;
    assert_eq!(found, Some(remembered.clone()), "it is kept by itself");
    assert_eq!(find(&*store, &over, 4000).await, None);
    assert!(!store.renew(&renewed(&over, 4000)).await.unwrap(), "it is over");
    let listed = store.of_subject(&given::subject("alice"), given::at(4000)).await.unwrap();
    assert_eq!(listed.iter().map(|listed| listed.id).collect::<Vec<_>>(), [unremembered.id]);
    assert_eq!(purge(&*store, 8999, Lifetime::hours(1), 10).await, 1);
    for (session, told) in [(&unremembered, 1), (&remembered, 0), (&over, 1)] {
        let ended = participants(&*store, EndSessions::One(session.id)).await;
        assert_eq!(ended.iter().map(|ended| ended.clients.len()).sum::<usize>(), told);
    }
    assert_eq!(purge(&*store, 9001, Lifetime::hours(1), 10).await, 2);
    store.keep(given::session_id(), given::at(0), given::at(9000)).await.unwrap();
}

/// A session that is still kept has ended all the same.
pub async fn a_session_whose_time_is_over_does_not_go_on(fixture: &impl Fixture) {
    let store = fixture.store();
    let expired = || LoginSession { idle: Lifetime::FOREVER, ..given::session() };
    let idle = || LoginSession { expires_at: given::at(9000), ..given::session() };
    let until = Some(given::at(9000));
    for (session, end) in [(expired(), until), (idle(), until), (expired(), None), (idle(), None)] {
        let session = &session;
        insert(&*store, session).await;
        store.touch(session.id, given::at(3600), end).await.unwrap();
        assert_eq!(find(&*store, session, 3600).await, None);
        assert!(!store.renew(&renewed(session, 3600)).await.unwrap());
        assert_eq!(find(&*store, session, 3601).await, None);
        assert!(insert(&*store, session).await, "the first verifier of its login, once more");
        assert_eq!(find(&*store, session, 3601).await, None);
    }
}

/// Expired sessions go with their participants, a bounded number at a time.
pub async fn expired_sessions_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let living = LoginSession { expires_at: given::at(9000), ..given::session() };
    insert(&*store, &living).await;
    for _ in 0..3 {
        let session = given::session();
        insert(&*store, &session).await;
        take_part(&*store, session.id, "shop", true).await;
    }
    let purge = async |limit| purge(&*store, 4000, Lifetime::ZERO, limit).await;
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    let left = participants(&*store, EndSessions::Subject(given::subject("alice"))).await;
    assert_eq!(left.iter().map(|ended| ended.session).collect::<Vec<_>>(), [living.id]);
}
