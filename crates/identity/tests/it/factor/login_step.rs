//! When a login is complete.

use sluice_identity::Identity;
use sluice_identity::factor::{
    Aal, FactorChoices, FactorOutcome, FactorProof, FirstFactor, NextStep, PasskeyStep, RemovalOutcome,
    RenameOutcome, TICKET_DATA, TicketData,
};
use sluice_identity::identity::{IdentityDirectory, IdentityStatus, NewCredential, Removed};
use sluice_identity::mail::MailRepository;
use sluice_primitives::Lifetime;
use sluice_store_contract::given;
use sluice_testkit::Authenticator;

use super::world::{CONTEXT, ORIGIN, World, network};

impl World {
    async fn finish(&self, ticket: &str, proof: FactorProof<'_>) -> FactorOutcome {
        self.service.finish_with(ticket, proof, CONTEXT, network()).await.unwrap()
    }
}

#[tokio::test]
async fn a_password_is_enough_without_a_factor_unless_more_is_asked_for() {
    let world = World::new().await;
    let done = NextStep::Done { amr: vec!["pwd".to_owned()], acr: Aal::Aal1 };
    assert_eq!(world.after_password(Aal::Aal1).await, done);
    assert_eq!(world.after_password(Aal::Aal2).await, NextStep::CannotReach);
}

#[tokio::test]
async fn who_has_a_factor_shows_it_whatever_is_asked_for() {
    let world = World::new().await;
    world.app().await;
    for wanted in [Aal::Aal1, Aal::Aal2] {
        let step = world.after_password(wanted).await;
        let NextStep::Factor { kinds, .. } = step else { panic!("{step:?}") };
        assert_eq!(kinds, FactorChoices { totp: true, passkey: false, recovery_code: true });
        assert_eq!(kinds.names().collect::<Vec<_>>(), ["totp", "recovery_code"]);
    }
}

#[tokio::test]
async fn who_has_shown_a_passkey_shows_nothing_else() {
    let world = World::new().await;
    world.app().await;
    let (identity, data) = (&world.alice, TicketData::default());
    let amr = &["swk", "user", "mfa"];
    let first = FirstFactor { identity, amr, wanted: Aal::Aal2, context: CONTEXT, data };
    let step = world.service.after_first(first).await.unwrap();
    assert_eq!(step, NextStep::Done { amr: amr.map(str::to_owned).to_vec(), acr: Aal::Aal2 });
}

#[tokio::test]
async fn each_factor_completes_a_login_and_says_so() {
    let world = World::new().await;
    let (app, enrolled) = world.app().await;
    let mut key = Authenticator::in_hardware(1, ORIGIN);
    world.passkey(&mut key).await;
    let recovery_code = enrolled.recovery_codes.unwrap()[0].grouped();
    let code = app.code(&world.clock);
    let ticket = world.ticket().await;
    world.clock.advance(Lifetime::secs(1));
    let asked = world.service.begin_passkey_step(&ticket, CONTEXT).await.unwrap().challenge().unwrap();
    let response = key.get(&asked.options);
    let passkey = FactorProof::Passkey { state: &asked.state, response: &response };
    let table: [(FactorProof<'_>, &[&str]); 3] = [
        (FactorProof::Totp(&code), &["pwd", "otp", "mfa"]),
        (FactorProof::RecoveryCode(&recovery_code), &["pwd", "mfa"]),
        (passkey, &["pwd", "hwk", "mfa"]),
    ];
    for (proof, expected) in table {
        let outcome = world.finish(&ticket, proof).await;
        let FactorOutcome::Done { identity, amr, acr, data } = outcome else { panic!("{outcome:?}") };
        assert_eq!((*identity, acr), (world.alice.clone(), Aal::Aal2));
        assert_eq!(amr, expected);
        assert_eq!(data.as_bytes(), b"remember");
        let again = match proof {
            FactorProof::Totp(_) => FactorOutcome::Used,
            FactorProof::RecoveryCode(_) | FactorProof::Passkey { .. } => FactorOutcome::Wrong,
        };
        assert_eq!(world.finish(&ticket, proof).await, again, "{proof:?}");
    }
}

#[tokio::test]
async fn a_wrong_code_may_be_followed_by_a_right_one() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    let ticket = world.ticket().await;
    let wrong = app.code_at(sluice_primitives::Timestamp::from_secs(0));
    assert_eq!(world.finish(&ticket, FactorProof::Totp(&wrong)).await, FactorOutcome::Wrong);
    let right = world.finish(&ticket, FactorProof::Totp(&app.code(&world.clock))).await;
    assert!(matches!(right, FactorOutcome::Done { .. }), "{right:?}");
}

