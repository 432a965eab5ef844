//! Codes that mails carry: right once, and not to be guessed.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::mail::{
    CodePurpose, CodeRepository, MAX_CODE_TRIES, MailCode, MailRepository, QueuedMail, ShownCode, TakenCode,
};
use sluice_primitives::Lifetime;

use crate::{Fixture, given};

const WRONG: [u8; 32] = [9; 32];

/// A code that somebody could recover an account with.
fn code() -> MailCode {
    given::mail_code(given::identity_id(), CodePurpose::Recover)
}

/// Puts a code; its mail.
async fn put(store: &impl CodeRepository, code: &MailCode) -> QueuedMail {
    let mail = given::mail(0);
    store.put(code, &mail).await.unwrap();
    mail
}

/// Somebody types `hash` at second `now` where `code` is asked for.
async fn typed(store: &impl CodeRepository, code: &MailCode, hash: &[u8; 32], now: i64) -> TakenCode {
    let shown = ShownCode { hashes: &[*hash], by_link: false, keeps: false };
    store.take(code.identity, code.purpose, shown, (given::at(now), given::attempt())).await.unwrap()
}

/// Somebody types the code at second `now`.
async fn take(store: &impl CodeRepository, code: &MailCode, now: i64) -> TakenCode {
    typed(store, code, &code.hash, now).await
}

fn right() -> TakenCode {
    TakenCode::Right { email: "alice@example.org".to_owned() }
}

/// A code is right once, on any node, and says where it was sent to.
pub async fn a_code_is_right_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let code = code();
    put(&*store, &code).await;
    assert_eq!(take(&*fixture.second_node().await, &code, 10).await, right());
    assert_eq!(take(&*store, &code, 11).await, TakenCode::Gone);
    assert_eq!(typed(&*store, &code, &WRONG, 11).await, TakenCode::Gone);
}

/// Of 16 who type the right code on two nodes, one is right.
pub async fn a_code_is_right_for_one_of_many_at_once(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let code = code();
    put(&*nodes[0], &code).await;
    let outcomes = join_all((0..16).map(|place| take(&*nodes[place % 2], &code, 10))).await;
    let told = |outcome: &TakenCode| outcomes.iter().filter(|told| *told == outcome).count();
    assert_eq!((told(&right()), told(&TakenCode::Gone)), (1, 15));
}

/// The mail of a code is queued with it, once however often it is put.
pub async fn the_mail_of_a_code_is_queued_with_it(fixture: &impl Fixture) {
    let store = fixture.store();
    let code = code();
    let mail = put(&*store, &code).await;
    fixture.second_node().await.put(&code, &mail).await.unwrap();
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (1, 0));
    let leased = MailRepository::lease(&*store, given::at(0), Lifetime::secs(30), 10).await.unwrap();
    assert_eq!((leased[0].id, leased[0].sealed.as_str()), (mail.id, mail.sealed.as_str()));
}

/// After ten wrong ones the right one is none any more, however many try at once.
pub async fn a_code_that_was_typed_wrong_ten_times_is_gone(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let code = code();
    put(&*nodes[0], &code).await;
    let guesses = join_all((0..16).map(|place| typed(&*nodes[place % 2], &code, &WRONG, 10))).await;
    let told = |outcome| guesses.iter().filter(|guess| **guess == outcome).count();
    assert_eq!(told(TakenCode::Wrong), usize::try_from(MAX_CODE_TRIES).unwrap());
    assert_eq!(told(TakenCode::Gone), 6);
    assert_eq!(take(&*nodes[1], &code, 11).await, TakenCode::Gone);
}

/// By its link a code is right once, however many wrong ones were typed; and a link of a former mail costs no try.
pub async fn a_link_needs_no_tries_and_costs_none(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let code = code();
    put(&*nodes[0], &code).await;
    let by_link = async |hash: [u8; 32]| {
        let (shown, now) =
            (ShownCode { hashes: &[hash], by_link: true, keeps: false }, (given::at(11), given::attempt()));
        nodes[1].take(code.identity, code.purpose, shown, now).await.unwrap()
    };
    for _ in 0..2 * MAX_CODE_TRIES {
        assert_eq!(by_link(WRONG).await, TakenCode::Wrong);
    }
    for _ in 0..MAX_CODE_TRIES {
        assert_eq!(typed(&*nodes[0], &code, &WRONG, 10).await, TakenCode::Wrong);
    }
    assert_eq!(take(&*nodes[0], &code, 10).await, TakenCode::Gone);
    assert_eq!(by_link(WRONG).await, TakenCode::Gone);
    assert_eq!(by_link(code.hash).await, right());
    assert_eq!(by_link(code.hash).await, TakenCode::Gone);
}

