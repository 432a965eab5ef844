//! Recovery codes.

use sluice_identity::Identity;
use sluice_identity::config::{LimitsConfig, Rate};
use sluice_identity::factor::{FactorCheck, FactorProof, RECOVERY_CODES, RemovalOutcome, Shown};
use sluice_identity::mail::MailRepository;

use super::world::{CONTEXT, World, network};

const RIGHT: FactorCheck = FactorCheck::Right(Shown::RecoveryCode);

/// How many mails wait.
async fn mails(world: &World) -> u64 {
    MailRepository::depth(&*world.store).await.unwrap().0
}

#[tokio::test]
async fn a_code_is_taken_once() {
    let world = World::new().await;
    let codes = world.app().await.1.recovery_codes.unwrap();
    let typed = codes[0].grouped().to_lowercase();
    assert_eq!(world.check(FactorProof::RecoveryCode(&typed)).await, RIGHT);
    assert_eq!(world.check(FactorProof::RecoveryCode(&typed)).await, FactorCheck::Wrong);
    assert_eq!(world.service.recovery_codes_left(world.alice.id).await.unwrap(), 9);
    assert_eq!(world.check(FactorProof::RecoveryCode(&codes[9].grouped())).await, RIGHT);
}

#[tokio::test]
async fn a_new_set_replaces_the_former_one() {
    let world = World::new().await;
    let former = world.app().await.1.recovery_codes.unwrap();
    let present = world.service.regenerate_recovery_codes(&world.alice).await.unwrap().unwrap();
    assert_eq!(present.len(), RECOVERY_CODES);
    assert_eq!(world.check(FactorProof::RecoveryCode(&former[0].grouped())).await, FactorCheck::Wrong);
    assert_eq!(world.check(FactorProof::RecoveryCode(&present[0].grouped())).await, RIGHT);
}

#[tokio::test]
async fn who_has_no_factor_gets_no_codes_and_loses_them_with_the_last_one() {
    let world = World::new().await;
    assert_eq!(world.service.regenerate_recovery_codes(&world.alice).await.unwrap(), None);
    let (_, enrolled) = world.app().await;
    for outcome in [RemovalOutcome::Removed, RemovalOutcome::Missing] {
        assert_eq!(world.service.remove(&world.alice, enrolled.factor).await.unwrap(), outcome);
    }
    let code = enrolled.recovery_codes.unwrap()[0].grouped();
    assert_eq!(world.check(FactorProof::RecoveryCode(&code)).await, FactorCheck::Wrong);
    assert_eq!(world.service.recovery_codes_left(world.alice.id).await.unwrap(), 0);
}

#[tokio::test]
async fn too_many_typed_codes_of_one_network_wait() {
    let world = World::new().await;
    let codes = world.app().await.1.recovery_codes.unwrap();
    for _ in 0..30 {
        assert_eq!(world.check(FactorProof::RecoveryCode("00000-00000")).await, FactorCheck::Wrong);
    }
    let checked = world.check(FactorProof::RecoveryCode(&codes[0].grouped())).await;
    assert!(matches!(checked, FactorCheck::TooMany(_)), "{checked:?}");
    let elsewhere = std::net::IpAddr::from([198, 51, 100, 1]).into();
    let code = codes[0].grouped();
    let checked = world.service.check(&world.alice, FactorProof::RecoveryCode(&code), b"", elsewhere).await;
    assert_eq!(checked.unwrap(), RIGHT);
}

#[tokio::test]
async fn a_person_is_told_of_each_code_that_is_used_and_of_new_ones() {
    let world = World::new().await;
    let codes = world.app().await.1.recovery_codes.unwrap();
    assert_eq!(mails(&world).await, 1, "that of the factor: the codes came with it");
    assert_eq!(world.check(FactorProof::RecoveryCode("00000-00000")).await, FactorCheck::Wrong);
    assert_eq!(mails(&world).await, 1);
    assert_eq!(world.check(FactorProof::RecoveryCode(&codes[0].grouped())).await, RIGHT);
    assert_eq!(world.check(FactorProof::RecoveryCode(&codes[0].grouped())).await, FactorCheck::Wrong);
    assert_eq!(mails(&world).await, 2);
    world.service.regenerate_recovery_codes(&world.alice).await.unwrap().unwrap();
    assert_eq!(mails(&world).await, 3);
    assert!(
        world.service.regenerate_recovery_codes(&world.alice).await.is_err(),
        "the record is another one"
    );
    assert_eq!(mails(&world).await, 3);
}

#[tokio::test]
async fn wrong_codes_take_no_notice_of_a_right_one_and_an_address_has_not_too_many() {
    let world = World::new().await;
    let codes = world.app().await.1.recovery_codes.unwrap();
    let config = LimitsConfig { mails_per_address: Some(Rate::per_hour(2)), ..LimitsConfig::default() };
    let node = world.node_that_counts(&config);
    let check = async |code: &str| {
        node.check(&world.alice, FactorProof::RecoveryCode(code), CONTEXT, network()).await.unwrap()
    };
    for _ in 0..5 {
        assert_eq!(check("00000-00000").await, FactorCheck::Wrong);
    }
    for (code, told) in codes.iter().zip([2, 3, 3]) {
        assert_eq!(check(&code.grouped()).await, RIGHT);
        assert_eq!(mails(&world).await, told);
    }
}

#[tokio::test]
async fn who_never_verified_the_address_is_told_nothing() {
    let world = World::new().await;
    let codes = world.app().await.1.recovery_codes.unwrap();
    let stranger = Identity { email_verified_at: None, ..world.alice.clone() };
    let code = codes[0].grouped();
    let checked = world.service.check(&stranger, FactorProof::RecoveryCode(&code), CONTEXT, network()).await;
    assert_eq!(checked.unwrap(), RIGHT);
    world.service.regenerate_recovery_codes(&stranger).await.unwrap().unwrap();
    assert_eq!(mails(&world).await, 1);
}
