//! Changes of identities: all of it or nothing, by whoever saw the latest revision.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use sluice_commit::StoreError;
use sluice_identity::factor::FactorRepository;
use sluice_identity::hardening::HardeningRepository;
use sluice_identity::identity::{
    Changed, EndsSessions, Identity, IdentityChange, IdentityDirectory, IdentityRepository, IdentityStatus,
    NewCredential,
};
use sluice_identity::mail::MailRepository;
use sluice_primitives::IdentityId;
use sluice_token::{Marker, Target};

use crate::{Fixture, given};

async fn queued_mails(store: &impl MailRepository) -> u64 {
    store.depth().await.unwrap().0
}

async fn waiting_credentials(store: &impl HardeningRepository) -> u64 {
    store.backlog().await.unwrap().waiting
}

async fn owner(store: &impl IdentityRepository, email: &str) -> Option<IdentityId> {
    store.find_by_login_name(&given::login_name(email)).await.unwrap().map(|identity| identity.id)
}

/// Names a field of a change.
type Demand = fn(&mut IdentityChange);
/// What the change makes of the identity.
type Expect = fn(&mut Identity);

/// A change of everything that can be changed.
fn change_of_everything(identity: &Identity, now: i64) -> IdentityChange {
    IdentityChange {
        email: given::new_email("other"),
        email_verified_at: Some(Some(given::at(5))),
        username: Some("Other".to_owned()),
        status: Some(IdentityStatus::Disabled),
        credential: Some(NewCredential { stored: "$provisional$other".to_owned(), hardening: true }),
        forgets_factors: true,
        ends_sessions: EndsSessions::All,
        revokes: true,
        mails: vec![given::mail(10), given::mail(10)],
        ..given::change(identity, now)
    }
}

/// Every field is changed if it is named, and none that is not; time and attempt always are.
pub async fn a_change_touches_the_fields_that_it_names(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut expected = given::registered(&*store, given::identity("alice")).await;
    let plain = |identity: &Identity, now| given::change(identity, now);
    let fields: [(Demand, Expect); 8] = [
        (|_| (), |_| ()),
        (|to| to.username = Some(String::new()), |is| is.username = String::new()),
        (
            |to| to.email_verified_at = Some(Some(given::at(5))),
            |is| is.email_verified_at = Some(given::at(5)),
        ),
        (|to| to.status = Some(IdentityStatus::Disabled), |is| is.status = IdentityStatus::Disabled),
        (|to| to.email_verified_at = Some(None), |is| is.email_verified_at = None),
        (|to| to.status = Some(IdentityStatus::Active), |is| is.status = IdentityStatus::Active),
        (
            |to| to.credential = Some(NewCredential { stored: String::new(), hardening: false }),
            |is| is.credential = String::new(),
        ),
        (
            |to| to.email = given::new_email("other"),
            |is| (is.email, is.login_name) = ("other".to_owned(), given::login_name("other")),
        ),
    ];
    for (now, (change_field, expect_field)) in (10..).zip(fields) {
        let mut change = plain(&expected, now);
        change_field(&mut change);
        expect_field(&mut expected);
        (expected.updated_at, expected.attempt) = (given::at(now), change.attempt);
        expected.revision += i64::from(change.raises_revision());
        assert_eq!(given::changed(&*store, &change).await, expected);
        assert_eq!(given::person(&*fixture.second_node().await, expected.id).await, expected);
    }
    assert_eq!(given::markers(&*store).await, []);
}

/// All fields are changed at once, and all that belongs to the change happens with it.
pub async fn a_change_of_everything_is_one_change(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let change = change_of_everything(&alice, 20);
    let expected = Identity {
        email: "other".to_owned(),
        login_name: given::login_name("other"),
        username: "Other".to_owned(),
        credential: "$provisional$other".to_owned(),
        hardening: true,
        status: IdentityStatus::Disabled,
        email_verified_at: Some(given::at(5)),
        updated_at: given::at(20),
        revision: 2,
        attempt: change.attempt,
        ..alice
    };
    assert_eq!(given::changed(&*store, &change).await, expected);
    assert_eq!(store.find_by_login_name(&given::login_name("other")).await.unwrap(), Some(expected));
    assert_eq!((queued_mails(&*store).await, waiting_credentials(&*store).await), (2, 1));
}