#[tokio::test]
async fn who_guesses_is_told_to_wait() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    let ticket = world.ticket().await;
    let wrong = app.code_at(sluice_primitives::Timestamp::from_secs(0));
    for _ in 0..11 {
        assert_eq!(world.finish(&ticket, FactorProof::Totp(&wrong)).await, FactorOutcome::Wrong);
    }
    let waits = FactorOutcome::TooMany(Lifetime::secs(30));
    assert_eq!(world.finish(&ticket, FactorProof::Totp(&app.code(&world.clock))).await, waits);
}

#[tokio::test]
async fn a_ticket_is_good_for_ten_minutes_in_its_place() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    let ticket = world.ticket().await;
    let code = app.code(&world.clock);
    let proof = FactorProof::Totp(&code);
    let elsewhere = world.service.finish_with(&ticket, proof, b"another", network()).await.unwrap();
    assert_eq!(elsewhere, FactorOutcome::Expired);
    assert_eq!(world.finish("made up", proof).await, FactorOutcome::Expired);
    let ask =
        async |ticket: &str, context: &[u8]| world.service.begin_passkey_step(ticket, context).await.unwrap();
    assert!(matches!(ask(&ticket, b"another").await, PasskeyStep::Expired));
    assert!(matches!(ask("made up", CONTEXT).await, PasskeyStep::Expired));
    assert!(matches!(ask(&ticket, CONTEXT).await, PasskeyStep::NotOffered), "there is none");
    world.clock.advance(Lifetime::minutes(10));
    assert!(matches!(ask(&ticket, CONTEXT).await, PasskeyStep::Expired));
    let code = app.code(&world.clock);
    assert_eq!(world.finish(&ticket, FactorProof::Totp(&code)).await, FactorOutcome::Expired);
}

#[tokio::test]
async fn a_ticket_is_void_when_its_person_was_changed_disabled_or_deleted() {
    for what in ["changed", "disabled", "deleted"] {
        let world = World::new().await;
        let (app, _) = world.app().await;
        let ticket = world.ticket().await;
        let mut change = given::change(&world.alice, 10);
        match what {
            "deleted" => {
                let now = change.now;
                let deleted = world.store.delete(world.alice.id, None, now, now, None).await.unwrap();
                assert_eq!(deleted, Removed::Done);
            }
            "disabled" => {
                change.status = Some(IdentityStatus::Disabled);
                world.store.change(&change).await.unwrap();
            }
            _ => {
                change.credential = Some(NewCredential { stored: String::new(), hardening: false });
                world.store.change(&change).await.unwrap();
            }
        }
        let code = app.code(&world.clock);
        let outcome = world.finish(&ticket, FactorProof::Totp(&code)).await;
        assert_eq!(outcome, FactorOutcome::Expired, "{what}");
    }
}

#[tokio::test]
async fn a_caller_gets_back_no_more_than_a_ticket_holds() {
    assert!(TicketData::new(vec![0; TICKET_DATA]).is_some());
    assert_eq!(TicketData::new(vec![0; TICKET_DATA + 1]), None);
}

#[tokio::test]
async fn a_factor_is_renamed_by_its_person_only() {
    let world = World::new().await;
    let (_, enrolled) = world.app().await;
    let bob = given::registered(&*world.store, given::identity("bob@example.com")).await;
    let stolen = world.service.rename(bob.id, enrolled.factor, "Mine").await.unwrap();
    assert_eq!(stolen, RenameOutcome::Missing);
    let stolen = world.service.remove(&bob, enrolled.factor).await.unwrap();
    assert_eq!(stolen, RemovalOutcome::Missing);
    let renamed = world.service.rename(world.alice.id, enrolled.factor, " Old phone ").await.unwrap();
    assert_eq!(renamed, RenameOutcome::Renamed);
    let listed = world.service.list(world.alice.id).await.unwrap();
    assert_eq!(listed.iter().map(|factor| factor.name.as_str()).collect::<Vec<_>>(), ["Old phone"]);
}

#[tokio::test]
async fn who_reads_mail_at_the_address_is_told_of_factors_that_come_and_go() {
    let world = World::new().await;
    let (_, enrolled) = world.app().await;
    assert_eq!(world.store.depth().await.unwrap(), (1, 0));
    let unverified = Identity { email_verified_at: None, ..world.alice.clone() };
    let removed = world.service.remove(&unverified, enrolled.factor).await.unwrap();
    assert_eq!(removed, RemovalOutcome::Removed);
    assert_eq!(world.store.depth().await.unwrap(), (1, 0), "the address may be anybody's");
    let alice = given::person(&*world.store, world.alice.id).await;
    let (_, enrolled) = world.app_of(&alice).await;
    world.service.remove(&alice, enrolled.factor).await.unwrap();
    world.service.remove(&alice, enrolled.factor).await.unwrap();
    assert_eq!(world.store.depth().await.unwrap(), (3, 0));
}
