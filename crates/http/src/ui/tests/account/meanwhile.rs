//! A password that is changed between the session and the record that a page looks at.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::account::AccountService;
use sluice_identity::identity::{
    Changed, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage, LoginNameHash, NewCredential,
    NewIdentity, Registration, Removed,
};
use sluice_identity::session::SessionService;
use sluice_identity::{Identity, IdentityRepository};
use sluice_primitives::{AttemptId, Clock, IdentityId, OsRng, Timestamp};

use super::Visitor;
use super::factors::{FACTORS, with_app};
use crate::ui::tests::world::World;

/// People of whom the next one that is looked at has set another password a moment before, elsewhere.
struct Meanwhile {
    people: Arc<dyn IdentityDirectory>,
    clock: Arc<dyn Clock>,
    changes_next: AtomicBool,
}

#[async_trait]
impl IdentityRepository for Meanwhile {
    async fn register(&self, new: NewIdentity) -> Result<Registration, StoreError> {
        self.people.register(new).await
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        self.people.find_by_login_name(login_name).await
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        let found = self.people.find(id).await?;
        let Some(identity) = found.filter(|_| self.changes_next.swap(false, SeqCst)) else {
            return self.people.find(id).await;
        };
        let now = self.clock.now();
        let change = IdentityChange {
            credential: Some(NewCredential { stored: "another".to_owned(), hardening: false }),
            revokes: true,
            ..IdentityChange::of(&identity, now, AttemptId::generate(now, &OsRng))
        };
        assert_eq!(self.people.change(&change).await?, Changed::Done);
        self.people.find(id).await
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.people.replace_credential(id, old, new).await
    }
}

#[async_trait]
impl IdentityDirectory for Meanwhile {
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError> {
        self.people.list(filter).await
    }

    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError> {
        self.people.change(change).await
    }

    async fn reseal_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.people.reseal_credential(id, old, new).await
    }

    async fn delete(
        &self,
        id: IdentityId,
        revision: Option<i64>,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<Removed, StoreError> {
        self.people.delete(id, revision, now, marker_expires_at).await
    }
}

/// Has the account pages look at these people.
fn look_at(world: &mut World) -> Arc<Meanwhile> {
    let of = Arc::clone(&world.ui.accounts);
    let people = Arc::new(Meanwhile {
        people: Arc::clone(&of.identities),
        clock: Arc::clone(&of.clock),
        changes_next: AtomicBool::new(false),
    });
    let sessions = SessionService {
        terms: of.sessions.terms.clone(),
        sessions: Arc::clone(&of.sessions.sessions),
        identities: people.clone(),
        keys: Arc::clone(&of.sessions.keys),
        sealer: Arc::clone(&of.sessions.sealer),
        revocations: Arc::clone(&of.sessions.revocations),
        follower: Arc::clone(&of.sessions.follower),
        clock: Arc::clone(&of.clock),
        rng: Arc::clone(&of.rng),
    };
    world.ui.accounts = Arc::new(AccountService {
        config: of.config.clone(),
        identities: people.clone(),
        codes: Arc::clone(&of.codes),
        code_key: of.code_key.clone(),
        mails: of.mails.clone(),
        sessions: Arc::new(sessions),
        factors: Arc::clone(&of.factors),
        login: Arc::clone(&of.login),
        hasher: Arc::clone(&of.hasher),
        rules: Arc::clone(&of.rules),
        limits: Arc::clone(&of.limits),
        sealer: Arc::clone(&of.sealer),
        clock: Arc::clone(&of.clock),
        rng: Arc::clone(&of.rng),
    });
    people
}

#[tokio::test]
async fn a_session_that_ends_before_the_record_is_looked_at_removes_no_factor() {
    let mut world = World::new().await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let people = look_at(&mut world);
    let alice = Visitor::signed_in(&world).await;
    with_app(&alice).await;
    let page = alice.get(FACTORS).await;
    people.changes_next.store(true, SeqCst);
    let late = alice.answer(&page, FACTORS, &[("decision", "remove")]).await;
    assert_eq!(late.header("location"), "/ui/account/login?then=factors", "{}", late.body);
    assert_eq!(world.ui.factors.list(id).await.unwrap().len(), 1);
}
