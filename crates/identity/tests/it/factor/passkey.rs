//! Passkeys, shown by an authenticator in software.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use sluice_commit::StoreError;
use sluice_identity::config::{LimitsConfig, Rate};
use sluice_identity::factor::{
    Aal, Enrolled, EnrolmentOutcome, FactorCheck, FactorKind, FactorOutcome, FactorProof, FactorRepository,
    NewPasskey, PasskeyChallenge, PasskeyProof, Shown,
};
use sluice_identity::identity::{IdentityDirectory, IdentityRepository, IdentityStatus};
use sluice_primitives::{Clock, IdentityId, Lifetime};
use sluice_store_contract::{Interrupted, Interruption, MemoryStore, given};
use sluice_testkit::Authenticator;

use super::world::{APPLICATION, CONTEXT, ORIGIN, World, network};

impl World {
    async fn begin_enrolment(&self) -> PasskeyChallenge {
        self.service.begin_passkey_enrolment(&self.alice, CONTEXT).await.unwrap().unwrap()
    }

    async fn finish_enrolment(&self, begun: &PasskeyChallenge, response: &str) -> EnrolmentOutcome {
        let new = NewPasskey { state: &begun.state, response, name: "Laptop", context: CONTEXT };
        self.service.finish_passkey_enrolment(given::enroller(&self.alice), new).await.unwrap()
    }

    pub(crate) async fn passkey(&self, authenticator: &mut Authenticator) -> Enrolled {
        let begun = self.begin_enrolment().await;
        let response = authenticator.create(&begun.options);
        let outcome = self.finish_enrolment(&begun, &response).await;
        let EnrolmentOutcome::Enrolled(enrolled) = outcome else { panic!("{outcome:?}") };
        enrolled
    }

    pub(crate) async fn ask(&self, identity: Option<IdentityId>) -> PasskeyChallenge {
        self.clock.advance(Lifetime::secs(1));
        self.service.begin_passkey(identity, CONTEXT).await.unwrap().unwrap()
    }

    async fn show(&self, asked: &PasskeyChallenge, response: &str) -> Option<(IdentityId, PasskeyProof)> {
        self.service.finish_passkey(&asked.state, response, CONTEXT, network()).await.unwrap()
    }

    /// Shows the passkey so often, each time when it is asked for.
    async fn shows(&self, key: &mut Authenticator, times: u32) {
        for _ in 0..times {
            let asked = self.ask(None).await;
            assert!(self.show(&asked, &key.get(&asked.options)).await.is_some());
        }
    }

    async fn log_in(&self, asked: &PasskeyChallenge, response: &str) -> FactorOutcome {
        self.service.finish_passkey_login(&asked.state, response, CONTEXT, network()).await.unwrap()
    }
}

#[tokio::test]
async fn a_passkey_alone_logs_its_person_in() {
    for (mut key, method) in
        [(Authenticator::in_hardware(1, ORIGIN), "hwk"), (Authenticator::in_software(1, ORIGIN), "swk")]
    {
        let world = World::new().await;
        world.passkey(&mut key).await;
        let asked = world.ask(None).await;
        let outcome = world.log_in(&asked, &key.get(&asked.options)).await;
        let FactorOutcome::Done { identity, amr, acr, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(*identity, world.alice);
        assert_eq!(amr, [method, "user", "mfa"]);
        assert_eq!(acr, Aal::Aal2);
    }
}

#[tokio::test]
async fn an_android_application_of_the_site_makes_and_shows_passkeys_and_no_other_one_does() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, APPLICATION);
    world.passkey(&mut key).await;
    let asked = world.ask(None).await;
    let outcome = world.log_in(&asked, &key.get(&asked.options)).await;
    assert!(matches!(outcome, FactorOutcome::Done { .. }), "{outcome:?}");
    for other in ["android:apk-key-hash:AAAA", &APPLICATION.to_lowercase(), &format!("{APPLICATION}A")] {
        other.clone_into(&mut key.origin);
        let asked = world.ask(None).await;
        let outcome = world.log_in(&asked, &key.get(&asked.options)).await;
        assert!(matches!(outcome, FactorOutcome::Wrong), "{other}: {outcome:?}");
    }
}

