//! Logout.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::json;
use sluice_commit::StoreError;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_oauth::authorization::{Browser, SessionCookie};
use sluice_oauth::client::{Client, ClientRepository};
use sluice_oauth::flow::BindingKeys;
use sluice_oauth::grant::{Grant, GrantRepository};
use sluice_oauth::login_session::{
    EndSessions, EndedSession, LoginSession, LoginSessionRepository, SESSIONS_AT_ONCE, SessionClient,
};
use sluice_oauth::logout::{
    LeaseRoom, LogoutError, LogoutNotice, LogoutService, LogoutStep, OutboxRepository,
};
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_primitives::{Lifetime, OsRng, SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_store_contract::given;
use sluice_testkit::Captured;

use super::world::{ALICE, World, form};

#[tokio::test]
async fn a_person_signs_out_or_stays() {
    let world = World::new().await;
    let alice = world.register_alice().await.to_string().parse().unwrap();
    let (page, session) = world.at_logout_of_session(alice).await;
    assert!(world.get_with(&page, &session).await.body.contains(ALICE));
    assert!(!world.get(&page).await.body.contains(ALICE), "an id token alone does not tell whose it is");
    let stays = world.fill_in(&page, &[("decision", "reject")]).await;
    assert_eq!(stays.status, StatusCode::OK);
    assert!(stays.body.contains("You are still signed in here"));
    let leaves = world.fill_in(&page, &[("decision", "accept")]).await;
    assert!(!leaves.sent_with("logout_verifier").is_empty());
}

#[tokio::test]
async fn another_spelling_of_the_id_of_a_person_is_not_told_the_address() {
    let world = World::new().await;
    let spelling = format!("urn:uuid:{}", world.register_alice().await);
    let (page, session) = world.at_logout_of_session(spelling.parse().unwrap()).await;
    let shown = world.get_with(&page, &session).await;
    assert_eq!(shown.status, StatusCode::OK);
    assert!(!shown.body.contains(ALICE), "{}", shown.body);
}

#[tokio::test]
async fn of_a_client_that_nobody_vouches_for_it_is_said_where_it_would_sign_a_person_out() {
    let world = World::new().await;
    let browser = signed_in(&world, SessionId::from_bytes([1; 16]));
    let after = "https://elsewhere.example/bye";
    let stranger = Client {
        post_logout_redirect_uris: vec![after.parse().unwrap()],
        registered_itself: true,
        ..given::client("stranger", "")
    };
    for client in [stranger, given::client("known", "owner")] {
        ClientRepository::insert(&*world.store, &client).await.unwrap();
    }
    let and_back = format!("client_id=stranger&post_logout_redirect_uri={after}");
    let to_elsewhere = ", and takes you to <strong><bdi>elsewhere.example</bdi></strong>";
    for (query, said) in [
        (and_back.as_str(), Some(to_elsewhere)),
        ("client_id=stranger", Some("")),
        ("client_id=known", None),
        ("", None),
    ] {
        let step = world.ui.logout.begin(query.as_bytes(), &browser).await.unwrap();
        let LogoutStep::Confirm { page, .. } = step else { panic!("{step:?}") };
        let shown = world.get(page.trim_start_matches("https://id.example")).await;
        assert_eq!(shown.status, StatusCode::OK, "{}", shown.body);
        assert_eq!(shown.body.contains("registered itself"), said.is_some(), "{query}: {}", shown.body);
        let sentence =
            format!("Whatever it calls itself: it registered itself{}.</p>", said.unwrap_or_default());
        assert!(said.is_none() || shown.body.contains(&sentence), "{query}: {}", shown.body);
    }
}

#[tokio::test]
async fn another_browser_cannot_sign_a_person_out() {
    let world = World::new().await;
    let page = world.at_logout("somebody".parse().unwrap()).await;
    let challenge = page.split_once('=').unwrap().1;
    let shown = world.send_without_cookie(Request::get(&page).body(Body::empty()).unwrap()).await;
    assert_eq!(shown.status, StatusCode::BAD_REQUEST);
    let forged = form("/ui/logout", &[("logout_challenge", challenge), ("decision", "accept")]);
    assert_eq!(world.send(forged).await.status, StatusCode::BAD_REQUEST);
}

/// What a store with a full disk says.
fn full() -> StoreError {
    StoreError::refused(std::io::Error::other("the disk is full"))
}

/// A store that refuses when something is spent for the first time.
struct Refusing {
    store: Arc<dyn ReplayRepository>,
    was_asked: AtomicBool,
}

#[async_trait]
impl ReplayRepository for Refusing {
    async fn spend(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        if !self.was_asked.swap(true, Ordering::SeqCst) {
            return Err(full());
        }
        self.store.spend(kind, id_hash, now, expires_at).await
    }

    async fn is_spent(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.store.is_spent(kind, id_hash, now).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.store.purge_expired(now, limit).await
    }
}

/// A store that fails when sessions end for the second time.
struct SecondEndFails {
    store: Arc<dyn LoginSessionRepository>,
    ends: AtomicUsize,
}

#[async_trait]
impl LoginSessionRepository for SecondEndFails {
    async fn insert(&self, session: LoginSession) -> Result<bool, StoreError> {
        self.store.insert(session).await
    }

    async fn renew(&self, session: &LoginSession) -> Result<bool, StoreError> {
        self.store.renew(session).await
    }

    async fn find(&self, session: SessionId, now: Timestamp) -> Result<Option<LoginSession>, StoreError> {
        self.store.find(session, now).await
    }

    async fn of_subject(&self, subject: &Subject, now: Timestamp) -> Result<Vec<LoginSession>, StoreError> {
        self.store.of_subject(subject, now).await
    }

    async fn touch(
        &self,
        session: SessionId,
        now: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        self.store.touch(session, now, expires_at).await
    }

    async fn keep(&self, session: SessionId, now: Timestamp, until: Timestamp) -> Result<(), StoreError> {
        self.store.keep(session, now, until).await
    }

    async fn participants(
        &self,
        which: &EndSessions,
        now: Timestamp,
    ) -> Result<Vec<EndedSession>, StoreError> {
        self.store.participants(which, now).await
    }

    async fn end(
        &self,
        which: EndSessions,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError> {
        if self.ends.fetch_add(1, Ordering::SeqCst) == 1 {
            return Err(full());
        }
        self.store.end(which, now, marker_expires_at, notices).await
    }

    async fn clear(
        &self,
        ended: &[EndedSession],
        until: Timestamp,
        notices: Vec<LogoutNotice>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.store.clear(ended, until, notices, now).await
    }

    async fn left_over(&self, after: Option<&Subject>) -> Result<Option<(Subject, Timestamp)>, StoreError> {
        self.store.left_over(after).await
    }

    async fn purge_expired(&self, now: Timestamp, kept: Lifetime, limit: u32) -> Result<u64, StoreError> {
        self.store.purge_expired(now, kept, limit).await
    }
}

/// Whether the line with this sentence says what the store had against it.
fn tells_why(log: &Captured, sentence: &str) -> bool {
    log.text().lines().any(|line| line.contains(sentence) && line.contains("the disk is full"))
}

fn same(logout: &LogoutService) -> LogoutService {
    LogoutService {
        config: Arc::clone(&logout.config),
        clients: Arc::clone(&logout.clients),
        sessions: Arc::clone(&logout.sessions),
        replay: Arc::clone(&logout.replay),
        keys: Arc::clone(&logout.keys),
        sealer: Arc::clone(&logout.sealer),
        revocations: Arc::clone(&logout.revocations),
        clock: Arc::clone(&logout.clock),
        rng: Arc::clone(&logout.rng),
    }
}

fn on_a_full_store(logout: &LogoutService) -> LogoutService {
    let refusing = Refusing { store: Arc::clone(&logout.replay), was_asked: AtomicBool::new(false) };
    LogoutService { replay: Arc::new(refusing), ..same(logout) }
}

/// A store that fails when sessions end for the second time, and has what `logout` has.
fn failing_at_the_second(logout: &LogoutService) -> LogoutService {
    let sessions = SecondEndFails { store: Arc::clone(&logout.sessions), ends: AtomicUsize::new(0) };
    LogoutService { sessions: Arc::new(sessions), ..same(logout) }
}

/// The browser of somebody who signed in now.
pub(super) fn signed_in(world: &World, session: SessionId) -> Browser {
    signed_in_after(world, session, Vec::new())
}

/// The same, where the person had these sessions before.
fn signed_in_after(world: &World, session: SessionId, former: Vec<SessionId>) -> Browser {
    let subject = "alice".parse().unwrap();
    let cookie = SessionCookie {
        session,
        subject,
        authenticated_at: world.now(),
        remembered: true,
        until_closed: Some(false),
        former,
    };
    Browser {
        keys: BindingKeys(vec![world.key.clone()]),
        session: Some(cookie.seal(&world.sealer, &OsRng)),
        ..Browser::default()
    }
}

/// Begins to sign out, and confirms it; the verifier.
pub(super) async fn confirmed(logout: &LogoutService, browser: &Browser) -> String {
    let Ok(LogoutStep::Confirm { page, .. }) = logout.begin(b"", browser).await else { panic!("confirm") };
    verifier(&logout.accept(page.split_once("logout_challenge=").unwrap().1).await.unwrap())
}

pub(super) fn verifier(url: &str) -> String {
    url.split_once("logout_verifier=").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_sign_out_that_failed_can_be_tried_again_and_ends_no_later_session() {
    let world = World::new().await;
    let logout = on_a_full_store(&world.ui.logout);
    let [first, later] = [1, 2].map(|number| SessionId::from_bytes([number; 16]));
    let is_over = |session| {
        logout.revocations.covers_login(session, &"alice".parse().unwrap(), world.now() - Lifetime::secs(1))
    };
    let browser = signed_in(&world, first);
    world.clock.advance(Lifetime::secs(1));
    let verifier = &confirmed(&logout, &browser).await;
    assert!(matches!(logout.finish(verifier, &browser).await, Err(LogoutError::Store(_))));
    assert!(is_over(first), "the verifier is spent when the session is over");
    let again = logout.finish(verifier, &browser).await;
    assert!(matches!(again, Ok(LogoutStep::Done { ends_cookie: true, .. })), "{again:?}");
    world.clock.advance(Lifetime::secs(1));
    let browser = signed_in(&world, later);
    world.clock.advance(Lifetime::secs(1));
    assert!(matches!(logout.finish(verifier, &browser).await, Err(LogoutError::Verifier)));
    assert!(!is_over(later));
}

/// A session whose end a client wants to hear of in a frame.
async fn listened_to(world: &World) -> LoginSession {
    let listener = Client {
        frontchannel_logout: Some("https://listener.example/out".parse().unwrap()),
        ..given::client("listener", "owner")
    };
    ClientRepository::insert(&*world.store, &listener).await.unwrap();
    let session = given::session();
    assert!(LoginSessionRepository::insert(&*world.store, session.clone()).await.unwrap());
    let grant = Grant { session: Some(session.id), client: listener.id, ..given::grant() };
    GrantRepository::insert(&*world.store, grant, None, true).await.unwrap();
    session
}

/// More than are deleted at once: the answer does not wait for the others, whose clients are told a moment later.
#[tokio::test]
async fn of_many_sessions_that_end_everywhere_every_client_is_told_once() {
    let world = World::new().await;
    let listener = Client {
        backchannel_logout: Some("https://listener.example/out".parse().unwrap()),
        ..given::client("listener", "owner")
    };
    ClientRepository::insert(&*world.store, &listener).await.unwrap();
    let mut sessions = HashSet::new();
    for _ in 0..SESSIONS_AT_ONCE + 2 {
        let session = given::session();
        assert!(LoginSessionRepository::insert(&*world.store, session.clone()).await.unwrap());
        let grant = Grant { session: Some(session.id), client: listener.id.clone(), ..given::grant() };
        GrantRepository::insert(&*world.store, grant, None, true).await.unwrap();
        sessions.insert(session.id);
    }
    let told = async || {
        let room = LeaseRoom { notices: 10_000, of_a_client: 10_000, under_way: Vec::new() };
        let leased = world.store.lease(world.now(), Lifetime::hours(1), room).await.unwrap();
        leased.into_iter().map(|leased| leased.notice.session).collect::<Vec<_>>()
    };
    let alice = EndSessions::Subject(given::subject("alice"));
    world.ui.login_sessions.end(alice).await.unwrap();
    let at_once = told().await;
    assert_eq!(at_once.len(), SESSIONS_AT_ONCE);
    for session in &sessions {
        let found = LoginSessionRepository::find(&*world.store, *session, world.now()).await.unwrap();
        assert_eq!(found, None);
    }
    world.ui.login_sessions.clear_ended().await.unwrap();
    let later = told().await;
    assert_eq!(later.len(), 2);
    assert_eq!(at_once.into_iter().chain(later).collect::<HashSet<_>>(), sessions);
}

/// Who took part in the session is known no more when it is tried again.
#[tokio::test]
async fn a_sign_out_that_failed_shows_what_clients_want_to_be_loaded_when_it_is_tried_again() {
    let (log, _guard) = Captured::everything();
    let world = World::new().await;
    let logout = on_a_full_store(&world.ui.logout);
    let session = listened_to(&world).await;
    let browser = signed_in(&world, session.id);
    let first = confirmed(&logout, &browser).await;
    let failed = logout.finish(&first, &browser).await.unwrap();
    let LogoutStep::Again { to } = failed else { panic!("{failed:?}") };
    assert!(tells_why(&log, "a logout that ended sessions is tried again"), "{}", log.text());
    let again = verifier(&to);
    let done = logout.finish(&again, &browser).await.unwrap();
    let LogoutStep::Done { frames, ends_cookie: true, .. } = done else { panic!("{done:?}") };
    let [frame] = frames.as_slice() else { panic!("{frames:?}") };
    assert_eq!(frame.host_str(), Some("listener.example"));
    let sid = session.id.to_string();
    assert!(frame.query_pairs().any(|(name, value)| name == "sid" && value == sid), "{frame}");
    for (spent, shown) in [(first, None), (again, Some(frame))] {
        let once_more = logout.finish(&spent, &browser).await.unwrap();
        let LogoutStep::Done { frames, ends_cookie: true, .. } = once_more else { panic!("{once_more:?}") };
        assert_eq!(frames.first(), shown, "as far as it has them along");
    }
}

/// The browser has signed in once more meanwhile. Its session ends when the verifier is spent: the logout goes on with another one.
#[tokio::test]
async fn a_sign_out_that_failed_at_a_later_session_goes_on_with_that() {
    let (log, _guard) = Captured::everything();
    let world = World::new().await;
    let logout = failing_at_the_second(&world.ui.logout);
    let (session, later) = (listened_to(&world).await.id, SessionId::from_bytes([2; 16]));
    let first = confirmed(&logout, &signed_in(&world, session)).await;
    world.clock.advance(Lifetime::secs(1));
    let browser = signed_in(&world, later);
    let failed = logout.finish(&first, &browser).await.unwrap();
    let LogoutStep::Again { to } = failed else { panic!("{failed:?}") };
    assert!(tells_why(&log, "a logout that ended a session goes on with another"), "{}", log.text());
    let again = verifier(&to);
    let done = logout.finish(&again, &browser).await.unwrap();
    let LogoutStep::Done { frames, ends_cookie: true, .. } = done else { panic!("{done:?}") };
    let [frame] = frames.as_slice() else { panic!("{frames:?}") };
    assert_eq!(frame.host_str(), Some("listener.example"));
    let (alice, before): (Subject, _) = ("alice".parse().unwrap(), world.now() - Lifetime::secs(1));
    assert!([session, later].iter().all(|over| logout.revocations.covers_login(*over, &alice, before)));
    for (spent, shown) in [(first, None), (again, Some(frame))] {
        let once_more = logout.finish(&spent, &browser).await.unwrap();
        let LogoutStep::Done { frames, ends_cookie: true, .. } = once_more else { panic!("{once_more:?}") };
        assert_eq!(frames.first(), shown, "as far as it has them along");
    }
}

/// Of a client whose users are not asked: its query, with an id token of a session.
pub(super) async fn asked_by_a_trusted_client(world: &World, session: SessionId) -> String {
    let trusted = Client { skip_logout_consent: true, ..given::client("trusted", "owner") };
    ClientRepository::insert(&*world.store, &trusted).await.unwrap();
    asked_by(world, "trusted", ("alice", session))
}

/// The query of a client, with an id token of a session of whom it knows by this name.
pub(super) fn asked_by(world: &World, client: &str, (subject, session): (&str, SessionId)) -> String {
    let logout = &world.ui.logout;
    let (issuer, now) = (logout.config.issuer.as_str(), world.now().as_secs());
    let sid = session.to_string();
    let claims =
        json!({"iss": issuer, "aud": client, "sub": subject, "sid": sid, "iat": now, "exp": now + 3600});
    let signer = logout.keys.id_token_signer(SigningAlgorithm::ES256).unwrap();
    format!("id_token_hint={}", signer.sign(Some("JWT"), claims.to_string().as_bytes()).unwrap())
}

fn are_over(world: &World, sessions: &[SessionId]) -> bool {
    let (alice, before): (Subject, _) = ("alice".parse().unwrap(), world.now() - Lifetime::secs(1));
    sessions.iter().all(|over| world.ui.logout.revocations.covers_login(*over, &alice, before))
}

#[tokio::test]
async fn a_sign_out_without_a_page_that_failed_at_a_former_session_goes_on() {
    let (log, _guard) = Captured::everything();
    let world = World::new().await;
    let logout = failing_at_the_second(&world.ui.logout);
    let (present, former) = (listened_to(&world).await.id, SessionId::from_bytes([7; 16]));
    let browser = signed_in_after(&world, present, vec![former]);
    let asked = asked_by_a_trusted_client(&world, present).await;
    world.clock.advance(Lifetime::secs(1));
    let failed = logout.begin(asked.as_bytes(), &browser).await.unwrap();
    let LogoutStep::Again { to } = failed else { panic!("{failed:?}") };
    assert!(tells_why(&log, "a logout that ended sessions is tried again"), "{}", log.text());
    let done = logout.finish(&verifier(&to), &browser).await.unwrap();
    let LogoutStep::Done { frames, ends_cookie: true, .. } = done else { panic!("{done:?}") };
    let [frame] = frames.as_slice() else { panic!("{frames:?}") };
    assert_eq!(frame.host_str(), Some("listener.example"));
    assert!(are_over(&world, &[present, former]));
}

/// Nothing is lost with the answer: it can be asked for again.
#[tokio::test]
async fn a_sign_out_without_a_page_of_which_nobody_wants_to_hear_is_asked_for_again() {
    let world = World::new().await;
    let logout = failing_at_the_second(&world.ui.logout);
    let [present, former] = [1, 7].map(|number| SessionId::from_bytes([number; 16]));
    let browser = signed_in_after(&world, present, vec![former]);
    let asked = asked_by_a_trusted_client(&world, present).await;
    world.clock.advance(Lifetime::secs(1));
    let failed = logout.begin(asked.as_bytes(), &browser).await;
    assert!(matches!(failed, Err(LogoutError::Store(_))), "{failed:?}");
    assert!(!are_over(&world, &[former]));
    let again = logout.begin(asked.as_bytes(), &browser).await;
    assert!(matches!(again, Ok(LogoutStep::Done { ends_cookie: true, .. })), "{again:?}");
    assert!(are_over(&world, &[present, former]));
}

#[tokio::test]
async fn a_sign_out_that_was_confirmed_and_failed_at_a_former_session_goes_on() {
    let world = World::new().await;
    let logout = failing_at_the_second(&world.ui.logout);
    let (present, former) = (listened_to(&world).await.id, SessionId::from_bytes([7; 16]));
    let browser = signed_in_after(&world, present, vec![former]);
    world.clock.advance(Lifetime::secs(1));
    let first = confirmed(&logout, &browser).await;
    let failed = logout.finish(&first, &browser).await.unwrap();
    let LogoutStep::Again { to } = failed else { panic!("{failed:?}") };
    assert!(!are_over(&world, &[former]));
    let done = logout.finish(&verifier(&to), &browser).await.unwrap();
    let LogoutStep::Done { frames, ends_cookie: true, .. } = done else { panic!("{done:?}") };
    assert_eq!(frames.len(), 1, "{frames:?}");
    assert!(are_over(&world, &[present, former]));
}

/// A client that was told another name for her, or is not there any more, cannot say that somebody else is signed in here.
#[tokio::test]
async fn who_may_be_signed_in_again_is_asked_although_the_session_that_is_named_is_over() {
    let world = World::new().await;
    let (logout, [over, present]) = (&world.ui.logout, [1, 2].map(|byte| SessionId::from_bytes([byte; 16])));
    let before = signed_in(&world, over);
    logout.finish(&confirmed(logout, &before).await, &before).await.unwrap();
    let browser = signed_in(&world, present);
    let pairwise = Client { subject_type: "pairwise".to_owned(), ..given::client("pairwise", "owner") };
    for client in [given::client("plain", "owner"), pairwise] {
        ClientRepository::insert(&*world.store, &client).await.unwrap();
    }
    for (client, is_asked) in [("plain", false), ("pairwise", true), ("gone", true)] {
        let query = asked_by(&world, client, ("another name", over));
        let step = logout.begin(query.as_bytes(), &browser).await.unwrap();
        assert_eq!(matches!(step, LogoutStep::Confirm { .. }), is_asked, "{client}: {step:?}");
        let elsewhere = logout.begin(query.as_bytes(), &Browser::default()).await.unwrap();
        assert!(matches!(elsewhere, LogoutStep::Done { ends_cookie: false, .. }), "{elsewhere:?}");
    }
}
