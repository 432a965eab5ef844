//! What is written to the addresses of those who register: with the registration, or not at all.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::identity::{
    Identity, IdentityRepository, NewIdentity, Registration, RegistrationLetters,
};
use sluice_identity::mail::{
    CodeByMail, CodePurpose, CodeRepository, LeasedMail, MailCode, MailRepository, ShownCode, TakenCode,
};
use sluice_primitives::{IdentityId, Lifetime};

use crate::{Fixture, given};

fn letter(to: IdentityId) -> CodeByMail {
    CodeByMail { code: given::mail_code(to, CodePurpose::VerifyEmail), mail: given::mail(0) }
}

fn letters(identity: &Identity) -> RegistrationLetters {
    RegistrationLetters { welcome: letter(identity.id), if_taken: None }
}

fn with(identity: &Identity, letters: &RegistrationLetters) -> NewIdentity {
    NewIdentity { identity: identity.clone(), letters: Some(Box::new(letters.clone())) }
}

async fn is_good(store: &impl CodeRepository, code: &MailCode) -> bool {
    let shown = ShownCode { hashes: &[code.hash], by_link: false, keeps: false };
    let taken =
        store.take(code.identity, code.purpose, shown, (given::at(10), given::attempt())).await.unwrap();
    matches!(taken, TakenCode::Right { .. })
}

async fn leased(store: &impl MailRepository) -> Vec<LeasedMail> {
    store.lease(given::at(0), Lifetime::secs(30), 1000).await.unwrap()
}

/// Who registers has a code, and its mail waits.
pub async fn a_registration_brings_its_code_and_its_mail(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let alice = given::identity("alice");
    let letters = RegistrationLetters { if_taken: Some(letter(given::identity_id())), ..letters(&alice) };
    assert_eq!(store.register(with(&alice, &letters)).await.unwrap(), Registration::Registered);
    let mails = leased(&*other).await;
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert_eq!((mails[0].id, &mails[0].sealed), (letters.welcome.mail.id, &letters.welcome.mail.sealed));
    assert!(is_good(&*other, &letters.welcome.code).await);
    assert!(!is_good(&*other, &letters.if_taken.unwrap().code).await);
    assert_eq!(given::person(&*store, alice.id).await, alice);
}

/// Who finds the name taken gets no code; what is written then is something else, or nothing.
pub async fn a_registration_of_a_taken_name_writes_its_other_letter(fixture: &impl Fixture) {
    let store = fixture.store();
    given::registered(&*store, given::identity("alice")).await;
    for if_taken in [None, Some(letter(given::identity_id()))] {
        let late = given::identity("alice");
        let letters = RegistrationLetters { if_taken: if_taken.clone(), ..letters(&late) };
        let outcome = fixture.second_node().await.register(with(&late, &letters)).await;
        assert_eq!(outcome.unwrap(), Registration::Taken);
        let mails: Vec<_> = leased(&*store).await.into_iter().map(|mail| mail.id).collect();
        assert_eq!(mails, if_taken.iter().map(|letter| letter.mail.id).collect::<Vec<_>>());
        assert!(!is_good(&*store, &letters.welcome.code).await);
        if let Some(letter) = if_taken {
            assert!(is_good(&*store, &letter.code).await);
        }
    }
}

/// A retry after a lost answer brings back neither code nor mail, whatever became of them.
pub async fn a_registration_retried_by_its_own_attempt_writes_once(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (alice, late) = (given::identity("alice"), given::identity("alice"));
    let welcome = letters(&alice);
    let taken = RegistrationLetters { if_taken: Some(letter(given::identity_id())), ..letters(&late) };
    let both = [
        (with(&alice, &welcome), &welcome.welcome, Registration::Registered),
        (with(&late, &taken), taken.if_taken.as_ref().unwrap(), Registration::Taken),
    ];
    for (new, written, outcome) in both {
        assert_eq!(store.register(new.clone()).await.unwrap(), outcome);
        assert!(is_good(&*store, &written.code).await);
        store.sent(written.mail.id).await.unwrap();
        assert_eq!(other.register(new).await.unwrap(), outcome);
        assert!(!is_good(&*store, &written.code).await, "the code is back");
        assert_eq!(MailRepository::depth(&*store).await.unwrap(), (0, 0), "the mail is back");
    }
}

/// Of many at once, with letters and without, of free names and taken ones, each gets its own.
pub async fn registrations_with_letters_and_without_share_commits(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    join_all((0..20).map(|n| given::registered(&*nodes[0], given::identity(&format!("taken-{n}"))))).await;
    let news: Vec<_> = (0..200)
        .map(|n| {
            let name = if n % 10 == 0 { format!("taken-{}", n / 10) } else { format!("free-{n}") };
            let identity = given::identity(&name);
            let letters =
                RegistrationLetters { if_taken: Some(letter(given::identity_id())), ..letters(&identity) };
            if n % 3 == 0 { identity.into() } else { with(&identity, &letters) }
        })
        .collect();
    let outcomes = join_all(news.iter().enumerate().map(|(n, new)| nodes[n % 2].register(new.clone()))).await;
    let mut expected = Vec::new();
    for (new, outcome) in news.iter().zip(outcomes) {
        let is_taken = outcome.unwrap() == Registration::Taken;
        assert_eq!(is_taken, new.identity.email.starts_with("taken"), "{}", new.identity.email);
        let Some(letters) = &new.letters else { continue };
        let written = if is_taken { letters.if_taken.as_ref().unwrap() } else { &letters.welcome };
        expected.push(written.mail.id);
        assert!(is_good(&*nodes[0], &written.code).await);
    }
    let mut mails: Vec<_> = leased(&*nodes[1]).await.into_iter().map(|mail| mail.id).collect();
    expected.sort_unstable();
    mails.sort_unstable();
    assert_eq!(mails, expected);
}

/// A registration whose mail cannot be stored is none; the rest of the load is not hurt by it.
pub async fn a_registration_whose_letter_cannot_be_stored_fails_alone(fixture: &impl Fixture) {
    let store = fixture.store();
    let bad = ["with \0 inside".to_owned(), "x".repeat(2 << 20)].into_iter().flat_map(|bad| {
        let identity = given::identity("bad");
        let (mut of_code, mut of_mail, mut of_other) =
            (letters(&identity), letters(&identity), letters(&identity));
        of_code.welcome.code.email.clone_from(&bad);
        of_mail.welcome.mail.sealed.clone_from(&bad);
        let mut other = letter(given::identity_id());
        other.mail.sealed = bad;
        of_other.if_taken = Some(other);
        [of_code, of_mail, of_other].map(|letters| with(&identity, &letters))
    });
    let bad = bad.map(|new| store.register(new));
    let good = (0..20).map(|number| {
        let identity = given::identity(&format!("good-{number}"));
        store.register(with(&identity, &letters(&identity)))
    });
    let (bad, good) = tokio::join!(join_all(bad), join_all(good));
    assert!(bad.iter().all(|outcome| matches!(outcome, Err(StoreError::Invalid(_)))), "{bad:?}");
    assert!(good.iter().all(|outcome| matches!(outcome, Ok(Registration::Registered))), "{good:?}");
    assert_eq!(store.find_by_login_name(&given::login_name("bad")).await.unwrap(), None);
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (20, 0));
}
