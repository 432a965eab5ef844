use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use sluice_identity::identity::{Email, EndsSessions, IdentityStatus, NewCredential};
use sluice_oauth::keys::NewKeys;
use sluice_oauth::login_session::{EndedSession, LoginSession, LoginSessionRepository, SessionClient};
use sluice_oauth::logout::LogoutNotice;
use sluice_primitives::{AttemptId, Lifetime, OsRng, Rng, SessionId, SystemClock};
use sluice_protocol::Subject;

use super::*;
use crate::app::opening::{key_material, open};
use crate::app::services::{Foundation, Services};
use crate::app::stores::Stores;
use crate::config::{Mode, Sources, load};

const NEW: &str = "h1$new";

/// Login sessions that cannot be ended for some of the times.
struct Failing {
    store: Arc<dyn Repositories>,
    times: AtomicU32,
    fails: Range<u32>,
}

#[async_trait]
impl LoginSessionRepository for Failing {
    async fn insert(&self, session: LoginSession) -> Result<bool, StoreError> {
        LoginSessionRepository::insert(&*self.store, session).await
    }

    async fn renew(&self, session: &LoginSession) -> Result<bool, StoreError> {
        LoginSessionRepository::renew(&*self.store, session).await
    }

    async fn find(&self, session: SessionId, now: Timestamp) -> Result<Option<LoginSession>, StoreError> {
        LoginSessionRepository::find(&*self.store, session, now).await
    }

    async fn of_subject(&self, subject: &Subject, now: Timestamp) -> Result<Vec<LoginSession>, StoreError> {
        LoginSessionRepository::of_subject(&*self.store, subject, now).await
    }

    async fn touch(
        &self,
        session: SessionId,
        now: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        LoginSessionRepository::touch(&*self.store, session, now, expires_at).await
    }

    async fn keep(&self, session: SessionId, now: Timestamp, until: Timestamp) -> Result<(), StoreError> {
        LoginSessionRepository::keep(&*self.store, session, now, until).await
    }

    async fn participants(
        &self,
        which: &EndSessions,
        now: Timestamp,
    ) -> Result<Vec<EndedSession>, StoreError> {
        LoginSessionRepository::participants(&*self.store, which, now).await
    }

    async fn clear(
        &self,
        ended: &[EndedSession],
        until: Timestamp,
        notices: Vec<LogoutNotice>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        LoginSessionRepository::clear(&*self.store, ended, until, notices, now).await
    }

    async fn left_over(&self, after: Option<&Subject>) -> Result<Option<(Subject, Timestamp)>, StoreError> {
        LoginSessionRepository::left_over(&*self.store, after).await
    }

    async fn end(
        &self,
        which: EndSessions,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError> {
        if self.fails.contains(&self.times.fetch_add(1, SeqCst)) {
            return Err(StoreError::Unavailable(None));
        }
        LoginSessionRepository::end(&*self.store, which, now, marker_expires_at, notices).await
    }

    async fn purge_expired(&self, now: Timestamp, kept: Lifetime, limit: u32) -> Result<u64, StoreError> {
        LoginSessionRepository::purge_expired(&*self.store, now, kept, limit).await
    }
}

/// People, one of whom there is, on a store that cannot end login sessions for some of the times.
struct World {
    stores: Stores,
    people: SigningOut,
    sessions: Arc<Failing>,
    alice: Identity,
}

impl World {
    async fn failing(fails: Range<u32>) -> Self {
        let sources = Sources {
            files: Vec::new(),
            environment: Vec::new(),
            overrides: vec![("dsn".to_owned(), "memory".to_owned())],
            mode: Mode::Development,
            data_dir: PathBuf::from("."),
        };
        let settings = load(&sources).unwrap_or_else(|error| panic!("{error}")).settings;
        let (clock, rng): (Arc<dyn Clock>, Arc<dyn Rng>) = (Arc::new(SystemClock), Arc::new(OsRng));
        let stores = open(&settings, true, (&clock, &rng)).await.unwrap();
        let base = Foundation {
            store: stores.repositories(),
            network: stores.network_id().await.unwrap(),
            secrets: key_material(&settings, Path::new("."), &*rng).unwrap(),
            clock: Arc::clone(&clock),
            rng,
            keys: Arc::new(NewKeys),
        };
        let services =
            Box::pin(Services::start(&settings, base)).await.unwrap_or_else(|error| panic!("{error}"));
        let store = stores.repositories();
        let sessions = Arc::new(Failing { store: Arc::clone(&store), times: AtomicU32::new(0), fails });
        let ending = LoginSessionService {
            config: Arc::clone(&services.config),
            sessions: sessions.clone(),
            clients: Arc::clone(&services.directory),
            revocations: Arc::clone(&services.revocations),
            clock: Arc::clone(&clock),
        };
        let alice = alice(clock.now());
        store.register(alice.clone().into()).await.unwrap();
        let consents = Arc::clone(&services.consents);
        let people = SigningOut { store, sessions: Arc::new(ending), consents, clock };
        Self { stores, people, sessions, alice }
    }

