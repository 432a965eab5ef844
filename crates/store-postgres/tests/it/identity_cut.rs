//! As `cut`, of what is written about people.

use futures_util::future::join_all;
use sluice_identity::factor::{AddedFactor, FactorRepository, FactorUse};
use sluice_identity::identity::{
    Changed, EndsSessions, IdentityChange, IdentityDirectory, IdentityRepository, Registration, Removed,
};
use sluice_identity::mail::{CodePurpose, CodeRepository, MailRepository, ShownCode, TakenCode};
use sluice_identity::session::{IdentitySessionRepository, MAX_SESSIONS, Rotation};
use sluice_store_contract::{Fixture, given};
use sluice_token::Target;

use crate::cut::Cut;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_beside_a_taken_name_that_was_not_answered_is_not_taken() {
    let cut = Cut::start().await;
    let (alice, other) = (given::identity("alice"), given::identity("alice"));
    given::registered(&*cut.store, alice.clone()).await;
    cut.proxy.cut_after("WITH taken AS");
    assert_eq!(cut.store.register(other.into()).await.unwrap(), Registration::Taken);
    cut.proxy.cut_after("WITH taken AS");
    assert_eq!(cut.store.register(alice.into()).await.unwrap(), Registration::Registered);
    assert_eq!(cut.proxy.cuts(), 2);
}

