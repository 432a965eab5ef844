//! Recovery codes.

use sluice_identity::factor::{FactorCheck, FactorProof, RECOVERY_CODES, Shown};

use super::world::World;

const RIGHT: FactorCheck = FactorCheck::Right(Shown::RecoveryCode);

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
    assert!(world.service.remove(&world.alice, enrolled.factor).await.unwrap());
    assert!(!world.service.remove(&world.alice, enrolled.factor).await.unwrap());
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
