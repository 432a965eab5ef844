//! The end of an identity: nothing of it stays but the marker.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use futures_util::future::join_all;
use sluice_identity::factor::{AddedFactor, FactorRepository};
use sluice_identity::hardening::{Backlog, HardeningRepository};
use sluice_identity::identity::{
    Identity, IdentityDirectory, IdentityFilter, IdentityPage, IdentityRepository, Removed,
};
use sluice_identity::mail::{CodePurpose, CodeRepository, ShownCode, TakenCode};
use sluice_oauth::consent::{ConsentRepository, RememberedConsent};
use sluice_oauth::grant::{Grant, GrantRepository};
use sluice_primitives::IdentityId;
use sluice_token::Marker;

use crate::{Fixture, given};

async fn delete(store: &impl IdentityDirectory, id: IdentityId) -> bool {
    let deleted = store.delete(id, None, given::at(20), given::at(9000), None).await.unwrap();
    assert_ne!(deleted, Removed::Stale, "no record was looked at");
    deleted == Removed::Done
}

/// The person agrees to what a client asked for.
async fn remember(store: &impl GrantRepository, id: IdentityId) {
    let subject = given::subject(&id.to_string());
    let grant = Grant { subject: subject.clone(), ..given::grant() };
    let decision = RememberedConsent { subject, ..given::decision() };
    store.insert(grant, Some(decision), false).await.unwrap();
}

async fn has_decided(store: &impl ConsentRepository, id: IdentityId) -> bool {
    let (subject, client) = (given::subject(&id.to_string()), given::decision().client);
    store.find(&subject, &client, given::at(11)).await.unwrap().is_some()
}

/// Record, name, sessions, factors, codes, decisions and the place in the queue go; everybody else's stay.
pub async fn a_deleted_identity_leaves_nothing_but_its_marker(fixture: &impl Fixture) {
    let store = fixture.store();
    let provisional = Identity { hardening: true, ..given::identity("alice") };
    let alice = given::registered(&*store, provisional).await;
    let bob = given::registered(&*store, given::identity("bob")).await;
    let mut sessions = Vec::new();
    let mut codes = Vec::new();
    for person in [&alice, &bob] {
        sessions.push(given::begun(&*store, person.id, 1).await);
        codes.push(given::mail_code(person.id, CodePurpose::Recover));
        store
            .add(&given::factor(person.id, 0), person.revision, Some(given::with_first(&[[1; 32]])), None)
            .await
            .unwrap();
        remember(&*store, person.id).await;
    }
    for code in &codes {
        store.put(code, &given::mail(0)).await.unwrap();
    }
    assert!(delete(&*store, alice.id).await);
    for (person, left) in [(&alice, false), (&bob, true)] {
        assert_eq!(IdentityRepository::find(&*store, person.id).await.unwrap().is_some(), left);
        assert_eq!(store.find_by_login_name(&person.login_name).await.unwrap().is_some(), left);
        assert_eq!(FactorRepository::of_identity(&*store, person.id).await.unwrap().len(), usize::from(left));
        assert_eq!(store.recovery_codes_left(person.id).await.unwrap(), u32::from(left));
        assert_eq!(has_decided(&*store, person.id).await, left);
    }
    for (session, code) in sessions.iter().zip(&codes) {
        let left = session.identity == bob.id;
        assert_eq!(given::has_session(&*store, session).await, left);
        let taken = (given::at(1), given::attempt());
        let shown = ShownCode { hashes: &[code.hash], by_link: true, keeps: false };
        let taken = store.take(code.identity, code.purpose, shown, taken).await.unwrap();
        assert_eq!(taken != TakenCode::Gone, left);
    }
    assert_eq!(store.backlog().await.unwrap(), Backlog::default());
    let filter = IdentityFilter { limit: 10, ..IdentityFilter::default() };
    let page = IdentityDirectory::list(&*store, &filter).await.unwrap();
    assert_eq!(page, IdentityPage { identities: vec![bob], next: None });
}

/// Everything that was issued for the person is revoked with the record.
pub async fn the_marker_of_a_deleted_identity_is_in_the_feed(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    assert!(delete(&*store, alice.id).await);
    let markers = given::markers(&*fixture.second_node().await).await;
    let target = given::marked_person(alice.id);
    assert!(
        markers.contains(&Marker { target, at: given::at(20), expires_at: given::at(9000) }),
        "{markers:?}"
    );
}

/// Of concurrent deletions one finds the identity; of one that is not there no marker is made.
pub async fn an_identity_is_deleted_once(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let [store, other] = &nodes;
    assert!(!delete(&**store, given::identity_id()).await);
    assert_eq!(given::markers(&**store).await, []);
    let alice = given::registered(&**store, given::identity("alice")).await;
    let deletions = (0..8).map(|number| delete(if number % 2 == 0 { &**store } else { &**other }, alice.id));
    assert_eq!(join_all(deletions).await.into_iter().filter(|deleted| *deleted).count(), 1);
    assert!(!delete(&**store, alice.id).await);
    let target = given::marked_person(alice.id);
    let markers = given::markers(&**store).await;
    assert_eq!(markers.iter().filter(|marker| marker.target == target).count(), 1);
}

/// The name may be registered anew, by somebody who is not the former person and has nothing of theirs.
pub async fn a_deleted_name_may_be_registered_anew(fixture: &impl Fixture) {
    let store = fixture.store();
    let former = given::registered(&*store, given::identity("alice")).await;
    assert!(delete(&*store, former.id).await);
    let newcomer = given::registered(&*fixture.second_node().await, given::identity("alice")).await;
    assert_ne!(newcomer.id, former.id);
    assert_eq!(store.find_by_login_name(&former.login_name).await.unwrap(), Some(newcomer));
}

/// Whatever comes late for somebody who was deleted finds nobody.
pub async fn nothing_is_added_to_a_deleted_identity(fixture: &impl Fixture) {
    let store = fixture.store();
    let alice = given::registered(&*store, given::identity("alice")).await;
    assert!(delete(&*store, alice.id).await);
    let added = store
        .add(&given::factor(alice.id, 0), alice.revision, Some(given::with_first(&[[1; 32]])), None)
        .await
        .unwrap();
    assert_eq!(added, AddedFactor::Unknown);
    assert_eq!(store.recovery_codes_left(alice.id).await.unwrap(), 0);
    assert!(!store.replace_credential(alice.id, &alice.credential, "new").await.unwrap());
}