/// Many are inserted on the guess that nobody is there, and then they are.
#[tokio::test]
async fn a_crowd_whose_registration_was_not_answered_is_registered_once() {
    let cut = Cut::start().await;
    given::registered(&*cut.store, given::identity("first")).await;
    let crowd: Vec<_> = (0..40).map(|number| given::identity(&format!("user-{number}"))).collect();
    cut.proxy.cut_after("whose names are guessed to be free");
    for outcome in join_all(crowd.iter().map(|one| cut.store.register(one.clone().into()))).await {
        assert_eq!(outcome.unwrap(), Registration::Registered);
    }
    assert_eq!(cut.proxy.cuts(), 1);
    for one in crowd {
        assert_eq!(given::person(&*cut.store, one.id).await.attempt, one.attempt);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_not_answered_is_made_once() {
    let cut = Cut::start().await;
    let alice = given::registered(&*cut.store, given::identity("alice")).await;
    let session = given::begun(&*cut.store, alice.id, 21).await;
    let change = IdentityChange {
        email: given::new_email("other"),
        ends_sessions: EndsSessions::All,
        revokes: true,
        mails: vec![given::mail(10)],
        ..given::change(&alice, 20)
    };
    cut.proxy.cut_after("WITH changed AS");
    assert_eq!(cut.store.change(&change).await.unwrap(), Changed::Done);
    assert_eq!(cut.proxy.cuts(), 1);
    assert_eq!(given::person(&*cut.store, alice.id).await.revision, 2);
    let later = given::begun(&*cut.store, alice.id, 22).await;
    assert_eq!(cut.store.change(&change).await.unwrap(), Changed::Done);
    assert!(given::has_session(&*cut.store, &later).await, "nothing follows from a change twice");
    assert_eq!(MailRepository::depth(&*cut.store).await.unwrap(), (1, 0));
    let mut marked: Vec<_> =
        given::markers(&*cut.store).await.into_iter().map(|marker| marker.target).collect();
    marked.sort_by_key(Target::kind);
    assert_eq!(marked, [Target::Session(session.id), given::marked_person(alice.id)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_identity_whose_deletion_was_not_answered_is_deleted_once() {
    let cut = Cut::start().await;
    let alice = given::registered(&*cut.store, given::identity("alice")).await;
    let (looked_at, now, until) = (Some(alice.revision), given::at(20), given::at(9000));
    let notice = given::mail(10);
    let delete = || IdentityDirectory::delete(&*cut.store, alice.id, looked_at, now, until, Some(&notice));
    cut.proxy.cut_after("WITH deleted AS");
    assert_eq!(delete().await.unwrap(), Removed::Done);
    assert_eq!(cut.proxy.cuts(), 1);
    assert_eq!(delete().await.unwrap(), Removed::Missing);
    assert_eq!(given::markers(&*cut.store).await.len(), 1);
    assert_eq!(MailRepository::depth(&*cut.store).await.unwrap(), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_writes_were_not_answered_is_written_once() {
    let cut = Cut::start().await;
    let alice = given::registered(&*cut.store, given::identity("alice")).await;
    cut.proxy.cut_after("INSERT INTO identity_session");
    let session = given::begun(&*cut.store, alice.id, 1).await;
    cut.proxy.cut_after("generation = s.generation + 1");
    let rotated = cut.store.rotate(&given::session_rotation(session.id, 0, 1000)).await.unwrap();
    let Rotation::Rotated(rotated) = rotated else { panic!("{rotated:?}") };
    assert_eq!((rotated.generation, cut.proxy.cuts()), (1, 2));
    assert_eq!(given::markers(&*cut.fixture.store()).await, []);
    cut.proxy.cut_after("DELETE FROM identity_session");
    let reused = cut.store.rotate(&given::session_rotation(session.id, 0, 2000)).await.unwrap();
    assert_eq!((reused, cut.proxy.cuts()), (Rotation::Reused(rotated), 3));
    assert_eq!(given::markers(&*cut.store).await.len(), 1);
    assert!(!cut.store.begin(&session, given::at(9000)).await.unwrap());
    assert!(!given::has_session(&*cut.store, &session).await, "what has ended does not come back");
}

/// And a session whose beginning was not answered leaves what is too many to the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_sessions_that_are_too_many_is_written_once_though_nobody_was_answered() {
    let cut = Cut::start().await;
    let alice = given::identity_id();
    for begun in 1..=i64::from(MAX_SESSIONS) {
        given::begun(&*cut.store, alice, begun).await;
    }
    cut.proxy.cut_after("session_id = ANY($1) RETURNING");
    given::begun(&*cut.store, alice, 201).await;
    assert_eq!((cut.proxy.cuts(), given::markers(&*cut.store).await.len()), (1, 1));
    cut.proxy.cut_after("INSERT INTO identity_session");
    given::begun(&*cut.store, alice, 202).await;
    assert_eq!((cut.proxy.cuts(), given::markers(&*cut.store).await.len()), (2, 1));
    given::begun(&*cut.store, alice, 203).await;
    assert_eq!(given::markers(&*cut.store).await.len(), 3);
}

/// Those that share a statement with it are rotated by then.
#[tokio::test]
async fn sessions_are_rotated_though_the_server_refuses_to_say_why_another_is_not() {
    let cut = Cut::start().await;
    let alice = given::registered(&*cut.store, given::identity("alice")).await;
    let bob = given::registered(&*cut.store, given::identity("bob")).await;
    let (alices, bobs) =
        (given::begun(&*cut.store, alice.id, 1).await, given::begun(&*cut.store, bob.id, 1).await);
    let (rotation, unknown) =
        (given::session_rotation(alices.id, 0, 1000), given::session_rotation(bobs.id, 7, 1000));
    cut.proxy.refuse_after("Why a compare-and-swap");
    let (rotated, gone) = tokio::join!(cut.store.rotate(&rotation), cut.store.rotate(&unknown));
    let Ok(Rotation::Rotated(rotated)) = rotated else { panic!("{rotated:?}") };
    assert_eq!((rotated.generation, rotated.attempt), (1, rotation.attempt));
    assert_eq!((gone.unwrap(), cut.proxy.cuts()), (Rotation::Gone, 1));
    assert_eq!(given::markers(&*cut.fixture.store()).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_code_that_was_not_answered_costs_one_try() {
    let cut = Cut::start().await;
    let code = given::mail_code(given::identity_id(), CodePurpose::Recover);
    cut.proxy.cut_after("WITH put AS");
    cut.store.put(&code, &given::mail(10)).await.unwrap();
    let take = async |hash| {
        let by = (given::at(20), given::attempt());
        let shown = ShownCode { hashes: &[hash], by_link: false, keeps: false };
        cut.store.take(code.identity, code.purpose, shown, by).await.unwrap()
    };
    cut.proxy.cut_after("SET tries");
    for _ in 0..9 {
        assert_eq!(take(given::random_hash()).await, TakenCode::Wrong);
    }
    cut.proxy.cut_after("SET tries");
    assert!(matches!(take(code.hash).await, TakenCode::Right { .. }));
    assert_eq!(take(code.hash).await, TakenCode::Gone);
    assert_eq!(cut.proxy.cuts(), 3);
    assert_eq!(MailRepository::depth(&*cut.store).await.unwrap(), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_factor_whose_writes_were_not_answered_is_written_once() {
    let cut = Cut::start().await;
    let alice = given::registered(&*cut.store, given::identity("alice")).await.id;
    let (factor, codes) = (given::factor(alice, 1), [given::random_hash(), given::random_hash()]);
    let notices: [_; 7] = std::array::from_fn(|_| given::mail(10));
    let [added, again, spent, spent_again, made, removed, missing] = notices.each_ref().map(Some);
    cut.proxy.cut_after("INSERT INTO factor");
    assert_eq!(
        cut.store.add(&factor, 1, Some(given::with_first(&codes)), added).await.unwrap(),
        AddedFactor::AddedWithCodes
    );
    let used = FactorUse {
        identity: alice,
        id: factor.id,
        old_counter: factor.counter,
        new_counter: factor.counter + 1,
        sealed: None,
        now: given::at(20),
    };
    cut.proxy.cut_after("used_by = $7");
    assert!(cut.store.use_once(&used).await.unwrap());
    assert!(!cut.store.use_once(&used).await.unwrap());
    cut.proxy.cut_after("SET spent_by");
    assert!(cut.store.spend_recovery_code(alice, &codes[0], spent).await.unwrap());
    assert!(!cut.store.spend_recovery_code(alice, &codes[0], spent_again).await.unwrap());
    assert_eq!(
        cut.store.add(&factor, 1, Some(given::with_first(&codes)), again).await.unwrap(),
        AddedFactor::AddedWithCodes
    );
    assert_eq!(cut.store.recovery_codes_left(alice).await.unwrap(), 1, "a spent code stays spent");
    cut.proxy.cut_after("SET revision = revision + 1");
    assert!(
        cut.store.replace_recovery_codes(alice, 1, given::recovery_codes(&[[9; 32]]), made).await.unwrap()
    );
    assert_eq!(cut.store.recovery_codes_left(alice).await.unwrap(), 1);
    cut.proxy.cut_after("DELETE FROM factor");
    assert_eq!(cut.store.remove(alice, factor.id, Some(2), removed).await.unwrap(), Removed::Done);
    assert_eq!(given::person(&*cut.store, alice).await.revision, 3);
    assert_eq!(cut.store.remove(alice, factor.id, Some(3), missing).await.unwrap(), Removed::Missing);
    assert_eq!(cut.proxy.cuts(), 5);
    assert_eq!(MailRepository::depth(&*cut.store).await.unwrap(), (4, 0), "one of each");
}