#[tokio::test]
async fn what_browsers_are_asked_is_that_of_the_site() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    let begun = world.begin_enrolment().await;
    let options = &begun.options["publicKey"];
    assert_eq!(options["rp"]["id"], "id.example.com");
    assert_eq!(options["user"]["name"], "alice@example.com");
    assert_eq!(options["authenticatorSelection"]["residentKey"], "preferred");
    assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
    assert_eq!(options["timeout"], 300_000);
    let response = key.create(&begun.options);
    world.finish_enrolment(&begun, &response).await;
    let asked = world.ask(None).await;
    assert_eq!(asked.options["publicKey"]["allowCredentials"], Value::Array(vec![]));
    assert_eq!(asked.options["publicKey"]["userVerification"], "required");
    assert_eq!(asked.options["mediation"], Value::Null);
    let asked = world.ask(Some(world.alice.id)).await;
    let allowed = &asked.options["publicKey"]["allowCredentials"];
    assert_eq!(
        (&allowed[0]["type"], &allowed[0]["transports"][0]),
        (&"public-key".into(), &"internal".into())
    );
    let excluded = world.begin_enrolment().await;
    assert_eq!(excluded.options["publicKey"]["excludeCredentials"][0]["id"], allowed[0]["id"]);
}

#[tokio::test]
async fn a_passkey_is_enrolled_once() {
    let world = World::new().await;
    let mut key = Authenticator::in_hardware(1, ORIGIN);
    let begun = world.begin_enrolment().await;
    let meanwhile = world.begin_enrolment().await;
    let response = key.create(&begun.options);
    let first = world.finish_enrolment(&begun, &response).await;
    let EnrolmentOutcome::Enrolled(first) = first else { panic!("not enrolled") };
    assert!(first.is_first());
    let again = EnrolmentOutcome::Enrolled(Enrolled { is_repeated: true, ..first });
    assert_eq!(world.finish_enrolment(&begun, &response).await, again);
    let response = key.create(&meanwhile.options);
    assert_eq!(world.finish_enrolment(&meanwhile, &response).await, EnrolmentOutcome::Known);
    let begun = world.begin_enrolment().await;
    let response = key.create(&begun.options);
    assert_eq!(world.finish_enrolment(&begun, &response).await, EnrolmentOutcome::Known);
    let listed = world.service.list(world.alice.id).await.unwrap();
    assert_eq!(listed.iter().map(|factor| factor.kind).collect::<Vec<_>>(), [FactorKind::Passkey]);
}

#[tokio::test]
async fn a_passkey_that_was_removed_is_not_enrolled_by_what_was_shown_before() {
    for looked_at in [Some(1), None] {
        let world = World::new().await;
        let mut keys = [Authenticator::in_hardware(1, ORIGIN), Authenticator::in_hardware(2, ORIGIN)];
        let begun = [world.begin_enrolment().await, world.begin_enrolment().await];
        let [one, other] = [0, 1].map(|which| keys[which].create(&begun[which].options));
        let outcome = world.finish_enrolment(&begun[0], &one).await;
        let EnrolmentOutcome::Enrolled(enrolled) = outcome else { panic!("{outcome:?}") };
        world.store.remove(world.alice.id, enrolled.factor, looked_at, None).await.unwrap();
        let alice = given::person(&*world.store, world.alice.id).await;
        for (begun, response) in begun.iter().zip([&one, &other]) {
            let new = NewPasskey { state: &begun.state, response, name: "Laptop", context: CONTEXT };
            let outcome = world.service.finish_passkey_enrolment(given::enroller(&alice), new).await.unwrap();
            assert_eq!(outcome, EnrolmentOutcome::Expired);
        }
        assert!(world.has_no_factor().await);
    }
}

#[tokio::test]
async fn a_key_of_another_origin_without_verification_or_too_late_is_not_enrolled() {
    let world = World::new().await;
    let mut elsewhere = Authenticator::in_hardware(1, ORIGIN);
    elsewhere.origin = "https://id.example.com.evil.example".to_owned();
    for mut key in [elsewhere, Authenticator::in_hardware(2, ORIGIN).without_verification()] {
        let begun = world.begin_enrolment().await;
        let response = key.create(&begun.options);
        assert_eq!(world.finish_enrolment(&begun, &response).await, EnrolmentOutcome::Wrong);
    }
    let begun = world.begin_enrolment().await;
    let response = Authenticator::in_hardware(3, ORIGIN).create(&begun.options);
    assert_eq!(world.finish_enrolment(&begun, "{}").await, EnrolmentOutcome::Wrong);
    let new = NewPasskey { state: &begun.state, response: &response, name: "", context: b"another" };
    let other_context =
        world.service.finish_passkey_enrolment(given::enroller(&world.alice), new).await.unwrap();
    let bob = world.verified("bob@example.com").await;
    let new = NewPasskey { context: CONTEXT, ..new };
    let other_person = world.service.finish_passkey_enrolment(given::enroller(&bob), new).await.unwrap();
    world.clock.advance(Lifetime::minutes(5));
    let late = world.finish_enrolment(&begun, &response).await;
    let expired = EnrolmentOutcome::Expired;
    assert_eq!([other_context, other_person, late], [expired.clone(), expired.clone(), expired]);
    assert!(world.has_no_factor().await);
}

