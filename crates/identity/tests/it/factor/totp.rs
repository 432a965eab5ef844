//! Authenticator apps.

use sluice_identity::Identity;
use sluice_identity::config::{LimitsConfig, Rate};
use sluice_identity::factor::{
    Enrolled, EnrolmentOutcome, FactorCheck, FactorProof, FactorRepository, MAX_FACTORS, RECOVERY_CODES,
    RemovalOutcome, Shown, TotpEnrolment,
};
use sluice_identity::identity::Removed;
use sluice_identity::mail::MailRepository;
use sluice_primitives::{AttemptId, Clock, IdentityId, Lifetime};
use sluice_store_contract::given;
use sluice_testkit::Captured;

use super::world::{App, World, network};

const RIGHT: FactorCheck = FactorCheck::Right(Shown::Totp);

impl World {
    async fn confirm(&self, identity: &Identity, ticket: &str, code: &str) -> EnrolmentOutcome {
        let enroller = given::enroller(identity);
        self.service.confirm_totp(enroller, ticket, code, " Phone\n").await.unwrap()
    }
}

#[tokio::test]
async fn nothing_is_stored_before_a_code_was_typed() {
    let world = World::new().await;
    let begun = world.service.begin_totp(&world.alice);
    assert!(begun.otpauth_uri.starts_with("otpauth://totp/Example:alice%40example.com?secret="));
    assert!(begun.qr_svg.starts_with("<svg"));
    let wrong = world.confirm(&world.alice, &begun.ticket, "000 000").await;
    assert_eq!(wrong, EnrolmentOutcome::Wrong);
    assert!(world.has_no_factor().await);
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    let spaced = format!("{} {}", &code[..3], &code[3..]);
    let right = world.confirm(&world.alice, &begun.ticket, &spaced).await;
    assert!(matches!(right, EnrolmentOutcome::Enrolled(_)), "{right:?}");
    let listed = world.service.list(world.alice.id).await.unwrap();
    assert_eq!(listed.iter().map(|factor| factor.name.as_str()).collect::<Vec<_>>(), ["Phone"]);
}

/// Keyboards for Japanese and Chinese write such digits.
#[tokio::test]
async fn a_code_is_taken_in_full_width_digits() {
    let world = World::new().await;
    let begun = world.service.begin_totp(&world.alice);
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    let wide: String = code.chars().filter_map(|digit| char::from_u32(u32::from(digit) + 0xfee0)).collect();
    assert_ne!(wide, code);
    let right = world.confirm(&world.alice, &begun.ticket, &format!(" {wide}\u{3000}")).await;
    assert!(matches!(right, EnrolmentOutcome::Enrolled(_)), "{right:?}");
}

#[tokio::test]
async fn an_enrolment_that_is_confirmed_twice_is_one_with_the_same_recovery_codes() {
    let world = World::new().await;
    let begun = world.service.begin_totp(&world.alice);
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    let first = world.confirm(&world.alice, &begun.ticket, &code).await;
    let EnrolmentOutcome::Enrolled(first) = first else { panic!("not enrolled") };
    assert!(first.is_first());
    let (log, _guard) = Captured::begin();
    // At the same moment as well.
    for _ in 0..2 {
        let later = world.confirm(&world.alice, &begun.ticket, &code).await;
        let EnrolmentOutcome::Enrolled(later) = later else { panic!("not enrolled") };
        assert!(!later.is_first());
        assert_eq!(later, Enrolled { is_repeated: true, ..first.clone() });
        world.clock.advance(Lifetime::secs(1));
    }
    assert_eq!(log.lines("sluice_audit"), [""; 0]);
    assert_eq!(world.service.list(world.alice.id).await.unwrap().len(), 1);
    assert_eq!(MailRepository::depth(&*world.store).await.unwrap(), (1, 0), "it is told once");
}

#[tokio::test]
async fn whoever_adds_and_removes_factors_all_the_time_is_told_so_often_and_no_more() {
    let world = World::new().await;
    let present = async || given::person(&*world.store, world.alice.id).await;
    let told = async || MailRepository::depth(&*world.store).await.unwrap().0;
    for created in 0..11 {
        let (alice, factor) = (present().await, given::factor(world.alice.id, created));
        world.store.add(&factor, alice.revision, None, None).await.unwrap();
        let removed = world.service.remove(&alice, factor.id).await.unwrap();
        assert_eq!(removed, RemovalOutcome::Removed);
    }
    assert_eq!((told().await, world.has_no_factor().await), (10, true), "the eleventh goes untold");
    world.clock.advance(Lifetime::minutes(6));
    world.app_of(&present().await).await;
    assert_eq!(told().await, 11);
}

