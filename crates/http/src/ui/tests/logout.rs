//! Logout.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use sluice_commit::StoreError;
use sluice_oauth::authorization::{Browser, SessionCookie};
use sluice_oauth::client::{Client, ClientRepository, LogoutUri};
use sluice_oauth::flow::BindingKeys;
use sluice_oauth::grant::{Grant, GrantRepository};
use sluice_oauth::login_session::LoginSessionRepository;
use sluice_oauth::logout::{LogoutError, LogoutService, LogoutStep};
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_primitives::{Lifetime, OsRng, SessionId, Timestamp};
use sluice_store_contract::given;

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
    assert!(stays.body.contains("You are still signed in"));
    let leaves = world.fill_in(&page, &[("decision", "accept")]).await;
    assert!(!leaves.sent_with("logout_verifier").is_empty());
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

/// A store that is busy when something is spent for the first time.
struct Busy {
    store: Arc<dyn ReplayRepository>,
    was_asked: AtomicBool,
}

#[async_trait]
impl ReplayRepository for Busy {
    async fn spend(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        if !self.was_asked.swap(true, Ordering::SeqCst) {
            return Err(StoreError::Busy);
        }
        self.store.spend(kind, id_hash, now, expires_at).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.store.purge_expired(now, limit).await
    }
}

fn on_a_busy_store(logout: &LogoutService) -> LogoutService {
    LogoutService {
        config: Arc::clone(&logout.config),
        clients: Arc::clone(&logout.clients),
        sessions: Arc::clone(&logout.sessions),
        replay: Arc::new(Busy { store: Arc::clone(&logout.replay), was_asked: AtomicBool::new(false) }),
        keys: Arc::clone(&logout.keys),
        sealer: Arc::clone(&logout.sealer),
        revocations: Arc::clone(&logout.revocations),
        clock: Arc::clone(&logout.clock),
        rng: Arc::clone(&logout.rng),
    }
}

/// The browser of somebody who signed in now.
fn signed_in(world: &World, session: SessionId) -> Browser {
    let subject = "alice".parse().unwrap();
    let cookie = SessionCookie { session, subject, authenticated_at: world.now(), remembered: true };
    Browser {
        keys: BindingKeys(vec![world.key.clone()]),
        session: Some(cookie.seal(&world.sealer, &OsRng)),
        ..Browser::default()
    }
}

/// Begins to sign out, and confirms it; the verifier.
async fn confirmed(logout: &LogoutService, browser: &Browser) -> String {
    let Ok(LogoutStep::Confirm { page, .. }) = logout.begin(b"", browser).await else { panic!("confirm") };
    verifier(&logout.accept(page.split_once("logout_challenge=").unwrap().1).await.unwrap())
}

fn verifier(url: &str) -> String {
    url.split_once("logout_verifier=").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_sign_out_that_failed_can_be_tried_again_and_ends_no_later_session() {
    let world = World::new().await;
    let logout = on_a_busy_store(&world.ui.logout);
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

/// Who took part in the session is known no more when it is tried again.
#[tokio::test]
async fn a_sign_out_that_failed_shows_what_clients_want_to_be_loaded_when_it_is_tried_again() {
    let world = World::new().await;
    let logout = on_a_busy_store(&world.ui.logout);
    let uri = "https://listener.example/out".parse().unwrap();
    let listener = Client {
        frontchannel_logout: Some(LogoutUri { uri, session_required: false }),
        ..given::client("listener", "owner")
    };
    ClientRepository::insert(&*world.store, &listener).await.unwrap();
    let session = given::session();
    assert!(LoginSessionRepository::insert(&*world.store, session.clone()).await.unwrap());
    let grant = Grant { session: Some(session.id), client: listener.id, ..given::grant() };
    GrantRepository::insert(&*world.store, grant, None, true).await.unwrap();
    let browser = signed_in(&world, session.id);
    let first = confirmed(&logout, &browser).await;
    let failed = logout.finish(&first, &browser).await.unwrap();
    let LogoutStep::Again { to } = failed else { panic!("{failed:?}") };
    let again = verifier(&to);
    let done = logout.finish(&again, &browser).await.unwrap();
    let LogoutStep::Done { frames, ends_cookie: true, .. } = done else { panic!("{done:?}") };
    let [frame] = frames.as_slice() else { panic!("{frames:?}") };
    assert_eq!(frame.host_str(), Some("listener.example"));
    let sid = session.id.to_string();
    assert!(frame.query_pairs().any(|(name, value)| name == "sid" && value == sid), "{frame}");
    for spent in [first, again] {
        assert!(matches!(logout.finish(&spent, &browser).await, Err(LogoutError::Verifier)));
    }
}
