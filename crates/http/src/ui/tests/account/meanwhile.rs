//! A password that is changed between the session and the record that a page looks at; a factor that is enrolled while somebody signs
//! in; a record that is changed after a page has looked at it.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use async_trait::async_trait;
use axum::http::StatusCode;
use futures_util::FutureExt;
use sluice_commit::StoreError;
use sluice_identity::account::AccountService;
use sluice_identity::factor::FactorRepository;
use sluice_identity::identity::{Changed, IdentityChange, IdentityDirectory, NewCredential};
use sluice_identity::session::SessionService;
use sluice_primitives::{AttemptId, Clock, IdentityId, OsRng, Timestamp};
use sluice_store_contract::{Interrupted, Interruption, MemoryStore, given};
use sluice_testkit::Captured;

use super::Visitor;
use super::factors::{FACTORS, with_app};
use crate::ui::tests::world::{ALICE, World};

/// The next one that is looked at has set another password a moment before, elsewhere.
struct Meanwhile {
    people: Arc<dyn IdentityDirectory>,
    clock: Arc<dyn Clock>,
    changes_next: AtomicBool,
}

#[async_trait]
impl Interruption for Meanwhile {
    async fn before_find(&self, id: IdentityId) -> Result<(), StoreError> {
        let found = self.people.find(id).await?;
        let Some(identity) = found.filter(|_| self.changes_next.swap(false, SeqCst)) else { return Ok(()) };
        let now = self.clock.now();
        let change = IdentityChange {
            credential: Some(NewCredential { stored: "another".to_owned(), hardening: false }),
            revokes: true,
            ..IdentityChange::of(&identity, now, AttemptId::generate(now, &OsRng))
        };
        assert_eq!(self.people.change(&change).await?, Changed::Done);
        Ok(())
    }
}

/// Whoever is looked at has enrolled a first factor a moment before, elsewhere.
struct Enrolled(Arc<MemoryStore>);

#[async_trait]
impl Interruption for Enrolled {
    async fn before_find(&self, id: IdentityId) -> Result<(), StoreError> {
        let first = given::with_first(&[[1; 32]]);
        self.0.add(&given::factor(id, 0), 1, Some(first), None).await?;
        Ok(())
    }
}

/// The store is away for who has a factor, as long as it is said to be.
struct AwayWithFactor {
    store: Arc<MemoryStore>,
    is_away: AtomicBool,
}

#[async_trait]
impl Interruption for AwayWithFactor {
    async fn before_find(&self, id: IdentityId) -> Result<(), StoreError> {
        let has_factor = !FactorRepository::of_identity(&*self.store, id).await?.is_empty();
        if has_factor && self.is_away.load(SeqCst) { Err(StoreError::Unavailable(None)) } else { Ok(()) }
    }
}

/// A clock by which a record is changed elsewhere, when it was looked at so often from now on.
struct Changing {
    clock: Arc<dyn Clock>,
    people: Arc<dyn IdentityDirectory>,
    person: IdentityId,
    looks: AtomicUsize,
}

impl Changing {
    async fn change(&self, now: Timestamp) {
        let identity = self.people.find(self.person).await.unwrap().unwrap();
        let change = IdentityChange {
            credential: Some(NewCredential { stored: "another".to_owned(), hardening: false }),
            ..IdentityChange::of(&identity, now, AttemptId::generate(now, &OsRng))
        };
        assert_eq!(self.people.change(&change).await.unwrap(), Changed::Done);
    }
}

impl Clock for Changing {
    fn now(&self) -> Timestamp {
        let now = self.clock.now();
        if self.looks.fetch_update(SeqCst, SeqCst, |looks| looks.checked_sub(1)) == Ok(1) {
            // In memory nothing is waited for.
            self.change(now).now_or_never().unwrap();
        }
        now
    }
}

