//! The same of factors, and of what administrators do: the audit trail has what may be written, and nothing of what was only to be read.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_crypto::credential::{CredentialKeys, Peppers};
use sluice_identity::IdentityError;
use sluice_identity::administration::{AdministrationError, IdentityAdministration};
use sluice_identity::factor::{
    AddedFactor, Factor, FactorProof, FactorRepository, FactorService, FactorUse, HashedRecoveryCodes,
    RecoveryCodeCounts, WithFirst,
};
use sluice_identity::identity::Removed;
use sluice_identity::mail::QueuedMail;
use sluice_identity::session::SessionService;
use sluice_primitives::{IdentityId, Secret};
use sluice_store_contract::{Interrupted, Interruption, given};
use sluice_testkit::{Authenticator, Captured};
use uuid::Uuid;

use super::factor::world::{CONTEXT, ORIGIN, World, network};
use super::services::Services;
use super::unanswered::{UNKNOWN, is_unanswered, told};

const AWAY: StoreError = StoreError::Unavailable(None);

/// Factors that can neither be read nor written.
struct Silent;

#[async_trait]
impl FactorRepository for Silent {
    async fn add(
        &self,
        _: &Factor,
        _: i64,
        _: Option<WithFirst<'_>>,
        _: Option<&QueuedMail>,
    ) -> Result<AddedFactor, StoreError> {
        Err(AWAY)
    }

    async fn require(&self, _: IdentityId, _: bool) -> Result<bool, StoreError> {
        Err(AWAY)
    }

    async fn is_required(&self, _: IdentityId) -> Result<bool, StoreError> {
        Err(AWAY)
    }

    async fn of_identity(&self, _: IdentityId) -> Result<Vec<Factor>, StoreError> {
        Err(AWAY)
    }

    async fn use_once(&self, _: &FactorUse) -> Result<bool, StoreError> {
        Err(AWAY)
    }

    async fn rename(&self, _: IdentityId, _: Uuid, _: &str) -> Result<bool, StoreError> {
        Err(AWAY)
    }

    async fn remove(
        &self,
        _: IdentityId,
        _: Uuid,
        _: Option<i64>,
        _: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        Err(AWAY)
    }

    async fn replace_recovery_codes(
        &self,
        _: IdentityId,
        _: i64,
        _: HashedRecoveryCodes<'_>,
        _: Option<&QueuedMail>,
    ) -> Result<bool, StoreError> {
        Err(AWAY)
    }

    async fn spend_recovery_code(
        &self,
        _: IdentityId,
        _: &[u8; 32],
        _: Option<&QueuedMail>,
    ) -> Result<bool, StoreError> {
        Err(AWAY)
    }

    async fn recovery_codes_left(&self, _: IdentityId) -> Result<u32, StoreError> {
        Err(AWAY)
    }

    async fn all_factors(&self, _: Option<(IdentityId, Uuid)>, _: u32) -> Result<Vec<Factor>, StoreError> {
        Err(AWAY)
    }

    async fn reseal_factor(&self, _: &Factor, _: &str) -> Result<bool, StoreError> {
        Err(AWAY)
    }

    async fn all_recovery_codes_left(&self) -> Result<RecoveryCodeCounts, StoreError> {
        Err(AWAY)
    }
}

/// People who cannot be found.
struct Unfound;

#[async_trait]
impl Interruption for Unfound {
    async fn before_find(&self, _: IdentityId) -> Result<(), StoreError> {
        Err(AWAY)
    }
}

/// What administrators do, with these sessions and factors.
fn administration(
    services: &Services,
    sessions: Arc<SessionService>,
    factors: Arc<FactorService>,
) -> IdentityAdministration {
    let sealer = Arc::clone(&services.account.sealer);
    let peppers = Peppers::new(&[Secret::new(vec![8; 32])]).unwrap();
    IdentityAdministration {
        identities: services.store.clone(),
        sessions,
        factors,
        keys: CredentialKeys::new(peppers, Arc::clone(&sealer)),
        max_memory_kib: 1024,
        rules: Arc::clone(&services.account.rules),
        mails: None,
        sealer,
        clock: services.clock.clone(),
        rng: Arc::clone(&services.account.rng),
    }
}

fn is_failed(answer: &Result<(), AdministrationError>) -> bool {
    matches!(answer, Err(AdministrationError::Failed(IdentityError::Store(StoreError::Unavailable(_)))))
}