/// Whoever looked at an older revision changes nothing: no field, no name, no session, no factor, no mail, no marker.
pub async fn a_stale_change_changes_nothing(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    store
        .add(&given::factor(alice.id, 0), alice.revision, Some(given::with_first(&[[1; 32]])), None)
        .await
        .unwrap();
    let session = given::begun(&*store, alice.id, 1).await;
    let status = Some(IdentityStatus::Active);
    let now = given::changed(&*store, &IdentityChange { status, ..given::change(&alice, 10) }).await;
    let later = Identity { revision: now.revision + 1, ..now.clone() };
    for looked_at in [&alice, &later, &given::identity("nobody")] {
        let outcome = store.change(&change_of_everything(looked_at, 20)).await.unwrap();
        assert_eq!(outcome, Changed::Stale);
    }
    assert_eq!(given::person(&*store, alice.id).await, now);
    assert_eq!((owner(&*store, "alice").await, owner(&*store, "other").await), (Some(alice.id), None));
    assert!(given::has_session(&*store, &session).await);
    assert_eq!(store.recovery_codes_left(alice.id).await.unwrap(), 1);
    assert_eq!((queued_mails(&*store).await, waiting_credentials(&*store).await), (0, 0));
    assert_eq!(given::markers(&*store).await, []);
}

/// Neither does whoever wants the address of another.
pub async fn a_change_to_a_taken_address_changes_nothing(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let other = given::registered(&*store, given::identity("other")).await;
    store
        .add(&given::factor(alice.id, 0), alice.revision, Some(given::with_first(&[[1; 32]])), None)
        .await
        .unwrap();
    let session = given::begun(&*store, alice.id, 1).await;
    let outcome = fixture.second_node().await.change(&change_of_everything(&alice, 20)).await.unwrap();
    assert_eq!(outcome, Changed::Taken);
    assert_eq!(given::person(&*store, alice.id).await, alice);
    assert_eq!(
        (owner(&*store, "alice").await, owner(&*store, "other").await),
        (Some(alice.id), Some(other.id))
    );
    assert!(given::has_session(&*store, &session).await);
    assert_eq!(store.recovery_codes_left(alice.id).await.unwrap(), 1);
    assert_eq!((queued_mails(&*store).await, waiting_credentials(&*store).await), (0, 0));
    assert_eq!(given::markers(&*store).await, []);
}

/// Of an address that somebody wants who does not know what the record says now, nothing is told.
pub async fn a_stale_change_to_a_taken_address_is_stale(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let other = given::registered(&*store, given::identity("other")).await;
    let status = Some(IdentityStatus::Active);
    let now = given::changed(&*store, &IdentityChange { status, ..given::change(&alice, 10) }).await;
    for looked_at in [&alice, &given::identity("nobody")] {
        let outcome = store.change(&change_of_everything(looked_at, 20)).await.unwrap();
        assert_eq!(outcome, Changed::Stale);
    }
    assert_eq!(store.change(&change_of_everything(&now, 20)).await.unwrap(), Changed::Taken);
    assert_eq!(given::person(&*store, alice.id).await, now);
    assert_eq!(owner(&*store, "other").await, Some(other.id));
}

/// The address that was left finds nobody, and is free; one's own address is not taken.
pub async fn a_former_address_is_free_again(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let rename = |identity: &Identity, email: &str| IdentityChange {
        email: given::new_email(email),
        ..given::change(identity, 20)
    };
    let alice = given::changed(&*store, &rename(&alice, "alice")).await;
    let alice = given::changed(&*store, &rename(&alice, "other")).await;
    assert_eq!((owner(&*store, "alice").await, owner(&*store, "other").await), (None, Some(alice.id)));
    let newcomer = given::registered(&*fixture.second_node().await, given::identity("alice")).await;
    assert_eq!(owner(&*store, "alice").await, Some(newcomer.id));
    assert_eq!(store.change(&rename(&alice, "alice")).await.unwrap(), Changed::Taken);
}

/// A retry after a lost answer finds its own work, and repeats nothing of it.
pub async fn a_change_retried_by_its_own_attempt_is_a_success(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let change = change_of_everything(&alice, 20);
    let changed = given::changed(&*store, &change).await;
    let session = given::begun(&*store, alice.id, 21).await;
    let again = fixture.second_node().await.change(&change).await.unwrap();
    assert_eq!(again, Changed::Done);
    assert_eq!(given::person(&*store, alice.id).await, changed);
    assert!(given::has_session(&*store, &session).await, "it was begun after the change");
    assert_eq!(queued_mails(&*store).await, 2);
    assert_eq!(given::markers(&*store).await.len(), 1);
}

