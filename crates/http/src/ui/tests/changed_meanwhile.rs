//! Accounts that are changed while their owners log in.

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::StatusCode;
use sluice_commit::StoreError;
use sluice_identity::IdentityStatus;
use sluice_identity::factor::FactorsRequired;
use sluice_identity::identity::{Changed, IdentityChange, IdentityDirectory, NewCredential};
use sluice_primitives::{AttemptId, IdentityId, Lifetime, ManualClock, OsRng};
use sluice_store_contract::{Interrupted, Interruption};

use super::people::app_code;
use super::required_factor::secret;
use super::world::{ALICE, Answer, PASSWORD, World};

const FIELDS: [(&str, &str); 2] = [("email", ALICE), ("password", PASSWORD)];
const CHANGED: &str = "Something about this account was changed just now. Please sign in again.";

/// A change that is made while somebody logs in.
#[derive(Clone, Copy)]
enum Change {
    Password,
    Disabled,
    Username,
    /// Nothing, but time goes by.
    Nothing,
    /// Nothing, but the store does not answer any more.
    Unanswered,
}

/// Somebody is changed before being looked at again.
struct Meanwhile {
    people: Arc<dyn IdentityDirectory>,
    clock: Arc<ManualClock>,
    change: Change,
}

impl World {
    async fn make(&self, person: IdentityId, change: Change) {
        self.meanwhile(change).make(person).await;
    }

    fn meanwhile(&self, change: Change) -> Meanwhile {
        let (people, clock) = (self.ui.accounts.identities.clone(), self.clock.clone());
        Meanwhile { people, clock, change }
    }

    /// From now on, whoever logs in is changed before the login is accepted.
    fn changes_everybody(&mut self, change: Change) {
        let by = self.meanwhile(change);
        self.ui.identities = Arc::new(Interrupted { store: by.people.clone(), by });
    }
}

impl Meanwhile {
    async fn make(&self, person: IdentityId) {
        self.clock.advance(Lifetime::secs(1));
        let identity = self.people.find(person).await.unwrap().unwrap();
        let now = sluice_primitives::Clock::now(&*self.clock);
        let none = IdentityChange::of(&identity, now, AttemptId::generate(now, &OsRng));
        let change = match self.change {
            Change::Password => {
                let credential = NewCredential { stored: "another".to_owned(), hardening: false };
                IdentityChange { credential: Some(credential), ..none }
            }
            Change::Disabled => IdentityChange { status: Some(IdentityStatus::Disabled), ..none },
            Change::Username => IdentityChange { username: Some("Alice".to_owned()), ..none },
            Change::Nothing | Change::Unanswered => return,
        };
        assert_eq!(self.people.change(&change).await.unwrap(), Changed::Done);
    }
}

#[async_trait]
impl Interruption for Meanwhile {
    async fn before_find(&self, id: IdentityId) -> Result<(), StoreError> {
        self.make(id).await;
        if matches!(self.change, Change::Unanswered) { Err(StoreError::Busy) } else { Ok(()) }
    }
}

#[track_caller]
fn assert_asked_again(answer: &Answer) {
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.body);
    assert!(answer.body.contains("name=\"password\"") && !answer.body.contains("login_verifier"));
    assert!(answer.header("refresh").is_empty() && answer.header("set-cookie").is_empty());
}

#[tokio::test]
async fn who_logs_in_with_a_password_that_is_changed_meanwhile_is_asked_again() {
    for change in [Change::Password, Change::Disabled] {
        let mut world = World::new().await;
        world.register_alice().await;
        world.changes_everybody(change);
        let answer = world.fill_in(&world.at("/ui/login").await, &FIELDS).await;
        assert_asked_again(&answer);
        assert!(answer.body.contains(CHANGED), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_change_that_says_nothing_of_how_one_gets_in_disturbs_no_login() {
    let mut world = World::new().await;
    let alice = world.register_alice().await;
    world.changes_everybody(Change::Username);
    let answer = world.fill_in(&world.at("/ui/login").await, &FIELDS).await;
    assert_eq!(world.accepted(&answer).await.subject.as_str(), alice.to_string());
}

#[tokio::test]
async fn a_password_that_is_changed_before_the_second_factor_is_shown_is_no_first_one() {
    let world = World::new().await;
    let app = world.alice_with_app().await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    world.make(app.alice, Change::Password).await;
    let code = app_code(&app.secret, &world.clock);
    let answer = world.show(&asked, &[("code", &code)]).await;
    assert_asked_again(&answer);
    assert!(answer.body.contains("or something about this account was changed."), "{}", answer.body);
}

#[tokio::test]
async fn a_password_that_is_changed_while_the_second_factor_is_looked_at_is_no_first_one() {
    let mut world = World::new().await;
    let app = world.alice_with_app().await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    world.changes_everybody(Change::Password);
    let code = app_code(&app.secret, &world.clock);
    let answer = world.show(&asked, &[("code", &code)]).await;
    assert_asked_again(&answer);
    assert!(answer.body.contains(CHANGED), "{}", answer.body);
}

/// They are made, and will not be shown again.
#[tokio::test]
async fn the_codes_of_a_first_factor_are_shown_even_if_the_login_is_not_accepted() {
    for change in [Change::Password, Change::Disabled, Change::Unanswered] {
        let mut world = World::of(|config| config.factors_required = FactorsRequired::Always).await;
        world.verified_alice().await;
        let page = world.at("/ui/login").await;
        let shown = world.after_password(&page, &[]).await;
        world.changes_everybody(change);
        let code = app_code(&secret(&shown), &world.clock);
        let done = world.set_up(&shown, &[("code", &code)]).await;
        assert_eq!(done.status, StatusCode::OK);
        assert_eq!(done.body.matches("<li><code>").count(), 10, "{}", done.body);
        assert!(!done.body.contains("login_verifier") && done.header("set-cookie").is_empty());
        assert_eq!(done.after("<a class=\"button button-primary\" href=\""), page);
    }
}

#[tokio::test]
async fn a_login_is_as_old_as_what_was_looked_at() {
    let mut world = World::new().await;
    world.register_alice().await;
    world.changes_everybody(Change::Nothing);
    let arrived_at = world.now();
    let answer = world.fill_in(&world.at("/ui/login").await, &FIELDS).await;
    assert!(world.now() > arrived_at);
    assert_eq!(world.accepted(&answer).await.authenticated_at, arrived_at);
}