#[tokio::test]
async fn the_secret_of_a_ticket_is_shown_no_more_once_its_app_is_there() {
    let world = World::new().await;
    let (begun, other) = (world.service.begin_totp(&world.alice), world.service.begin_totp(&world.alice));
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    let right = world.confirm(&world.alice, &begun.ticket, &code).await;
    assert!(matches!(right, EnrolmentOutcome::Enrolled(_)), "{right:?}");
    assert!(world.service.begun_totp(&world.alice, &begun.ticket).await.unwrap().is_none());
    let shown = world.service.begun_totp(&world.alice, &other.ticket).await.unwrap().unwrap();
    assert_eq!(shown.secret_base32, other.secret_base32, "that app is not there yet");
}

#[tokio::test]
async fn a_ticket_is_good_for_a_quarter_of_an_hour_and_its_person() {
    let world = World::new().await;
    let bob = world.verified("bob@example.com").await;
    let begun = world.service.begin_totp(&world.alice);
    let app = App::scan(&begun.secret_base32);
    let code = app.code(&world.clock);
    let others = world.confirm(&bob, &begun.ticket, &code).await;
    assert_eq!(others, EnrolmentOutcome::Expired);
    let shown = world.service.begun_totp(&world.alice, &begun.ticket).await.unwrap().unwrap();
    assert_eq!(
        (&shown.secret_base32, &shown.otpauth_uri, &shown.qr_svg, &shown.ticket),
        (&begun.secret_base32, &begun.otpauth_uri, &begun.qr_svg, &begun.ticket)
    );
    assert!(world.service.begun_totp(&bob, &begun.ticket).await.unwrap().is_none());
    world.clock.advance(Lifetime::minutes(15));
    assert!(world.service.begun_totp(&world.alice, &begun.ticket).await.unwrap().is_none());
    let code = app.code(&world.clock);
    let late = world.confirm(&world.alice, &begun.ticket, &code).await;
    assert_eq!(late, EnrolmentOutcome::Expired);
    assert!(world.has_no_factor().await);
}

#[tokio::test]
async fn an_enrolment_that_was_begun_before_another_password_ends_with_it() {
    use sluice_identity::identity::{IdentityChange, IdentityDirectory, NewCredential};
    let world = World::new().await;
    let begun = world.service.begin_totp(&world.alice);
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    let change = IdentityChange {
        credential: Some(NewCredential { stored: "$argon2id$another".to_owned(), hardening: false }),
        ..IdentityChange::of(&world.alice, world.clock.now(), AttemptId::from_bytes([7; 16]))
    };
    world.store.change(&change).await.unwrap();
    // Whoever looked at the record before, and whoever looks at it now.
    for alice in [world.alice.clone(), Identity { revision: world.alice.revision + 1, ..world.alice.clone() }]
    {
        let outcome = world.confirm(&alice, &begun.ticket, &code).await;
        assert_eq!(outcome, EnrolmentOutcome::Expired);
    }
    assert!(world.has_no_factor().await);
}

/// Whoever has the session, and knows the password no more or never did, has the ticket for a quarter of an hour.
#[tokio::test]
async fn an_enrolment_brings_no_factor_and_no_recovery_code_back_after_a_removal() {
    // By the person, and by an administrator.
    for looked_at in [Some(1), None] {
        let world = World::new().await;
        let [begun, other] = [world.service.begin_totp(&world.alice), world.service.begin_totp(&world.alice)];
        let confirm = async |begun: &TotpEnrolment| {
            let alice = given::person(&*world.store, world.alice.id).await;
            let code = App::scan(&begun.secret_base32).code(&world.clock);
            world.confirm(&alice, &begun.ticket, &code).await
        };
        let EnrolmentOutcome::Enrolled(enrolled) = confirm(&begun).await else { panic!("it is the first") };
        let spent = enrolled.recovery_codes.unwrap()[0].grouped();
        let spent = FactorProof::RecoveryCode(&spent);
        assert_eq!(world.check(spent).await, FactorCheck::Right(Shown::RecoveryCode));
        let removed = world.store.remove(world.alice.id, enrolled.factor, looked_at, None).await.unwrap();
        assert_eq!(removed, Removed::Done);
        for begun in [&begun, &other] {
            assert_eq!(confirm(begun).await, EnrolmentOutcome::Expired);
        }
        assert!(world.has_no_factor().await);
        assert_eq!(world.check(spent).await, FactorCheck::Wrong);
    }
}

