//! What people do with their own record.

use sluice_identity::account::{Denied, Outcome};
use sluice_identity::identity::IdentityRepository;
use sluice_identity::{InvalidField, LoginOutcome, Refusal, WeakPassword};
use sluice_primitives::Lifetime;

use super::services::{ALICE, BOB, PASSWORD, Services, confirmation, secret};

#[tokio::test]
async fn another_password_ends_everything_but_the_session_it_was_set_in() {
    let (services, alice, first) = Services::with_alice().await;
    let kept = services.sign_in(ALICE, PASSWORD).await;
    let outcome = services.change_password(&alice, (PASSWORD, "battery staple"), Some(kept.session)).await;
    let Outcome::Done(Some(resumed)) = outcome else { panic!("{outcome:?}") };
    assert_ne!(resumed.session, kept.session);
    assert!(services.holds(&resumed) && services.refreshed(&resumed).await.is_some());
    for ended in [&first, &kept] {
        assert!(!services.holds(ended) && services.refreshed(ended).await.is_none());
    }
    let subject = alice.id.to_string().parse().unwrap();
    let session = sluice_primitives::SessionId::from_bytes([9; 16]);
    assert!(services.revocations.covers_login(session, &subject, alice.created_at), "grants go on");
    assert_eq!(services.log_in(ALICE, PASSWORD).await, LoginOutcome::Refused(Refusal::WrongPassword));
    assert!(matches!(services.log_in(ALICE, "battery staple").await, LoginOutcome::LoggedIn(_)));
    let listed = services.sessions.list(alice.id).await.unwrap();
    assert_eq!((listed.len(), listed[0].device.as_str()), (1, "test/1.0"));
    assert_eq!(services.mail().await.subject, "Your password at Example was changed");
}

#[tokio::test]
async fn nobody_keeps_a_session_of_somebody_else() {
    let (services, alice, _) = Services::with_alice().await;
    services.register(BOB).await;
    let bobs = services.sign_in(BOB, PASSWORD).await;
    let outcome = services.change_password(&alice, (PASSWORD, "battery staple"), Some(bobs.session)).await;
    assert!(matches!(outcome, Outcome::Done(None)), "{outcome:?}");
    assert!(services.holds(&bobs));
}

#[tokio::test]
async fn a_password_is_changed_by_who_knows_it_to_one_that_may_be_chosen() {
    let (services, alice, pair) = Services::with_alice().await;
    let denied = |outcome| match outcome {
        Outcome::Denied(denied) => denied,
        Outcome::Done(done) => panic!("{done:?}"),
    };
    let wrong = services.change_password(&alice, ("guess guess", "battery staple"), None).await;
    assert_eq!(denied(wrong), Denied::WrongPassword);
    for (new, reason) in [("short", WeakPassword::TooShort), (ALICE, WeakPassword::SameAsEmail)] {
        let weak = services.change_password(&alice, (PASSWORD, new), None).await;
        assert_eq!(denied(weak), Denied::Invalid(InvalidField::Password(reason)));
    }
    assert!(services.holds(&pair) && services.new_mails().await.is_empty());
    assert_eq!(services.stored(ALICE).await.revision, alice.revision);
}

#[tokio::test]
async fn guesses_at_the_present_password_are_slowed_down() {
    let (services, alice, _) = Services::with_alice().await;
    let (caller, guess) = (services.caller(&alice, &["pwd"]).await, secret("guess guess"));
    for _ in 0..20 {
        let outcome = services.account.confirm(&confirmation(&caller, Some(&guess))).await.unwrap();
        if let Outcome::Denied(Denied::TooMany(wait)) = outcome {
            assert!(wait > Lifetime::ZERO);
            return;
        }
    }
    panic!("nobody slowed the guesses down");
}

#[tokio::test]
async fn a_new_password_is_stored_hardened() {
    let (services, alice, _) = Services::with_alice().await;
    services.change_password(&alice, (PASSWORD, "battery staple"), None).await;
    let stored = services.stored(ALICE).await;
    assert!(stored.credential.starts_with("h1$") && !stored.hardening);
}

#[tokio::test]
async fn a_username_is_set_as_it_is_normalised() {
    let (services, alice, _) = Services::with_alice().await;
    assert_eq!(services.account.set_username(alice.id, " Alice ").await.unwrap(), Outcome::Done(()));
    assert_eq!(services.stored(ALICE).await.username, "Alice");
    let outcome = services.account.set_username(alice.id, &"a".repeat(65)).await.unwrap();
    assert!(matches!(outcome, Outcome::Denied(Denied::Invalid(InvalidField::Username(_)))), "{outcome:?}");
    let nobody = sluice_primitives::IdentityId::from_bytes([9; 16]);
    let gone = services.account.set_username(nobody, "Alice").await.unwrap();
    assert_eq!(gone, Outcome::Denied(Denied::Gone));
}

#[tokio::test]
async fn a_deleted_account_is_gone_and_its_person_told() {
    let (services, alice, pair) = Services::with_alice().await;
    let (caller, guess, right) =
        (services.caller(&alice, &["pwd"]).await, secret("guess guess"), secret(PASSWORD));
    let wrong = services.account.delete_account(&confirmation(&caller, Some(&guess))).await.unwrap();
    assert_eq!(wrong, Outcome::Denied(Denied::WrongPassword));
    let done = services.account.delete_account(&confirmation(&caller, Some(&right))).await.unwrap();
    assert_eq!(done, Outcome::Done(()));
    assert!(services.store.find(alice.id).await.unwrap().is_none());
    assert!(!services.holds(&pair) && services.refreshed(&pair).await.is_none());
    assert_eq!(services.log_in(ALICE, PASSWORD).await, LoginOutcome::Refused(Refusal::UnknownAccount));
    let mail = services.mail().await;
    assert_eq!((mail.to.as_str(), mail.subject.as_str()), (ALICE, "Your account at Example was deleted"));
}
