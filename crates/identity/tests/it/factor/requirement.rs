//! Who must have a second factor.

use sluice_identity::Identity;
use sluice_identity::factor::{
    Aal, Enroller, EnrolmentOutcome, FactorKind, FactorRepository, FactorService, FactorsRequired,
    FirstFactor, NextStep, RemovalOutcome, TicketData,
};
use sluice_identity::identity::Removed;
use sluice_primitives::Lifetime;
use sluice_store_contract::given;
use sluice_testkit::Captured;

use super::world::{App, CONTEXT, World};

async fn after_password(node: &FactorService, person: &Identity) -> NextStep {
    let data = TicketData::new(*b"remember").unwrap();
    let first = FirstFactor { identity: person, amr: &["pwd"], wanted: Aal::Aal1, context: CONTEXT, data };
    node.after_first(first).await.unwrap()
}

async fn ticket(node: &FactorService, person: &Identity) -> String {
    match after_password(node, person).await {
        NextStep::Enrolment { ticket } => ticket,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn whoever_must_have_a_factor_and_has_none_is_led_to_one() {
    let world = World::new().await;
    let bob = world.verified("bob@example.com").await;
    assert!(world.store.require(bob.id, true).await.unwrap());
    for (required, of_alice, of_bob) in [
        (FactorsRequired::Never, false, false),
        (FactorsRequired::Chosen, false, true),
        (FactorsRequired::Always, true, true),
    ] {
        let node = world.node_that_requires(required);
        for (person, is_led) in [(&world.alice, of_alice), (&bob, of_bob)] {
            let (log, _capture) = Captured::begin();
            let step = after_password(&node, person).await;
            assert_eq!(matches!(step, NextStep::Enrolment { .. }), is_led, "{required:?}: {step:?}");
            assert_eq!(log.lines("second factor to be set up").len(), usize::from(is_led));
        }
    }
}

#[tokio::test]
async fn whoever_has_a_factor_shows_it_where_one_is_required() {
    let world = World::new().await;
    world.app().await;
    let node = world.node_that_requires(FactorsRequired::Always);
    let step = after_password(&node, &world.alice).await;
    assert!(matches!(step, NextStep::Factor { .. }), "{step:?}");
}

#[tokio::test]
async fn a_ticket_says_who_sets_a_factor_up_here_and_soon() {
    let world = World::new().await;
    let node = world.node_that_requires(FactorsRequired::Always);
    let ticket = ticket(&node, &world.alice).await;
    let login = node.enrolling(&ticket, CONTEXT).await.unwrap().unwrap();
    assert_eq!((login.identity.id, login.data.as_bytes()), (world.alice.id, b"remember".as_slice()));
    assert_eq!(login.amr_with(FactorKind::Totp), ["pwd", "otp", "mfa"]);
    assert_eq!(login.amr_with(FactorKind::Passkey), ["pwd", "mfa"]);
    assert_eq!(node.enrolling(&ticket, b"elsewhere").await.unwrap(), None);
    assert_eq!(node.enrolling("none", CONTEXT).await.unwrap(), None);
    world.clock.advance(Lifetime::minutes(15));
    assert_eq!(node.enrolling(&ticket, CONTEXT).await.unwrap(), None);
}

#[tokio::test]
async fn a_factor_that_is_to_be_the_first_is_none_beside_another() {
    let world = World::new().await;
    let node = world.node_that_requires(FactorsRequired::Always);
    let ticket = ticket(&node, &world.alice).await;
    let begun = node.begin_totp(&world.alice);
    world.app().await;
    assert_eq!(node.enrolling(&ticket, CONTEXT).await.unwrap(), None);
    let enroller = Enroller { only_first: true, ..given::enroller(&world.alice) };
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    let outcome = node.confirm_totp(enroller, &begun.ticket, &code, "").await.unwrap();
    assert_eq!(outcome, EnrolmentOutcome::Expired);
    assert_eq!(world.service.list(world.alice.id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_first_enrolment_that_has_ended_is_not_answered_again() {
    let world = World::new().await;
    let node = world.node_that_requires(FactorsRequired::Always);
    let ticket = ticket(&node, &world.alice).await;
    let begun = node.begin_totp(&world.alice);
    let enroller = Enroller { only_first: true, ..given::enroller(&world.alice) };
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    let first = node.confirm_totp(enroller, &begun.ticket, &code, "").await.unwrap();
    assert!(matches!(first, EnrolmentOutcome::Enrolled(enrolled) if enrolled.is_first()));
    world.clock.advance(Lifetime::secs(1));
    let again = node.confirm_totp(enroller, &begun.ticket, &code, "").await.unwrap();
    assert_eq!(again, EnrolmentOutcome::Expired);
    assert_eq!(node.enrolling(&ticket, CONTEXT).await.unwrap(), None);
    assert_eq!(node.list(world.alice.id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn of_two_factors_that_are_removed_at_once_one_stays() {
    let world = World::new().await;
    let node = world.node_that_requires(FactorsRequired::Always);
    let factors = [given::factor(world.alice.id, 0), given::factor(world.alice.id, 1)];
    for factor in &factors {
        world.store.add(factor, world.alice.revision, None, None).await.unwrap();
    }
    let [first, second] = &factors;
    assert_eq!(node.remove(&world.alice, first.id).await.unwrap(), RemovalOutcome::Removed);
    // This one looked at the record, and counted the factors, before the other was removed.
    let revision = Some(world.alice.revision);
    let removed = FactorRepository::remove(&*world.store, world.alice.id, second.id, revision, None).await;
    assert_eq!(removed.unwrap(), Removed::Stale);
    let left: Vec<_> = node.list(world.alice.id).await.unwrap().into_iter().map(|factor| factor.id).collect();
    assert_eq!(left, [second.id]);
    let alice = given::person(&*world.store, world.alice.id).await;
    let (log, _capture) = Captured::begin();
    assert_eq!(node.remove(&alice, second.id).await.unwrap(), RemovalOutcome::Required);
    assert_eq!(log.lines("factor kept: one is required").len(), 1, "{}", log.text());
    assert_eq!(world.service.remove(&alice, second.id).await.unwrap(), RemovalOutcome::Removed);
}