/// Has the account pages look at these people.
fn look_at<I: Interruption + 'static>(world: &mut World, by: I) -> Arc<Interrupted<I>> {
    let of = Arc::clone(&world.ui.accounts);
    let people = Arc::new(Interrupted { store: Arc::clone(&of.identities), by });
    let sessions = SessionService { identities: people.clone(), ..SessionService::clone(&of.sessions) };
    world.ui.accounts = Arc::new(AccountService {
        identities: people.clone(),
        sessions: Arc::new(sessions),
        ..AccountService::clone(&of)
    });
    people
}

#[tokio::test]
async fn a_session_that_ends_before_the_record_is_looked_at_removes_no_factor() {
    let mut world = World::new().await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let (people, clock) = (world.ui.accounts.identities.clone(), world.ui.accounts.clock.clone());
    let by = Meanwhile { people, clock, changes_next: AtomicBool::new(false) };
    let people = look_at(&mut world, by);
    let alice = Visitor::signed_in(&world).await;
    with_app(&alice).await;
    let page = alice.get(FACTORS).await;
    people.by.changes_next.store(true, SeqCst);
    let late = alice.answer(&page, FACTORS, &[("decision", "remove"), ("confirmed", "true")]).await;
    assert_eq!(late.header("location"), "/ui/account/login?then=factors", "{}", late.body);
    assert_eq!(world.ui.factors.list(id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn who_signs_in_with_the_password_alone_while_the_first_factor_is_enrolled_is_not_in() {
    let mut world = World::new().await;
    let id = world.register_alice().await;
    let by = Enrolled(world.store.clone());
    look_at(&mut world, by);
    let alice = Visitor::of(&world);
    let late = alice.sign_in("/ui/account/login", ALICE).await;
    assert_eq!(late.status, StatusCode::SERVICE_UNAVAILABLE, "{}", late.body);
    assert!(!alice.is_in().await);
    assert!(world.ui.accounts.sessions.list(id).await.unwrap().is_empty());
}

/// Of two forms that come at once one makes codes; the other one found the record as it was before.
#[tokio::test]
async fn who_makes_codes_a_moment_after_the_record_was_changed_is_led_to_what_there_is() {
    let mut world = World::new().await;
    let person = world.register_alice().await;
    world.verify(person).await;
    let of = Arc::clone(&world.ui.accounts);
    let (clock, people) = (Arc::clone(&of.clock), Arc::clone(&of.identities));
    let changing = Arc::new(Changing { clock, people, person, looks: AtomicUsize::new(0) });
    world.ui.accounts = Arc::new(AccountService { clock: changing.clone(), ..AccountService::clone(&of) });
    let alice = Visitor::signed_in(&world).await;
    with_app(&alice).await;
    let page = alice.get(FACTORS).await;
    // When the form arrives, when it is read which accounts the browser knows, and when it is asked how long ago the person signed in.
    changing.looks.store(3, SeqCst);
    let late = alice.make_codes(&page).await;
    assert_eq!((late.status, changing.looks.load(SeqCst)), (StatusCode::SEE_OTHER, 0), "{}", late.body);
    assert_eq!(late.header("location"), FACTORS);
    assert_eq!(world.ui.factors.recovery_codes_left(person).await.unwrap(), 10);
}

/// They are shown once.
#[tokio::test]
async fn the_codes_of_the_first_factor_are_shown_also_if_the_session_cannot_be_renewed() {
    let mut world = World::new().await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let by = AwayWithFactor { store: world.store.clone(), is_away: AtomicBool::new(true) };
    let people = look_at(&mut world, by);
    let alice = Visitor::signed_in(&world).await;
    let cookies = alice.jar.borrow().clone();
    let (log, _guard) = Captured::begin();
    let (_, codes) = with_app(&alice).await;
    assert_eq!((codes.len(), &*alice.jar.borrow()), (10, &cookies), "the session is the same");
    assert_eq!(log.lines("session not renewed with the first factor").len(), 1);
    people.by.is_away.store(false, SeqCst);
    let listed = alice.get(FACTORS).await;
    assert!(listed.status == StatusCode::OK && listed.body.contains("You have 10 left."), "{}", listed.body);
}
