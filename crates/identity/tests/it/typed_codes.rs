//! Codes that strangers type in the network of somebody who types others.

use sluice_identity::account::{Denied, Outcome};
use sluice_identity::factor::{Enrolled, EnrolmentOutcome, FactorCheck, FactorProof, Shown};

use super::confirmation::enrol;
use super::services::{ALICE, Services, link, network, secret, typed};

#[tokio::test]
async fn wrong_codes_of_mails_keep_the_owner_from_no_second_factor_and_no_recovery() {
    let (services, alice, _) = Services::with_alice().await;
    let (app, outcome) = enrol(&services, &alice).await;
    let EnrolmentOutcome::Enrolled(Enrolled { recovery_codes: Some(codes), .. }) = outcome else {
        panic!("{outcome:?}")
    };
    services.new_mails().await;
    services.account.begin_recovery(ALICE, network()).await.unwrap();
    let mail = services.mail().await;
    let Outcome::Done(ticket) = services.account.check_recovery(&link(&mail), network()).await.unwrap()
    else {
        panic!("the link of the mail is refused")
    };
    let guess = typed(ALICE, "ABCD-EFGH");
    for _ in 0..30 {
        let wrong = services.account.verify_email(&guess, network()).await.unwrap();
        assert_eq!(wrong, Outcome::Denied(Denied::WrongCode));
    }
    let next = services.account.verify_email(&guess, network()).await.unwrap();
    assert!(matches!(next, Outcome::Denied(Denied::TooMany(_))), "{next:?}");
    let (totp, recovery) = (app.code(&services.clock), codes[0].grouped());
    let shown = [
        (FactorProof::Totp(&totp), Shown::Totp),
        (FactorProof::RecoveryCode(&recovery), Shown::RecoveryCode),
    ];
    for (proof, shown) in shown {
        let checked = services.factors.check(&alice, proof, b"", network()).await.unwrap();
        assert_eq!(checked, FactorCheck::Right(shown));
    }
    let new = secret("battery staple");
    let done = services.account.finish_recovery(ticket.expose(), &new, network()).await.unwrap();
    assert_eq!(done, Outcome::Done(alice.id));
}