/// After nine wrong ones the right one is still right.
pub async fn a_code_may_be_typed_wrong_nine_times(fixture: &impl Fixture) {
    let store = fixture.store();
    let code = code();
    put(&*store, &code).await;
    for _ in 1..MAX_CODE_TRIES {
        assert_eq!(typed(&*store, &code, &WRONG, 10).await, TakenCode::Wrong);
    }
    assert_eq!(take(&*store, &code, 11).await, right());
}

/// A new code takes the place of the former one, with all its tries, whatever became of that.
pub async fn a_new_code_replaces_the_former_one(fixture: &impl Fixture) {
    let store = fixture.store();
    let former = code();
    put(&*store, &former).await;
    for _ in 0..MAX_CODE_TRIES {
        typed(&*store, &former, &WRONG, 10).await;
    }
    let another = |hash, email: &str| MailCode {
        hash,
        email: email.to_owned(),
        attempt: given::attempt(),
        ..former.clone()
    };
    let second = another([2; 32], "second@example.org");
    put(&*fixture.second_node().await, &second).await;
    assert_eq!(take(&*store, &former, 11).await, TakenCode::Wrong);
    for _ in 2..MAX_CODE_TRIES {
        assert_eq!(typed(&*store, &second, &WRONG, 11).await, TakenCode::Wrong);
    }
    let email = second.email.clone();
    assert_eq!(take(&*store, &second, 12).await, TakenCode::Right { email });
    let third = another([3; 32], "third@example.org");
    put(&*store, &third).await;
    let email = third.email.clone();
    assert_eq!(take(&*store, &third, 13).await, TakenCode::Right { email });
}

/// A retry of putting a code brings back neither its tries, nor itself, nor its mail.
pub async fn a_code_put_again_by_its_own_attempt_does_not_come_back(fixture: &impl Fixture) {
    let store = fixture.store();
    let (guessed, taken) = (code(), code());
    for code in [&guessed, &taken] {
        let mail = put(&*store, code).await;
        for _ in 1..MAX_CODE_TRIES {
            typed(&*store, code, &WRONG, 10).await;
        }
        let last = if code == &taken { &code.hash } else { &WRONG };
        typed(&*store, code, last, 11).await;
        store.sent(mail.id).await.unwrap();
        fixture.second_node().await.put(code, &mail).await.unwrap();
        assert_eq!(take(&*store, code, 12).await, TakenCode::Gone);
    }
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (0, 0));
}

/// A code is good until it expires, not longer.
pub async fn an_expired_code_is_gone(fixture: &impl Fixture) {
    let store = fixture.store();
    for (now, expected) in [(599, right()), (600, TakenCode::Gone)] {
        let code = code();
        put(&*store, &code).await;
        assert_eq!(take(&*store, &code, now).await, expected);
        assert_eq!(typed(&*store, &code, &WRONG, 600).await, TakenCode::Gone);
    }
}

/// A retry after a lost answer finds its own work, until the code has expired.
pub async fn a_code_taken_again_by_the_same_attempt_is_right(fixture: &impl Fixture) {
    let store = fixture.store();
    let (code, attempt) = (code(), given::attempt());
    put(&*store, &code).await;
    let other = fixture.second_node().await;
    for (node, now, expected) in
        [(&store, 10, right()), (&other, 599, right()), (&store, 600, TakenCode::Gone)]
    {
        let taken = (given::at(now), attempt);
        let shown = ShownCode { hashes: &[code.hash], by_link: false, keeps: false };
        assert_eq!(node.take(code.identity, code.purpose, shown, taken).await.unwrap(), expected);
    }
}

/// A code may have been hashed with an older key than the present one: of the hashes that are held against it one is enough,
/// and together they are one try.
pub async fn a_code_is_right_by_one_of_its_hashes(fixture: &impl Fixture) {
    let store = fixture.store();
    let code = code();
    put(&*store, &code).await;
    let take = async |hashes: &[[u8; 32]]| {
        let shown = ShownCode { hashes, by_link: false, keeps: false };
        store.take(code.identity, code.purpose, shown, (given::at(10), given::attempt())).await.unwrap()
    };
    for _ in 1..MAX_CODE_TRIES {
        assert_eq!(take(&[WRONG, [8; 32], [7; 32]]).await, TakenCode::Wrong);
    }
    assert_eq!(take(&[WRONG, code.hash]).await, right());
    assert_eq!(take(&[code.hash]).await, TakenCode::Gone);
}