    /// Gives Alice another password.
    async fn change(&self) -> Result<Changed, StoreError> {
        let now = self.people.clock.now();
        let change = IdentityChange {
            credential: Some(NewCredential { stored: NEW.to_owned(), hardening: false }),
            ends_sessions: EndsSessions::All,
            revokes: true,
            marker_expires_at: now + Lifetime::hours(1),
            ..IdentityChange::of(&self.alice, now, AttemptId::generate(now, &OsRng))
        };
        self.people.change(&change).await
    }

    /// Her password, if she is there.
    async fn password(&self) -> Option<String> {
        let found = IdentityRepository::find(&self.people, self.alice.id).await.unwrap();
        found.map(|alice| alice.credential)
    }

    fn times(&self) -> u32 {
        self.sessions.times.load(SeqCst)
    }
}

fn alice(now: Timestamp) -> Identity {
    let email: Email = "alice@example.com".parse().unwrap();
    Identity {
        id: IdentityId::generate(now, &OsRng),
        email: email.as_str().to_owned(),
        login_name: email.login_name(),
        username: String::new(),
        credential: "h1$old".to_owned(),
        hardening: false,
        status: IdentityStatus::Active,
        email_verified_at: None,
        created_at: now,
        updated_at: now,
        revision: 1,
        attempt: AttemptId::generate(now, &OsRng),
    }
}

#[tokio::test]
async fn a_change_that_was_made_is_told_as_made_whatever_fails_after_it() {
    let world = World::failing(1..u32::MAX).await;
    assert_eq!(world.change().await.unwrap(), Changed::Done);
    assert_eq!((world.password().await.as_deref(), world.times()), (Some(NEW), 1 + TRIES));
    world.stores.shutdown().await;
}

#[tokio::test]
async fn what_follows_a_change_is_tried_again() {
    let world = World::failing(1..2).await;
    assert_eq!(world.change().await.unwrap(), Changed::Done);
    assert_eq!(world.times(), 3, "before the change, in vain, and again");
    world.stores.shutdown().await;
}

#[tokio::test]
async fn nothing_is_changed_if_nobody_can_be_signed_out() {
    let world = World::failing(0..1).await;
    let error = world.change().await.unwrap_err();
    assert!(NotBegun::is_said_by(&error), "{error:?}");
    assert_eq!((world.password().await.as_deref(), world.times()), (Some("h1$old"), 1));
    world.stores.shutdown().await;
}

#[tokio::test]
async fn who_was_deleted_is_told_to_be_deleted_whatever_fails_after_it() {
    let world = World::failing(1..u32::MAX).await;
    let now = world.people.clock.now();
    let deleted =
        world.people.delete(world.alice.id, Some(1), now, now + Lifetime::hours(1), None).await.unwrap();
    assert_eq!((deleted, world.password().await), (Removed::Done, None));
    world.stores.shutdown().await;
}