/// A change ends none of its person's sessions, all, or all but one, and nobody else's; each that ends gets a marker.
pub async fn a_change_ends_the_sessions_that_it_says(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut alice = given::registered(&*store, given::identity("alice")).await;
    let bob = given::registered(&*store, given::identity("bob")).await;
    let bobs = given::begun(&*store, bob.id, 1).await;
    let [one, two, three] = [1, 2, 3].map(|begun| given::begun(&*store, alice.id, begun));
    let (one, two, three) = (one.await, two.await, three.await);
    let steps = [
        (EndsSessions::None, [true, true, true]),
        (EndsSessions::AllBut(two.id), [false, true, false]),
        (EndsSessions::AllBut(bobs.id), [false, false, false]),
        (EndsSessions::All, [false, false, false]),
    ];
    for (now, (ends_sessions, left)) in (20..).zip(steps) {
        let change = IdentityChange { ends_sessions, ..given::change(&alice, now) };
        alice = given::changed(&*store, &change).await;
        for (session, left) in [&one, &two, &three].into_iter().zip(left) {
            assert_eq!(given::has_session(&*store, session).await, left, "{ends_sessions:?}");
            assert_eq!(given::is_marked(&*store, &Target::Session(session.id)).await, !left);
        }
    }
    assert!(given::has_session(&*store, &bobs).await);
    assert_eq!(given::markers(&*store).await.len(), 3);
}

/// The markers of a change are in the feed of every node as soon as it is made.
pub async fn the_markers_of_a_change_are_in_the_feed(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    given::begun(&*store, alice.id, 1).await;
    let session = given::begun(&*store, alice.id, 21).await;
    let change =
        IdentityChange { ends_sessions: EndsSessions::All, revokes: true, ..given::change(&alice, 20) };
    given::changed(&*store, &change).await;
    let markers = given::markers(&*fixture.second_node().await).await;
    assert_eq!(markers.len(), 2, "that of the person covers the first session");
    for target in [Target::Session(session.id), given::marked_person(alice.id)] {
        let expected = Marker { target, at: given::at(20), expires_at: given::at(9000) };
        assert!(markers.contains(&expected), "{markers:?}");
    }
}

/// A change may forget the factors of its person; nobody else's, and only if it says so.
pub async fn a_change_forgets_factors_if_it_says_so(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let bob = given::registered(&*store, given::identity("bob")).await;
    for person in [&alice, &bob] {
        store
            .add(
                &given::factor(person.id, 0),
                person.revision,
                Some(given::with_first(&[[1; 32], [2; 32]])),
                None,
            )
            .await
            .unwrap();
    }
    let factors = async |person: &Identity| {
        let factors = FactorRepository::of_identity(&*store, person.id).await.unwrap().len();
        (factors, store.recovery_codes_left(person.id).await.unwrap())
    };
    let alice = given::changed(&*store, &given::change(&alice, 20)).await;
    assert_eq!(factors(&alice).await, (1, 2));
    let change = IdentityChange { forgets_factors: true, ..given::change(&alice, 21) };
    given::changed(&*store, &change).await;
    assert_eq!((factors(&alice).await, factors(&bob).await), ((0, 0), (1, 2)));
}

/// A credential that a change brings waits for the hardening worker, or takes the former one off its queue.
pub async fn a_changed_credential_waits_to_be_hardened_if_it_says_so(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let credential = |stored: &str, hardening| Some(NewCredential { stored: stored.to_owned(), hardening });
    let change =
        IdentityChange { credential: credential("$provisional$", true), ..given::change(&alice, 20) };
    let alice = given::changed(&*store, &change).await;
    assert!(alice.hardening);
    assert_eq!(store.backlog().await.unwrap().oldest, Some(given::at(20)));
    let change =
        IdentityChange { credential: credential("$argon2id$third", false), ..given::change(&alice, 21) };
    assert!(!given::changed(&*store, &change).await.hardening);
    assert_eq!(waiting_credentials(&*store).await, 0);
}

/// What PostgreSQL cannot hold, no store takes, and nothing else of the change is made.
pub async fn a_change_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    let bad = || "with \0 inside".to_owned();
    let mut changes = [(); 3].map(|()| change_of_everything(&alice, 20));
    changes[0].username = Some(bad());
    changes[1].credential = Some(NewCredential { stored: bad(), hardening: false });
    changes[2].mails[1].sealed = bad();
    for change in &changes {
        let refused = store.change(change).await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    }
    assert_eq!(given::person(&*store, alice.id).await, alice);
    assert_eq!(queued_mails(&*store).await, 0);
}