/// Whoever only looks whether the code of a link is right spends nothing, and is told what whoever shows it would be.
pub async fn to_look_at_a_code_spends_nothing(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let code = code();
    put(&*nodes[0], &code).await;
    let is_right = async |hashes: &[[u8; 32]], now| {
        let sent_to = nodes[1].sent_to(code.identity, code.purpose, hashes, given::at(now)).await.unwrap();
        sent_to.is_some_and(|email| email == code.email)
    };
    for _ in 0..2 * MAX_CODE_TRIES {
        assert!(is_right(&[WRONG, code.hash], 10).await && !is_right(&[WRONG], 10).await);
    }
    assert!(
        !is_right(&[], 10).await && is_right(&[code.hash], 599).await && !is_right(&[code.hash], 600).await
    );
    for _ in 0..MAX_CODE_TRIES {
        assert_eq!(typed(&*nodes[0], &code, &WRONG, 10).await, TakenCode::Wrong);
    }
    assert!(is_right(&[code.hash], 10).await, "a link needs no tries");
    let (shown, now) =
        (ShownCode { hashes: &[code.hash], by_link: true, keeps: false }, (given::at(11), given::attempt()));
    assert_eq!(nodes[0].take(code.identity, code.purpose, shown, now).await.unwrap(), right());
    assert!(!is_right(&[code.hash], 11).await, "it is spent");
    let strangers = nodes[1].sent_to(given::identity_id(), code.purpose, &[code.hash], given::at(10)).await;
    assert_eq!(strangers.unwrap(), None);
}

/// A code that is kept stays good until it is spent; a wrong one costs its try all the same.
pub async fn a_code_that_is_kept_stays_good_and_can_be_guessed_no_better(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let keep = async |code: &MailCode, hash: [u8; 32], by_link: bool| {
        let (shown, now) =
            (ShownCode { hashes: &[hash], by_link, keeps: true }, (given::at(10), given::attempt()));
        nodes[1].take(code.identity, code.purpose, shown, now).await.unwrap()
    };
    for by_link in [false, true] {
        let kept = code();
        put(&*nodes[0], &kept).await;
        for _ in 0..2 * MAX_CODE_TRIES {
            assert_eq!(keep(&kept, kept.hash, by_link).await, right());
        }
        assert_eq!(take(&*nodes[0], &kept, 11).await, right());
        assert_eq!(keep(&kept, kept.hash, by_link).await, TakenCode::Gone, "it is spent");
    }
    let guessed = code();
    put(&*nodes[0], &guessed).await;
    for _ in 0..MAX_CODE_TRIES {
        assert_eq!(keep(&guessed, WRONG, false).await, TakenCode::Wrong);
    }
    assert_eq!(keep(&guessed, guessed.hash, false).await, TakenCode::Gone);
    assert_eq!(take(&*nodes[0], &guessed, 11).await, TakenCode::Gone);
}

/// A code is good for one person and one purpose.
pub async fn a_code_is_good_for_one_purpose_of_one_person(fixture: &impl Fixture) {
    let store = fixture.store();
    let purposes = [CodePurpose::VerifyEmail, CodePurpose::Recover, CodePurpose::ChangeEmail];
    let alice = given::identity_id();
    let codes = purposes.map(|purpose| given::mail_code(alice, purpose));
    for code in &codes {
        put(&*store, code).await;
    }
    let strangers = MailCode { identity: given::identity_id(), ..codes[0].clone() };
    assert_eq!(take(&*store, &strangers, 10).await, TakenCode::Gone);
    for (place, code) in codes.iter().enumerate() {
        let other = &codes[(place + 1) % codes.len()];
        assert_eq!(typed(&*store, code, &other.hash, 10).await, TakenCode::Wrong);
    }
    for code in &codes {
        assert_eq!(take(&*store, code, 11).await, right());
    }
}

/// Expired codes go, a bounded number at a time.
pub async fn expired_mail_codes_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let living = MailCode { expires_at: given::at(9000), ..code() };
    put(&*store, &living).await;
    for _ in 0..3 {
        put(&*store, &code()).await;
    }
    let purge = async |limit| CodeRepository::purge_expired(&*store, given::at(700), limit).await.unwrap();
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    assert_eq!(take(&*store, &living, 700).await, right());
}

/// What PostgreSQL cannot hold, no store takes: neither the code nor its mail.
pub async fn a_code_with_an_address_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    let code = MailCode { email: "with \0 inside".to_owned(), ..code() };
    let refused = store.put(&code, &given::mail(0)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (0, 0));
}