#[tokio::test]
async fn an_answer_is_right_once() {
    for mut key in [Authenticator::in_hardware(1, ORIGIN), Authenticator::in_software(1, ORIGIN)] {
        let world = World::new().await;
        world.passkey(&mut key).await;
        let asked = world.ask(None).await;
        let response = key.get(&asked.options);
        let [earlier, later] = [world.ask(None).await, world.ask(None).await];
        assert!(world.show(&asked, &response).await.is_some());
        assert_eq!(world.show(&asked, &response).await, None);
        // Two pages that asked before others were answered, in whatever order they come.
        for asked in [&later, &earlier] {
            let response = key.get(&asked.options);
            assert!(world.show(asked, &response).await.is_some());
            assert_eq!(world.show(asked, &response).await, None);
        }
        let asked = world.ask(None).await;
        assert!(world.show(&asked, &key.get(&asked.options)).await.is_some());
    }
}

#[tokio::test]
async fn an_answer_is_right_once_however_many_others_were_right_since() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    let [unanswered, asked] = [world.ask(None).await, world.ask(None).await];
    let response = key.get(&asked.options);
    assert!(world.show(&asked, &response).await.is_some());
    for use_since in 0..20 {
        let other = world.ask(None).await;
        assert!(world.show(&other, &key.get(&other.options)).await.is_some(), "{use_since}");
        assert_eq!(world.show(&asked, &response).await, None, "{use_since}");
    }
    // Whether it was answered, nobody remembers any more.
    let response = key.get(&unanswered.options);
    assert_eq!(world.show(&unanswered, &response).await, None);
}

#[tokio::test]
async fn a_use_by_a_clock_that_was_ahead_keeps_out_no_later_one_and_is_still_right_once() {
    for more in [0, 20] {
        let world = World::new().await;
        let mut key = Authenticator::in_software(1, ORIGIN);
        world.passkey(&mut key).await;
        let start = world.clock.now();
        world.clock.advance(Lifetime::hours(1));
        let ahead = world.ask(None).await;
        let by_then = world.clock.now();
        let old = key.get(&ahead.options);
        assert!(world.show(&ahead, &old).await.is_some());
        world.shows(&mut key, more).await;
        world.clock.set(start);
        for _ in 0..3 {
            let [earlier, later] = [world.ask(None).await, world.ask(None).await];
            for asked in [&later, &earlier] {
                let response = key.get(&asked.options);
                assert!(world.show(asked, &response).await.is_some(), "after {more} more");
                assert_eq!(world.show(asked, &response).await, None, "after {more} more");
            }
            assert_eq!(world.show(&ahead, &old).await, None);
        }
        world.clock.set(by_then);
        assert_eq!(world.show(&ahead, &old).await, None, "when the time of its use has come");
    }
}

#[tokio::test]
async fn an_answer_is_right_once_also_when_a_clock_that_was_ahead_took_others_meanwhile() {
    for others in [1, 20] {
        let world = World::new().await;
        let mut key = Authenticator::in_software(1, ORIGIN);
        world.passkey(&mut key).await;
        let asked = world.ask(None).await;
        let response = key.get(&asked.options);
        let here = world.clock.now();
        assert!(world.show(&asked, &response).await.is_some());
        world.clock.advance(Lifetime::hours(1));
        world.shows(&mut key, others).await;
        world.clock.set(here);
        assert_eq!(world.show(&asked, &response).await, None, "{others} others");
    }
}

#[tokio::test]
async fn a_ceremony_that_a_clock_far_ahead_began_is_refused_by_the_others() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    let start = world.clock.now();
    for (minutes, holds) in [(4, true), (6, false)] {
        world.clock.set(start + Lifetime::minutes(minutes));
        let ahead = world.ask(None).await;
        world.clock.set(start);
        assert_eq!(world.show(&ahead, &key.get(&ahead.options)).await.is_some(), holds, "{minutes} minutes");
    }
}