#[tokio::test]
async fn an_enrolment_that_was_begun_before_recovery_codes_were_made_ends_with_that() {
    let world = World::new().await;
    world.app().await;
    let begun = world.service.begin_totp(&world.alice);
    world.service.regenerate_recovery_codes(&world.alice).await.unwrap().unwrap();
    let alice = given::person(&*world.store, world.alice.id).await;
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    for alice in [&world.alice, &alice] {
        let outcome = world.confirm(alice, &begun.ticket, &code).await;
        assert_eq!(outcome, EnrolmentOutcome::Expired);
    }
    assert_eq!(world.service.list(alice.id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn only_the_first_factor_comes_with_recovery_codes() {
    let world = World::new().await;
    let (_, first) = world.app().await;
    assert_eq!(first.recovery_codes.unwrap().len(), RECOVERY_CODES);
    let (_, second) = world.app().await;
    assert_eq!(second.recovery_codes, None);
    assert_eq!(world.service.recovery_codes_left(world.alice.id).await.unwrap(), 10);
}

#[tokio::test]
async fn of_two_first_factors_that_are_confirmed_at_once_one_shows_recovery_codes_and_they_hold() {
    let world = World::new().await;
    let begun = [world.service.begin_totp(&world.alice), world.service.begin_totp(&world.alice)];
    let codes = begun.each_ref().map(|begun| App::scan(&begun.secret_base32).code(&world.clock));
    let confirm = |tab: usize| world.confirm(&world.alice, &begun[tab].ticket, &codes[tab]);
    // Both look for other factors before either is stored.
    let held = world.store.hold().await;
    let (one, other, ()) = tokio::join!(biased; confirm(0), confirm(1), async { drop(held) });
    let shown = [one, other].map(|outcome| match outcome {
        EnrolmentOutcome::Enrolled(enrolled) => enrolled.recovery_codes,
        other => panic!("{other:?}"),
    });
    let shown: Vec<_> = shown.into_iter().flatten().collect();
    assert_eq!((shown.len(), world.service.list(world.alice.id).await.unwrap().len()), (1, 2));
    let checked = world.check(FactorProof::RecoveryCode(&shown[0][0].grouped())).await;
    assert_eq!(checked, FactorCheck::Right(Shown::RecoveryCode));
}

#[tokio::test]
async fn nobody_has_more_factors_than_may_be() {
    let world = World::new().await;
    for _ in 0..MAX_FACTORS {
        world.app().await;
    }
    let begun = world.service.begin_totp(&world.alice);
    let code = App::scan(&begun.secret_base32).code(&world.clock);
    let more = world.confirm(&world.alice, &begun.ticket, &code).await;
    assert_eq!(more, EnrolmentOutcome::TooMany);
}

#[tokio::test]
async fn a_code_is_taken_once_on_all_nodes_and_so_is_that_of_the_enrolment() {
    let world = World::new().await;
    let begun = world.service.begin_totp(&world.alice);
    let app = App::scan(&begun.secret_base32);
    let code = app.code(&world.clock);
    world.confirm(&world.alice, &begun.ticket, &code).await;
    assert_eq!(world.check(FactorProof::Totp(&code)).await, FactorCheck::Used);
    world.clock.advance(Lifetime::secs(30));
    let code = app.code(&world.clock);
    assert_eq!(world.check(FactorProof::Totp(&code)).await, RIGHT);
    let elsewhere = world.another_node();
    let replayed = elsewhere.check(&world.alice, FactorProof::Totp(&code), b"", network()).await;
    assert_eq!(replayed.unwrap(), FactorCheck::Used);
}

#[tokio::test]
async fn a_code_that_was_used_is_no_guess_and_one_that_is_too_old_is() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    let code = app.code(&world.clock);
    assert_eq!(world.check(FactorProof::Totp(&code)).await, RIGHT);
    for _ in 0..15 {
        assert_eq!(world.check(FactorProof::Totp(&code)).await, FactorCheck::Used);
    }
    world.clock.advance(Lifetime::secs(30));
    let next = app.code(&world.clock);
    assert_eq!(world.check(FactorProof::Totp(&next)).await, RIGHT, "nobody waits for a code that was used");
    world.clock.advance(Lifetime::minutes(5));
    assert_eq!(world.check(FactorProof::Totp(&code)).await, FactorCheck::Wrong);
}

#[tokio::test]
async fn of_two_logins_with_one_code_one_succeeds() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    let code = app.code(&world.clock);
    let (left, right) =
        tokio::join!(world.check(FactorProof::Totp(&code)), world.check(FactorProof::Totp(&code)));
    assert!((left == RIGHT) != (right == RIGHT), "{left:?} {right:?}");
}

#[tokio::test]
async fn the_steps_beside_the_present_one_are_taken_and_no_further() {
    for (seconds, right) in [(-60, false), (-30, true), (30, true), (60, false)] {
        let world = World::new().await;
        let (app, _) = world.app().await;
        world.clock.advance(Lifetime::minutes(5));
        let millis = world.clock.now().as_millis() + seconds * 1000;
        let code = app.code_at(sluice_primitives::Timestamp::from_millis(millis));
        let checked = world.check(FactorProof::Totp(&code)).await;
        assert_eq!(checked == RIGHT, right, "{seconds}: {checked:?}");
    }
}

#[tokio::test]
async fn codes_cannot_be_guessed() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    let mut looked_at = 0;
    for number in 0..2000_u32 {
        let code = format!("{number:06}");
        let network = std::net::IpAddr::from((0x0a00_0000 + number).to_be_bytes()).into();
        let now = world.clock.now();
        let step = Lifetime::secs(30);
        // One of two thousand may be: also that of the step before, or of the next.
        let is_right = [now - step, now, now + step].iter().any(|at| code == app.code_at(*at));
        let checked = world.service.check(&world.alice, FactorProof::Totp(&code), b"", network).await;
        match checked.unwrap() {
            FactorCheck::TooMany(wait) => assert!(wait > Lifetime::ZERO),
            FactorCheck::Wrong | FactorCheck::Used | FactorCheck::Late => looked_at += 1,
            FactorCheck::Right(_) => assert!(is_right),
        }
        world.clock.advance(Lifetime::secs(43));
    }
    // A day, from another network each time.
    assert!((15..50).contains(&looked_at), "{looked_at}");
}