#[tokio::test]
async fn of_a_factor_whose_use_was_not_answered_the_trail_says_that_nobody_was_told() {
    // Given
    let world = World::new().await;
    let (app, enrolled) = world.app().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    let passkey = world.passkey(&mut key).await.factor;
    let asked = world.ask(None).await;
    let response = key.get(&asked.options);
    let (code, recovery_code) =
        (app.code(&world.clock), enrolled.recovery_codes.as_ref().unwrap()[0].grouped());
    let shown = FactorProof::Passkey { state: &asked.state, response: &response };
    let (log, _guard) = Captured::begin();
    tokio::time::pause();
    let _held = world.store.hold().await;
    // When
    for proof in [FactorProof::Totp(&code), FactorProof::RecoveryCode(&recovery_code), shown] {
        assert!(is_unanswered(&world.service.check(&world.alice, proof, CONTEXT, network()).await));
    }
    let alone = world.service.finish_passkey_login(&asked.state, &response, CONTEXT, network()).await;
    assert!(is_unanswered(&alone));
    // Then
    let whose = format!("identity.id={} client.network=192.0.2.1", world.alice.id);
    let expected = [
        format!("second factor taken: {UNKNOWN} {whose} factor.id={}", enrolled.factor),
        format!("second factor taken: {UNKNOWN} {whose}"),
        format!("passkey taken: {UNKNOWN} {whose} factor.id={passkey}"),
        format!("passkey taken: {UNKNOWN} {whose} factor.id={passkey}"),
    ];
    assert_eq!(told(&log), expected);
}

#[tokio::test]
async fn of_a_factor_that_could_not_be_read_the_trail_says_nothing() {
    let world = World::new().await;
    let (app, _) = world.app().await;
    let mut key = Authenticator::in_software(1, ORIGIN);
    world.passkey(&mut key).await;
    let asked = world.ask(None).await;
    let (code, response) = (app.code(&world.clock), key.get(&asked.options));
    let shown = FactorProof::Passkey { state: &asked.state, response: &response };
    let node = world.node_with(Arc::new(Silent));
    let (log, _guard) = Captured::begin();
    for proof in [FactorProof::Totp(&code), shown] {
        assert!(is_unanswered(&node.check(&world.alice, proof, CONTEXT, network()).await));
    }
    let alone = node.finish_passkey_login(&asked.state, &response, CONTEXT, network()).await;
    assert!(is_unanswered(&alone));
    assert_eq!(log.lines("sluice_audit"), [""; 0]);
}

#[tokio::test]
async fn of_what_administrators_were_not_answered_the_trail_says_that_it_was_them() {
    // Given
    let (services, alice, pair) = Services::with_alice().await;
    let factor = given::factor(alice.id, 0);
    services.store.add(&factor, alice.revision, Some(given::with_first(&[[1; 32]])), None).await.unwrap();
    let administration =
        administration(&services, Arc::clone(&services.sessions), Arc::clone(&services.factors));
    let (log, _guard) = Captured::begin();
    tokio::time::pause();
    let _held = services.store.hold().await;
    // When
    assert!(is_failed(&administration.end_session(alice.id, pair.session).await));
    assert!(is_failed(&administration.end_sessions(alice.id).await));
    assert!(is_failed(&administration.remove_factor(alice.id, factor.id).await));
    // Then
    let person = format!("identity.id={}", alice.id);
    let (out, removed) = ("signed out by an administrator", "it was an administrator who removed the factor");
    let expected = [
        format!("{out}: {UNKNOWN} {person} session.id={}", pair.session),
        format!("{out}: {UNKNOWN} {person}"),
        format!("{removed}: {UNKNOWN} {person} factor.id={}", factor.id),
    ];
    assert_eq!(told(&log), expected);
}

#[tokio::test]
async fn of_what_administrators_could_not_look_at_the_trail_says_nothing() {
    let (services, alice, _) = Services::with_alice().await;
    let identities = Arc::new(Interrupted { store: services.store.clone(), by: Unfound });
    let sessions = SessionService { identities, ..SessionService::clone(&services.sessions) };
    let factors = World::new().await.node_with(Arc::new(Silent));
    let administration = administration(&services, Arc::new(sessions), Arc::new(factors));
    let (log, _guard) = Captured::begin();
    assert!(is_failed(&administration.end_sessions(alice.id).await));
    assert!(is_failed(&administration.remove_factor(alice.id, given::factor(alice.id, 0).id).await));
    assert_eq!(log.lines("sluice_audit"), [""; 0]);
}