#[tokio::test]
async fn of_two_uses_of_one_answer_one_succeeds() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    let asked = world.ask(None).await;
    let response = key.get(&asked.options);
    let (left, right) = tokio::join!(world.show(&asked, &response), world.show(&asked, &response));
    assert_ne!(left.is_some(), right.is_some());
}

#[tokio::test]
async fn an_answer_for_another_origin_is_refused() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    for origin in ["https://example.com", "http://id.example.com", "https://evil.id.example.com"] {
        key.origin = origin.to_owned();
        let asked = world.ask(None).await;
        assert_eq!(world.show(&asked, &key.get(&asked.options)).await, None, "{origin}");
    }
}

#[tokio::test]
async fn an_answer_for_another_context_or_another_question_or_too_late_is_refused() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    let asked = world.ask(None).await;
    let response = key.get(&asked.options);
    let elsewhere =
        world.service.finish_passkey(&asked.state, &response, b"another", network()).await.unwrap();
    let other_question = world.show(&world.ask(None).await, &response).await;
    let begun = world.begin_enrolment().await;
    let other_ceremony = world.show(&begun, &response).await;
    world.clock.advance(Lifetime::minutes(5));
    let late = world.show(&asked, &response).await;
    assert_eq!([elsewhere, other_question, other_ceremony, late], [None; 4]);
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_told_from_a_wrong_one_where_it_was_asked_for() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    let asked = world.ask(None).await;
    let response = key.get(&asked.options);
    world.clock.advance(Lifetime::minutes(5));
    assert_eq!(world.log_in(&asked, &response).await, FactorOutcome::Late);
    let proof = FactorProof::Passkey { state: &asked.state, response: &response };
    assert_eq!(world.check(proof).await, FactorCheck::Late);
    let elsewhere = world.service.check(&world.alice, proof, b"another", network()).await.unwrap();
    assert_eq!(elsewhere, FactorCheck::Wrong);
    let asked = world.ask(None).await;
    assert_eq!(world.log_in(&asked, &response).await, FactorOutcome::Wrong);
}

#[tokio::test]
async fn an_authenticator_that_does_not_verify_its_user_is_refused() {
    let world = World::new().await;
    let mut key = Authenticator::in_hardware(1, ORIGIN);
    world.passkey(&mut key).await;
    let mut key = key.without_verification();
    let asked = world.ask(None).await;
    assert_eq!(world.show(&asked, &key.get(&asked.options)).await, None);
}

#[tokio::test]
async fn a_counter_that_goes_back_is_refused() {
    let world = World::new().await;
    let mut key = Authenticator::in_hardware(1, ORIGIN);
    world.passkey(&mut key).await;
    key.counter = 10;
    let asked = world.ask(None).await;
    assert!(world.show(&asked, &key.get(&asked.options)).await.is_some());
    key.counter = 5;
    let asked = world.ask(None).await;
    assert_eq!(world.show(&asked, &key.get(&asked.options)).await, None);
    key.counter = 20;
    let asked = world.ask(None).await;
    assert!(world.show(&asked, &key.get(&asked.options)).await.is_some());
}

#[tokio::test]
async fn nobody_passes_for_somebody_else_with_a_passkey_of_their_own() {
    let world = World::new().await;
    let bob = world.verified("bob@example.com").await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    // Bob's authenticator claims Alice's key, and to be hers; it has another key.
    let mut forged = Authenticator::in_software(1, ORIGIN);
    forged.user.clone_from(&key.user);
    let asked = world.ask(None).await;
    assert_eq!(world.show(&asked, &forged.get(&asked.options)).await, None);
    // Alice's passkey where Bob's was asked for.
    let asked = world.ask(None).await;
    let response = key.get(&asked.options);
    let proof = FactorProof::Passkey { state: &asked.state, response: &response };
    let checked = world.service.check(&bob, proof, CONTEXT, network()).await.unwrap();
    assert_eq!(checked, FactorCheck::Wrong);
    // Bob's own, where Alice's was asked for.
    let mut own = Authenticator::in_software(2, ORIGIN);
    let begun = world.service.begin_passkey_enrolment(&bob, CONTEXT).await.unwrap().unwrap();
    let response = own.create(&begun.options);
    let new = NewPasskey { state: &begun.state, response: &response, name: "", context: CONTEXT };
    let bobs = world.service.finish_passkey_enrolment(given::enroller(&bob), new).await.unwrap();
    assert!(matches!(bobs, EnrolmentOutcome::Enrolled(_)), "{bobs:?}");
    let mut asked = world.ask(Some(world.alice.id)).await;
    asked.options["publicKey"]["allowCredentials"] = Value::Null;
    assert_eq!(world.show(&asked, &own.get(&asked.options)).await, None);
    // One that does not say whose it is.
    let asked = world.ask(None).await;
    key.user = None;
    assert_eq!(world.show(&asked, &key.get(&asked.options)).await, None);
}