#[tokio::test]
async fn right_codes_of_others_in_a_network_keep_nobody_waiting() {
    let world = World::new().await;
    let limits = LimitsConfig { codes_per_network: Some(Rate::per_hour(2)), ..LimitsConfig::default() };
    let node = world.node_that_counts(&limits);
    for n in 0..4 {
        let person = world.verified(&format!("{n}@example.com")).await;
        let (app, _) = world.app_of(&person).await;
        let code = app.code(&world.clock);
        let checked = node.check(&person, FactorProof::Totp(&code), b"", network()).await;
        assert_eq!(checked.unwrap(), RIGHT, "person {n}");
    }
}

#[tokio::test]
async fn wrong_codes_from_one_network_are_slowed_down_whatever_the_accounts() {
    let world = World::new().await;
    let mut waits = 0;
    for n in 0..=150 {
        let person = Identity { id: IdentityId::from_bytes([n; 16]), ..world.alice.clone() };
        for code in ["123456", "654321"] {
            let proof = FactorProof::Totp(code);
            let checked = world.service.check(&person, proof, b"", network()).await.unwrap();
            waits += u32::from(matches!(checked, FactorCheck::TooMany(_)));
        }
    }
    assert_eq!(waits, 1, "of 302 the last");
}

#[tokio::test]
async fn a_right_code_makes_up_for_wrong_ones() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    for _ in 0..3 {
        for _ in 0..9 {
            let wrong = app.code_at(sluice_primitives::Timestamp::from_secs(0));
            assert_eq!(world.check(FactorProof::Totp(&wrong)).await, FactorCheck::Wrong);
        }
        world.clock.advance(Lifetime::hours(1));
        assert_eq!(world.check(FactorProof::Totp(&app.code(&world.clock))).await, RIGHT);
    }
}

#[tokio::test]
async fn what_cannot_be_a_code_is_wrong_and_no_guess() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    for text in ["", "12345", "1234567", "12345a", "１２３４５６", &"1".repeat(40)] {
        assert_eq!(world.check(FactorProof::Totp(text)).await, FactorCheck::Wrong, "{text}");
    }
    assert_eq!(world.check(FactorProof::Totp(&app.code(&world.clock))).await, RIGHT);
}

#[tokio::test]
async fn a_secret_that_is_moved_to_somebody_else_is_none() {
    use sluice_identity::factor::Factor;
    let world = World::new().await;
    let (app, _) = world.app().await;
    let bob = world.verified("bob@example.com").await;
    let stolen = world.store.of_identity(world.alice.id).await.unwrap().remove(0);
    let stolen = Factor { identity: bob.id, ..stolen };
    world.store.add(&stolen, bob.revision, None, None).await.unwrap();
    let code = app.code(&world.clock);
    let checked = world.service.check(&bob, FactorProof::Totp(&code), b"", network()).await;
    assert_eq!(checked.unwrap(), FactorCheck::Wrong);
}