#[tokio::test]
async fn a_passkey_is_a_second_factor_too() {
    let world = World::new().await;
    let mut key = Authenticator::in_hardware(1, ORIGIN);
    world.passkey(&mut key).await;
    let asked = world.ask(Some(world.alice.id)).await;
    let response = key.get(&asked.options);
    let proof = FactorProof::Passkey { state: &asked.state, response: &response };
    let shown = PasskeyProof { user_verified: true, backup_eligible: false };
    assert_eq!(world.check(proof).await, FactorCheck::Right(Shown::Passkey(shown)));
    assert_eq!(world.check(proof).await, FactorCheck::Wrong);
}

#[tokio::test]
async fn an_empty_handle_says_no_more_than_none() {
    let world = World::new().await;
    let mut key = Authenticator::in_hardware(1, ORIGIN);
    world.passkey(&mut key).await;
    let empty = |response: &str| {
        let mut response: Value = serde_json::from_str(response).unwrap();
        response["response"]["userHandle"] = "".into();
        response.to_string()
    };
    let asked = world.ask(Some(world.alice.id)).await;
    let response = empty(&key.get(&asked.options));
    let proof = FactorProof::Passkey { state: &asked.state, response: &response };
    let checked = world.check(proof).await;
    assert!(matches!(checked, FactorCheck::Right(Shown::Passkey(_))), "{checked:?}");
    let asked = world.ask(None).await;
    assert_eq!(world.show(&asked, &empty(&key.get(&asked.options))).await, None);
}

#[tokio::test]
async fn a_removed_passkey_and_a_disabled_person_do_not_log_in() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    let enrolled = world.passkey(&mut key).await;
    let mut disable = given::change(&world.alice, 10);
    disable.status = Some(IdentityStatus::Disabled);
    world.store.change(&disable).await.unwrap();
    let asked = world.ask(None).await;
    assert_eq!(world.log_in(&asked, &key.get(&asked.options)).await, FactorOutcome::Wrong);
    let asked = world.ask(None).await;
    let alice = world.store.find(world.alice.id).await.unwrap().unwrap();
    world.service.remove(&alice, enrolled.factor).await.unwrap();
    assert_eq!(world.show(&asked, &key.get(&asked.options)).await, None);
    assert!(world.service.begin_passkey(Some(world.alice.id), CONTEXT).await.unwrap().is_none());
}

#[tokio::test]
async fn strangers_in_a_network_keep_no_passkey_out_and_wrong_ones_are_counted() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    let limits = LimitsConfig { logins_per_network: Some(Rate::per_hour(2)), ..LimitsConfig::default() };
    let node = world.node_that_counts(&limits);
    for wanted in [FactorOutcome::Wrong, FactorOutcome::Wrong, FactorOutcome::TooMany(Lifetime::minutes(30))]
    {
        let outcome = node.finish_passkey_login("no state", "no passkey", CONTEXT, network()).await.unwrap();
        assert_eq!(outcome, wanted);
    }
    for _ in 0..3 {
        world.clock.advance(Lifetime::secs(1));
        let asked = node.begin_passkey(None, CONTEXT).await.unwrap().unwrap();
        let response = key.get(&asked.options);
        let outcome = node.finish_passkey_login(&asked.state, &response, CONTEXT, network()).await.unwrap();
        assert!(matches!(outcome, FactorOutcome::Done { .. }), "{outcome:?}");
    }
}

/// An administrator takes somebody's factors away in the moment in which they are looked for.
struct TakenAway(Arc<MemoryStore>);

#[async_trait]
impl Interruption for TakenAway {
    async fn before_find(&self, id: IdentityId) -> Result<(), StoreError> {
        for factor in self.0.of_identity(id).await? {
            self.0.remove(id, factor.id, None, None).await?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_passkey_that_is_taken_away_meanwhile_logs_nobody_in() {
    let world = World::new().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    let (store, by) = (world.store.clone(), TakenAway(world.store.clone()));
    let node = world.node_that_sees(Arc::new(Interrupted { store, by }));
    let asked = world.ask(None).await;
    let response = key.get(&asked.options);
    let outcome = node.finish_passkey_login(&asked.state, &response, CONTEXT, network()).await.unwrap();
    assert_eq!(outcome, FactorOutcome::Wrong);
}
